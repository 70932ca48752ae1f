"""Definitions of FR App. A in tables, and the numbers of the prose."""

from __future__ import annotations

from typing import Any

import xarray as xr

from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import extremes, median, percent, texts
from vnlib.plots.tables import Table, spreads

SHAPES = {
    "bump": "bump",
    "ring": "ring",
    "cross": "cross",
    "corner": "L",
    "oriented": "oriented Gaussian",
}
HOLD_OUTS = {
    "none": "nothing",
    "square": "a square of a quarter of the plane",
    "coordinates": "bands of x and of y",
}
PARTS = {"of_x": "x only", "of_y": "y only", "of_both": "both"}
READ = {"linear": "linearly", "curved": "by Gaussians"}
DECODERS = ("product", "coordinates", "entangled")


def complexity(targets: xr.Dataset) -> Table:
    """How many products of a function of x and one of y the images of each shape are made of."""
    columns = {
        "exactly": targets["exact"],
        "99 % of every pixel": targets["near"],
        "99 % of an image": targets["terms"],
    }
    formats = dict.fromkeys(columns, "{:.0f}")
    return Table(spreads(columns, "shape", shape=SHAPES), formats, name="complexity of targets")


def mixtures(diets: xr.Dataset) -> Table:
    """How many product distributions the positions of training mix, by what is held out."""
    columns = {"product distributions": diets["parts"], "total variation": diets["distance"]}
    formats = {"product distributions": "{:.0f}"}
    frame = spreads(columns, "hold_out", hold_out=HOLD_OUTS).rename_axis("held out")
    return Table(frame, formats, name="complexity of the positions of training")


def layers(results: xr.Dataset) -> Table:
    """Blocks, recovery and width of every layer of every decoder and code."""
    columns = {("variance", said): _share(results[name]) for name, said in PARTS.items()}
    columns |= {("R²", said): results[name] for name, said in READ.items()}
    columns["distance", "least"] = results["apart"]
    columns["units", "constant"] = results["silent"]
    columns["units", "number"] = median(results["units"])
    formats: dict[Any, str] = {("units", "number"): "{:,.0f}"}
    return Table(spreads(columns, "model", "layer"), formats, name="layers by FR App. A")


def numbers(results: xr.Dataset, targets: xr.Dataset, diets: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds; over layers, the extreme one."""
    decoders = results.sel(model=in_groups(results, *DECODERS))
    hidden = decoders.sel(layer=[name for name in decoders["layer"].values if name != "code"])
    told: dict[str, Any] = {
        name: {
            str(shape): f"{int(targets[name].sel(shape=shape))}"
            for shape in targets["shape"].values
        }
        for name in ("exact", "near")
    }
    told["parts"] = {
        str(h): f"{int(diets['parts'].sel(hold_out=h))}" for h in diets["hold_out"].values
    }
    told["distance"] = {
        str(h): percent(float(diets["distance"].sel(hold_out=h))) for h in diets["hold_out"].values
    }
    for name, end in (
        ("linear", "least"),
        ("curved", "least"),
        ("apart", "least"),
        ("of_both", "most"),
    ):
        told[name] = {
            str(model): extremes(hidden[name].sel(model=model))[end]
            for model in hidden["model"].values
        }
    told["least"] = {name: extremes(hidden[name])["least"] for name in ("linear", "curved")}
    told["ood"] = _ood(decoders)
    for name in ("of_both", "linear", "curved"):
        told[f"code_{name}"] = _share(
            results[name].sel(layer="code", model=in_groups(results, "code"))
        )
    told["seeds"] = str(results.sizes["seed"])
    return texts("beyonddefinitions", told)


def _share(values: xr.DataArray) -> xr.DataArray:
    """Shares without the last digits, which are those of rounding."""
    return values.round(9) + 0.0


def _ood(results: xr.Dataset) -> xr.DataArray:
    return results["mse_ood"] / results["zero_baseline_ood"]
