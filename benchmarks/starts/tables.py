"""How tables say numbers of sweeps that may not have been enough."""

from __future__ import annotations

import json
from collections.abc import Callable

import xarray as xr

from vnlib.plots.statistics import censored

_whole = "{:.0f}".format


def reached(results: xr.Dataset) -> dict[str, Callable[[float], str]]:
    """Solver -> how its sweeps are said: "> 400" where a level was not reached in as many as were
    tried, which the runs' settings tell.

    Raises
    ------
    KeyError
        If no run of these results counted sweeps.
    """
    for text in results["run_settings"].values.flat:
        told = json.loads(str(text) or "{}")
        told = told.get("inference") or told
        if "sizes" in told:
            most = told["sizes"]["sweeps"]
            return {solver: censored(most[solver], _whole) for solver in most}
    raise KeyError("the settings of a run that counts sweeps")
