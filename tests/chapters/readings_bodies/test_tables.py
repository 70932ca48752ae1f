"""What the page quotes and draws of readings that are known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Statement
from benchmarks.readings.curve import curve
from chapters.readings_bodies import figures, readings, tables


@pytest.fixture
def curves() -> dict[str, xr.Dataset]:
    """Statements that hold beside the paper's five, and in no other reading."""

    def known(one: Statement) -> Statement:
        def margin(results: Arrays, reading: dict) -> np.ndarray:
            return np.log(over(results("x"), "median")) * (1 if reading["rivals"] == "five" else -1)

        return Statement(id=one.id, says=one.says, choices=one.choices, margin=margin)

    results = xr.Dataset({"x": ("seed", np.full(3, 2.0))})
    return {one.id: curve(known(one), results) for one in readings.STATEMENTS}


def test_numbers_are_shares_of_readings_by_statement_and_option(curves):
    found = tables.numbers(curves)
    for key in tables.KEYS.values():
        prefix = f"readings-bodies-{key}"
        assert found[f"{prefix}-right"] == "25 %" and found[f"{prefix}-five"] == "100 %"
        assert found[f"{prefix}-pairs"] == found[f"{prefix}-tokens"] == "0 %"
    assert found["readings-bodies-error-atoms"] == found["readings-bodies-drift-panels"] == "25 %"


def test_tables_name_the_choice_that_decides(curves):
    assert set(tables.statements(curves).frame["decides most"]) == {"rivals"}
    assert tables.options(curves, "VN-H4").frame.index[0][0] == "rivals"


def test_the_figure_is_that_of_the_statement(curves):
    fig = figures.curve(curves, "VN-H4")
    assert "drift less" in fig.axes[0].get_title(loc="left")
    plt.close(fig)
