"""Tables of appendix B, and the numbers of its prose."""

from __future__ import annotations

import xarray as xr

from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table, spreads

# Variable -> title, in the order of the sections.
ADAPTS = {
    "entries": "entries per row",
    "zero_share": "exactly zero",
    "effective_number": "effective number",
    "effective_share": "effective number / entries",
    "fixed_share": "power of the mean over inputs",
    "gap": "gap to the minimum of its energy",
    "bound": "active atoms, or head width",
    "rank": "rank of W(x), or of A",
    "rank_effective": "effective rank",
    "map_rank": "rank of the map on all states",
}
LEARNS = {
    "untouched": "untouched by one digit",
    "update_share": "parameters moved by one digit, effective share",
    "gate_correlation": "correlation of weight and update",
    "added_share": "share of a copy in its pair",
    "duplicate_shift": "change of output by a copy",
    "kept_explained": "kept by the half whose sum is added",
    "kept_rest": "kept by the rest",
    "error": "error of the reconstruction",
    "restored": "error of hidden patches",
}
# Model -> its name in the keys of the prose.
NAMED = {"vn_image": "vn", "feed_forward": "one-pass", "softmax": "softmax"}
NAMED |= {"softmax_2": "narrow", "topk": "topk"}


def adapting(results: xr.Dataset) -> Table:
    """How sparse, how variable and of what rank the adaptive variable of every model is."""
    frame = spreads(results[[*ADAPTS]].rename(ADAPTS), "model")
    whole = {ADAPTS[name]: "{:,.0f}" for name in ("entries", "bound", "rank", "map_rank")}
    return Table(frame, whole, name="the adaptive variable of all models")


def learning(results: xr.Dataset) -> Table:
    """What the weights gate, what an added item does to them, and the errors of all models."""
    chosen = results[[*LEARNS]].sel(batch=1, similarity=1.0)
    return Table(
        spreads(chosen.rename(LEARNS), "model"), name="learning and competition in all models"
    )


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""
    r = results.sel(model=list(NAMED)).assign_coords(model=list(NAMED.values()))
    shares = {"zero_share": "zero", "effective_share": "share", "fixed_share": "fixed"}
    shares |= {"kept_explained": "explained", "kept_rest": "rest", "untouched": "untouched"}
    small = {"gap": "gap", "duplicate_shift": "copy"}
    counts = {"entries": "entries", "bound": "width", "score_rank": "scores"}
    counts |= {"map_rank": "map", "map_limit": "limit"}
    means = {"rank": "rank", "bound": "bound"}
    error = r["error"].sel(model="one-pass") / r["error"].sel(model="vn")
    return {
        **texts("appB", 100 * r[[*shares]].rename(shares), "{:.0f}".format),
        **texts("appB", 100 * r[[*small]].rename(small)),
        **texts("appB", r[[*counts]].rename(counts), "{:,.0f}".format),
        **texts("appB", r[[*means]].rename(means)),
        **texts("appB-correlation", r["gate_correlation"], "{:.2f}".format),
        **texts("appB-gap-softmax", r["gap"].sel(model="softmax"), "{:.0e}".format),
        **texts("appB-error-one-pass", error),
        "appB-seeds": str(results.sizes["seed"]),
    }
