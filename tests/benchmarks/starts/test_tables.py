"""How sweeps are said that were not enough."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from benchmarks.starts.tables import reached

SIZES = {"sizes": {"sweeps": {"ista": 600, "line_search": 400}}}


def results(*settings: dict | None) -> xr.Dataset:
    return xr.Dataset(
        {"run_settings": ("run", [json.dumps(one) if one else "" for one in settings])}
    )


@pytest.mark.parametrize(
    "told", [(SIZES,), ({"inference": None}, {"inference": SIZES}), (None, SIZES)]
)
def test_the_most_that_was_tried_is_told_by_the_settings_for_each_solver(told):
    forms = reached(results(*told))
    assert forms["ista"](np.inf) == "> 600" and forms["line_search"](np.inf) == "> 400"
    assert forms["ista"](44.0) == "44"


def test_runs_without_sweeps_are_refused():
    with pytest.raises(KeyError, match="counts sweeps"):
        reached(results({"inference": None}))
