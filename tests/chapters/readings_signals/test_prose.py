"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import readings as every
from chapters.readings_signals import readings, tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def read() -> xr.Dataset:
    names = ("readings_signals", "fig3_functions")
    return readings.together(
        *(store.read(paths.result_file(paths.RESULTS, "paper", name)) for name in names)
    )


@pytest.fixture(scope="module")
def asked(read) -> Mapping[str, pd.DataFrame]:
    """Every statement in all readings: their options, and the margin."""
    arrays = Arrays(read)
    rows = {
        one.id: [
            {**reading, "margin": float(one.margin(arrays, reading))} for reading in every(one)
        ]
        for one in readings.STATEMENTS
    }
    return {name: pd.DataFrame(found).dropna() for name, found in rows.items()}


def order(rows: pd.DataFrame) -> list[str]:
    """Choices by how much the share of readings changes with them, the one that decides most first."""
    spread = {
        choice: np.ptp((rows["margin"] > 0).groupby(rows[choice]).mean())
        for choice in rows.columns.drop("margin")
    }
    return sorted(spread, key=spread.get, reverse=True)


def test_rivals_decide_most_and_then_the_mean_over_masks(asked):
    assert order(asked["VN-F3c"])[:2] == ["rivals", "mask"]


def test_of_being_stable_the_mask_decides(asked):
    assert order(asked["VN-F3c, stable"])[0] == "mask"


def test_five_rounds_and_solving_give_the_six_numbers_about_alike_in_different_columns(read):
    best = read["close"].max("network")
    alike = best.max("set")
    assert abs(np.log(alike.sel(solver="rounds") / alike.sel(solver="limit"))) < np.log(1.1)
    assert best.idxmax("set").sel(solver="rounds") != best.idxmax("set").sel(solver="limit")


def test_the_table_of_weights_has_the_networks_errors_and_the_six_numbers(read):
    frame = tables.weights(read).frame.sort_index()
    assert len(frame) == 1 + 2 * len(readings.NETWORK.options)
    assert frame.loc["Table 6"].iloc[0]["random 30 %"] == 0.012
    deep = frame.loc[("3 layers, as in Fig. 3", "solved")].iloc[0]
    assert deep["weight"] == pytest.approx(
        float(read["close"].sel(network="3", solver="limit").max())
    )
