"""What the pages on positions offer to explore alike: at any position the target, the errors of two
models and what they draw. What such an offer holds is said in `book/_extensions/explorer.py`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from data_gen import bumps
from vnlib.plots.statistics import median, over_seeds, short

LOW, HIGH = 1e-8, 1e-1  # errors beyond have the colours of the ends
SIDES = {"left": "first model", "right": "second model"}
CALLED = {key: f"{{{key}}}" for key in SIDES}
HOW = "Move over a map and click to stay, use the sliders, or the arrow keys with a map in focus."
CLOSE = 0.01  # r.m.s. of brightness by which a run that is made again may differ
SHOWN = 0.02  # steps of drawings on a page, which has to stay light
FEW = "Of this network drawings are stored at the dots alone."


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
        return "of the first seed", 1
    return f"median over {high if low == high else f'{low} to {high}'} seeds [95 % interval]", high


def targets(results: xr.Dataset) -> xr.DataArray:
    """The bump at every position (position, y, x), as bright as it is wide in the settings of the runs."""
    text = next(one for one in results["run_settings"].values.ravel() if one)
    told = json.loads(text)
    grid = math.isqrt(results.sizes["position"])
    config = bumps.BumpConfig(grid=grid, sigma=told.get("task", told)["sigma"])
    return _numbered(bumps.make(config)["image"].drop_vars(("x", "y"), errors="ignore"))


def apart(results: xr.Dataset, drawings: xr.Dataset | None) -> dict[str, float]:
    """By how much the r.m.s. error of a run that was made again differs at most from the stored one's
    at the same position, by model.

    Parameters
    ----------
    results
        `mse` over (model, seed, position) and what else there is.
    drawings
        See `benchmarks.spatial.drawings`; None where there are none.
    """
    found = {}
    for model in [] if drawings is None else drawings["model"].values.tolist():
        one = drawings.sel(model=model)
        if model in results["model"] and int(one["drawn_seed"].max()) in results["seed"]:
            stored = results["mse"].sel(model=model, seed=int(one["drawn_seed"].max()))
            differs = np.abs(np.sqrt(one["drawing_mse"]) - np.sqrt(stored))
            found[model] = float(differs.max(skipna=False))
    return found


def again(results: xr.Dataset, drawings: xr.Dataset | None) -> list[str]:
    """The models whose run that was made again errs at every position as the stored one does, to less
    than a step of its drawings.
    """
    return [model for model, most in apart(results, drawings).items() if most < CLOSE]


def drawn(samples: xr.DataArray, drawings: xr.Dataset | None, whole: list[str]) -> xr.DataArray:
    """Images over (model, ..., position, y, x): at every position of `whole` models, at samples of
    others.

    Parameters
    ----------
    samples
        Over (model, ..., sample, y, x).
    """
    few = samples.rename(sample="position")
    if drawings is None or not whole:
        return few
    step = float(drawings["drawing"].attrs["units"])
    every = _numbered(drawings["drawing"]).sel(model=whole).astype("float32") * step
    every = (every / SHOWN).round() * SHOWN
    every = every.drop_vars(("label", "group", "depth"), errors="ignore")
    if any(every.sizes[dim] < size for dim, size in few.sizes.items()):
        every = every.combine_first(few)
    return every.sel(model=few["model"]).transpose(*few.dims)


def _numbered(values: xr.DataArray) -> xr.DataArray:
    """Positions by their number, without where they are."""
    values = values.drop_vars(("position_x", "position_y"), errors="ignore")
    return values.assign_coords(position=np.arange(values.sizes["position"]))


def positions(
    results: xr.Dataset,
    choices: list[dict[str, Any]],
    *,
    samples: xr.DataArray,
    drawings: xr.Dataset | None,
    held_out: xr.DataArray,
    first: int,
    found: str,
    called: Mapping[str, str] = CALLED,
    columns: Mapping[str, xr.Dataset] | None = None,
    quantity: str = "brightness",
    whose: str = "the first seed",
    within: str = "",
    otherwise: str = "",
    more: str = "",
) -> dict[str, Any]:
    """Error maps of two models, and at the position that is picked their errors and drawings.

    Parameters
    ----------
    results
        `mse` over (model, seed, position) and what else is chosen, and the positions.
    choices
        Of a `left` and a `right` model, and what else `mse` is over.
    samples, drawings
        See `drawn`.
    held_out
        Whether a position was held out, over (..., position).
    first
        The position at first.
    found
        What the first view shows, as a sentence.
    called
        What the two models are called.
    columns
        Further statistics, over (model, ...).
    quantity
        What a pixel is, between 0 and 1.
    whose, within
        Of which seed drawings are, and with what held out they are at a few positions alone.
    otherwise
        Says which networks err otherwise than the stored ones, {count} of {all}, by up to {most}: they are shown
        all the same, with their errors. Where nothing is said, they are not.
    more
        What else the note says.
    """
    count = results.sizes["position"]
    places = list(range(count))
    differ = {
        m: most for m, most in apart(results, drawings).items() if most >= CLOSE and otherwise
    }
    whole = [*again(results, drawings), *differ]
    images = drawn(samples, drawings, whole)
    complete = bool(images.isel(y=0, x=0).notnull().all()) and len(whole) > 0
    stored = [] if complete else samples["sample"].values.tolist()
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
        "jumps": stored, "jumps_are": "Drawings of all models are stored at",
    }  # fmt: skip
    errors = results["mse"].assign_coords(position=places)
    middle, over, (kept, most) = median(errors), over_seeds(errors), seeds_of(errors)
    map_ = {
        "show": "map", "values": middle, "picks": "position", "log": True, "low": LOW, "high": HIGH,
        "outline": held_out.astype(float), "marks": stored,
        "key": f"mean squared error, {'median over seeds' if most > 1 else 'first seed'}",
    }  # fmt: skip
    image = {"show": "image", "low": 0.0, "high": 1.0, "up": True, "missing": FEW}
    said = {"mean squared error there": over, **(columns or {})}
    but = ""
    if differ:
        but = otherwise.format(
            count=len(differ), all=results.sizes["model"], most=short(max(differ.values()))
        )
    if but or (whole and most > 1):  # else they are the same
        said["mean squared error of the drawing"] = _errors(drawings, whole, over)
    rows = [{"name": name, "by": {"model": key}} for key, name in called.items()]
    table = {"show": "table", "title": "At {position}", "columns": [*said], "rows": rows}
    pictures = [
        image | {"title": f"drawn by {name}", "values": images, "by": {"model": key}}
        for key, name in called.items()
    ]
    return {
        "title": "Pick a position and two models",
        "note": f"{found} {HOW} Dashed: the hold-out. {_whose(results, whole, complete, whose, within, but)} "
        f"Errors by position: {kept}. {more}".strip(),
        "choices": [*choices, position],
        "views": [
            *(map_ | {"title": name, "by": {"model": key}} for key, name in called.items()),
            table | {"values": [*said.values()]},
            image | {"title": "target", "values": targets(results), "key": quantity},
            *pictures,
        ],
    }


def _errors(drawings: xr.Dataset, whole: list[str], like: xr.Dataset) -> xr.Dataset:
    """The errors of single networks, in the form of statistics over seeds."""
    one = _numbered(drawings["drawing_mse"]).sel(model=whole).reindex_like(like["median"])
    none = xr.full_like(one, np.nan)
    return xr.Dataset({"median": one, "low": none, "high": none, "n": none})


def _whose(results: xr.Dataset, whole: list[str], complete: bool, *words: str) -> str:
    """Which drawings there are, in `words` of `positions`."""
    whose, within, but = words
    if not whole:
        return f"Drawings are of {whose}, at the dots alone."
    made = f"Drawings are of {whose}, trained again" + (f"; {but}." if but else ".")
    if complete:
        return made
    missing = results.sizes["model"] > len(whole)
    lack = [one for one in (within, "of other models" if missing else "") if one]
    few = f"{' and '.join(lack)} they are stored at the dots alone."
    return f"{made} {few[0].upper()}{few[1:]}"
