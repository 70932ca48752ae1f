"""The rules of VN-F3a to VN-F3c: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import xarray as xr
from judging import filled, rules

from benchmarks.functions.names import ELEVEN, MASKED, MASKS, OTHERS, SETS, UNLEARNED, VN
from chapters.fig3_functions.claims import OOD, TOLD

HIDE = list(MASKS)
AS_PRINTED, TOLD_MASK = {"protocol": "zero_filled"}, {"protocol": "mask_aware"}


def made() -> xr.Dataset:
    """Everything as the paper says, and as our controls would have it."""
    coords = {
        "model": dict.fromkeys([*ELEVEN, "vn_dense", *(m for told in TOLD.values() for m in told)]),
        "protocol": ["zero_filled", "mask_aware"],
        "mask": HIDE,
        "set": SETS,
        "kind": ["sin", "exp", "poly", "gauss", *(f"{s}{i}" for s in OOD for i in range(6))],
    }
    tests = [[4] * 4 + [0] * 12, [0] * 4 + [4] * 6 + [0] * 6, [0] * 10 + [4] * 6]
    r = filled(
        coords,
        zero_baseline=(1, "set"),
        zero_baseline_hidden=(1, "mask set"),
        mse=([0.02, 0.05, 0.05], "set"),
        hidden=(0.9, "protocol mask set"),
        train_count=([16] * 4 + [0] * 12, "kind"),
        test_count=(tests, "set kind"),
        repeated=(0, "set"),
    )
    r["mse"].loc[{"model": ["transformer", "mamba"]}] = [1e-4, 0.005, 0.005]
    r["mse"].loc[{"model": "mamba_bottleneck"}] = [1e-3, 0.002, 0.002]
    r["mse"].loc[{"model": "pca", "set": "id"}] = 1e-3
    r["hidden"].loc[{"model": list(VN)}] = 0.3
    curve = r["mse"].isel(set=0, drop=True).expand_dims(evaluation=[0.8, 1.0])
    return r.assign(curve=xr.ones_like(curve))


CASES = [
    ("VN-F3a", "train_count", {"kind": "gauss"}, 0, [0], [0]),
    ("VN-F3a", "train_count", {"kind": "easy0"}, 1, [0, 1], [0, 1]),
    ("VN-F3a", "repeated", {"set": "hard"}, 1, [1], [1]),
    ("VN-F3a", "mse", {"set": "id", "model": list(ELEVEN)}, 0.011, [2], [2]),
    ("VN-F3a", "mse", {"set": "hard", "model": list(OTHERS[:4])}, 1e-5, [3], [3]),
    ("VN-F3a", "zero_baseline", {"set": "easy"}, 5, [], [3, 4]),
    ("VN-F3a", "mse", {"set": "easy", "model": "pca"}, 5e-3, [], [4]),
    ("VN-F3b", "mse", {"model": "transformer", "set": "easy"}, 0.06, [1], [1]),
    ("VN-F3b", "mse", {"model": "mamba", "set": "hard"}, 0.06, [4], [4]),
    ("VN-F3b", "mse", {"model": "transformer", "set": "hard"}, 0.06, [2], [2]),
    ("VN-F3b", "mse", {"model": "mamba", "set": "easy"}, 0.06, [3], [3]),
    ("VN-F3b", "mse", {"model": "vn_dense", "set": "hard"}, 0.004, [], [2, 4]),
    ("VN-F3b", "mse", {"model": "sparse_ae", "set": "hard"}, 0.003, [6], [6]),
    ("VN-F3b", "mse", {"model": "mamba", "set": "hard"}, 0.003, [8], [8]),
    ("VN-F3b", "mse", {"model": "mamba_bottleneck", "set": "id"}, 5e-5, [0], [0]),
    ("VN-F3b", "mse", {"model": "sparse_ae", "set": "easy"}, 0.003, [5], [5]),
    ("VN-F3b", "mse", {"model": "rnn", "set": "easy"}, 0.003, [], [5]),
    ("VN-F3b", "mse", {"model": "mamba", "set": "easy"}, 0.003, [7], [7]),
    # One bad seed of three is none.
    ("VN-F3b", "mse", {"model": "mamba", "set": "hard", "seed": 1}, 0.06, [], []),
    ("VN-F3c", "hidden", AS_PRINTED | {"model": list(OTHERS)}, 0.35, [4], [0, 1]),
    ("VN-F3c", "zero_baseline_hidden", {}, 0.5, [5], [2]),
    ("VN-F3c", "zero_baseline_hidden", {}, 2, [4], [1]),
    ("VN-F3c", "hidden", AS_PRINTED | {"model": list(VN)}, 2.0, [2, 3], []),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": list(VN[1:])}, 2.0, [], []),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": MASKED[1], "mask": HIDE[3]}, 0.2, [], [3, 4]),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": "linear", "mask": HIDE[2]}, 0.1, [], [5, 6]),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": "exemplars", "set": "hard"}, 0.2, [], [7]),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": "exemplars", "set": "easy"}, 0.2, [], [8]),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": UNLEARNED[0]}, 0.32, [], [9]),
    ("VN-F3c", "hidden", TOLD_MASK | {"model": UNLEARNED[1]}, 0.32, [], [9]),
    (
        "VN-F3c",
        "hidden",
        AS_PRINTED | {"model": "rnn", "mask": HIDE[0]},
        0.2,
        [0, 1, 2, 3, 4],
        [0, 1],
    ),
]
CASES += [
    ("VN-F3c", "hidden", AS_PRINTED | {"model": "rnn", "mask": mask, "set": s}, 0.2, parts, [])
    for mask in HIDE[1:]
    for s, parts in (("id", [1, 3]), ("easy", [1, 3]), ("hard", [0, 2]))
]
LACKING = [
    ("VN-F3a", {"model": "pca"}, "the model(s) pca"),
    ("VN-F3b", {"model": "vn_dense"}, "the model(s) vn_dense"),
    ("VN-F3c", {"model": "vn_5"}, "the model(s) vn_5"),
    ("VN-F3c", {"model": "exemplars"}, "the model(s) exemplars"),
    ("VN-F3c", {"mask": "random_30"}, "the mask(s) random_30"),
]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    dict.fromkeys(["VN-F3a", "VN-F3b", "VN-F3c"], made), CASES, LACKING
)
