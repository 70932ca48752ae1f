"""The table of the architecture (VN Fig. 1), and the numbers that the page's prose quotes."""

from __future__ import annotations

import xarray as xr

from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table, spreads

ROWS = {
    "active atoms, layer 1": "active",
    "share of layer 1's atoms": "active_share",
    "active atoms, top layer": "active_top",
    "rank of W(x)": "rank",
    "largest rank its shape allows": "rank_limit",
    "error of V a (layer 1)": "mse",
    "error from the top code down": "mse_from_top",
    "error of the zero baseline": "zero_baseline",
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


SHARES = ["active_share", "explained", "pair_overlap", "sum_overlap"]


def by_seed(results: xr.Dataset) -> xr.Dataset:
    """One number of each kind per seed: the mean over digits or pairs."""
    return results[[*ROWS.values(), "explained"]].astype(float).mean(["digit", "pair"])


def quantities(results: xr.Dataset) -> Table:
    """All numbers over seeds, each a mean over digits or pairs."""
    values = by_seed(results)[list(ROWS.values())].to_dataarray("quantity")
    values = values.assign_coords(quantity=list(ROWS))
    return Table(spreads({"over seeds": values}, "quantity"), name="the numbers of all seeds")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose: medians over seeds of means over digits or pairs."""
    seeds = by_seed(results)
    found = texts("fig1", seeds) | texts("fig1", seeds[SHARES], percent)
    found |= texts("fig1-learned", results["mse"] / results["untrained_mse"], percent)
    found |= {"fig1-seeds": str(results.sizes["seed"])}
    return found | texts("fig1-atoms", seeds["active"] / seeds["active_share"])
