"""Margins and weights of signals on errors that are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from benchmarks.functions.names import MASKS, SETS
from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings as every
from chapters.readings_signals import readings

# Errors under all masks in all sets: of rivals by what they are told, of networks by solver.
ZERO_FILLED = {"vn_1": 1.0, "vn_3": 2.0, "rnn": 4.0, "mamba": 8.0, "vn_untrained": 3.0}
AWARE = {"vn_1": 0.5, "vn_3": 0.25, "deep_ae_masked": 1.0, "linear": 0.125, "vn_untrained": 0.75}
AWARE |= {"exemplars": 0.5, "zero_baseline": 1.0}


def cells(values: dict[str, float]) -> xr.DataArray:
    axes = {"model": [*values], "seed": [0, 1, 2], "mask": [*MASKS], "set": [*SETS]}
    ones = np.ones([len(one) for one in axes.values()])
    return xr.DataArray(np.array([*values.values()])[:, None, None, None] * ones, axes)


@pytest.fixture
def shared() -> xr.Dataset:
    """Fig. 3's models; single Hard signals of the first seed have half of their errors."""
    protocols = xr.IndexVariable("protocol", ["zero_filled", "mask_aware"])
    hidden = xr.concat([cells(ZERO_FILLED), cells(AWARE)], protocols, join="outer")
    single = 0.5 * hidden.sel(set="hard", drop=True).where(hidden["seed"] == 0)
    single = single.expand_dims(case=4)
    return xr.Dataset({"hidden": hidden, "hidden_hard": single})


@pytest.fixture
def own() -> xr.Dataset:
    """One network, seeds 1 and 2 of which Fig. 3 has: 0.1 solved, 0.2 in rounds; a signal of five
    has ten times that.
    """
    solvers = xr.IndexVariable("solver", ["rounds", "limit"])
    hidden = xr.concat([cells({"half_1": 0.2}), cells({"half_1": 0.1})], solvers)
    hidden = hidden.assign_coords(seed=[1, 2, 7])
    share = xr.DataArray([1.0, 1.0, 1.0, 1.0, 10.0], dims="signal")
    return xr.Dataset({"hidden": hidden * share / share.mean()})


@pytest.fixture
def read(own, shared) -> xr.Dataset:
    return readings.together(own.assign_coords(seed=[0, 1, 2]), shared)


def asked(statement: int = 0, **options: str) -> dict[str, str]:
    return {**readings.STATEMENTS[statement].book, **options}


def test_seeds_are_those_that_both_have(own, shared):
    assert readings.together(own, shared)["seed"].values.tolist() == [1, 2]


@pytest.mark.parametrize("mask", readings.MASK.options)
@pytest.mark.parametrize(
    "options, over",
    [
        ({}, 4 / 0.25),  # the best network, solved, beside the RNN, which reads zeros
        ({"solver": "rounds"}, 4 / 1),
        ({"network": "3", "solver": "rounds"}, 4 / 2),
        ({"rivals": "masked"}, 1 / 0.25),
        ({"rivals": "told"}, 0.125 / 0.25),
        ({"rivals": "atoms"}, 0.5 / 0.25),  # exemplars
        ({"rivals": "atoms", "solver": "rounds"}, 3 / 1),  # which do not impute in rounds
        ({"network": "half_1"}, 4 / 0.1),
        ({"network": "half_1", "average": "median"}, 2 / (0.1 / 2.8)),
        ({"set": "easy"}, 4 / 0.25),
    ],
)
def test_the_margin_is_the_least_rivals_error_over_the_networks(read, mask, options, over):
    assert float(readings.best(Arrays(read), asked(mask=mask, **options))) == pytest.approx(
        np.log(over)
    )


def test_each_mask_must_be_less_and_no_mean_hides_one(read):
    read["hidden"].loc[
        {"model": ["vn_1", "vn_3"], "mask": "random_30", "protocol": "mask_aware"}
    ] = 8.0
    found = {m: float(readings.best(Arrays(read), asked(mask=m))) for m in readings.MASK.options}
    assert found["each"] == pytest.approx(np.log(4 / 8))
    assert found["forecast_25"] == pytest.approx(np.log(4 / 0.25))
    assert found["mean"] == pytest.approx(np.log(4 * 4 / (3 * 0.25 + 8)))
    assert found["geometric"] == pytest.approx(np.log(4) - np.log(0.25**3 * 8) / 4)


def test_stable_is_below_half_of_the_zero_signal(read):
    assert float(readings.stable(Arrays(read), asked(1))) == pytest.approx(np.log(0.5 / 0.25))
    assert float(readings.stable(Arrays(read), asked(1, solver="rounds"))) == pytest.approx(
        np.log(0.5 / 1)
    )


def test_a_network_that_gives_the_six_numbers_has_all_the_weight(own, shared):
    right = xr.DataArray([0.391, 0.622, 0.012, 0.297], {"mask": [*MASKS]})
    where = {"model": "vn_3", "protocol": "zero_filled", "set": "easy"}
    shared["hidden"].loc[where] = right * xr.ones_like(shared["hidden"].loc[where])
    read = readings.together(own.assign_coords(seed=[0, 1, 2]), shared)
    reading = asked(network="3", solver="rounds")
    assert readings.weight(Arrays(read), reading) == pytest.approx(1, abs=1e-4), (
        "0.392 is 0.391 but for rounding"
    )
    read = readings.together(
        own.assign_coords(seed=[0, 1, 2]), shared.assign(hidden=2 * shared["hidden"])
    )
    assert readings.weight(Arrays(read), reading) == pytest.approx(np.exp(-0.5), abs=0.01)


def test_medians_of_single_signals_are_the_first_seeds(read):
    medians = read["hidden"].sel(model="rnn", protocol="zero_filled", average="median", set="hard")
    assert medians.notnull().any("mask").values.tolist() == [True, False, False]
    assert "median" not in {
        one["average"] for one in every(readings.STATEMENTS[0]) if one["set"] == "easy"
    }


def test_what_a_small_profile_leaves_out_is_not_testable(read):
    with pytest.raises(KeyError, match="vn_5"):
        readings.best(Arrays(read), asked(network="5"))
