"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import json

import pytest
import xarray as xr

from benchmarks.baselines.longer import TWIN, late_gain
from benchmarks.nbody.figures import MEAN, by_number, error, in_order, inside_and_out, mixed
from chapters.fig4_nbody import tables
from chapters.fig4_nbody.tables import WITHOUT
from vnlib.book import paths, store
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds, sides


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig4_nbody"))


def test_vector_networks_on_literal_and_gated_input_do_not_fit_single_forces(results):
    single = median(tables.fits(results))
    models = single["model"]
    apart = models.str.startswith("vn_literal") | models.str.startswith("vn_gated")
    assert ((single > tables.FITS) == apart).all()
    assert single.idxmax() == "vn_literal_3"


def test_predicting_the_mean_is_as_good_as_predicting_zero(results):
    shares = (results["mse"] / results["power"]).sel(model="random")
    assert float(abs(shares - 1).max()) < 0.005


def test_passes_help_film_most_and_mamba_least(results):
    kept = median(tables.kept_in_passes(results))
    assert (kept.idxmin(), kept.idxmax()) == ("film", "mamba")


def test_who_is_harder_with_three_bodies(results):
    ratio = tables.dropout(results, relative=False)["mixtures"]
    surely = sides(ratio) > 0
    assert {m for m in in_order(results) if surely.sel(model=m)} == {
        "factorized",
        "factorized_dense",
    }


def test_who_is_near_the_diagonal_and_who_errs_least(results):
    inside, outside = inside_and_out(error(results))
    models = in_order(results)
    near = median(outside / inside).sel(model=models).to_series().sort_values()
    assert near.index[:3].tolist() == ["linear_gated", "linear_tokens", "vn_gated_1"]
    assert near.iloc[2] < 1, "below the diagonal"
    assert abs(near["vn_gated_3"] - 1) < 0.02 and near.index[3] == "vn_gated_3", "on it"
    least = median(inside_and_out(error(results, relative=True))[1]).sel(model=WITHOUT)
    assert float(least.min()) > 0.5, "half as much as the mean prediction or more"
    least = median(outside).sel(model=models).to_series().sort_values()
    assert least.index[:3].tolist() == ["rbf_tokens", "token_mlp", "factorized"]


def test_who_adds_up_forces(results):
    gap = median(tables.gaps(results))
    gap = gap.where(gap >= tables.EXACT)
    assert (gap.idxmax(), gap.idxmin()) == ("film", "vn_gated_3")


def test_single_forces_were_not_learned_and_the_diagonal_is_undecided(results):
    fit = over_seeds(tables.fits(results).sel(model="vn_literal_3"))
    assert float(fit["low"]) > tables.FITS, "so that Figs. 4b and 4c are not testable"
    inside, outside = inside_and_out(error(results))
    ratio = outside / inside
    six = list(tables.BASELINES)
    over = over_seeds(
        ratio.sel(model="vn_literal_3", drop=True) / ratio.sel(model=six).min("model")
    )
    assert float(over["low"]) < 1 < float(over["high"])


def test_who_had_not_settled_when_training_ended(results):
    gain = median(tables.late_gains(results))
    settled = {m for m in gain["model"].values if gain.sel(model=m) <= tables.SETTLED}
    assert settled == {"vn_literal_3", "vn_gated_1", "vn_gated_3"}
    rivals = gain.sel(model=[m for m in gain["model"].values if not m.startswith("vn")])
    assert (rivals.idxmin(), rivals.idxmax()) == ("factorized", "film")
    assert {*tables.BASELINES, "token_mlp"} <= {*rivals["model"].values}, "all rivals but ridges"
    told = tables.numbers(results)
    assert (told["fig4-watched"], told["fig4-unsettled"]) == ("14", "11")
    assert told["fig4-late-rivals-most"] == told["fig4-late-film"] == "12 [11, 15] %"


def test_the_answer_says_that_the_papers_input_tests_nothing(results):
    answer = next(
        text
        for cell in json.loads(paths.notebook("fig4_nbody").read_text(encoding="utf-8"))["cells"]
        if "## The answer" in (text := "".join(cell["source"]))
    )
    first = answer.split("- **")[1]
    assert first.startswith("From the paper's input, not testable") and "fig4-worst-fit" in first
    assert "fig4-seeds" in answer and tables.numbers(results)["fig4-seeds"] == "8"


def test_what_held_and_what_did_not(results):
    single = median(tables.fits(results))
    relative = median(inside_and_out(error(results, relative=True))[1])
    assert relative.sel(model="vn_literal_3") > 0.8, "about as far off as predicting the mean"
    assert (tables.won(results, "vn_gated_3", tables.WITHOUT) < 0).all()
    assert not (tables.won(results, "vn_gated_3", ["factorized"]) < 0).any()
    assert single.sel(model="vn_token_3") < 0.01
    linear = error(results, relative=True).sel(model="linear_gated", bodies=5)
    fit = float(median(linear.isel(forces=slice(4)).mean("forces")))
    assert single.sel(model="vn_gated_3") > fit, (
        "sparse inference fits no better than a linear regression"
    )


def test_labels_named_in_the_prose(results):
    names = ("vn_literal_3", "token_mlp", "factorized_dense", "rbf_tokens", "linear_gated")
    assert [label(results, m) for m in names] == [
        "VN-3L, literal",
        "Token MLP",
        "Factorized, dense",
        "RBF ridge, tokens",
        "Ridge, gated",
    ]


def test_twice_the_updates_help_on_single_forces_and_hardly_on_mixtures(results):
    ratio = tables.lengthened(results)
    rivals = [m for m in ratio["id"]["model"].values if not m.startswith("vn")]
    single, mixed = (over_seeds(ratio[name]).sel(model=rivals) for name in ("id", "ood"))
    assert abs(single["median"].min() - 2 / 5) < 0.03, "two fifths to two thirds"
    assert abs(single["median"].max() - 2 / 3) < 0.02 and single["high"].max() < 1
    assert mixed["median"].idxmin() == "token_mlp" and mixed["high"].sel(model="token_mlp") < 1
    assert mixed["median"].idxmax() == "film" and mixed["low"].sel(model="film") > 1
    assert (
        mixed["low"].sel(model="mlp") > 1 and abs(mixed["median"].sel(model="mlp") - 7 / 6) < 0.01
    )
    others = mixed.drop_sel(model=["token_mlp", "film", "mlp"])
    assert ((others["low"] < 1) & (others["high"] > 1)).all(), "their intervals hold 1"
    assert others["median"].min() > 0.95, "as much or more, as the caption says"
    gain = median(tables.late_gains(results))
    once = {m for m in gain["model"].values if gain.sel(model=m) > tables.SETTLED}
    assert once - {*ratio["id"]["model"].values} == {
        "factorized_dense",
        "vn_literal_1",
        "vn_token_1",
    }


def test_twice_the_updates_do_not_settle_either(results):
    twins = [m for m in results["model"].values if m.endswith(TWIN)]
    gain = median(late_gain(results["curve"].sel(model=twins), "share"))
    assert (gain.idxmin(), gain.idxmax()) == (f"vn_token_3{TWIN}", f"film{TWIN}")
    assert tuple(tables.in_percent(float(one)) for one in (gain.min(), gain.max())) == (
        "3.8 %",
        "18 %",
    )


def test_errors_of_vector_networks_fall_less_at_the_end_than_those_of_others(results):
    curve = median(results["curve"].sel(model=in_order(results))).dropna("model")
    gain = 1 - curve.isel(share=-1) / curve.isel(share=-4)
    own = gain["model"].str.startswith("vn_")
    assert gain.where(own).max() < 0.1 < gain.where(~own).min()
    assert abs(gain.where(~own).max() - 0.3) < 0.02, "a tenth to three tenths"


def test_passes_help_networks_and_ridge_regression_hardly(results):
    five = {}
    for how in ("joint", "passes"):
        values = error(results, inference=how).sel(bodies=5)
        five[how] = median(values.where(mixed(values)).mean("forces"))
    left = five["passes"] / five["joint"]
    assert (
        left.sel(model=["film", "gnn", "mamba", "mlp", "transformer", "vn_literal_1"]).max() < 0.3
    )
    assert left.sel(model="vn_literal_3") < 0.3, "less than a third"
    assert (abs(left.sel(model=["linear_literal", "vn_gated_3"]) - 0.9) < 0.03).all()
    assert left.sel(model=["factorized", "vn_token_1", "rbf_tokens", "token_mlp"]).min() > 0.95


def test_on_mixtures_errors_are_small_only_where_the_input_or_the_model_keeps_forces_apart(results):
    mixtures = median(by_number(error(results, relative=True))).sel(number=[2, 3, 4])
    mixtures = mixtures.sel(model=in_order(results))
    most, least = (one(("number", "bodies")) for one in (mixtures.max, mixtures.min))
    apart = {m for m in most["model"].values if most.sel(model=m) < 1 / 5}
    parts = ("gated", "tokens", "token", "factorized")
    assert apart == {m for m in most["model"].values if {*parts} & {*m.split("_")}}
    assert all(least.sel(model=m) > 2 / 5 for m in least["model"].values if m not in apart)
    four = mixtures.sel(number=4, bodies=5)
    assert four.sel(model=[*apart]).max() < 0.1
    rest = four.drop_sel(model=[*apart])
    assert (f"{float(rest.min()):.2f}", f"{float(rest.max()):.1f}") == ("0.69", "1.5")


def test_on_every_mixture_the_same_models_err_little_and_the_other_rivals_leave_an_eighth(results):
    every = median(error(results, relative=True))
    every = every.where(mixed(every), drop=True)
    little = ["vn_token_1", "vn_token_3", "token_mlp", "rbf_tokens", "factorized"]
    assert every.sel(model=little).max() < 0.0115
    rivals = every.sel(model=WITHOUT)
    assert rivals.min() > 1 / 8 and 6 < rivals.max() < 6.1


def test_what_is_left_of_each_law(results):
    each = median(error(results, relative=True).sel(bodies=5)).sel(model=in_order(results))
    bent, linear = (each.sel(forces=[*two]) for two in (("gravity", "spring"), ("drag", "lorentz")))
    own = ["vn_literal_1", "vn_literal_3", "vn_gated_1", "vn_gated_3"]
    assert (abs(bent.sel(model=own) - [2 / 5, 3 / 10]) < 0.03).all()
    assert (abs(bent.sel(model=own) / bent.sel(model="linear_gated", drop=True) - 1) < 0.05).all()
    less = linear.max("forces") < bent.min("forces") / 2
    assert {m for m in less["model"].values if not less.sel(model=m)} == {"linear_literal"}


def test_the_power_of_laws_and_of_four_forces(results):
    power = results["power"].isel(model=0, seed=0).sel(bodies=5)
    others = power.sel(forces=["gravity", "spring", "lorentz"])
    assert others.max() / others.min() < 1.2
    assert 1 / 3 < power.sel(forces="drag") / others.min() < 0.45
    assert power.sel(forces="drag") / others.max() == pytest.approx(1 / 3, abs=0.04)
    number = by_number(power)
    assert f"{float(number.sel(number=4) / number.sel(number=1)):.1f}" == "2.8"


def test_five_fall_with_fewer_bodies_and_passes_leave_little(results):
    ratio = over_seeds(tables.dropout(results, relative=False)["mixtures"])
    assert (ratio["high"].sel(model=WITHOUT) < 1).all()
    assert ratio["low"].sel(model="factorized") > 1


def test_one_force_at_a_time_comes_near_single_forces_with_as_many_bodies(results):
    relative = {how: error(results, relative=True, inference=how) for how in ("joint", "passes")}
    relative = {how: one.sel(model=WITHOUT) for how, one in relative.items()}
    single = relative["joint"].where(~mixed(results)).mean("forces")
    both = {how: one.where(mixed(results)).mean("forces") for how, one in relative.items()}
    assert median(both["joint"]).min() > 0.5
    over = median(both["passes"] / single)
    assert (f"{float(over.min()):.2g}", f"{float(over.max()):.2g}") == ("0.61", "1.8")


def test_errors_of_factorized_fall_from_three_forces_to_four(results):
    five = by_number(error(results)).sel(bodies=5)
    step = over_seeds(five.sel(number=4) / five.sel(number=3))
    assert step["high"].sel(model="factorized") < 1 < 1.05 * step["high"].sel(model="factorized")
    assert step["median"].sel(model="factorized_longer") == pytest.approx(0.7, abs=0.02)
    assert step["high"].sel(model="factorized_longer") < 1 / 1.05
    rises = [m for m in in_order(results) if step["median"].sel(model=m) > 1]
    assert 2 * len(rises) > len(in_order(results)), "most grow"


def test_who_errs_less_with_fewer_bodies_over_the_power(results):
    side = sides(tables.dropout(results, relative=True)["mixtures"]).sel(model=WITHOUT)
    assert {m for m in WITHOUT if side.sel(model=m) < 0} == {"film", "gnn"}
    assert (side.drop_sel(model=["film", "gnn"]) > 0).all()


def test_with_twice_the_updates_the_growth_over_the_power_is_undecided(results):
    inside, outside = inside_and_out(error(results))
    grown = outside / inside
    grown = over_seeds(grown / grown.sel(model=MEAN, drop=True))["high"]
    assert grown.sel(model="vn_token_3") < 1.25 < grown.sel(model="vn_token_3_longer")
    assert grown.sel(model="vn_token_3") > 1.24, "by a hair"


def test_settings_matter_least_to_vector_networks():
    file = paths.result_file(paths.RESULTS, "paper", "fig4_nbody.selection")
    tried = store.read(file)["criterion"]
    ratio = (tried.max("candidate") / tried.min("candidate")).to_series()
    own = ratio.index.str.startswith("vn_")
    assert ratio[own].max() < 1.25 < ratio[~own].min() < 1.26
    assert (ratio[~own].idxmin(), ratio[~own].idxmax()) == ("film", "mlp")
    assert 3 < ratio[~own].max() < 3.5


def test_the_simulator_changes_energy_by_what_its_caption_says(results):
    worst = results["sim_energy_worst"].isel(model=0, seed=0).max()
    assert f"{100 * float(worst):.2f}" == "0.03"
