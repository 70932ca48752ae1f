"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.baselines.longer import late_gain
from benchmarks.confirm import predictions
from chapters.best_bodies import figures_paths
from chapters.best_bodies.figures import curved, relative
from chapters.best_bodies.predictions import mean_ratio, ratio, within
from chapters.best_bodies.tables import RIVALS, by_number, decided
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import over_seeds, short, sides

LEAST = {"vn_512", "vn_1024"}
LITERAL = ("mlp", "gnn", "transformer", "film")


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "best_bodies"))


def middle(results: xr.Dataset, own: str, other: str, cells: str = "curved") -> float:
    return float(mean_ratio(ratio(results, own, [other], cells)).median("seed"))


def surely(results: xr.Dataset, own: str, other: str, cells: str = "all") -> int:
    """In how many cells a model surely has less error, in all seeds."""
    return int((predictions.sides(ratio(results, own, [other], cells)) < 0).sum())


def test_all_predictions_but_that_of_more_data_hold(results):
    came = decided(results, chapter.spec("best_bodies").sidecar)
    assert [name for name, one in came.items() if one["verdict"] != "holds"] == ["B19"]
    assert came["B19"]["verdict"] == "fails" and middle(results, "vn_256_n1600", "vn_256") > 1


def test_the_network_on_tokens_had_not_settled_and_four_times_the_updates_do_no_more(results):
    assert 0.25 < middle(results, "token_mlp_longer", "token_mlp") < 0.45
    longer, four = (
        curved(results, m).median("seed") for m in ("token_mlp_longer", "token_mlp_four")
    )
    assert float(four) >= float(longer)
    more = mean_ratio(ratio(results, "token_mlp_four", ["token_mlp_longer"], "curved"))
    told = [f"{float(one):.2g}" for one in (more.median(), more.min(), more.max())]
    assert told == ["1.4", "0.44", "11"]
    names = ["token_mlp", "token_mlp_longer", "token_mlp_four"]
    gain = late_gain(results["curve"].sel(model=names), "share").median("seed")
    assert [short(100 * float(one)) for one in gain] == ["9.0", "24", "31"]
    for rival in ("token_mlp_longer", "token_mlp_four"):
        assert surely(results, "vn_256", rival) == 45
        assert surely(results, "vn_512_vector", rival, "smooth") == 3
        assert surely(results, "vn_512_vector", rival, "linear") == 9
    assert surely(results, "vn_512_vector", "token_mlp_longer", "springs") == 24


def test_other_rivals_gain_little_by_twice_the_updates_in_fig_4():
    r = store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody"))
    error = (r["mse"] / r["power"]).sel(inference="joint")
    bent = error["forces"].str.contains("gravity|spring")
    mean = np.exp(np.log(error.where(bent, drop=True)).mean(["forces", "bodies"]))
    for model in ("factorized", *LITERAL):
        change = (mean.sel(model=f"{model}_longer") / mean.sel(model=model)).median("seed")
        assert 0.85 < float(change) < 1.2, model


def test_half_as_many_numbers_as_the_network(results):
    numbers = results["fact_parameters"].median("seed")
    assert 0.4 < float(numbers.sel(model="vn_256") / numbers.sel(model="token_mlp")) < 0.6


def test_what_costs_and_errors_say_of_networks_with_operators(results):
    numbers, seconds = (
        results[name].median("seed") for name in ("fact_parameters", "learning_time")
    )
    gradients = ["token_mlp", "factorized", "factorized_dense", "gnn", "mlp", "transformer", "film"]
    told = results["telling_time"].median("seed")
    for own in ("vn_256", "vn_512"):
        assert numbers.sel(model=own) < numbers.sel(model="token_mlp")
        assert (seconds.sel(model=gradients) > seconds.sel(model=own)).all()
        assert (told.sel(model=gradients) < told.sel(model=own)).all()
        assert all(sure(results, own, one, "curved") == -1 for one in gradients)
    for bodies in (5, 3):
        errors = {m: by_number(results, m, bodies).median("seed") for m in results["model"].values}
        least = [min(errors, key=lambda m: float(errors[m][i])) for i in range(4)]
        assert set(least) <= LEAST, least


def test_where_the_ridge_is_ahead_and_linear_laws_are_exact(results):
    assert sure(results, "vn_256", "rbf_512", "smooth") == 1
    assert surely(results, "rbf_512", "vn_256", "smooth") == 3
    assert middle(results, "vn_256", "rbf_512", "springs") < 0.1
    assert f"{middle(results, 'vn_512', 'rbf_512', 'smooth'):.2g}" == "0.21"
    for model in ("vn_256", "vn_512", "vn_512_vector", "rbf_256", "rbf_512"):
        assert (within(relative(results, model), "linear").median("seed") < 1e-12).all()


def sure(results: xr.Dataset, own: str, other: str, cells: str) -> int:
    """Whether a model surely has less error (-1), or more (1), in the mean over cells."""
    return int(sides(mean_ratio(ratio(results, own, [other], cells))))


def test_gaussian_processes_are_best_on_smooth_gravity_and_behind_with_springs(results):
    process, own = "process_matern", ("vn_256", "vn_512", "vn_1024")
    others = [m for m in results["model"].values if m != process]
    assert all(sure(results, process, m, "smooth") == -1 for m in others)
    others = [m for m in others if m != "process_rational"]
    assert all(sure(results, "process_rational", m, "smooth") == -1 for m in others)
    for network in own:
        for one in (process, "process_rational"):
            assert sure(results, network, one, "smooth") == 1
            assert sure(results, network, one, "springs") == -1
            assert middle(results, network, one, "springs") < 0.05


def test_with_1024_centres_the_ridge_is_ahead_of_256_atoms_on_smooth_gravity(results):
    assert sure(results, "vn_256", "rbf_1024", "smooth") == 1
    assert sure(results, "vn_1024", "rbf_1024", "smooth") == 0
    for own in ("vn_256", "vn_1024"):
        assert sure(results, own, "rbf_1024", "springs") == -1
    for rival in RIVALS:
        assert middle(results, "rbf_1024", rival, "springs") <= 1, rival


def test_only_a_ridge_of_the_rivals_fixed_beforehand_is_ahead_and_on_smooth_gravity_alone(results):
    models = chapter.spec("best_bodies").sidecar["models"]
    for rival in [one for one in RIVALS if not models[one].get("added")]:
        ahead = [sure(results, "vn_256", rival, cells) == -1 for cells in ("springs", "smooth")]
        assert ahead == [True, rival != "rbf_512"], rival


def test_recruits_by_error_are_ahead_of_coverage_with_springs_only(results):
    smooth = mean_ratio(ratio(results, "vn_256", ["vn_256_coverage"], "smooth"))
    assert f"{float(smooth.median()):.2g}" == "1.3" and int((smooth > 1).sum()) == 7


def test_recruits_are_worth_more_with_springs_and_operators_without(results):
    told = [
        [f"{middle(results, 'vn_256', other, cells):.2g}" for cells in ("springs", "smooth")]
        for other in ("vn_256_random", "vn_256_vector")
    ]
    assert told == [["0.018", "0.094"], ["0.053", "0.016"]]


def test_more_data_do_surely_harm_with_springs_only(results):
    kinds = ("springs", "smooth")
    told = [f"{middle(results, 'vn_256_n1600', 'vn_256', cells):.1f}" for cells in kinds]
    assert told == ["2.0", "1.4"]
    assert [sure(results, "vn_256_n1600", "vn_256", cells) for cells in kinds] == [1, 0]
    for more in ("", "_n100", "_n1600"):
        assert sure(results, f"vn_256{more}", f"rbf_256{more}", "curved") == -1


def test_sets_with_springs_decide_the_mean_errors(results):
    found = relative(results, "vn_512").median("seed")
    number = found["forces"].str.count(r"\+").values
    of = list(zip(number, found["bodies"].values, strict=True))
    springs = found["forces"].str.contains("spring").values
    for cells in {*of}:
        here = np.array([one == cells for one in of])
        assert found.values[here & springs].sum() > 0.6 * found.values[here].sum(), cells


def test_fields_of_the_first_seed(results):
    one = results.isel(seed=0)
    off = np.sqrt(np.square(one["told"] - one["true"]).sum("axis", skipna=False))
    middles = off.median(["x", "y"])
    own = middles.sel(model="vn_256")
    assert (own <= 1e-3).all()
    assert (middles.sel(model=["token_mlp", "factorized"]) > 10 * own).all()


def test_linear_laws_recruit_next_to_nothing(results):
    atoms = results["law_atoms"].sel(model=["vn_256", "vn_256_n1600", "vn_512"])
    assert (atoms.sel(law="lorentz") == 16).all() and atoms.sel(law="drag").max() == 17
    assert ((atoms.sel(law="drag") > 16).sum("seed") <= 2).all()
    assert (atoms.sel(model="vn_256", law=["gravity", "spring"]) == 256 + 8).all()


def test_bodies_that_follow_operators_stay_near_where_springs_act(results):
    end = {
        m: figures_paths.distance(results, m).isel(step=-1, drop=True)
        for m in figures_paths.followed(results)
    }
    springs = [str(p) for p in results["panel"].values if "spring" in str(p)]
    smooth = ["gravity", "gravity+lorentz"]
    assert len(springs) == 3 and len(end) == len(figures_paths.FOLLOWED)
    for model, found in end.items():
        if model != "vn_256":
            assert (sides(end["vn_256"] / found).sel(panel=springs) == -1).all(), model
        if model != "process_rational":
            assert (sides(end["process_rational"] / found).sel(panel=smooth) == -1).all(), model
    every = figures_paths.distance(results, "vn_256").sel(panel=springs)
    assert float(over_seeds(every)["high"].max()) < 0.01
    starts = np.sqrt(results["drift"].sel(model="vn_256", panel="spring").isel(step=-1))
    assert [starts.size, int((starts > 0.01).sum())] == [32, 9]
    assert f"{float(starts.max()):.2g}" == "0.26"
    every = figures_paths.distance(results, "process_rational").sel(panel=smooth)
    assert float(over_seeds(every)["high"].max()) < 2e-4
    several = [str(p) for p in results["panel"].values if "+" in str(p)]
    for model in ("mlp", "gnn"):
        assert (over_seeds(end[model])["low"].sel(panel=several) >= 1).all()
    for model in ("vn_256", "vn_512_vector", "rbf_512", "process_rational"):
        lorentz = figures_paths.distance(results, model).sel(panel="lorentz")
        assert (lorentz < figures_paths.FLOOR).all()


def test_the_model_with_the_nearest_paths_keeps_the_energy_best(results):
    models = figures_paths.followed(results)
    energy, distance = (
        xr.concat([of(results, m).isel(step=-1, drop=True).median("seed") for m in models], "model")
        for of in (figures_paths.energy_error, figures_paths.distance)
    )
    first = distance.sel(panel=energy["panel"]).argmin("model")
    assert energy.sizes["panel"] == 4 and bool((energy.argmin("model") == first).all())
    best = {p: models[int(i)] for p, i in zip(energy["panel"].values, first, strict=True)}
    assert best["spring"] == "vn_256"
    assert best["gravity"] == best["gravity+lorentz"] == "process_rational"
    closed = [m for m in models if m.startswith(("vn", "rbf", "process"))]
    lorentz = dict(zip(models, energy.sel(panel="lorentz").values, strict=True))
    assert all((one < 1e-7) == (m in closed) for m, one in lorentz.items())
