"""Tables of appendix A, and the numbers of its prose; errors in per cent of the zero image's."""

from __future__ import annotations

import xarray as xr

from chapters.A_predictive_coding.figures import present_models
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, spreads


def errors(results: xr.Dataset, pair: str) -> Table:
    """Size, sparsity and errors of all models on one pair of tasks."""
    chosen = results.sel(pair=pair, model=list(present_models(results)))
    mse, top = 100 * chosen["mse"], 100 * chosen["mse_from_top"]
    quantities = {
        "nonzero states, %": 100 * chosen["active_share"],
        "error 1, learned": mse.sel(stage="first", task=1),
        "error 1, after 2": mse.sel(stage="second", task=1),
        "error 1, had it stayed": mse.sel(stage="stayed", task=1),
        "error 2, learned": mse.sel(stage="second", task=2),
        "from the top: error 1, learned": top.sel(stage="first", task=1),
        "from the top: error 1, after 2": top.sel(stage="second", task=1),
    }
    frame = spreads(quantities, "model")
    for place, (name, title) in enumerate({"n_weights": "weights", "lr": "learning rate"}.items()):
        frame.insert(place, (title, "median"), median(chosen[name]).values)
    return Table(frame, {"weights": "{:,.0f}", "learning rate": "{:g}"}, name=f"errors, {pair}")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds, on digits where no pair is named."""
    digits = results.sel(pair="digits")
    shares = {"active": "active_share", "gated": "gated_variability", "map": "map_variability"}
    shares = {
        key: 100 * median(digits[name]) for key, name in (shares | {"moved": "moved"}).items()
    }
    quotient = (1 + median(results["interference"])).transpose("model", "pair")
    second = 100 * median(results["mse"].sel(stage="second", task=2)).transpose("model", "pair")
    power = 100 * median(digits["power_share"])
    return (
        texts("appA", shares, "{:.0f}".format)
        | texts("appA-power", power, "{:.1f}".format)
        | texts("appA-interference", quotient, "{:.3g}".format)
        | texts("appA-second", second, "{:.1f}".format)
    )
