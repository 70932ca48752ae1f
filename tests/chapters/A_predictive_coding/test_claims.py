"""The rule of VN-A on results made up so that each part is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import xarray as xr
from judging import rules

NAN = np.nan
PAIRS = ["digits", "permuted", "halves"]
MODELS = ["pc", "bpc", "vn", "pc_sparse", "vn_dense", "autoencoder", "linear"]
MODELS += ["vn_untrained", "vn_random"]
# Variable -> values of the models, so that everything holds.
HOLDS = {
    "active_share": (1.0, 1.0, 0.2, 0.2, 1.0, 1.0, 1.0, 0.2, 0.5),
    "map_variability": (0.0, 0.0, 0.9, 0.0, 0.9, 0.0, 0.0, 0.9, 0.6),
    "moved": (1.0, 0.95, 0.2, 0.3, 0.9, 0.6, 0.6, NAN, NAN),
    "overlap": (0.05, 0.06, 0.01, 0.05, 0.05, 0.1, 0.1, 0.01, 0.2),
    "forgetting": (0.5, 0.6, 0.1, 0.3, 0.3, 0.3, 0.3, 0.0, 0.0),
    "gated_variability": (0.6, 0.5, 0.8, 0.6, 0.6, 0.3, 0.3, 0.8, 0.6),
    "power_share": (0.2, 0.15, 0.03, 0.04, 0.1, 0.1, 0.1, 0.03, 0.07),
    "interference": (0.8, 0.9, 0.1, 0.4, 0.4, 0.4, 0.4, 0.0, 0.0),
    "rise": (0.02, 0.03, 0.01, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0),
    "final_error": (0.03, 0.04, 0.10, 0.3, 0.1, 0.1, 0.1, 0.2, 0.7),
    "idle_moved": (0,) * 9,
    "mse": (0.1,) * 9,
}


def made() -> xr.Dataset:
    """Three seeds and three pairs, in which everything holds."""
    axes = {"model": MODELS, "pair": PAIRS, "seed": [0, 1, 2]}
    wobble = xr.DataArray(1 + 0.001 * np.arange(3), {"seed": axes["seed"]})
    ones = xr.DataArray(1.0, axes, list(axes)) * wobble
    r = xr.Dataset(
        {name: ones * xr.DataArray(list(of), {"model": MODELS}) for name, of in HOLDS.items()}
    )
    r["mse"] = r["mse"].expand_dims(stage=["first", "second"], task=[1, 2]).copy()
    return r


# What is changed, of which model in the last pair, to what, and the part that then fails.
CHANGES = [
    ("active_share", "pc", 0.9, 0),
    ("map_variability", "bpc", 0.01, 1),
    ("active_share", "vn", 0.26, 2),
    ("map_variability", "vn", 0.4, 2),
    ("idle_moved", "vn", 1, 3),
    ("moved", "pc", 0.2, 4),
    ("moved", "bpc", 0.1, 5),
    ("moved", "pc_sparse", 0.1, 6),
    ("overlap", "bpc", 0.005, 7),
    ("forgetting", "pc", 0.05, 8),
    ("gated_variability", "pc", 0.85, 9),
    ("power_share", "bpc", 0.02, 10),
    ("interference", "linear", 0.05, 11),
    ("interference", "pc_sparse", 0.05, 11),
    ("rise", "pc", 0.005, 12),
    ("final_error", "vn", 0.25, 13),
]
CASES = [
    ("VN-A", name, {"model": model, "pair": "halves"}, value, [part] if part < 6 else [], [part])
    for name, model, value, part in CHANGES
]
# A network that learned no second task has nothing to forget the first for.
CASES += [("VN-A", "mse", {"model": "vn", "pair": "halves"}, 0.6, [], [8, 11, 12, 14])]
# One idle atom in one seed is enough.
CASES += [("VN-A", "moved", {"model": "vn", "pair": "halves"}, 0.96, [5], [5, 6])]
CASES += [("VN-A", "idle_moved", {"model": "vn", "pair": "digits", "seed": 2}, 1, [3], [3])]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"VN-A": made}, CASES, [("VN-A", {"model": "bpc"}, "the model(s) bpc")]
)
