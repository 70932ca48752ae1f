"""Tables of FR Figs. 1 and 8, and the numbers that the page's prose quotes."""

from __future__ import annotations

import xarray as xr

from benchmarks.baselines.failures import failures
from benchmarks.spatial.settling import late_gain
from chapters.FR1_failure.claims import predicted
from chapters.FR1_failure.figures import within
from vnlib.plots.statistics import percent, short, texts
from vnlib.plots.tables import Table, spreads

CODES = {"bump": "bump", "one_hot": "one-hot", "fourier": "positional", "ramp": "ramp"}
READOUTS = {
    "affine": "affine in the code",
    "pairs": "in all products of x and y",
    "profiles": "product of two profiles",
}
NAMED = {"l2": "negative distance"}  # of similarities
PAIRS = (("cosine", "id"), ("cosine", "ood"), ("l2", "ood"), ("overlap", "ood"))


def relative(results: xr.Dataset) -> xr.DataArray:
    """Errors over those of the zero baseline, for each set of positions."""
    return results["error"] / results["zero_baseline"]


def inside(results: xr.Dataset, hold_out: str) -> Table:
    """The errors of each model in and out of distribution."""
    own = within(results, hold_out)
    errors = relative(own)
    columns = {
        "failed": failures(own["failed"]),
        "gain at the end": late_gain(own),
        "training error": errors.sel(where="train"),
        "ID error": errors.sel(where="id"),
        "OOD error": errors.sel(where="ood"),
    }
    return Table(spreads(columns, "model"), name=f"errors, {hold_out} held out")


def drawings(results: xr.Dataset, hold_out: str) -> Table:
    """How many bumps the OOD images of each model have, and how structurally similar they are."""
    own = within(results, hold_out)
    ood = own.sel(where="ood")
    columns = {
        "several bumps": ood["several"],
        "bumps per image": ood["maxima"],
        "SSIM, ID": own["ssim"].sel(where="id"),
        "SSIM, OOD": ood["ssim"],
        "least raw cosine": own["white_cosine"],
    }
    return Table(spreads(columns, "model"), name=f"drawings, {hold_out} held out")


def likeness(results: xr.Dataset, hold_out: str) -> Table:
    """What the OOD images of each model are like."""
    own = within(results, hold_out)
    columns = {
        "largest ink": own["height"].sel(where="ood"),
        "peak within 1 px": own["hit"].sel(where="ood"),
        "like the sum": predicted(own["resembles"]),
        "like the true bump": own["resembles_bump"],
    }
    return Table(spreads(columns, "model"), name=f"likeness, {hold_out} held out")


def closed_form(readouts: xr.Dataset, solver: str = "ridge", hold_out: str = "square") -> Table:
    """What readouts fitted in closed form draw: errors over the zero baseline's."""
    share = (readouts["error"] / readouts["zero_baseline"]).sel(hold_out=hold_out, solver=solver)
    columns = {"ID error": share.sel(where="id"), "OOD error": share.sel(where="ood")}
    found = spreads(columns, "code", "readout", code=CODES, readout=READOUTS)
    return Table(found, name=f"closed-form readouts by {solver}, {hold_out} held out")


def kernels(results: xr.Dataset, hold_out: str = "square") -> Table:
    """R^2 of the three kernels by similarity and pairs."""
    r2 = within(results, hold_out)["kernel_r2"].isel(width=0)
    models, first = r2.sel(source="model"), r2.isel(model=0)
    bumps = {"true bumps": "bumps", "superposed bumps": "superposed bumps"}
    rows = [first.sel(source=source).assign_coords(label=name) for name, source in bumps.items()]
    r2 = xr.concat([*rows, models], "model", coords="minimal", compat="override")
    columns = {
        f"{NAMED.get(metric, metric)}, {pairs.upper()} pairs": r2.sel(
            metric=metric, pairs=pairs, drop=True
        )
        for metric, pairs in PAIRS
    }
    found = xr.Dataset(columns).to_array("similarity")
    columns = {str(name): found.sel(kernel=name) for name in found["kernel"].values}
    rows = spreads(columns, "model", "similarity").rename_axis(["images", "similarity"])
    return Table(rows, name="R² of kernels")


def left(results: xr.Dataset, hold_out: str = "square") -> xr.DataArray:
    """The OOD error over that of the zero baseline, in percent (model, seed)."""
    return 100 * relative(within(results, hold_out)).sel(where="ood", drop=True)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, by model and hold-out."""
    errors = relative(results)
    # Medians do not show a seed that fails.
    worst = {
        one: errors.sel(where=one).max("seed").transpose("model", ...) for one in ("id", "ood")
    }
    several = results["several"].sel(where="ood").transpose("model", ...)
    ramp = within(results, "square").sel(model="cnn_ramp")
    like = {str(test): ramp["resembles"].sel(test=test) for test in ramp["test"].values}
    over_train = results["error"].sel(where="ood") / results["error"].sel(where="train")
    seeds = str(results.sizes["seed"])
    found = texts("FR1", {"worst": worst, "longer": longer(results), "seeds": seeds})
    found |= texts("FR1-over-train", over_train.sel(model="cnn_bump"))
    found |= texts("FR1-ramp", like | {"bump": ramp["resembles_bump"]}, "{:.2f}".format)
    square = within(results, "square")
    found |= texts("FR1-gain", late_gain(square), percent)
    found |= texts("FR1-closer", predicted(square["closer"]), percent)
    found |= texts("FR1-left", left(results), lambda one: f"{short(one)} %")
    return found | texts("FR1-several", several, percent)


def longer(results: xr.Dataset) -> xr.DataArray:
    """How many times the error (where, seed) of the CNN is after the longer training, square."""
    errors = relative(within(results, "square"))
    return errors.sel(model="cnn_bump_longer") / errors.sel(model="cnn_bump")
