"""Figures of the readings of statements on positions, from their specification curves."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr
from matplotlib.figure import Figure

from benchmarks.readings import figures as readings


def overview(curves: Mapping[str, xr.Dataset]) -> Figure:
    """The share of readings in which each statement is on the right side of its bound."""
    return readings.overview(curves)


def curve(curves: Mapping[str, xr.Dataset], statement: str) -> Figure:
    """One statement in all its readings."""
    return readings.curve(curves[statement])
