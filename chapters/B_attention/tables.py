"""Tables of appendix B, and the numbers of its prose."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, spreads

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
# Model -> its name in the keys of the prose.
NAMED = {"vn_image": "vn", "feed_forward": "one-pass", "softmax": "softmax"}
NAMED |= {"softmax_2": "narrow", "topk": "topk"}


def adapting(results: xr.Dataset) -> Table:
    """How sparse, how variable and of what rank the adaptive variable of every model is."""
    return _table(results, ADAPTS, "the adaptive variable of all models")


def learning(results: xr.Dataset) -> Table:
    """What the weights gate, what an added item does to them, and the errors of all models."""
    return _table(results, LEARNS, "learning and competition in all models")


def _table(results: xr.Dataset, rows: Mapping[str, str], name: str) -> Table:
    values = {title: results[key].sel(AT.get(key, {})) for title, key in rows.items()}
    return Table(spreads(values, "model"), name=name)


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""
    r = results.sel(model=list(NAMED)).assign_coords(model=list(NAMED.values()))

    def said(form: str, factor: float = 1, **names: str) -> dict[str, str]:
        values = {key: factor * median(r[name]) for key, name in names.items()}
        return texts("appB", values, form.format)

    shares = {"zero": "zero_share", "share": "effective_share", "fixed": "fixed_share"}
    shares |= {"explained": "kept_explained", "rest": "kept_rest", "untouched": "untouched"}
    counts = {"entries": "entries", "width": "bound", "scores": "score_rank"}
    counts |= {"map": "map_rank", "limit": "map_limit"}
    return {
        **said("{:.0f}", 100, **shares),
        **said("{:.2g}", 100, gap="gap", copy="duplicate_shift"),
        **said("{:.0f}", **counts),
        **said("{:.1f}", number="effective_number", rank="rank", bound="bound"),
        **said("{:.2f}", correlation="gate_correlation"),
        "appB-gap-softmax": f"{float(median(r['gap'].sel(model='softmax'))):.0e}",
    }
