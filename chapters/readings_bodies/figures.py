"""The figures of the readings of bodies."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import xarray as xr

from benchmarks.readings import figures


def curve(curves: Mapping[str, xr.Dataset], statement: str) -> plt.Figure:
    """A statement in all of its readings, sorted."""
    return figures.curve(curves[statement])


def deciders(curves: Mapping[str, xr.Dataset]) -> plt.Figure:
    """By the choice that decides each statement most, the share of readings on the right side."""
    return figures.deciders(curves)
