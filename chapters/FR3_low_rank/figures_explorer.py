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
CALLED = {"left": "variance penalty {left}", "right": "{right}"}


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """Errors at every position, and drawings and maps where they are stored, of the first seed."""
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
        drawn=kept["sample_image"].rename(sample="position"),
        target=results["target_image"].rename(sample="position"),
        held_out=results["split_ood"].isel(model=0, seed=0, drop=True),
        first=POSITION,
        called=CALLED,
        columns={"held-out error over that of the zero baseline": over_seeds(relative(results))},
        more="So are drawings and maps, each map over its largest magnitude. The share of the zero "
        "baseline's error: median [95 % interval] over the seeds that learned, at most "
        f"{results.sizes['seed']}.",
    )
    image = {"show": "image", "low": -1.0, "high": 1.0, "up": True, "diverging": True}
    for axis, of in zip("xy", maps(kept), strict=True):
        for key, name in CALLED.items():
            view = {"title": f"map of {axis}, {name}", "values": of, "by": {"model": key}}
            first = {"key": "map, relative"} if axis == "x" and key == "left" else {}
            told["views"].append(image | view | first)
    return told


def maps(kept: xr.Dataset) -> list[xr.DataArray]:
    """The maps of x and of y over (model, hold_out, position, y, x), each over its largest
    magnitude, of positions with images; NaN where they were not kept.
    """
    found = []
    for axis in "xy":
        tokens = kept[f"position_{axis}"].values[kept["sample"].values]
        one = kept["embedding"].sel(axis=axis).reindex(token_shown=np.unique(tokens))
        one = one.isel(token_shown=np.searchsorted(np.unique(tokens), tokens))
        one = one / np.abs(one).max(("y", "x"))
        one = one.rename(token_shown="position").assign_coords(position=kept["sample"].values)
        found.append(one.transpose("model", "hold_out", "position", "y", "x"))
    return found
