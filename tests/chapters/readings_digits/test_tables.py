"""What the page quotes and draws of readings that are known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Statement
from benchmarks.readings.curve import curve
from chapters.readings_digits import figures, readings, tables


@pytest.fixture
def curves() -> dict[str, xr.Dataset]:
    """Statements that hold in readings with their first rival, and in no others."""

    def known(one: Statement) -> Statement:
        first = next(iter(next(c for c in one.choices if c.name == "rival").options))

        def margin(results: Arrays, reading: dict) -> np.ndarray:
            return np.log(over(results("x"), "median")) * (1 if reading["rival"] == first else -1)

        return Statement(id=one.id, says=one.says, choices=one.choices, margin=margin)

    results = xr.Dataset({"x": ("seed", np.full(3, 2.0))})
    return {one.id: curve(known(one), results) for one in readings.STATEMENTS}


def test_numbers_are_shares_of_readings_by_statement_and_option(curves):
    found = tables.numbers(curves)
    prefix = "readings-digits"
    assert found[f"{prefix}-less-right"] == "11 %", "one of nine rivals"
    assert found[f"{prefix}-less-ae"] == found[f"{prefix}-motions-ae"] == "100 %"
    assert found[f"{prefix}-less-dct"] == found[f"{prefix}-motions-searched"] == "0 %"
    assert found[f"{prefix}-tenfold-testable"] == "1800"


def test_tables_name_the_choice_that_decides(curves):
    assert set(tables.statements(curves).frame["decides most"]) == {"rival", "autoencoder"}
    assert tables.options(curves, "VN-F5b").frame.index[0][0] == "rival"


def test_the_figure_is_that_of_the_statement(curves):
    fig = figures.curve(curves, "VN-F5a, tenfold")
    assert "order of magnitude" in " ".join(t.get_text() for t in fig.axes[1].get_yticklabels())
    plt.close(fig)
