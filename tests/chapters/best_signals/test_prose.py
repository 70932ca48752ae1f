"""What the page says in words, held against the shipped results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.confirm.predictions import FAILS, HOLDS, sides
from chapters.best_signals import figures, tables
from chapters.best_signals.figures import OWN, run, step_of
from chapters.best_signals.predictions import RUN, decided, error, ratio, share, singles, within
from vnlib.book import chapter, paths, store

SIDECAR = chapter.spec("best_signals").sidecar
FAMILIAR, TRAINED = ("id", "easy"), ("deep_ae_masked", "transformer_masked")
PROCESSES = ("process_rq", "process_matern", "process_se")


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "best_signals"))


@pytest.fixture(scope="module")
def over_all(shipped) -> xr.DataArray:
    rivals = [one for name in tables.UNTOUCHED for one in SIDECAR["rivals"][name]]
    return within(ratio(shipped, OWN, rivals), "run")


@pytest.fixture(scope="module")
def came(shipped) -> dict:
    return decided(shipped, SIDECAR)


def cells(values: xr.DataArray, *names: str) -> xr.DataArray:
    return values.isel(cell=np.isin(values["set"].values, names))


def test_it_mostly_errs_less_in_distribution_and_on_sums_and_not_on_nested_signals(over_all):
    familiar, nested = sides(cells(over_all, *FAMILIAR)), cells(over_all, "hard")
    assert (familiar < 0).sum() >= 4 and not (familiar > 0).any()
    assert (nested.median("seed") > 1).all() and not (sides(nested) < 0).any()


def test_most_predictions_are_not_borne_out_and_which_are(came):
    verdicts = {name: one["verdict"] for name, one in came.items()}
    assert sum(one == HOLDS for one in verdicts.values()) < len(verdicts) / 2
    assert {"S9", "S12", "S13"} == {name for name, one in verdicts.items() if one == HOLDS}
    assert verdicts["S8"] == FAILS and verdicts["S4"] != HOLDS and verdicts["S5"] != HOLDS


def test_single_nested_signals_decide_the_mean(shipped):
    for mask in RUN:
        each = singles(shipped, *OWN).sel(cell=f"{mask} hard")
        assert (each.max("case") > 0.25 * each.sum("case")).mean() >= 0.5
        rival = singles(shipped, "process_rq").sel(cell=f"{mask} hard")
        assert each.median("case").median() < 1.1 * rival.median("case").median()


@pytest.mark.parametrize("mask", RUN)
def test_it_has_the_least_median_error_but_on_nested_signals(shipped, mask):
    everyone = run(shipped, [OWN[0], *tables.RIVALS])
    for name in ("id", "easy", "hard"):
        medians = {
            m: float(error(shipped, m, step_of(m)).sel(cell=f"{mask} {name}").median())
            for m in everyone
        }
        assert (min(medians, key=medians.get) == OWN[0]) == (name != "hard"), (name, medians)


def test_shares_of_signals(shipped):
    for rival in run(shipped, tables.RIVALS):
        each = share(shipped, OWN, (rival, step_of(rival)))
        runs = within(each, "run").median("seed")
        assert (cells(runs, "easy") > 0.6).all(), rival
        nested = cells(runs, "hard")
        if rival in PROCESSES:
            assert ((nested > 0.3) & (nested < 0.8)).all(), rival
        else:
            assert (nested > 0.5).all(), rival


def test_what_ingredients_do(shipped):
    found = {name: figures.changed(shipped, name) for name in figures.changes(shipped)}
    middle = {name: one.median("seed") for name, one in found.items()}
    fine = middle["fine layer / none"]
    assert fine.sel(cell="block_128 id") < 0.5 and fine.sel(cell="block_128 hard") < 0.5
    assert fine.sel(cell="forecast_25 easy") > 0.9
    surely = {name: int((sides(one) < 0).sum()) for name, one in found.items()}
    assert {name for name, n in surely.items() if n >= 5} == {
        "atoms / fine layer alone",
        "2,048 atoms / 256",
    }
    assert (cells(middle["256 learned / 256 exemplars"], *FAMILIAR) > 5).all()
    assert (cells(middle["162 fixed / 256 exemplars"], *FAMILIAR) > 1).sum() >= 4
    longer = cells(middle["ten sweeps / thirty"], "hard")
    assert ((longer > 0.5) & (longer < 2)).all()


def test_what_carrying_does(shipped):
    def factor(model: str, cell: str) -> float:
        one = error(shipped, model, "carried") / error(shipped, model)
        return float(one.sel(cell=cell).median())

    assert factor("deep_ae_masked", "forecast_25 id") > 2
    others = [m for m in run(shipped, tables.RIVALS) if m not in ("deep_ae_masked", *tables.ZEROS)]
    for model in [*others, OWN[0]]:
        for name in ("id", "easy", "hard"):
            assert 0.5 < factor(model, f"forecast_25 {name}") < 1.5, (model, name)


def test_what_it_settles_to(shipped):
    one = shipped.sel(model=OWN[0]).median("seed")
    atoms, variance = one["fact_atoms"], one["fact_log_variance"]
    assert (atoms.sel(set="easy") > atoms.sel(set="id") + 0.5).all()
    assert (variance.sel(set="hard") > variance.sel(set=["id", "easy"]).max("set") + 2).all()


def test_times(shipped):
    took, learning = (shipped[n].median("seed") for n in ("signal_time", "learning_time"))
    assert 0.2 < float(took.sel(model=OWN[0]).mean()) < 0.45
    for model in TRAINED:
        assert float(learning.sel(model=model)) > 120
        assert float(took.sel(model=model).max()) < 1e-3


def test_scattered_samples_are_filled_in_by_smoothness(shipped):
    def middle(model: str, name: str) -> float:
        return float(error(shipped, model, step_of(model)).sel(cell=f"random_30 {name}").median())

    for name in ("id", "easy", "hard"):
        smooth = max(middle(OWN[0], name), middle("process_rq", name))
        assert smooth < 1e-2 * min(middle(m, name) for m in ("exemplars", "linear", *TRAINED))


def test_trained_rivals_had_nearly_settled(shipped):
    for model in TRAINED:
        curve = shipped["curve"].sel(model=model).dropna("seed", how="all")
        assert float((curve.isel(evaluation=-1) / curve.isel(evaluation=-3)).median()) > 0.75
