"""Tables of spatial decoding (VN Fig. 2), and the numbers that the page's prose quotes."""

from __future__ import annotations

import xarray as xr

from benchmarks.spatial.tables import errors, extent, medians
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import short
from vnlib.plots.tables import Table

# From the full 2D VN to what is left of it when a part is taken away.
CONTROLS = (
    "vn_full",
    "vn_flat",
    "random_full",
    "bilinear_linear",
    "bilinear_relu",
    "factorised",
)


def all_errors(results: xr.Dataset) -> Table:
    """Errors of all models."""
    return errors(results)


def taken_away(results: xr.Dataset) -> Table:
    """The full 2D VN, and models that lack one of its parts."""
    return errors(results.sel(model=[m for m in CONTROLS if m in results["model"].values]))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, of groups of models from the least to the largest."""
    groups = {
        "entangled": in_groups(results, "entangled"),
        "vn": in_groups(results, "vn"),
        "flat": ["vn_flat"],
        "frozen": ["random_axes_1", "random_full"],
        "linear": ["bilinear_linear"],
        "factorised": ["factorised"],
    }
    found = {"fig2-zero": short(float(results["zero_baseline_ood"].median()))}
    for name, models in groups.items():
        for key, variable in (("ratio", "ratio"), ("ood", "mse_ood")):
            if values := medians(results, models, variable):
                found[f"fig2-{name}-{key}"] = extent(list(values.values()))
    for key, (better, worse) in GAINS.items():
        values = medians(results, (better, worse))
        if len(values) == 2:
            found[f"fig2-{key}"] = short(values[worse] / values[better])
    if "factorised" in results["model"].values:
        found["fig2-factorised-failed"] = str(len(failed_seeds(results, "factorised")))
        found["fig2-seeds"] = str(results.sizes["seed"])
    return found


# How many times the OOD error of the second model is that of the first.
GAINS = {
    "learned-full": ("vn_full", "random_full"),
    "learned-axes": ("vn_axes_1", "random_axes_1"),
    "tuned": ("factorised", "factorised_default"),
    "relu": ("bilinear_linear", "bilinear_relu"),
}


def failed_seeds(results: xr.Dataset, model: str) -> list[int]:
    """The seeds of a model that err more than a zero image at held-out positions."""
    one = results.sel(model=model)
    return one["seed"].values[one["mse_ood"] > one["zero_baseline_ood"]].tolist()
