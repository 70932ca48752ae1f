"""Tables of spatial decoding (VN Fig. 2), and the numbers that the page's prose quotes."""

from __future__ import annotations

import xarray as xr

from benchmarks.spatial.errors import ratio
from benchmarks.spatial.tables import errors, extent, gains
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import short, texts
from vnlib.plots.tables import Table

# From the full 2D VN to what is left of it when a part is taken away.
CONTROLS = ["vn_full", "vn_flat", "random_full", "bilinear_linear", "bilinear_relu", "factorised"]
# How many times the OOD error of the second model is that of the first.
GAINS = {
    "learned-full": ("vn_full", "random_full"),
    "learned-axes": ("vn_axes_1", "random_axes_1"),
    "tuned": ("factorised", "factorised_default"),
    "relu": ("bilinear_linear", "bilinear_relu"),
}


def taken_away(results: xr.Dataset) -> Table:
    """The full 2D VN, and models that lack one of its parts."""
    return errors(results.sel(model=[m for m in CONTROLS if m in results["model"].values]))


def left(results: xr.Dataset) -> xr.DataArray:
    """The OOD error over that of the zero baseline, in percent (model, seed)."""
    return 100 * results["mse_ood"] / results["zero_baseline_ood"]


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
    kinds = {"ratio": ratio(results), "ood": results["mse_ood"]}
    found: dict = {
        name: {kind: extent(values.sel(model=models)) for kind, values in kinds.items()}
        for name, models in groups.items()
    }
    # Seeds that err more than the zero baseline at held-out positions.
    failed = (results["mse_ood"] > results["zero_baseline_ood"]).sel(model="factorised").sum()
    found |= {"seeds": str(results.sizes["seed"]), "factorised-failed": str(int(failed))}
    found |= {"zero": results["zero_baseline_ood"].median()} | gains(results["mse_ood"], GAINS)
    return texts("fig2", found) | texts("fig2-left", left(results), lambda one: f"{short(one)} %")
