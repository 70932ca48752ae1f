"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings as every
from chapters.readings_bodies import readings
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def asked() -> Mapping[str, pd.DataFrame]:
    """Every statement in all readings: their options, and the margin of those that can be tested."""
    names = ("readings_bodies", "fig4_nbody")
    read = readings.together(
        *(store.read(paths.result_file(paths.RESULTS, "paper", name)) for name in names)
    )
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
