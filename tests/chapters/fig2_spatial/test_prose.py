"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from glued import number, numbers

from benchmarks.spatial.errors import learned, middles, ratio
from benchmarks.spatial.tables import gains, lengthened
from chapters.fig2_spatial import tables
from data_gen import bumps
from vnlib.book import paths, store
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import median, over_seeds, short


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial"))


def test_who_fails_inside_the_hold_out_and_who_composes(results):
    fails = middles(results, *in_groups(results, "entangled"), "vn_flat")
    assert (fails["ratio"] > 20).all() and (fails["of_zero"] > 0.4).all()
    names = ["random_axes_1", "random_full", "bilinear_linear"]
    composes = middles(results, *in_groups(results, "vn", "factorised"), *names)
    assert (composes["ratio"] < 2.5).all() and (composes["of_zero"] < 0.002).all()


def test_atoms_that_were_not_learned_are_less_exact_and_a_relu_entangles_again(results):
    found = gains(results["mse_ood"], tables.GAINS)  # of each seed with its like
    low = {name: float(over_seeds(one)["low"]) for name, one in found.items()}
    assert min(low["learned-full"], low["learned-axes"]) > 1 and low["relu"] > 100
    told = numbers(tables.numbers(results))
    assert told["fig2-learned-axes"] == number(short(float(median(found["learned-axes"]))))
    assert min(told["fig2-learned-full"], told["fig2-learned-axes"]) > 10
    assert middles(results, "bilinear_relu")["ratio"] > 100


@pytest.fixture(scope="module")
def of_f() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "F_spatial"))


def test_vector_networks_with_a_product_readout_compose_all_but_one_surely(results):
    one = results.sel(model=in_groups(results, "vn"))
    found = over_seeds(ratio(one))
    assert found["model"].values[found["high"] > 3].tolist() == ["vn_axes_2"]
    assert found["median"].sel(model="vn_axes_2") < 2.5 and found["high"].max() < 3.1
    left = over_seeds(one["mse_ood"] / one["zero_baseline_ood"])
    assert (left["high"] <= 0.01).all()
    twice = over_seeds(ratio(results.sel(model="vn_axes_2_longer")))
    assert found["high"].sel(model="vn_axes_2") < twice["high"]
    path = paths.result_file(paths.RESULTS, "paper", "fig2_spatial.selection")
    best, second, _ = np.sort(store.read(path)["mse_val"].sel(model="vn_axes_2"))
    assert second < 1.25 * best


def test_the_readout_alone_is_trained_twice_as_long_as_in_appendix_f(results, of_f):
    """By more updates the full 2D VN gets worse here, and better there."""
    alone = [
        json.loads(str(one["run_settings"].sel(model=name).values[0]))["training"]["consolidation"]
        for one, name in ((results, "vn_full"), (of_f, "full"))
    ]
    assert alone[0] == 2 * alone[1]
    error = store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial"))["mse_ood"]
    found = [
        over_seeds((one.sel(model=f"{name}_longer") / one.sel(model=name)).dropna("seed"))
        for one, name in ((error, "vn_full"), (of_f["mse_ood"], "full"))
    ]
    assert found[0]["low"] > 1 and found[1]["high"] < 1


def test_the_flat_network_of_appendix_f_is_this_one_with_another_training(results, of_f):
    """The page says in what it differs, and both leave nearly all of the error."""
    here, there = (
        json.loads(str(one["run_settings"].sel(model=name).values[0]))["training"]
        for one, name in ((results, "vn_flat"), (of_f, "flat"))
    )
    assert {**here.pop("options"), "sweeps": 30} == there.pop("options") | {"nonnegative": False}
    apart = {key: (here[key], there[key]) for key in here if here[key] != there[key]}
    assert apart == {"lr": (0.01, 0.03), "consolidation": (1000, 500)}
    low, high = (
        over_seeds(one["mse_ood"] / one["zero_baseline_ood"])
        for one in (of_f.sel(model="flat"), results.sel(model="vn_flat"))
    )
    assert low["low"] > 0.8 and low["high"] < high["low"]
    told = tables.numbers(results, of_f)
    assert told["fig2-of-f-flat"].startswith("89 ") and told["fig2-left-vn-flat"].startswith("96 ")


def test_the_order_of_small_errors_flips_with_the_width_of_the_bump(results, of_f):
    told = tables.numbers(results, of_f)
    told = {key.removeprefix("fig2-width-"): number(told[key]) for key in told if "width" in key}
    assert told["vn-1-wide"] < told["factorised-wide"]
    assert told["factorised-sharp"] < told["vn-1-sharp"] and told["vn-3-sharp"] < 1e-11
    error = of_f["mse_ood"]
    wide, sharp = (
        over_seeds(error.sel(model=own) / error.sel(model=other))
        for own, other in (("vn_3_8", "factorised"), ("vn_3_sharp", "factorised_sharp"))
    )
    assert sharp["high"] < 1 and wide["low"] < 1 < wide["high"]
    for end in ("8", "sharp"):
        own, other = f"vn_1_{end}_longer", "factorised_sharp_longer"
        other = other if end == "sharp" else "factorised_longer"
        late = over_seeds((error.sel(model=own) / error.sel(model=other)).dropna("seed"))
        assert (late["low"] > 1) == (end == "sharp") and late["high"] > 1
        own = own.replace("1", "3", 1)
        late = over_seeds((error.sel(model=own) / error.sel(model=other)).dropna("seed"))
        assert late["low"] < 1 < late["high"]
    failed = (~learned(of_f)).sum("seed")
    assert failed.sel(model=["factorised_sharp", "vn_1_sharp", "vn_1_8"]).values.tolist() == [
        1,
        0,
        0,
    ]
    assert 50 < told["condition-sharp"] < 100 < 1e7 < told["condition-wide"] < 1e8
    for model, sigma in (
        ("factorised", 2),
        ("vn_1_8", 2),
        ("factorised_sharp", 1),
        ("vn_1_sharp", 1),
    ):
        task = json.loads(str(of_f["run_settings"].sel(model=model).values[0]))["task"]
        assert (task["sigma"], task["encoding"], task["grid"]) == (sigma, "bump", 28)


@pytest.mark.parametrize("sigma", [1.0, 2.0])
def test_the_condition_number_is_that_of_the_codes_of_the_task(sigma):
    data = bumps.make(bumps.BumpConfig(sigma=sigma))
    first = data.isel(position=np.flatnonzero(data["position_y"] == 0))
    codes = first["code"].values[:, first["code_axis"].values == "x"].astype(float)
    assert tables.condition(sigma) == pytest.approx(np.linalg.cond(codes), rel=1e-6)


def test_models_saw_more_or_fewer_images(results):
    assert tables.samples(results, "cnn4") == {"all": 25_600, "readout": 0}
    assert tables.samples(results, "mlp")["all"] == 96_000
    assert tables.samples(results, "vn_full") == {"all": 269_440, "readout": 256_000}
    told = tables.numbers(results)
    assert (
        told["fig2-samples-vn-full-all"] == "270,000" and told["fig2-samples-cnn4-all"] == "26,000"
    )


def test_the_full_vn_is_hardly_sparse(results):
    assert results["active_share"].sel(model="vn_full").median() > 0.9


def test_more_updates_help_inside_the_hold_out_only_where_the_readout_multiplies(results):
    left = {key: median(one) for key, one in lengthened(results).items()}
    for model in ("cnn2", "cnn6", "mlp"):
        assert left["id"].sel(model=model) < 0.8 and left["ood"].sel(model=model) > 0.9
    assert max(one.sel(model="factorised") for one in left.values()) < 0.2
    assert float(over_seeds(lengthened(results)["ood"].sel(model="vn_full"))["low"]) > 1


def test_errors_of_vector_networks_per_axis_differ_by_decades_from_run_to_run(results):
    errors = results["mse_ood"].sel(model=["vn_axes_3", "vn_axes_3_longer"])
    assert (errors.max("seed") > 1e4 * errors.min("seed")).all()
    for model in ("vn_axes_1", "vn_axes_3"):
        found = over_seeds(lengthened(results)["ood"].sel(model=model))
        assert found["low"] < 0.5 and found["high"] > 1.5
    assert over_seeds(lengthened(results)["id"].sel(model="vn_axes_3"))["low"] > 1
    once, twice = (over_seeds(one) for one in tables.leads(results).values())
    assert once["high"] < 1 and twice["low"] < 1 < twice["high"]
    twins = [name for name in results["model"].values if name.endswith("_longer")]
    flat = ("vn_flat_longer", "bilinear_relu_longer")
    composing = [
        n for n in twins if n.startswith(("vn", "factorised", "bilinear")) and n not in flat
    ]
    far = middles(results, *composing)
    assert (far["of_zero"] < 1e-3).all()


def test_three_layers_go_to_the_edge_of_single_precision(results):
    assert middles(results, "vn_axes_3")["ood"] < 1e-12


def test_a_cnn_leaves_much_and_every_product_readout_without_relu_next_to_nothing(results):
    left = median(tables.left(results))
    assert left.sel(model="cnn4") > 40 and left.sel(model="vn_flat") > 90
    assert left.sel(model=["vn_full", "bilinear_linear", "random_full"]).max() < 0.1


def test_which_of_the_learning_rates_that_were_tried_validates_best():
    selection = store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial.selection"))
    largest = {"cnn4", "cnn6", "vn_axes_1", "vn_axes_2", "vn_axes_3", "random_axes_1"}
    for model in selection["model"].values.tolist():
        one = selection.sel(model=model)
        rates = [json.loads(str(text))["training"]["lr"] for text in one["run_settings"].values]
        if len(set(rates)) > 1:
            place = sorted(rates).index(rates[int(one["mse_val"].argmin("candidate"))])
            assert place == (2 if model in largest else 1), model
