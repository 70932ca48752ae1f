"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings as every
from chapters.readings_digits import readings
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def asked() -> Mapping[str, pd.DataFrame]:
    """Every statement in all readings: their options, and the margin of those that can be tested."""
    shared = store.read(paths.result_file(paths.RESULTS, "paper", "fig5_mnist"))
    read = readings.together(shared)
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


@pytest.mark.parametrize("name", ["VN-F5a", "VN-F5b", "VN-F5a, tenfold"])
def test_the_rival_decides_most(asked, name):
    rows = asked[name]
    spread = {choice: np.ptp(shares(rows, choice)) for choice in rows.columns.drop("margin")}
    assert max(spread, key=spread.get) == "rival"
    if name == "VN-F5a":
        assert sorted(spread, key=spread.get)[-2] == "network"


def test_the_tenfold_margin_takes_differences_and_an_autoencoder_that_saw_none(asked):
    rows = asked["VN-F5a, tenfold"]
    held = rows[rows["margin"] > 0]
    assert set(held["signs"]) == {"both"}
    assert set(held["rival"]) == {"ae", "searched", "ksparse"}


def test_growth_is_less_more_often_than_errors_are(asked):
    for name in ("VN-F5a", "VN-F5b"):
        found = shares(asked[name], "measure")
        assert found["growth"] > found["error"]
