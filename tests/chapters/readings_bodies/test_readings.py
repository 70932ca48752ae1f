"""Margins of bodies on errors that are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from chapters.readings_bodies import readings

SINGLE = ["gravity", "spring", "drag"]
MIXED = [
    "gravity+spring",
    "gravity+spring+drag",
    "gravity+spring+drag+lorentz",
    *readings.MIXTURES[:2],
]
# Errors under single forces and under mixtures, and drifts; the accelerations' power is 10.
MODELS = {
    "vn_token_3": (0.5, 1.0, 1.0),
    "vn_gated_3": (2.0, 1.0, 1.0),
    "mlp": (0.1, 4.0, 4.0),
    "gnn": (0.1, 8.0, 8.0),
    "factorized": (0.1, 0.5, 0.5),
    "factorized_dense": (0.1, 2.0, 2.0),
    "random": (10.0, 12.0, 100.0),
    "token_mlp": (0.1, 0.25, 0.25),
}
PANELS = ["gravity", "spring", "lorentz", *readings.MIXTURES]


@pytest.fixture
def shared() -> xr.Dataset:
    axes = {
        "model": [*MODELS],
        "seed": [0, 1, 2],
        "inference": ["joint", "passes"],
        "forces": [*SINGLE, *MIXED],
        "bodies": [5, 4, 3],
    }
    inside, outside, far = np.array([*MODELS.values()]).T
    mse = xr.DataArray(np.ones([len(one) for one in axes.values()]), axes, tuple(axes))
    single = ~mse["forces"].str.contains(r"\+")
    model = {"model": axes["model"]}
    mse = mse * xr.where(
        single, xr.DataArray(inside, model, ("model",)), xr.DataArray(outside, model, ("model",))
    )
    drift = xr.DataArray(far, model, ("model",)) * xr.DataArray(
        np.ones((3, len(PANELS), 8, 3)),
        {"seed": [0, 1, 2], "panel": PANELS, "start": range(8), "step": [0, 1, 2]},
        ("seed", "panel", "start", "step"),
    )
    return xr.Dataset(
        {"mse": mse, "power": 10 * xr.ones_like(mse.isel(inference=0, drop=True)), "drift": drift}
    )


@pytest.fixture
def own(shared) -> xr.Dataset:
    """A network of half of the first one's errors and drifts."""
    first = shared[["mse", "drift"]].sel(model=["vn_token_3"])
    return 0.5 * first.assign_coords(model=["token_1_atoms"])


@pytest.fixture
def read(own, shared) -> xr.Dataset:
    return readings.together(own, shared)


def asked(statement: int, **options: str) -> dict[str, str]:
    return {**readings.STATEMENTS[statement].book, **options}


@pytest.mark.parametrize("cells", readings.CELLS.options)
@pytest.mark.parametrize(
    "options, over",
    [
        ({}, 0.5),
        ({"rivals": "dense"}, 2.0),
        ({"rivals": "five"}, 4.0),
        ({"rivals": "tokens"}, 0.25),
        ({"network": "token_1_atoms"}, 1.0),
        ({"rivals": "five", "bodies": "least", "inference": "passes"}, 4.0),
    ],
)
def test_the_margin_is_the_least_rivals_error_over_the_networks(read, cells, options, over):
    found = float(readings.least_error(Arrays(read), asked(0, cells=cells, **options)))
    assert found == pytest.approx(np.log(over), abs=1e-12)


def test_each_cell_must_be_less_and_no_mean_hides_one(read):
    worst = {"model": "vn_token_3", "forces": "gravity+spring+drag+lorentz", "bodies": 4}
    read["mse"].loc[worst] = 16.0
    found = {
        c: float(readings.least_error(Arrays(read), asked(0, cells=c, rivals="five")))
        for c in readings.CELLS.options
    }
    assert found["each"] == pytest.approx(np.log(4 / 16))
    assert found["mean"] == pytest.approx(np.log(4 * 9 / (8 + 16)))
    assert found["geometric"] == pytest.approx(np.log(4) - np.log(16) / 9)
    least = readings.least_error(Arrays(read), asked(0, rivals="five", bodies="least"))
    assert float(least) == pytest.approx(np.log(4))


@pytest.mark.parametrize("mean", readings.MEAN.options)
def test_growth_is_the_error_on_mixtures_over_that_on_single_forces(read, mean):
    found = float(readings.least_growth(Arrays(read), asked(1, mean=mean, rivals="five")))
    assert found == pytest.approx(np.log((4 / 0.1) / (1 / 0.5)))
    random = float(readings.least_growth(Arrays(read), asked(1, mean=mean, rivals="dense")))
    assert random == pytest.approx(np.log((12 / 10) / (1 / 0.5))), "Random grows least"


def test_five_of_six_panels_pass_over_the_worst_one(read):
    read["drift"].loc[{"model": "vn_token_3", "panel": "spring+drag"}] = 64.0
    found = {
        p: float(readings.least_drift(Arrays(read), asked(2, panels=p, rivals="five")))
        for p in readings.PANELS.options
    }
    assert found["five"] == pytest.approx(np.log(4))
    assert found["mixtures"] == pytest.approx(np.log(4 / 64))
    assert found["mean"] == pytest.approx(np.log(4) - np.log(64) / 6)
    read["drift"].loc[{"model": "vn_token_3", "panel": "gravity"}] = 32.0
    assert float(readings.least_drift(Arrays(read), asked(2, rivals="five"))) == pytest.approx(
        np.log(4 / 32)
    )


def test_networks_that_were_trained_twice_as_long_are_held_against_such(own, shared):
    """A rival without a twin is taken as it is."""
    twins = 0.25 * shared[["mse", "drift"]].sel(model=["vn_token_3", "gnn"])
    twins = twins.assign_coords(model=["vn_token_3_longer", "gnn_longer"])
    more = xr.concat([shared, twins.assign(power=shared["power"])], "model", data_vars="minimal")
    read = Arrays(readings.together(own, more))
    for rivals, once, twice in (("five", 4.0, 8.0), ("tokens", 0.25, 1.0)):
        for length, over in (("once", once), ("twice", twice)):
            for number, margin in ((0, readings.least_error), (2, readings.least_drift)):
                found = margin(read, asked(number, rivals=rivals, length=length))
                assert float(found) == pytest.approx(np.log(over)), (rivals, length, number)
    with pytest.raises(KeyError, match="vn_token_1_longer"):
        readings.least_error(read, asked(0, network="token_1", length="twice"))


def test_drifts_of_all_networks_are_asked(read):
    found = readings.least_drift(Arrays(read), asked(2, network="token_1_atoms", rivals="five"))
    assert float(found) == pytest.approx(np.log(8))


def test_a_network_that_does_not_fit_single_forces_decides_nothing(read):
    for number, margin in enumerate(
        (readings.least_error, readings.least_growth, readings.least_drift)
    ):
        assert np.isnan(margin(Arrays(read), asked(number, network="gated_3")))


def test_starts_and_time_are_summed_up_as_asked(own, shared):
    shared["drift"].loc[{"model": "vn_token_3", "start": 0}] = 9.0
    shared["drift"].loc[{"model": "vn_token_3", "step": 2}] *= 2
    read = readings.together(own, shared)["drift"].sel(model="vn_token_3", panel="gravity", seed=0)
    assert read.sel(starts="median_20", time="last") == 2 and read.sel(
        starts="median_20", time="mean"
    ) == pytest.approx(4 / 3)
    assert read.sel(starts="mean_4", time="last") == pytest.approx(2 * (9 + 3) / 4)
    assert read.sel(starts="mean_20", time="last") == pytest.approx(2 * (9 + 7) / 8)


def test_what_a_small_profile_leaves_out_is_not_testable(read):
    with pytest.raises(KeyError, match="vn_token_1"):
        readings.least_error(Arrays(read), asked(0, network="token_1"))
