"""Tables of FR Figs. 1 and 8, and the numbers that the page's prose quotes."""

from __future__ import annotations

import xarray as xr

from benchmarks.spatial.errors import late_gain
from chapters.FR1_failure.claims import predicted
from chapters.FR1_failure.figures import within
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table, spreads

CODES = {"bump": "bump", "one_hot": "one-hot", "fourier": "positional", "ramp": "ramp"}
READOUTS = {
    "affine": "affine in the code",
    "pairs": "in all products of x and y",
    "profiles": "product of two profiles",
}
PAIRS = (("cosine", "id"), ("cosine", "ood"), ("l2", "ood"), ("overlap", "ood"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """Errors over those of a zero image, for each set of positions."""
    return results["error"] / results["zero_baseline"]


def inside(results: xr.Dataset, hold_out: str) -> Table:
    """What each model does in and out of distribution, and what its OOD images are like."""
    own = within(results, hold_out)
    errors, ood = relative(own), own.sel(where="ood")
    columns = {
        "failed": (own["failed"] == 1).sum("seed"),
        "gain at the end": late_gain(own),
        "training error": errors.sel(where="train"),
        "ID error": errors.sel(where="id"),
        "OOD error": errors.sel(where="ood"),
        "SSIM, ID": own["ssim"].sel(where="id"),
        "SSIM, OOD": ood["ssim"],
        "several bumps": ood["several"],
        "bumps per image": ood["maxima"],
        "largest ink": ood["height"],
        "peak within 1 px": ood["hit"],
        "like the sum": predicted(own["resembles"]),
        "like the true bump": own["resembles_bump"],
        "smallest cosine of raw images": own["white_cosine"],
    }
    return Table(
        spreads(columns, "model"),
        {"failed": "{:.0f}"},
        name=f"errors and drawings, {hold_out} held out",
    )


def closed_form(readouts: xr.Dataset, hold_out: str = "square") -> Table:
    """What readouts fitted in closed form draw: errors over a zero image's, medians over seeds."""
    share = (readouts["error"] / readouts["zero_baseline"]).sel(hold_out=hold_out)
    columns = {
        f"{said}, {solver}": share.sel(where=where, solver=solver)
        for where, said in (("id", "ID"), ("ood", "OOD"))
        for solver in readouts["solver"].values.tolist()
    }
    found = spreads(columns, "code", "readout", code=CODES, readout=READOUTS)
    return Table(found, name=f"closed-form readouts, {hold_out} held out")


def kernels(results: xr.Dataset, hold_out: str = "square") -> Table:
    """R^2 of the three kernels by similarity and pairs."""
    r2 = within(results, hold_out)["kernel_r2"].isel(width=0)
    models, first = r2.sel(source="model"), r2.isel(model=0)
    bumps = {"true bumps": "bumps", "superposed bumps": "superposed bumps"}
    rows = [first.sel(source=source).assign_coords(label=name) for name, source in bumps.items()]
    r2 = xr.concat([*rows, models], "model", coords="minimal", compat="override")
    columns = {
        f"{metric}, {pairs.upper()} pairs": r2.sel(metric=metric, pairs=pairs)
        for metric, pairs in PAIRS
    }
    found = spreads(columns, "model").rename_axis("images")
    return Table(found, name="R² of kernels")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, by model and hold-out."""
    errors, ood = relative(results), results.sel(where="ood")
    drawn = (results["failed"] == 0).where(results["failed"].notnull())
    values = {
        "learned": 100 * drawn.mean("seed"),
        "id": errors.sel(where="id"),
        "ood": errors.sel(where="ood"),
        "several": 100 * ood["several"],
        "sum": predicted(results["resembles"]),
        "bump": results["resembles_bump"],
        # Medians do not show a seed that fails.
        "worst-id": errors.sel(where="id").max("seed"),
        "worst-ood": errors.sel(where="ood").max("seed"),
    }
    return texts("FR1", {name: one.transpose("model", ...) for name, one in values.items()})
