"""The study of signals that are drawn and filled in, on models whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.functions.imputers import Completer, best_of, train_completer
from chapters.fig3_functions import measure as functions
from chapters.fig3_functions import tables as words
from data_gen import signals

LENGTH = 64
COUNTS = {"val": 8, "id": 8, "easy": 12, "hard": 12}
TRAINING = {"lr": 1e-3, "steps": 2, "batch_size": 16, "seed": 0}


@pytest.fixture(scope="module")
def data():
    return signals.make(signals.SignalConfig(length=LENGTH, n_train=64, n_val=8, n_test=12))


@pytest.fixture(scope="module")
def masks(data):
    counts = data["set"].to_series().value_counts()
    return {
        mask: {
            name: signals.observed(mask, counts[name], LENGTH, seed=i)
            for i, name in enumerate(COUNTS)
        }
        for mask in signals.MASKS
    }


def held(data, name):
    return torch.from_numpy(signals.subset(data, name)["value"].values)


def made(data, tmp_path, family, **options):
    return train_completer(
        held(data, "train"),
        held(data, "val"),
        family=family,
        options=options,
        workdir=tmp_path,
        **TRAINING,
    )


def test_zero_costs_the_power_of_what_is_hidden(data, masks, tmp_path):
    report = functions.study(data, masks, made(data, tmp_path, "zeros"))
    for name in functions.SETS:
        x = held(data, name).numpy()
        assert report["mse"].sel(set=name) == pytest.approx((x**2).mean(), rel=1e-6)
        for mask in signals.MASKS:
            hidden = x[~masks[mask][name]]
            cell = {"mask": mask, "set": name}
            assert report["hidden"].sel(cell | {"way": "aware"}) == pytest.approx(
                (hidden**2).mean(), rel=1e-5
            )
            assert report["blank_hidden"].sel(cell) == report["hidden"].sel(cell | {"way": "aware"})
            assert report["observed_error"].sel(cell | {"way": "aware"}) == 0
    assert report["hidden"].sel(way="paper").isnull().all(), (
        "there is no second way of predicting zero"
    )


def test_observed_and_hidden_samples_are_scored_apart(data, masks):
    def off(x, observed):
        return torch.where(observed, x + 3, x - 2)

    report = functions.study(data, masks, Completer(paper=off))
    assert np.allclose(report["hidden"].sel(way="paper"), 4, atol=1e-5)
    assert np.allclose(report["hidden_val"].sel(way="paper"), 4, atol=1e-5)
    assert np.allclose(report["observed_error"].sel(way="paper"), 9, atol=1e-5)
    assert report["criterion"] == pytest.approx(4, abs=1e-5)
    assert np.isnan(report["mse"]).all(), "it draws no whole signals"


def test_sets_and_masks_keep_their_order(data, masks, tmp_path):
    report = functions.study(data, masks, made(data, tmp_path, "hold_last"))
    assert list(report["set"].values) == ["id", "easy", "hard"] and list(
        report["mask"].values
    ) == list(signals.MASKS)
    assert list(report["kind"].values) == [*signals.PRIMITIVES, *signals.EASY, *signals.HARD]


def test_the_task_is_counted(data, masks, tmp_path):
    report = functions.study(data, masks, made(data, tmp_path, "zeros"))
    assert report["train_count"].values.tolist() == [16] * 4 + [0] * 12
    assert (
        report["test_count"].sum("kind").values.tolist() == [12, 12, 12]
        and report["repeated"].sum() == 0
    )
    copied = data.copy(deep=True)
    copied["value"][np.flatnonzero(data["set"] == "hard")[:2]] = data["value"][:2].values
    again = functions.study(copied, masks, made(data, tmp_path, "zeros"))
    assert again["repeated"].values.tolist() == [0, 0, 2]


def test_tuning_sees_no_test_signal(data, masks, tmp_path):
    blind = data.copy(deep=True)
    blind["value"][~data["set"].isin(["train", "val"])] = np.nan
    report = functions.study(blind, masks, made(data, tmp_path, "interpolate"), tests=False)
    assert "hidden" not in report and report["hidden_val"].sel(way="aware").notnull().all()


def test_single_hard_signals(data, masks):
    model = Completer(
        reconstruct=lambda x: x + 1, aware=lambda x, observed: lambda x, observed: x * 0
    )
    report = functions.study(data, masks, model, details=True, per_kind=1)
    x = held(data, "hard").numpy()
    assert np.allclose(report["error_hard"], 1, atol=1e-5)
    tail = report["hidden_hard"].sel(way="aware", mask="forecast_25")
    assert np.allclose(tail, (x[:, 48:] ** 2).mean(1), rtol=1e-5)
    assert [str(e) for e in report["example"].values] == [
        f"{k} {i}" for i, k in enumerate(signals.HARD)
    ]
    assert np.abs(report["truth"] - x[:6, ::2]).max() <= 1 / 512 + 1e-6
    assert (report["filled"].sel(way="aware") == 0).all() and report["filled"].sel(
        way="paper"
    ).isnull().all()
    mean = report["mse_kind"].sel(kind=list(signals.HARD)).mean()
    assert mean == pytest.approx(float(report["mse"].sel(set="hard")), rel=1e-6), (
        "kinds are balanced"
    )


def test_what_must_be_chosen_is_chosen_on_the_signals_given():
    x = torch.arange(12.0).reshape(3, 4)
    observed = torch.zeros_like(x, dtype=torch.bool)
    fill = best_of((0.0, 2.0, 1.0), lambda add: lambda x, seen: x + 1 - add, x, observed)
    assert torch.equal(fill(x, observed), x)


@pytest.mark.parametrize(
    ("family", "options", "ways"),
    [
        ("vn", {"atoms": 12, "sparsity": [0.1]}, {"paper", "aware"}),
        (
            "vn",
            {"atoms": 8, "sparsity": [0.1, 0.02], "interface": 4, "sweeps": 5},
            {"paper", "aware"},
        ),
        ("fourier", {"sparsity": 0.1}, {"paper", "aware"}),
        ("autoencoder", {"hidden": [8], "latent": 4}, {"paper"}),
        ("autoencoder", {"hidden": [8], "latent": 4, "masked": True}, {"aware"}),
        ("rslds", {"latent": 2, "states": 2, "sweeps": 2, "signals": 32}, {"paper", "aware"}),
        ("pca", {"rank": 4}, {"aware"}),
        ("gaussian", {}, {"aware"}),
        ("nearest", {"k": 2}, {"aware"}),
        ("exemplars", {"atoms": 16, "starts": 2}, {"aware"}),
    ],
)
def test_models_look_at_observed_samples_only_and_repeat(
    data, masks, tmp_path, family, options, ways
):
    model, again = (made(data, tmp_path / part, family, **options) for part in "ab")
    x, val = held(data, "hard"), held(data, "val")
    seen, seen_val = (torch.from_numpy(masks["block_128"][name]) for name in ("hard", "val"))
    other = torch.where(seen, x, torch.full_like(x, 7.0))
    for way in ("paper", "aware"):
        fills = [getattr(m, way) for m in (model, again)]
        assert (fills[0] is not None) == (way in ways)
        if way in ways:
            one, two = (f(val, seen_val) if way == "aware" else f for f in fills)
            with torch.no_grad():
                filled = one(x, seen)
                assert filled.shape == x.shape and torch.isfinite(filled).all()
                assert torch.equal(filled, two(x, seen)), "the same seed, the same bits"
                assert torch.equal(filled[~seen], one(other, seen)[~seen])


def test_zero_updates_leave_training_signals_as_atoms(data, tmp_path):
    train, val = held(data, "train"), held(data, "val")
    unlearned = train_completer(
        train,
        val,
        family="vn",
        options={"atoms": 64, "sparsity": [1e-4]},
        workdir=tmp_path,
        **TRAINING | {"steps": 0},
    )
    error = (unlearned.reconstruct(train) - train).square().mean()
    assert error < 1e-4 and not unlearned.curve, "every training signal is an atom"


def test_an_unknown_family_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match=r"family must be one of 'vn', .*, got 'wavelets'"):
        made(data, tmp_path, "wavelets")


def test_winners_are_those_of_the_medians(data, masks, tmp_path):
    """Three rules of thumb as three seeds of two models: the words on the page come from the
    numbers.
    """
    families = {"vn_1": "interpolate", "zeros": "zeros", "hold_last": "hold_last"}
    reports = [
        functions.study(data, masks, made(data, tmp_path, f)).expand_dims(model=[m], seed=[0])
        for m, f in families.items()
    ]
    results = xr.concat(reports, "model").assign_coords(
        label=("model", list(families)), group=("model", ["vn", "control", "control"])
    )
    table = words.winners(results)
    for (mask, name), said in zip(words.all_cells(results), table["knows the mask"], strict=True):
        cell = results["hidden"].sel(way="aware", mask=mask, set=name).isel(seed=0)
        assert said.startswith(str(cell["model"].values[int(cell.argmin("model"))]))
    assert list(table["paper's protocol"]) == [""] * 12, "none of these follows it"
    assert words.best(results, ["vn_1", "zeros"], "aware", "random_30", "id")[0] == "vn_1"
