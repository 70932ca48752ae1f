"""Looks of models that several figures of this page share, and which of them are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.lines import Line2D

from benchmarks.nbody.figures import LAWS, MEAN
from vnlib.plots.frames import label
from vnlib.plots.style import PALETTE

DT = 0.005  # s
CAP = 100.0  # box^2, where what is lost is drawn; two opposite corners of the box are 50 apart
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
# Models on these pages: one colour each, the Vector Networks one colour in three styles.
LOOK = {
    "vn_token_3": (PALETTE[0], "-"),
    "vn_gated_3": (PALETTE[0], "--"),
    "vn_literal_3": (PALETTE[0], ":"),
    "factorized": (PALETTE[1], "-"),
    "gnn": (PALETTE[2], "-"),
    "mlp": (PALETTE[3], "-"),
    "transformer": (PALETTE[4], "-"),
    "mamba": (PALETTE[5], "-"),
    "film": (PALETTE[6], "-"),
    MEAN: ("0.55", "-"),
    "vn_token_1": (PALETTE[9], "-"),
    "vn_gated_1": (PALETTE[9], "--"),
    "vn_literal_1": (PALETTE[9], ":"),
    "factorized_dense": (PALETTE[1], "--"),
    "token_mlp": (PALETTE[8], "-"),
    "rbf_tokens": (PALETTE[8], "--"),
    "linear_tokens": ("0.3", "-"),
    "linear_gated": ("0.3", "--"),
    "linear_literal": ("0.3", ":"),
}
# Readings of the Vector Network are told apart by their markers.
MARKERS = {
    "vn_literal_3": "P",
    "vn_gated_3": "h",
    "vn_token_3": "*",
    "vn_literal_1": "P",
    "vn_gated_1": "h",
    "vn_token_1": "*",
    "mlp": "s",
    "gnn": "o",
    "transformer": "D",
    "mamba": "v",
    "film": "^",
    "factorized": "p",
    "factorized_dense": "p",
    "token_mlp": "s",
    "linear_literal": "<",
    "linear_gated": ">",
    "linear_tokens": "D",
    "rbf_tokens": "^",
    "random": "X",
}


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


def look(model: str, number: int = 0) -> dict:
    """Colour and line of a model; number: of one that has none."""
    color, style = LOOK.get(model, (PALETTE[number % len(PALETTE)], "-."))
    return {"color": color, "ls": style, "lw": 2.0 if model.startswith("vn") else 1.4}


def title(panel: str) -> str:
    """A set of forces to read: "spring + drag"; all four are "all four forces"."""
    laws = panel.split("+")
    return "all four forces" if len(laws) == 4 else " + ".join(LAWS[law] for law in laws)


def lines(ds: xr.Dataset, models: Sequence[str]) -> list[Line2D]:
    """Legend entries of models."""
    return [Line2D([], [], **look(m, i), label=label(ds, m)) for i, m in enumerate(models)]
