"""The study of signals that are drawn and filled in, on models whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.functions.imputer import Imputer
from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.samples import by_set, observed
from chapters.fig3_functions import measure
from data_gen import signals

LENGTH = 64
SEEDS = {"val": 0, "id": 1, "easy": 2, "hard": 3}
TRAINING = {"lr": 1e-3, "steps": 2, "batch_size": 16, "seed": 0}


@pytest.fixture(scope="module")
def data():
    return signals.make(signals.SignalConfig(length=LENGTH, n_train=64, n_val=8, n_test=12))


@pytest.fixture(scope="module")
def masks(data):
    return observed(by_set(data), signals.MASKS, SEEDS)


def measured(data, masks, model, **options):
    return measure.measured(data, by_set(data), masks, model, **options)


def made(data, tmp_path, family, **options):
    return fit_imputer(
        by_set(data)["train"],
        by_set(data)["val"],
        family=family,
        options=options,
        workdir=tmp_path,
        **TRAINING,
    )


def test_zero_costs_the_power_of_what_is_hidden(data, masks, tmp_path):
    report = measured(data, masks, made(data, tmp_path, "zero_baseline"))
    for name in measure.SETS:
        x = by_set(data)[name].numpy()
        assert report["mse"].sel(set=name) == pytest.approx((x**2).mean(), rel=1e-6)
        for mask in signals.MASKS:
            hidden = x[~masks[mask][name]]
            cell = {"mask": mask, "set": name}
            assert report["hidden"].sel(cell | {"protocol": "mask_aware"}) == pytest.approx(
                (hidden**2).mean(), rel=1e-5
            )
            assert report["zero_baseline_hidden"].sel(cell) == report["hidden"].sel(
                cell | {"protocol": "mask_aware"}
            )
            assert report["observed_error"].sel(cell | {"protocol": "mask_aware"}) == 0
    assert report["hidden"].sel(protocol="zero_filled").isnull().all(), (
        "there is no second protocol for zero"
    )


def test_observed_and_hidden_samples_are_scored_apart(data, masks):
    def off(x, observed):
        return torch.where(observed, x + 3, x - 2)

    report = measured(data, masks, Imputer(zero_filled=off))
    assert np.allclose(report["hidden"].sel(protocol="zero_filled"), 4, atol=1e-5)
    assert np.allclose(report["hidden_val"].sel(protocol="zero_filled"), 4, atol=1e-5)
    assert np.allclose(report["observed_error"].sel(protocol="zero_filled"), 9, atol=1e-5)
    assert report["criterion"] == pytest.approx(4, abs=1e-5)
    assert np.isnan(report["mse"]).all(), "it draws no whole signals"


def test_sets_and_masks_keep_their_order(data, masks, tmp_path):
    report = measured(data, masks, made(data, tmp_path, "hold_last"))
    assert list(report["set"].values) == ["id", "easy", "hard"] and list(
        report["mask"].values
    ) == list(signals.MASKS)
    assert list(report["kind"].values) == [*signals.PRIMITIVES, *signals.EASY, *signals.HARD]


def test_the_task_is_counted(data, masks, tmp_path):
    report = measured(data, masks, made(data, tmp_path, "zero_baseline"))
    assert report["train_count"].values.tolist() == [16] * 4 + [0] * 12
    assert (
        report["test_count"].sum("kind").values.tolist() == [12, 12, 12]
        and report["repeated"].sum() == 0
    )
    copied = data.copy(deep=True)
    copied["value"][np.flatnonzero(data["set"] == "hard")[:2]] = data["value"][:2].values
    again = measured(copied, masks, made(data, tmp_path, "zero_baseline"))
    assert again["repeated"].values.tolist() == [0, 0, 2]


def test_selection_sees_no_test_signal(data, masks, tmp_path):
    blind = data.copy(deep=True)
    blind["value"][~data["set"].isin(["train", "val"])] = np.nan
    report = measured(blind, masks, made(data, tmp_path, "interpolate"), tests=False)
    assert (
        "hidden" not in report and report["hidden_val"].sel(protocol="mask_aware").notnull().all()
    )


def test_single_hard_signals(data, masks):
    model = Imputer(
        reconstruct=lambda x: x + 1, mask_aware=lambda x, observed: lambda x, observed: x * 0
    )
    report = measured(data, masks, model, details=True, per_kind=1)
    x = by_set(data)["hard"].numpy()
    assert np.allclose(report["error_hard"], 1, atol=1e-5)
    tail = report["hidden_hard"].sel(protocol="mask_aware", mask="forecast_25")
    assert np.allclose(tail, (x[:, 48:] ** 2).mean(1), rtol=1e-5)
    assert [str(e) for e in report["example"].values] == [
        f"{k} {i}" for i, k in enumerate(signals.HARD)
    ]
    assert np.abs(report["truth"] - x[:6, ::2]).max() <= 1 / 512 + 1e-6
    assert (report["filled"].sel(protocol="mask_aware") == 0).all() and report["filled"].sel(
        protocol="zero_filled"
    ).isnull().all()
    mean = report["mse_kind"].sel(kind=list(signals.HARD)).mean()
    assert mean == pytest.approx(float(report["mse"].sel(set="hard")), rel=1e-6), (
        "kinds are balanced"
    )
