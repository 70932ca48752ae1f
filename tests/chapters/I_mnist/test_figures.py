"""Which atoms are used, and when: what figures and sentences say, where it is known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.I_mnist import figures
from chapters.I_mnist import figures_atlas as selection_atlas
from chapters.I_mnist import tables as words

MODELS = {"vn_3": "DEEP", "vn_3_top24": "CAPPED", "vn_1": "FLAT"}
ALL = ("usage", "depth", "locking", "levels", "motion", "energies", "selectivity")


@pytest.fixture
def results() -> xr.Dataset:
    """A network whose measures fall with the layer, one with a cap, and one of a single layer."""
    ds = xr.Dataset(
        coords={
            "model": list(MODELS),
            "seed": [0, 1],
            "set": ["id", "add2"],
            "layer": [1, 2, 3],
            "solver": list(figures.SOLVERS),
            "sweep": [1, 10, 100],
            "threshold": [0.9, 0.99],
            "quantile": [0.1, 0.5, 0.9],
            "state": ["active", "signed"],
            "atom": np.arange(8),
            "reading": ["own", "top"],
        }
    )
    ds = ds.assign_coords(label=("model", list(MODELS.values())), factor=("model", [1.0, 1.0, 1.0]))
    falling = xr.DataArray([0.5, 0.25, 0.125], dims="layer", coords={"layer": [1, 2, 3]})

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        shape = [ds.sizes[d] for d in ("model", "seed", *dims)]
        names = ("model", "seed", *dims)
        return (
            xr.DataArray(np.zeros(shape), dims=names, coords={d: ds[d] for d in names}) + value
        ).transpose(*names)

    numbers = {
        "used": 1.0,
        "active_share": falling,
        "active": 8 * falling,
        "atoms": 8.0,
        "effective": 6.0,
        "carrying": 3.0,
        "hoyer": 1 - falling,
    }
    for name, value in numbers.items():
        ds[name] = over("set", "layer", value=value)
    ds["usage"] = over(
        "set", "layer", "atom", value=xr.DataArray(np.linspace(0.9, 0.1, 8), dims="atom")
    )
    ds["told_atom"] = over("layer", "atom", value=xr.DataArray(np.linspace(0.5, 0, 8), dims="atom"))
    ds["told"] = over("state", "layer", value=0.02 + (0.5 - falling))
    ds["told_shuffled"] = over("state", "layer", value=0.02)
    ds["told_shuffled_most"] = over("state", "layer", value=0.03)
    rising = xr.DataArray([0.2, 0.6, 1.0], dims="sweep", coords={"sweep": [1, 10, 100]})
    for name in ("overlap", "weighted_overlap"):
        ds[name] = over("set", "solver", "sweep", "layer", value=rising)
    ds["nonzero"] = over("set", "solver", "sweep", "layer", value=4.0)
    ds["flips"] = over("set", "solver", "sweep", "layer", value=1 - rising)
    speed = xr.DataArray([101.0, 40.0, 18.0], dims="solver")
    higher = xr.DataArray([0.0, 1.0, 2.0], dims="layer")
    ds["locked_mean"] = over(
        "set", "solver", "layer", "threshold", value=speed + higher.where(speed < 101, 0)
    )
    ds["locked"] = over("set", "solver", "layer", "threshold", "quantile", value=speed)
    for name in ("energy", "summed_energy"):
        ds[name] = over("set", "solver", "sweep", value=3 - rising)
        ds[f"{name}_end"] = over("set", "solver", value=2.0)
        ds[f"{name}_rises"] = over("set", "solver")
    ds["summed_energy"].loc[{"sweep": 10}] = 1.8
    ds["summed_energy_rises"] += 7
    ds["error"] = over("set", "solver", "sweep", value=0.02 - 0.01 * rising)
    ds["error_end"], ds["zero_baseline"] = over("set", "solver", value=0.01), over("set", value=0.1)
    ds["error_locked"] = over("set", "solver", "threshold", value=0.0125).where(
        ds["solver"] != "ista"
    )
    ds["gap_end"] = over("set", "solver", value=1e-5).where(ds["model"] != "vn_3_top24")
    ds["end_certain"], ds["end_agreement"] = (
        over("set", "solver", "layer", value=v) for v in (0.99, 0.75)
    )
    ds["mse"], ds["criterion"] = over("set", "reading", value=0.004), over(value=0.005)
    for name in ds:
        if "layer" in ds[name].dims:
            ds[name].loc[{"model": "vn_1", "layer": [2, 3]}] = np.nan
    return ds


@pytest.fixture
def atlas(results) -> xr.Dataset:
    """An atlas of the first seed of the default, in which digit 4 uses every atom four times as
    often as the mean.
    """
    shape = (3, 3, 3, 2, len(MODELS))  # layer, band, place, seed, model
    dims = ("layer", "band", "place", "seed", "model")
    here = np.zeros(shape, bool)
    here[..., 0, 0] = True
    one = xr.DataArray(np.where(here, 1.0, np.nan), dims=dims)
    profile = xr.DataArray(
        np.r_[np.full(9, 0.2), 1.2], dims="digit", coords={"digit": [0, 1, 2, 3, 5, 6, 7, 8, 9, 4]}
    )
    picture = xr.DataArray(np.eye(4), dims=("y", "x"))
    pair = xr.concat([picture, picture[::-1]], "example")
    found = {
        "atlas_atom": one,
        "atlas_use": 0.3 * one,
        "atlas_size": one,
        "atlas_drawing": one * picture,
        "atlas_profile": one * profile.sortby("digit"),
        "atlas_examples": one * pair,
    }
    coords = {"band": ["most", "middle", "least"], "digit": np.arange(10)}
    return results.assign(
        {name: v.transpose("model", "seed", ...) for name, v in found.items()}
    ).assign_coords(coords)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("models", [list(MODELS), ["vn_3_top24"], ["vn_1"]])
def test_every_figure_is_drawn_whatever_was_asked_for(results, name, models):
    figure = getattr(figures, name)(results.sel(model=models))
    assert figure.axes
    plt.close(figure)


def test_layers_and_names_are_those_that_are_there(results):
    assert figures.layers_of(results, "vn_3") == [1, 2, 3] and figures.layers_of(
        results, "vn_1"
    ) == [1]
    assert figures.names(results) == ["vn_3", "vn_3_top24", "vn_1"]
    assert figures.typical(results.sel(model=["vn_1", "vn_3_top24"])) == "vn_3_top24"


def test_selectivity_is_taken_above_chance(results):
    found = figures.measure(results, "told").sel(model="vn_3", seed=0)
    np.testing.assert_allclose(found, [0, 0.25, 0.375])
    assert figures.measure(results, "hoyer").identical(results["hoyer"])


def test_the_sweeps_until_all_layers_have_locked(results):
    solver, sweeps = words.soonest(results, "vn_3")
    assert solver == "line_search" and sweeps == 20
    assert words.soonest(results, "vn_1")[1] == 18
    table = words.locking_table(results)
    assert table.loc["DEEP, plain steps", "≥ 0.9, mean"] == "> 100"
    assert table.loc["DEEP, momentum and line search", "≥ 0.99, mean"] == "20"
    assert table.loc["DEEP, momentum and line search", "≥ 0.9, 9 of 10"] == "18"
    assert table.loc["DEEP, plain steps", "MSE then"] == "-"
    assert table.loc["FLAT, momentum, restarted", "MSE then"] == "0.01250"
    said = words.locking(results)
    assert "*DEEP*: 20 sweeps (momentum and line search), within 20 in 2 of 2 seeds" in said
    assert "errs by 125.0 % of its error at rest" in said
    results["locked_mean"].loc[
        {"model": "vn_3", "solver": "line_search", "seed": 1, "layer": 2}
    ] = 21
    assert "within 20 in 1 of 2 seeds" in words.locking(results)
    results["locked_mean"][:] = 101
    assert "*DEEP*: > 100 sweeps" in words.locking(results) and "errs by" not in words.locking(
        results
    )


def test_the_way_of_a_measure_is_counted_over_seeds(results):
    share = results["active_share"].sel(set="id").copy()
    assert words.steps(share, "vn_3") == "falls from layer to layer in 2 of 2 seeds"
    assert words.steps(1 - share, "vn_3") == "rises from layer to layer in 2 of 2 seeds"
    assert words.steps(share, "vn_1") == "has one layer only"
    share.loc[{"seed": 1, "layer": 2}] = 0.6
    assert words.steps(share, "vn_3") == "falls from layer to layer in 1 of 2 seeds"
    share.loc[{"seed": 0, "layer": 2}] = 0.6
    assert words.steps(share, "vn_3").startswith("neither falls nor rises")


def test_summary_and_paragraphs_say_the_numbers(results):
    said = words.summary(results)
    assert "100 %, 100 % and 100 %" in said and "75 %, 75 % and 75 % of them" in said
    assert "after 20 sweeps, against the 20" in said and "50 %, 25 % and 12 %" in said
    assert "used 100 % of atoms, effective number 75 %" in words.budget(results)
    assert "Hoyer's measure rises from layer to layer in 2 of 2 seeds" in words.depth(results)
    assert words.depth(results.sel(model=["vn_1"])) == words.NOTHING
    assert (
        "more than any shuffled labels in 4 of 6 layers and seeds; it rises"
        in words.selectivity(results)
    )
    said = words.energies(results)
    assert (
        "$F$ rose in 0.0 of 99 sweeps per image, the sum in 7.0" in said
        and "is 0.900 of its value" in said
    )
    said = words.rest(results)
    assert "at least 0.990" in said and "at most 1e-05" in said and "line search's by 0.75" in said
    assert "cap" not in words.rest(results.sel(model=["vn_1"])).replace("Without a cap", "")


def test_tables_have_a_row_per_layer_that_there_is(results):
    table = words.budget_table(results)
    assert list(table.index) == [
        *(f"{m}, layer {n}" for m in ("DEEP", "CAPPED") for n in (1, 2, 3)),
        "FLAT, layer 1",
    ]
    assert (
        table.loc["DEEP, layer 2", "active [%]"] == "25.0"
        and table.loc["DEEP, layer 3", "Hoyer"] == "0.875"
    )
    errors = words.errors_table(results)
    assert (
        errors.loc["zero drawing", "sums, top"] == "100.0"
        and errors.loc["DEEP", "digits, own"] == "4.00"
    )


def test_the_atlas_is_that_of_the_network_that_has_one(atlas, results):
    found = selection_atlas.entries(atlas, 2)
    assert str(found["model"].item()) == "vn_3" and int(found["seed"]) == 0
    assert selection_atlas.entries(results, 2) is None and selection_atlas.entries(atlas, 4) is None
    assert selection_atlas.entries(atlas.sel(model=["vn_1"]), 2) is None
    for one in (atlas, results):
        figure = selection_atlas.atlas(one, 2)
        assert figure.axes
        plt.close(figure)
    said = words.atlas(atlas)
    assert (
        "**Layer 2**: the digit that uses an atom most does so, against the mean over "
        "digits, 4.0 (most)" in said
    )
    assert words.atlas(results) == words.NOTHING


def test_pictures_stand_side_by_side():
    row = selection_atlas.row_of([np.zeros((2, 3)), np.ones((2, 3))], 1)
    expected = [np.nan, 0, 0, 0, np.nan, np.nan, 1, 1, 1, np.nan]
    np.testing.assert_array_equal(row, [expected, expected])
