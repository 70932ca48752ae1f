"""Tables of appendix A, and the numbers of its prose; errors in per cent of the zero baseline's."""

from __future__ import annotations

import xarray as xr

from chapters.A_predictive_coding.figures import present_models
from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table, if_computed, spreads


@if_computed
def errors(results: xr.Dataset, pair: str) -> Table:
    """Size, sparsity and errors of all models on one pair of tasks; says so if it was not computed."""
    chosen = results.sel(pair=pair, model=list(present_models(results)))
    mse, top = 100 * chosen["mse"], 100 * chosen["mse_from_top"]
    columns = {
        "weights": chosen["n_weights"],
        "learning rate": chosen["lr"],
        "nonzero states, %": 100 * chosen["active_share"],
        "error 1, learned": mse.sel(stage="first", task=1),
        "error 1, after 2": mse.sel(stage="second", task=1),
        "error 1, had it stayed": mse.sel(stage="stayed", task=1),
        "error 2, learned": mse.sel(stage="second", task=2),
        "from the top: error 1, learned": top.sel(stage="first", task=1),
        "from the top: error 1, after 2": top.sel(stage="second", task=1),
    }
    formats = {"weights": "{:,.0f}", "learning rate": "{:.2g}"}
    return Table(spreads(columns, "model"), formats, name=f"errors, {pair}")


def beside(values: xr.DataArray) -> xr.DataArray:
    """The VN's value over that of each model, paired by seed."""
    return (values.sel(model="vn") / values).transpose(*values.dims)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds, on digits where no pair is named."""
    shares = {"active": "active_share", "gated": "gated_variability", "map": "map_variability"}
    shares |= {"moved": "moved", "power": "power_share"}
    digits = {key: 100 * results[name].sel(pair="digits") for key, name in shares.items()}
    factor = 1 + results["interference"]
    found = texts("appA", digits, "{:.0f}".format) | texts("appA-power", digits["power"])
    found |= texts("appA-interference", factor)
    found |= texts("appA-after", 100 * results["mse"].sel(stage="second", task=1))
    found |= texts("appA-beside", beside(factor), percent)
    final = beside(results["final_error"])
    found |= texts("appA-final", final) | texts("appA-above", 100 * (final - 1), "{:.0f}".format)
    return found | {"appA-seeds": str(results.sizes["seed"])}
