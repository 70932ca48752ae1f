"""What a reader may explore of FR Fig. 3: the weight of the variance penalty, beside another model."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from benchmarks.spatial.figures_explorer import of_two_models, positions
from chapters.FR3_low_rank.figures import HOLD_OUTS, SWEEP, pictured, those
from chapters.FR3_low_rank.tables import relative
from vnlib.plots.statistics import over_seeds

FIRST = {"left": "variance", "right": "none"}
POSITION = 462  # in both hold-outs, with maps that are stored
OTHERWISE = (
    "without the GPU that the stored networks had, errors of {count} of {all} models differ, by up to {most} "
    "r.m.s.: the table has both"
)
CALLED = {"left": "variance penalty {left}", "right": "{right}"}


def explorer(results: xr.Dataset, drawings: xr.Dataset | None = None) -> dict[str, Any]:
    """Errors at every position, and drawings and maps, of the first seed."""
    sweep = those(results, tuple(SWEEP))
    weight = {
        "key": "left", "label": "weight of the variance penalty", "values": sweep, "as": "slider",
        "names": [f"{SWEEP[m]:g}" for m in sweep], "first": len(sweep) // 2,
    }  # fmt: skip
    regions = [str(one) for one in results["hold_out"].values]
    hold_out = {
        "key": "hold_out", "label": "held out", "values": regions, "as": "list",
        "names": [HOLD_OUTS[one].removesuffix(" held out") for one in regions],
        "first": len(regions) - 1,
    }  # fmt: skip
    kept = pictured(results)
    told = positions(
        results,
        [weight, of_two_models(results, FIRST)[1], hold_out],
        samples=kept["sample_image"],
        drawings=drawings,
        held_out=results["split_ood"].isel(model=0, seed=0, drop=True),
        first=POSITION,
        found="With the square held out a penalty of 0.01 makes the network draw bumps there; without one it "
        "fails to.",
        called=CALLED,
        within="with the corner held out",
        otherwise=OTHERWISE,
        columns={"held-out error over that of the zero baseline": over_seeds(relative(results))},
        more="Maps are over their largest magnitude; held-out error: median over at most "
        f"{results.sizes['seed']} seeds that learned [95 % interval].",
    )
    image = {
        "show": "image", "low": -1.0, "high": 1.0, "up": True, "diverging": True,
        "missing": "A model without maps, or a value of x or y whose map is not stored.",
    }  # fmt: skip
    places = {"x": results["position_x"].values, "y": results["position_y"].values}
    for axis, of in maps(kept).items():
        for key, name in CALLED.items():
            by = {"model": key, "token": ("position", places[axis].astype(int).tolist())}
            view = {"title": f"map of {axis}, {name}", "values": of, "by": by}
            first = {"key": "map, relative"} if axis == "x" and key == "left" else {}
            told["views"].append(image | view | first)
    return told


def maps(kept: xr.Dataset) -> dict[str, xr.DataArray]:
    """The maps of x and of y over (model, hold_out, token, y, x), each over its largest magnitude, of
    the tokens whose maps were kept.
    """
    one = kept["embedding"].rename(token_shown="token")
    one = one / np.abs(one).max(("y", "x"))
    one = one.transpose("axis", "model", "hold_out", "token", "y", "x")
    return {axis: one.sel(axis=axis) for axis in "xy"}
