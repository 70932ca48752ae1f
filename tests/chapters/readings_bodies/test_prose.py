"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings as every
from benchmarks.readings.curve import by_option, curve
from chapters.readings_bodies import readings
from vnlib.book import paths, store
from vnlib.plots.statistics import percent


@pytest.fixture(scope="module")
def read() -> xr.Dataset:
    names = ("readings_bodies", "fig4_nbody")
    return readings.together(
        *(store.read(paths.result_file(paths.RESULTS, "paper", name)) for name in names)
    )


@pytest.fixture(scope="module")
def asked(read) -> Mapping[str, pd.DataFrame]:
    """Every statement in all readings: their options, and the margin of those that can be tested."""
    arrays = Arrays(read)
    rows = {
        one.id: [
            {**reading, "margin": float(one.margin(arrays, reading))} for reading in every(one)
        ]
        for one in readings.STATEMENTS
    }
    return {name: pd.DataFrame(found).dropna() for name, found in rows.items()}


def shares(rows: pd.DataFrame, choice: str) -> pd.Series:
    return (rows["margin"] > 0).groupby(rows[choice]).mean()


@pytest.mark.parametrize("name", ["VN-F4b", "VN-F4c", "VN-H4"])
def test_the_rivals_decide_most(asked, name):
    rows = asked[name]
    spread = {choice: np.ptp(shares(rows, choice)) for choice in rows.columns.drop("margin")}
    assert max(spread, key=spread.get) == "rivals"


@pytest.mark.parametrize("name", ["VN-F4b", "VN-F4c", "VN-H4"])
def test_only_networks_on_tokens_fit_single_forces(asked, name):
    assert all("token" in one for one in asked[name]["network"])


@pytest.mark.slow
def test_beside_factorized_of_pairs_seeds_decide_and_beside_the_five_nine_of_ten_hold(read):
    statement = next(one for one in readings.STATEMENTS if one.id == "VN-F4b")
    found = by_option(curve(statement, read)).loc["rivals"]
    pairs = found.loc["the paper's, Factorized of pairs"]
    assert [percent(pairs[end]) for end in ("low", "high")] == ["11 %", "56 %"]
    five = found.loc[["the paper's without Factorized", "the paper's, Factorized dense"]]
    assert ((five["right"] > 0.87) & (five["right"] < 0.9)).all(), "nearly nine of ten"


def test_more_atoms_help(asked):
    networks = shares(asked["VN-F4b"], "network")
    assert networks.idxmax() == "token_1_atoms"


def test_beside_random_no_error_grows_less(asked):
    """But by less than counts, with codes of few sweeps."""
    rows = asked["VN-F4c"]
    beside = rows[rows["rivals"].isin(["printed", "dense"])]
    ahead = beside[beside["margin"] > 0]
    assert {*ahead["network"]} == {"token_3_swept"} and ahead["margin"].max() < readings.BAND
    assert len(ahead) < 0.05 * len(beside) and shares(rows, "rivals")["five"] > 0.5


def test_accelerations_that_are_inferred_are_learned_of_two_forces_only():
    results = store.read(paths.result_file(paths.RESULTS, "paper", "readings_bodies"))
    error = results["val_error"].sel(model=["gated_clamped", "literal_clamped"])
    assert error.sel(law=["gravity", "spring"]).min() > readings.FITS
    assert error.sel(law=["drag", "lorentz"]).max() < readings.FITS
