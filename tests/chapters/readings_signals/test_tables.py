"""What the page quotes and draws of readings that are known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Statement
from benchmarks.readings.curve import curve
from chapters.readings_signals import figures, readings, tables


@pytest.fixture
def curves() -> dict[str, xr.Dataset]:
    """Statements that hold by the mean of the masks, and in no other reading."""

    def known(one: Statement) -> Statement:
        def margin(results: Arrays, reading: dict) -> np.ndarray:
            return np.log(over(results("x"), "median")) * (1 if reading["mask"] == "mean" else -1)

        return Statement(id=one.id, says=one.says, choices=one.choices, margin=margin)

    results = xr.Dataset({"x": ("seed", np.full(3, 2.0))})
    return {one.id: curve(known(one), results) for one in readings.STATEMENTS}


def test_numbers_are_shares_of_readings_by_statement_and_option(curves):
    close = xr.DataArray([0.5, 0.25], {"set": ["id", "hard"]}, ("set",))
    found = tables.numbers(curves, xr.Dataset({"close": close}))
    prefix = "readings-signals"
    assert found[f"{prefix}-less-right"] == found[f"{prefix}-less-printed"] == "25 %"
    assert found[f"{prefix}-less-mean"] == "100 %" and found[f"{prefix}-less-each"] == "0 %"
    assert found[f"{prefix}-closest"] == "0.50" and found[f"{prefix}-closest-hard"] == "0.25"


def test_tables_name_the_choice_that_decides(curves):
    assert set(tables.statements(curves).frame["decides most"]) == {"masks"}
    assert tables.options(curves, "VN-F3c").frame.index[0][0] == "masks"


def test_the_figure_is_that_of_the_statement(curves):
    fig = figures.curve(curves, "VN-F3c, stable")
    assert "half of the zero" in fig.axes[0].get_title(loc="left")
    plt.close(fig)
