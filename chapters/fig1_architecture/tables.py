"""The table of the architecture (VN Fig. 1), and the numbers that the page's prose quotes."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, spread

ROWS = {
    "active atoms, layer 1": "active",
    "share of layer 1's atoms": "active_share",
    "active atoms, top layer": "active_top",
    "rank of W(x)": "rank",
    "largest rank its shape allows": "rank_limit",
    "error of V a (layer 1)": "mse",
    "error from the top code down": "mse_from_top",
    "error of a zero image": "zero_baseline",
    "error of PCA with as many components": "pca_mse",
    "atoms not learned: active, layer 1": "untrained_active",
    "atoms not learned: error": "untrained_mse",
    "support overlap of two digits (Jaccard)": "pair_overlap",
    "sum of two digits: error": "sum_mse",
    "sum of two digits: error of the summed codes": "sum_of_codes_mse",
    "sum of two digits: active atoms": "sum_active",
    "its support against the union of both (Jaccard)": "sum_overlap",
    "share of test digits settled to the tolerance": "converged",
}


def by_seed(values: xr.DataArray) -> xr.DataArray:
    """One number per seed: the mean over digits or pairs."""
    return values.astype(float).mean([dim for dim in values.dims if dim != "seed"])


def quantities(results: xr.Dataset) -> Table:
    """All numbers over seeds, each a mean over digits or pairs."""
    rows = [by_seed(results[name]).rename("value") for name in ROWS.values()]
    values = xr.concat(rows, "quantity").assign_coords(quantity=np.array(list(ROWS)))
    return Table(spread(values, "quantity", title="over seeds"), name="the numbers of all seeds")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds of means over digits or pairs."""
    middle = {name: float(median(by_seed(results[name]))) for name in (*ROWS.values(), "explained")}
    shares = ("active_share", "explained", "pair_overlap", "sum_overlap")
    errors = ("mse", "untrained_mse", "pca_mse", "sum_mse", "sum_of_codes_mse")
    found = {f"fig1-{name}": short(value) for name, value in middle.items()}
    found |= {f"fig1-{name}": f"{middle[name]:.4f}" for name in errors}
    found |= {f"fig1-{name}": f"{100 * middle[name]:.0f} %" for name in shares}
    return found | {"fig1-atoms": short(middle["active"] / middle["active_share"])}
