"""Tables of appendix B, and the numbers of its prose."""

from __future__ import annotations

import xarray as xr

from vnlib.plots.statistics import texts
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
# Model -> its name in the keys of the prose.
NAMED = {"vn_image": "vn", "feed_forward": "one-pass", "softmax": "softmax"}
NAMED |= {"softmax_2": "narrow", "topk": "topk"}


def adapting(results: xr.Dataset) -> Table:
    """How sparse, how variable and of what rank the adaptive variable of every model is."""
    values = {title: results[name] for title, name in ADAPTS.items()}
    return Table(spreads(values, "model"), name="the adaptive variable of all models")


def learning(results: xr.Dataset) -> Table:
    """What the weights gate, what an added item does to them, and the errors of all models."""
    results = results.sel(batch=1, similarity=1.0)
    values = {title: results[name] for title, name in LEARNS.items()}
    return Table(spreads(values, "model"), name="learning and competition in all models")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""
    r = results.sel(model=list(NAMED)).assign_coords(model=list(NAMED.values()))
    shares = {"zero_share": "zero", "effective_share": "share", "fixed_share": "fixed"}
    shares |= {"kept_explained": "explained", "kept_rest": "rest", "untouched": "untouched"}
    small = {"gap": "gap", "duplicate_shift": "copy"}
    counts = {"entries": "entries", "bound": "width", "score_rank": "scores"}
    counts |= {"map_rank": "map", "map_limit": "limit"}
    decimals = {"effective_number": "number", "rank": "rank", "bound": "bound"}
    return {
        **texts("appB", 100 * r[[*shares]].rename(shares), "{:.0f}".format),
        **texts("appB", 100 * r[[*small]].rename(small), "{:.2g}".format),
        **texts("appB", r[[*counts]].rename(counts), "{:.0f}".format),
        **texts("appB", r[[*decimals]].rename(decimals), "{:.1f}".format),
        **texts("appB-correlation", r["gate_correlation"], "{:.2f}".format),
        **texts("appB-gap-softmax", r["gap"].sel(model="softmax"), "{:.0e}".format),
    }
