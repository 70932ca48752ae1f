"""Tables of appendix A, and the numbers of its prose; errors in per cent of the zero image's."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from vnlib.plots.statistics import median
from vnlib.plots.tables import Table, spread

# In the order of the story.
MODELS = (
    "pc",
    "bpc",
    "vn",
    "pc_sparse",
    "vn_dense",
    "vn_revived",
    "autoencoder",
    "linear",
    "vn_untrained",
    "vn_random",
)


def errors(results: xr.Dataset, pair: str) -> Table:
    """Size, sparsity and errors of all models on one pair of tasks."""
    order = [model for model in MODELS if model in results["model"].values]
    chosen = results.sel(pair=pair, model=order)
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
    parts = [spread(values, "model", title=title) for title, values in quantities.items()]
    frame = pd.concat(parts, axis=1)
    for place, name in enumerate(("n_weights", "lr")):
        title = ("weights", "learning rate")[place]
        frame.insert(place, (title, "median"), median(chosen[name]).values)
    return Table(frame, {"weights": "{:,.0f}", "learning rate": "{:g}"}, name=f"errors, {pair}")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds, on digits where no pair is named."""

    def present(models: tuple[str, ...]) -> list[str]:
        return [model for model in models if model in results["model"].values]

    found = {}
    shares = {
        "active": ("active_share", 0),
        "gated": ("gated_variability", 0),
        "map": ("map_variability", 0),
        "moved": ("moved", 0),
        "power": ("power_share", 1),
    }
    for key, (name, digits) in shares.items():
        share = 100 * median(results[name].sel(pair="digits"))
        for model in present(("pc", "bpc", "vn")):
            found[f"appA-{key}-{model}"] = f"{float(share.sel(model=model)):.{digits}f}"
    quotient = 1 + median(results["interference"])
    second = 100 * median(results["mse"].sel(stage="second", task=2))
    for pair in results["pair"].values:
        for model in present(("pc", "bpc", "vn", "pc_sparse")):
            at, key = {"model": model, "pair": pair}, f"{model.replace('_', '-')}-{pair}"
            found[f"appA-interference-{key}"] = f"{float(quotient.sel(at)):.3g}"
            found[f"appA-second-{key}"] = f"{float(second.sel(at)):.1f}"
    return found
