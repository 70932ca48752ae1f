"""What a reader may explore of FR Fig. 9: an angle in the gap, as two networks draw it."""

from __future__ import annotations

from typing import Any

import xarray as xr

from chapters.FR5_rotation.claims import PAPER_DIGIT
from chapters.FR5_rotation.figures import MODELS, some
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds

SIDES = {"left": "first network", "right": "second network"}
FIRST = {"left": "cnn", "right": "cnn_8"}
IMAGE = {"show": "image", "low": 0.0, "high": 1.0}
MISSING = f"This network was trained on turns of the digit {PAPER_DIGIT} alone."
NOTE = (
    "In the gap no network turns the digit, and the error of every one rises several-fold. "
    "Pictures are of the first seed, with eight bits a pixel; ink beyond 0 and 1 is drawn as these. "
    "Errors: median over n seeds [95 % interval, of two seeds their range]. Grey in the plot: the gap, "
    "which training left out."
)


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """The true image, those of two networks, and their errors against the angle."""
    models = some([m for m in MODELS if m in results["model"].values])
    angles, digits = results["shown"].values, results["digit"].values.tolist()
    choices: list[dict[str, Any]] = [
        {
            "key": key, "label": said, "values": models, "as": "list",
            "names": [label(results, m) for m in models],
            "first": models.index(FIRST[key]) if FIRST[key] in models else 0,
        }
        for key, said in SIDES.items()
    ]  # fmt: skip
    choices += [
        {
            "key": "digit", "label": "digit", "values": digits, "as": "list",
            "names": [str(digit) for digit in digits],
            "first": digits.index(PAPER_DIGIT) if PAPER_DIGIT in digits else 0,
        },
        {
            "key": "shown", "label": "angle [degrees]", "values": angles.tolist(), "as": "slider",
            "names": [f"{angle:g}°" for angle in angles], "first": len(angles) // 2,
        },
    ]  # fmt: skip
    kept = results[["drawn_image", "true_image", "end_image"]].isel(seed=0, drop=True)
    true, ends = (kept[name].isel(model=0, drop=True) for name in ("true_image", "end_image"))
    errors = over_seeds(results["error_model"])
    gap = results["gap_angle"].values
    first = median(
        results[["error_mean", "error_zero_baseline"]].isel(model=0, drop=True).to_array()
    )
    lines = [
        {"name": f"{{{key}}}", "hue": key, "values": errors, "by": {"model": key}} | dash
        for key, dash in zip(SIDES, ({}, {"dash": "6 3"}), strict=True)
    ]
    guesses = [
        {"name": name, "values": first.sel(variable=one, drop=True), "dash": dash}
        for one, name, dash in (
            ("error_mean", "mean training image", "8 3 2 3"),
            ("error_zero_baseline", "zero baseline", "2 3"),
        )
    ]
    curve = {
        "show": "curve", "title": "Error against the angle", "series": [*guesses, *lines],
        "x": "angle [degrees]", "y": "mean squared error", "log": True, "low": 1e-5, "high": 1.0,
        "shade": [float(gap[0]), float(gap[-1])], "marks": "shown",
    }  # fmt: skip
    at = over_seeds(results["error_model"].sel(angle=angles).rename(angle="shown"))
    rows = [{"name": f"{{{key}}}", "hue": key, "by": {"model": key}} for key in SIDES]
    drawn = [
        {"title": f"drawn by {{{key}}}", "values": kept["drawn_image"], "by": {"model": key}}
        | {"missing": MISSING}
        for key in SIDES
    ]
    edges = [
        {"title": f"{name} edge of the gap", "values": ends.sel(end=end, drop=True)}
        for end, name in (("low", "lower"), ("high", "upper"))
    ]
    pictured = [{"title": "true image, {shown}", "values": true, "key": "ink"}, *drawn, *edges]
    return {
        "title": "Turn a digit through the gap",
        "note": NOTE,
        "choices": choices,
        "views": [
            *(IMAGE | one for one in pictured),
            curve,
            {"show": "table", "title": "At {shown}", "columns": ["mean squared error"]}
            | {"rows": rows, "values": [at]},
        ],
    }
