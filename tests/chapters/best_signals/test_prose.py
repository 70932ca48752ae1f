"""What the page says in words, held against the shipped results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.confirm.predictions import FAILS, HOLDS, sides
from chapters.best_signals import figures, tables
from chapters.best_signals.figures import OWN, run, step_of
from chapters.best_signals.predictions import (
    RUN,
    decided,
    error,
    ratio,
    share,
    singles,
    within,
)
from vnlib.book import chapter, paths, store

SIDECAR = chapter.spec("best_signals").sidecar
FAMILIAR, TRAINED = ("id", "easy"), ("deep_ae_masked", "transformer_masked")
FORECASTS = ("forecast_25", "forecast_50")
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
    assert {"S3", "S8"} == {name for name, one in verdicts.items() if one == FAILS}
    assert len(verdicts) == 15


def best(results: xr.Dataset, *names: str) -> list[str]:
    """The rival of least error in each seed and each cell of some sets."""
    rivals = [one for name in tables.UNTOUCHED for one in SIDECAR["rivals"][name]]
    each = xr.concat([cells(within(error(results, *one), "run"), *names) for one in rivals], "m")
    return [rivals[i][0] for i in each.argmin("m").values.ravel()]


def test_the_best_rivals_are_exemplars_on_sums_and_processes_on_nested_signals(shipped):
    sums, nested = best(shipped, "easy"), best(shipped, "hard")
    assert sums.count("exemplars") >= 0.8 * len(sums)
    assert sum(one in PROCESSES for one in nested) >= 0.8 * len(nested)
    counted = {one for name in tables.UNTOUCHED for one, _ in SIDECAR["rivals"][name]}
    assert {*run(shipped, tables.RIVALS)} - counted <= {"rnn_masked"}, "whose seeds are few"


def test_single_nested_signals_weigh_most_and_do_not_decide_alone(shipped):
    rivals = [one for name in tables.UNTOUCHED for one in SIDECAR["rivals"][name]]

    def without_worst(one: tuple[str, str], cell: str) -> xr.DataArray:
        each = singles(shipped, *one).sel(cell=cell)
        return each.sum("case") - each.max("case")

    for mask in RUN:
        each = singles(shipped, *OWN).sel(cell=f"{mask} hard")
        most = np.sort(each.values.ravel())[::-1][: each.size // 20]
        assert most.sum() > 0.5 * float(each.sum()), "one in twenty more than all others"
        least = xr.concat([without_worst(one, f"{mask} hard") for one in rivals], "m").min("m")
        assert (without_worst(OWN, f"{mask} hard") > least).mean() > 0.5, mask
    quarter, block = (
        [float(singles(shipped, *one).sel(cell=cell).median("case").median()) for one in models]
        for cell, models in (
            ("forecast_25 hard", (OWN, ("process_rq",))),
            ("block_128 hard", (OWN, ("process_se",))),
        )
    )
    assert quarter[0] < 1.1 * quarter[1] and block[0] > block[1]
    means = [cells(within(error(shipped, *one), "run"), "hard") for one in (OWN, ("process_se",))]
    assert bool((means[1] > means[0]).any()), "which goes astray in single seeds, too"


def test_one_signal_makes_up_most_of_a_sums_error_in_the_worst_seed(shipped, over_all):
    for mask in FORECASTS:
        cell = f"{mask} easy"
        worst = over_all["seed"].values[int(over_all.sel(cell=cell).argmax("seed"))]
        each = singles(shipped, *OWN).sel(cell=cell, seed=worst)
        assert float(each.max() / each.sum()) > 0.5


def test_what_goes_astray_is_the_fine_layer(shipped):
    far, models = [], ("vn_2048", "vn_fine_only", "vn_no_fine")
    for mask in FORECASTS:
        parts = [singles(shipped, m, "carried").sel(cell=f"{mask} hard") for m in models]
        own, alone, without = xr.align(*(one.dropna("case") for one in parts), join="inner")
        gone = (own > 10).values
        far += list(zip(*(one.values[gone] for one in (own, alone, without)), strict=True))
    assert len(far) >= 3
    assert np.mean([alone > 0.5 * own and without < 0.5 * own for own, alone, without in far]) > 0.7
    kinds = shipped["kind"].sel(model=OWN[0], set="hard").values
    each = [singles(shipped, *OWN).sel(cell=f"{mask} hard").values for mask in FORECASTS]
    formulas = [kinds[e > 10] for e in each]
    assert np.mean(np.concatenate(formulas) == "sin(gauss)+poly") > 0.5


def test_pictured_signals(shipped):
    first = shipped["hidden"].isel(seed=0, case=0).sel(mask=list(RUN))
    own = first.sel(model=OWN[0], step="carried")
    process, autoencoder = (first.sel(model=m, step="drawn") for m in ("process_rq", TRAINED[0]))
    power = shipped["power"].isel(seed=0, case=0).sel(model=OWN[0], mask=list(RUN))
    waves = {"set": list(FAMILIAR)}
    assert (own.sel(waves) < 1e-3 * power.sel(waves)).all()
    assert (process.sel(waves) > 0.3 * power.sel(waves)).sum() >= 5, "but for a block in one"
    nested = singles(shipped, *OWN).isel(seed=0)
    for mask in RUN:
        each = nested.sel(cell=f"{mask} hard")
        assert float((each < each.isel(case=0)).mean()) < 0.4, "an easier one"
        assert float(autoencoder.sel(mask=mask, set="hard")) > 0.2


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
        if rival in figures.TAILS:
            assert (cells(runs, *FAMILIAR) > 0.5).all(), rival
        if rival == "process_se":
            assert (nested < 0.5).all()
        if rival in PROCESSES:
            assert ((nested > 0.3) & (nested < 0.8)).all(), rival
        else:
            assert (nested > 0.5).all(), rival


def test_what_ingredients_do(shipped):
    found = {name: figures.changed(shipped, name) for name in figures.changes(shipped)}
    middle = {name: one.median("seed") for name, one in found.items()}
    fine = middle["fine layer / none"]
    assert fine.sel(cell="block_128 easy") < 0.8 and fine.sel(cell="block_128 hard") < 0.5
    assert fine.sel(cell="forecast_25 easy") > 0.7 and fine.sel(cell="forecast_25 id") > 1
    assert float((found["fine layer / none"].sel(cell="forecast_25 id") > 1).mean()) > 0.6
    assert (cells(middle["eight chains / one"], "easy") < 0.95).all()
    surely = {name: int((sides(one) < 0).sum()) for name, one in found.items()}
    assert {name for name, n in surely.items() if n >= 5} == {
        "atoms / fine layer alone",
        "2,048 atoms / 256",
    }
    assert (cells(middle["256 learned / 256 exemplars"], *FAMILIAR) > 5).all()
    assert (middle["256 learned / 256 exemplars"] > 1).all(), "learned ones do no better"
    assert (cells(middle["162 fixed / 256 exemplars"], "id") > 1).all()
    assert (cells(middle["162 fixed / 256 exemplars"], "hard") < 1).all()
    assert middle["six slots / three"].sel(cell="forecast_25 easy") < 1


def test_ten_sweeps_are_not_enough_where_an_end_is_hidden(shipped):
    found = figures.changed(shipped, "ten sweeps / thirty")
    ends = found.isel(cell=np.char.startswith(found["mask"].values.astype(str), "forecast"))
    assert found.sizes["seed"] == 3 and bool((cells(ends, *FAMILIAR) > 1).all())
    assert float(cells(ends, "hard").median("seed").max()) < 1.3


def test_thirty_sweeps_do_not_bring_it_before_processes(shipped):
    over = ratio(shipped, ["vn_longer", "carried"], SIDECAR["rivals"]["processes"], "run")
    for mask in ("forecast_50", "block_128"):
        assert float(over.sel(cell=f"{mask} hard").median()) > 1


def test_what_carrying_does(shipped):
    def factor(model: str, cell: str) -> float:
        one = error(shipped, model, "carried") / error(shipped, model)
        return float(one.sel(cell=cell).median())

    assert factor("deep_ae_masked", "forecast_25 id") > 2
    assert factor("deep_ae_masked", "block_128 id") > 2
    for name in ("id", "easy", "hard"):
        assert factor("transformer_masked", f"block_128 {name}") > 2
        assert all(0.6 < factor("vn_3", f"{mask} {name}") < 1 for mask in RUN)
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
    assert 5 < float(took.sel(model=OWN[0]).mean() / took.sel(model="process_rq").mean()) < 20
    for model in TRAINED:
        assert float(learning.sel(model=model)) > 120
        assert float(took.sel(model=model).max()) < 1e-3


def test_scattered_samples_are_filled_in_by_smoothness(shipped):
    def middle(model: str, name: str) -> float:
        return float(error(shipped, model, step_of(model)).sel(cell=f"random_30 {name}").median())

    for name in ("id", "easy", "hard"):
        smooth = max(middle(OWN[0], name), middle("process_rq", name))
        assert smooth < 1e-2 * min(middle(m, name) for m in ("exemplars", "linear", *TRAINED))
        ahead = min(("process_rq", "process_se"), key=lambda m: middle(m, name))
        assert (middle(OWN[0], name) < middle(ahead, name)) == (name != "hard")


def test_a_process_fills_in_about_half_of_a_nested_last_quarter_and_less_of_a_half(shipped):
    """As the summary and the first page say, too."""
    one = shipped.sel(model="process_rq", step="drawn", set="hard")
    left = (one["hidden"].mean("case") / one["power"].mean("case")).median("seed")
    assert 0.4 < float(left.sel(mask="forecast_25")) < 0.6
    assert float(left.sel(mask="forecast_50")) > 0.6


def test_trained_rivals_had_nearly_settled(shipped):
    for model in TRAINED:
        curve = shipped["curve"].sel(model=model).dropna("seed", how="all")
        assert float((curve.isel(evaluation=-1) / curve.isel(evaluation=-3)).median()) > 0.75
