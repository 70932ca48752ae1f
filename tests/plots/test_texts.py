"""Numbers as texts show them, and tables of what was tried."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from vnlib.plots import texts


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (0.41234, "0.412"),
        (1.04, "1.040"),
        (12.3, "12"),
        (3e-5, "3e-5"),
        (-0.5, "-0.50"),
        (np.nan, ""),
    ],
)
def test_a_short_number_has_three_digits_at_most(value, said):
    assert texts.short(value) == said


def test_ranges_and_lists():
    assert texts.ranged(xr.DataArray([1.0, 3.0, np.nan, 2.0])) == "2 [1, 3]"
    assert texts.ranged(np.array([np.nan])) == "" and texts.ranged(xr.DataArray([2.0, 2.0])) == "2"
    assert texts.ranged(np.array([-0.0]), "{:.0f}") == "0"
    assert (
        texts.spread(xr.DataArray([1.0, np.nan, 3.0], dims="seed"), "{:.0f}".format) == "2 [1, 3]"
    )
    assert texts.spread(xr.DataArray([np.nan], dims="seed")) == ""
    assert [texts.listed(list(text)) for text in ("", "a", "ab", "abc")] == [
        "none",
        "a",
        "a and b",
        "a, b and c",
    ]


def tuning(settings: list[dict]) -> xr.Dataset:
    """Two settings of one model, of which the second errs less."""
    said = [[json.dumps(one) for one in settings]]
    return xr.Dataset(
        {
            "run_settings": (("model", "trial"), said),
            "criterion": (("model", "trial"), [[0.5, 0.25]]),
        },
        {"model": ["vn"], "trial": [0, 1]},
    )


def test_trials_name_what_differs_and_mark_the_best():
    known = [{"lr": 0.1, "options": {"k": k, "sparsity": [0.1, k], "same": 1}} for k in (2, 3)]
    for settings in (known, [{"training": one} for one in known]):
        row = texts.trials(tuning(settings), said="{:g}".format).loc["vn"]
        assert list(row) == ["k 2, sparsity [0.1, 2]: 0.5", "k 3, sparsity [0.1, 3]: 0.25 *"]
    assert "first setting" in texts.trials(None)
