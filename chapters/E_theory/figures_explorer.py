"""What a reader may explore of App. E: how coherent atoms may be, and how many, to be found again."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from vnlib.plots.statistics import confidence, median, over_seeds, percent

FAMILIES = {"pairs": "close in pairs", "common": "a common part"}
RULES = {
    "exact": "lasso: nonzero",
    "threshold": "lasso: above a tenth",
    "pursuit": "greedy pursuit",
}
FIRST = {"coherence": 2, "active": 1}


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """The share of supports recovered in both families of dictionaries, with the bound."""
    mus, counts = results["coherence"].values, results["active"].values
    families = [name for name in FAMILIES if name in results["family"].values]
    rules = [name for name in RULES if name in results["rule"].values]
    share, bound = flat(results["recovered"]), results["bound"]
    covered = flat((results["active"] < bound).isel(seed=0).astype(float))
    over, middle = over_seeds(share), median(share)
    bounds = over_seeds(flat(bound.expand_dims(active=counts)))
    first = [min(FIRST["coherence"], len(mus) - 1), min(FIRST["active"], len(counts) - 1)]
    cells = share["cell"].values.tolist()
    names = [f"coherence {mu:.3g}, {count} planted" for count in counts for mu in mus]
    cells_ = {"show": "cells", "picks": "cell", "low": 0.0, "high": 1.0}
    cells_ |= {"x": "coherence asked for", "y": "planted atoms"}
    table = {"show": "table", "columns": ["share recovered", "bound, in atoms"]}
    return {
        "title": "Pick a coherence and a number of atoms",
        "note": "All cells that the bound of the theorem covers are bright, and many beyond it. Dashed: below "
        "that bound, where every support must be found. Numbers: median over n seeds "
        f"[{percent(confidence(results.sizes['seed']))} interval].",
        "choices": [
            {"key": "rule", "label": "support read by", "values": rules, "as": "list"}
            | {"names": [RULES[one] for one in rules], "first": 0},
            {
                "key": "cell", "label": "cell", "values": cells, "names": names, "as": "plane",
                "labels": ["coherence", "planted atoms"], "first": first[0] + len(mus) * first[1],
                "parts": [[f"{mu:.3g}" for mu in mus], [str(count) for count in counts]],
            },
        ],
        "views": [
            *(
                cells_
                | {"title": FAMILIES[one], "values": middle.sel(family=one, drop=True)}
                | {"outline": covered.sel(family=one, drop=True), "key": "share of supports recovered"}
                for one in families
            ),
            *(
                table
                | {"title": f"Atoms {FAMILIES[one]}" if one == "pairs" else "Atoms with a common part"}
                | {"rows": [{"name": "{cell}"}]}
                | {"values": [of.sel(family=one, drop=True) for of in (over, bounds)]}
                for one in families
            ),
        ],
    }  # fmt: skip


def flat(values: xr.DataArray) -> xr.DataArray:
    """Values over coherence and number of atoms along one dimension `cell`, coherence fastest."""
    one = values.transpose(..., "active", "coherence").stack(cell=("active", "coherence"))
    return one.drop_vars(("cell", "active", "coherence")).assign_coords(
        cell=np.arange(one.sizes["cell"])
    )
