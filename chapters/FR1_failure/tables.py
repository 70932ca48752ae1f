"""Tables of FR Figs. 1 and 8, and the numbers that the page's prose quotes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

# How FR predicts the sum: averaged inputs for population codes, sums of outputs for ramps.
PREDICTED = {"cnn_ramp": "memorised", "mlp_ramp": "memorised"}
REFERENCES = ("bumps", "superposed bumps")
PAIRS = (("cosine", "id"), ("cosine", "ood"), ("l2", "ood"), ("overlap", "ood"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """Errors over those of a zero image, for each set of positions."""
    return results["error"] / results["zero_baseline"]


def resembles(results: xr.Dataset) -> xr.DataArray:
    """Correlation of OOD output and sum of seen parts, predicted as FR does for each model."""
    tests = [PREDICTED.get(m, "averaged") for m in results["model"].values.tolist()]
    return results["resembles"].sel(test=xr.DataArray(tests, dims="model"))


def inside(results: xr.Dataset, hold_out: str) -> Table:
    """What each model does in and out of distribution, and what its OOD images are like."""
    own = results.sel(hold_out=hold_out)
    errors, ood = relative(own), own.sel(where="ood")
    columns = {
        "training error": errors.sel(where="train"),
        "ID error": errors.sel(where="id"),
        "OOD error": errors.sel(where="ood"),
        "several bumps": ood["several"],
        "bumps per image": ood["maxima"],
        "largest ink": ood["height"],
        "peak within 1 px": ood["hit"],
        "like the sum": resembles(own),
        "like the true bump": own["resembles_bump"],
        "smallest cosine of raw images": own["white_cosine"],
    }
    frames = [spread(values, "model", title=name) for name, values in columns.items()]
    return Table(pd.concat(frames, axis=1), name=f"errors and drawings, {hold_out} held out")


def kernels(results: xr.Dataset, hold_out: str = "square") -> Table:
    """R^2 of the three kernels by similarity and pairs: medians over seeds."""
    r2 = median(results["kernel_r2"].sel(hold_out=hold_out).isel(width=0))
    rows = {name: r2.sel(source=name).isel(model=0) for name in REFERENCES}
    rows |= {label(r2, m): r2.sel(source="model", model=m) for m in r2["model"].values.tolist()}
    columns = {
        (f"{metric}, {pairs.upper()} pairs", kernel): [
            float(one.sel(metric=metric, pairs=pairs, kernel=kernel)) for one in rows.values()
        ]
        for metric, pairs in PAIRS
        for kernel in r2["kernel"].values.tolist()
    }
    frame = pd.DataFrame(columns, index=pd.Index([_named(name) for name in rows], name="images"))
    return Table(frame, dict.fromkeys(columns, _hundredths), name="R² of kernels")


def _named(source: str) -> str:
    return {"bumps": "true bumps"}.get(source, source)


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, by model and hold-out."""
    errors = median(relative(results))
    values = {
        "id": errors.sel(where="id"),
        "ood": errors.sel(where="ood"),
        "several": 100 * median(results["several"].sel(where="ood")),
        "sum": median(resembles(results)),
        "bump": median(results["resembles_bump"]),
    }
    found = {}
    for key, one in values.items():
        for model in one["model"].values.tolist():
            for hold_out in one["hold_out"].values.tolist():
                value = float(one.sel(model=model, hold_out=hold_out))
                if np.isfinite(value):
                    found[f"FR1-{key}-{model}-{hold_out}"] = short(value)
    return found
