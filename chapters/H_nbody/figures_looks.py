"""Looks of models that several figures of this page share, and which of them are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.lines import Line2D

from benchmarks.nbody.figures import FAR, MEAN
from vnlib.plots.frames import label
from vnlib.plots.style import look

CAP = FAR**2  # box^2, where what is lost is drawn
EDGE = 2.5  # of the box
MAIN = (
    "vn_token_3",
    "vn_gated_3",
    "vn_literal_3",
    "factorized",
    "gnn",
    "transformer",
    "mamba",
    "film",
    "mlp",
    MEAN,
)
LINES = {"gated": "--", "literal": ":", "dense": "--"}  # of what a name ends with


def drawn(ds: xr.Dataset, name: str, models: Sequence[str] | None) -> list[str]:
    """The models asked for that have this variable; by default those of `MAIN`, or all if none of
    them is there.
    """
    there = [
        str(m)
        for m in ds["model"].values
        if name in ds and bool(ds[name].sel(model=m).notnull().any())
    ]
    wanted = [m for m in MAIN if m in there] or there if models is None else models
    return [m for m in wanted if m in there]


def line(name: str) -> dict:
    """Colour and line of a model of this name."""
    style = LINES.get(name.split(", ")[-1], "-")
    return {"color": look(name)[0], "ls": style, "lw": 2.0 if name.startswith("VN") else 1.4}


def lines(ds: xr.Dataset, models: Sequence[str]) -> list[Line2D]:
    """Legend entries of models."""
    return [Line2D([], [], **line(label(ds, m)), label=label(ds, m)) for m in models]
