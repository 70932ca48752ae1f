"""The rule of VN-B: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import xarray as xr
from judging import filled, rules

MODELS = ["vn_image", "vn_patches", "feed_forward", "topk", "sparsemax"]
MODELS += ["softmax", "softmax_2", "softmax_4", "softmax_16"]
SPARED = [[0.7, 0.2]] * 3 + [[0, 0]] * 6


def results() -> xr.Dataset:
    """Everything as the paper says."""
    return filled(
        {"batch": [1, 64], "model": MODELS},
        "seed",
        zero_share=([0.7] * 5 + [0] * 4, "model"),
        effective_share=([0.15, 0.1, 0.2, 0.2, 0.2, 0.4, 0.4, 0.4, 0.4], "model"),
        gap=([1e-4, 1e-4, 0.8] + [0.01] * 6, "model"),
        rank=([10, 10, 10, 16, 16, 16, 11, 15, 16], "model"),
        bound=([10, 10, 10, 8, 8, 8, 2, 4, 16], "model"),
        rank_limit=(16, "model"),
        rank_excess=(0, "model"),
        gate_correlation=([1] * 3 + [0.2] * 6, "model"),
        idle_moved=(0, "model"),
        untouched=(SPARED, "model batch"),
        kept_explained=([0.1, 0.1, 1, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9], "model"),
        kept_rest=([0.9, 0.9, 1, 0.75, 0.85, 0.9, 0.9, 0.9, 0.9], "model"),
    )


# Variable, model, value, parts that then fail.
CHANGES = [
    ("zero_share", "vn_image", 0.49, [0]),
    ("zero_share", "softmax", 1e-6, [0]),
    ("gap", "vn_image", 2e-3, [1]),
    ("gap", "feed_forward", 0.1, [1]),
    ("rank_excess", "vn_image", 1, [2]),
    ("rank_excess", "vn_patches", 1, [2]),
    ("rank_excess", "softmax_4", 1, [2]),
    ("rank", "softmax_2", 2, [3]),
    ("rank", "softmax", 8, [3]),
    ("rank", "softmax_16", 3, []),  # a head as wide as the tokens need not have more rank
    ("untouched", "vn_image", [0.49, 0.2], [4]),
    ("untouched", "vn_image", [0.7, 0.09], [9]),
    ("untouched", "softmax", [0.02, 0], [4]),
    ("gate_correlation", "vn_image", 0.99, [4]),
    ("idle_moved", "vn_image", 1, [4]),
    ("kept_rest", "vn_image", 0.39, [5]),
    ("kept_rest", "vn_image", 0.2, [5, 10]),  # a weak VN makes the comparison harder
    ("kept_rest", "softmax", 0.92, [5]),
    ("kept_rest", "softmax", 0.88, [5]),
    ("effective_share", "vn_image", 0.41, [6]),
    ("effective_share", "vn_patches", 0.41, [6]),
    ("effective_share", "softmax", 0.12, [6]),
    ("gap", "softmax", 1e-15, [7]),
    ("gate_correlation", "softmax", 0.5, [8]),
    ("kept_rest", "topk", 1.0, [10]),
    ("kept_explained", "sparsemax", 0.5, [10]),
    ("kept_explained", "feed_forward", 0.7, [10]),
]
CASES = [
    ("VN-B", name, {"model": model}, value, [i for i in parts if i < 6], parts)
    for name, model, value, parts in CHANGES
]
LACKING = [("VN-B", {"model": ["sparsemax"]}, "sparsemax")]
MADE = {"VN-B": results}
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(MADE, CASES, LACKING)
