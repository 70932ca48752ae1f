"""What the pages on positions offer to explore alike: errors of two models at any position, and what
they draw where that is stored. What such an offer holds is said in `book/_extensions/explorer.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import xarray as xr

from vnlib.plots.statistics import median, over_seeds

LOW, HIGH = 1e-8, 1e-1  # errors beyond have the colours of the ends
SIDES = {"left": "first model", "right": "second model"}
CALLED = {key: f"{{{key}}}" for key in SIDES}


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


def seeds_of(errors: xr.DataArray) -> tuple[str, int]:
    """Of how many seeds errors are kept, in words and at most; `errors` are over seeds and others."""
    counts = errors.notnull().any("position").sum("seed")
    low, high = (int(one) for one in (counts.where(counts > 0).min(), counts.max()))
    if high == 1:
        return "those of the first seed, of which alone they are kept", 1
    return f"median over {high if low == high else f'{low} to {high}'} seeds [95 % interval]", high


def positions(
    results: xr.Dataset,
    choices: list[dict[str, Any]],
    *,
    drawn: xr.DataArray,
    target: xr.DataArray,
    held_out: xr.DataArray,
    first: int,
    called: Mapping[str, str] = CALLED,
    columns: Mapping[str, xr.Dataset] | None = None,
    quantity: str = "brightness",
    more: str = "",
) -> dict[str, Any]:
    """Error maps of two models, and at the position that is picked their errors and drawings.

    Parameters
    ----------
    results
        `mse` over (model, seed, position) and what else is chosen, and the positions.
    choices
        Of a `left` and a `right` model, and what else `mse` is over.
    drawn, target
        Over (model, ..., position, y, x) and (position, y, x), where they are stored.
    held_out
        Whether a position was held out, over (..., position).
    first
        The position at first.
    called
        What the two models are called.
    columns
        Further statistics, over (model, ...).
    quantity
        What a pixel is, between 0 and 1.
    more
        What else the note says.
    """
    count = results.sizes["position"]
    stored, places = target["position"].values.tolist(), list(range(count))
    xs, ys = (results[f"position_{axis}"].values.astype(int) for axis in "xy")
    names = [f"({x}, {y})" for x, y in zip(xs, ys, strict=True)]
    if held_out.ndim == 1:  # else it is not one of the position alone
        names = [
            f"{name}, {'held out' if held else 'not held out'}"
            for name, held in zip(names, held_out.values, strict=True)
        ]
    pixels = [str(i) for i in range(math.isqrt(count))]
    position = {
        "key": "position", "label": "position", "values": places, "names": names, "as": "plane",
        "labels": ["x [px]", "y [px]"], "parts": [pixels, pixels],
        "first": first if first < count else 0,
        "jumps": stored, "jumps_are": "Drawings are stored at",
    }  # fmt: skip
    errors = results["mse"].assign_coords(position=places)
    middle, over, (kept, most) = median(errors), over_seeds(errors), seeds_of(errors)
    map_ = {
        "show": "map", "values": middle, "picks": "position", "log": True, "low": LOW, "high": HIGH,
        "outline": held_out.astype(float), "marks": stored,
        "key": f"mean squared error, {'median over seeds' if most > 1 else 'first seed'}",
    }  # fmt: skip
    image = {"show": "image", "low": 0.0, "high": 1.0, "up": True}
    said = {"mean squared error there": over, **(columns or {})}
    rows = [{"name": name, "by": {"model": key}} for key, name in called.items()]
    table = {"show": "table", "title": "At {position}", "columns": [*said], "rows": rows}
    pictures = [
        image | {"title": f"drawn by {name}", "values": drawn, "by": {"model": key}}
        for key, name in called.items()
    ]
    return {
        "title": "Pick a position and two models",
        "note": "Move over a map and click to stay, use the sliders, or the arrow keys with a map "
        "in focus. Dashed: the hold-out; dots: positions of which drawings are stored, with eight "
        f"bits a pixel; {quantity} beyond 0 and 1 is drawn as these. Errors by position: {kept}. {more}",
        "choices": [*choices, position],
        "views": [
            *(map_ | {"title": name, "by": {"model": key}} for key, name in called.items()),
            table | {"values": [*said.values()]},
            image | {"title": "target", "values": target, "key": quantity},
            *pictures,
        ],
    }
