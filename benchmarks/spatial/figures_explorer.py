"""What the pages on positions offer to explore alike: errors of two models at any position, and what
they draw where that is stored. What such an offer holds is said in `book/_extensions/explorer.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xarray as xr

from benchmarks.spatial.figures import plane
from vnlib.plots.statistics import median, over_seeds

LOW, HIGH = 1e-8, 1e-1  # errors beyond have the colours of the ends
SIDES = {"left": "first model", "right": "second model"}


def of_two_models(results: xr.Dataset, first: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The choice of a `left` and a `right` model.

    Parameters
    ----------
    results
        Over (model, ...), with labels.
    first
        The two models that are shown at first, where they are there.
    """
    models = results["model"].values.tolist()
    names = [str(one) for one in results["label"].values]
    return [
        {"key": key, "label": label, "values": models, "names": names, "as": "list"}
        | {"first": models.index(first[key]) if first[key] in models else number}
        for number, (key, label) in enumerate(SIDES.items())
    ]


def positions(
    results: xr.Dataset,
    models: list[dict[str, Any]],
    *,
    drawn: xr.DataArray,
    target: xr.DataArray,
    held_out: xr.DataArray,
    first: int,
    quantity: str = "brightness",
    more: str = "",
    low: float = 0.0,
    high: float = 1.0,
) -> dict[str, Any]:
    """Error maps of two models, and at the position that is picked their errors and drawings.

    Parameters
    ----------
    results
        `mse` over (model, seed, position), and the positions.
    drawn, target
        Over (model, position, y, x) and (position, y, x), of the positions where they are stored.
    held_out
        Whether a position was held out.
    first
        The position at first.
    quantity
        What a pixel is.
    more
        What else the note says.
    low, high
        The quantity of the darkest and of the brightest colour.
    """
    side = len(plane(held_out))
    stored, places = target["position"].values.tolist(), list(range(side**2))
    xs, ys = (results[f"position_{axis}"].values.astype(int).tolist() for axis in "xy")
    names = [
        f"({x}, {y}), {'held out' if held else 'not held out'}"
        for x, y, held in zip(xs, ys, held_out.values.tolist(), strict=True)
    ]
    pixels = [str(i) for i in range(side)]
    position = {
        "key": "position", "label": "position", "values": places, "names": names, "as": "plane",
        "labels": ["x [px]", "y [px]"], "parts": [pixels, pixels], "first": first,
        "jumps": stored, "jumps_are": "Drawings are stored at",
    }  # fmt: skip
    errors = results["mse"].assign_coords(position=places)
    middle, over = median(errors), over_seeds(errors)
    map_ = {
        "show": "map", "values": middle, "picks": "position", "log": True, "low": LOW, "high": HIGH,
        "outline": held_out, "marks": stored, "key": "mean squared error, median over seeds",
    }  # fmt: skip
    image = {"show": "image", "low": low, "high": high, "up": True}
    rows = [{"name": f"{{{key}}}", "by": {"model": key}} for key in SIDES]
    maps = [map_ | {"title": f"{{{key}}}", "by": {"model": key}} for key in SIDES]
    pictures = [
        image | {"title": f"drawn by {{{key}}}", "values": drawn, "by": {"model": key}}
        for key in SIDES
    ]
    table = {"show": "table", "title": "At {position}", "columns": ["mean squared error"]}
    return {
        "title": "Pick a position and two models",
        "note": "Move over a map and click to stay, use the sliders, or the arrow keys with a map "
        "in focus. Dashed: the hold-out; dots: positions of which drawings are stored, with eight "
        f"bits a pixel; {quantity} beyond {low:g} and {high:g} is drawn as these. Errors: median "
        f"over {errors.sizes['seed']} seeds [95 % interval]. {more}",
        "choices": [*models, position],
        "views": [
            *maps,
            table | {"rows": rows, "values": [over]},
            image | {"title": "target", "values": target, "key": quantity},
            *pictures,
        ],
    }
