"""Tables of appendix B, and the numbers of its prose."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from vnlib.plots.statistics import median
from vnlib.plots.tables import Table, spread

# Title -> variable, in the order of the sections.
ADAPTS = {
    "entries per row": "entries",
    "exactly zero": "zero_share",
    "effective number": "effective_number",
    "effective number / entries": "effective_share",
    "power of the mean over inputs": "fixed_share",
    "gap to the minimum of its energy": "gap",
    "active atoms, or head width": "bound",
    "rank of W(x), or of A": "rank",
    "effective rank": "rank_effective",
    "rank of the map on all states": "map_rank",
}
LEARNS = {
    "untouched by one digit": "untouched",
    "parameters moved by one digit, effective share": "update_share",
    "correlation of weight and update": "gate_correlation",
    "share of a copy in its pair": "added_share",
    "change of output by a copy": "duplicate_shift",
    "kept by the half whose sum is added": "kept_explained",
    "kept by the rest": "kept_rest",
    "error of the reconstruction": "error",
    "error of hidden patches": "restored",
}
AT = {"untouched": {"batch": 1}, "added_share": {"similarity": 1.0}}


def adapting(results: xr.Dataset) -> Table:
    """How sparse, how variable and of what rank the adaptive variable of every model is."""
    return _table(results, ADAPTS, "the adaptive variable of all models")


def learning(results: xr.Dataset) -> Table:
    """What the weights gate, what an added item does to them, and the errors of all models."""
    return _table(results, LEARNS, "learning and competition in all models")


def _table(results: xr.Dataset, rows: Mapping[str, str], name: str) -> Table:
    parts = {
        title: spread(results[key].sel(AT.get(key, {})), "model", title="")
        for title, key in rows.items()
    }
    frame = pd.concat({title: part.droplevel(0, axis=1) for title, part in parts.items()}, axis=1)
    return Table(frame, name=name)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""

    def at(name: str, model: str, **where: float) -> float:
        return float(median(results[name].sel(model=model, **where)))

    found: dict[str, str] = {}
    for key, name, models, digits in (
        ("zero", "zero_share", ("vn_image", "softmax"), 0),
        ("share", "effective_share", ("vn_image", "softmax", "topk"), 0),
        ("fixed", "fixed_share", ("vn_image", "softmax"), 0),
        ("explained", "kept_explained", ("vn_image", "softmax"), 0),
        ("rest", "kept_rest", ("vn_image", "softmax"), 0),
        ("copy", "duplicate_shift", ("softmax",), 0),
        ("copy", "duplicate_shift", ("vn_image",), 4),
        ("gap", "gap", ("vn_image",), 4),
        ("gap", "gap", ("feed_forward",), 0),
    ):
        for model in models:
            found[f"appB-{key}-{_short(model)}"] = f"{100 * at(name, model):.{digits}f}"
    for batch in (1, 64):
        for model in ("vn_image", "softmax"):
            share = at("untouched", model, batch=batch)
            found[f"appB-untouched-{_short(model)}-{batch}"] = f"{100 * share:.0f}"
    for key, name, models, digits in (
        ("number", "effective_number", ("vn_image", "softmax", "topk"), 1),
        ("entries", "entries", ("vn_image", "softmax"), 0),
        ("rank", "rank", ("vn_image",), 1),
        ("rank", "rank", ("softmax_2",), 1),
        ("bound", "bound", ("vn_image",), 1),
        ("bound", "bound", ("softmax_2",), 0),
        ("scores", "score_rank", ("softmax_2",), 0),
        ("map", "map_rank", ("vn_image", "softmax"), 0),
        ("limit", "map_limit", ("vn_image", "softmax"), 0),
        ("correlation", "gate_correlation", ("vn_image", "softmax"), 2),
    ):
        for model in models:
            found[f"appB-{key}-{_short(model)}"] = f"{at(name, model):.{digits}f}"
    found["appB-gap-softmax"] = f"{at('gap', 'softmax'):.0e}"
    return found


def _short(model: str) -> str:
    return {"vn_image": "vn", "feed_forward": "one-pass", "softmax_2": "narrow"}.get(model, model)
