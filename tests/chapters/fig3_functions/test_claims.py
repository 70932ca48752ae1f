"""The rules of VN-F3a to VN-F3c: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import pytest
import xarray as xr
from judging import failing, filled, judged

from chapters.fig3_functions.claims import ELEVEN, MASKED, MASKS, OTHERS, TOLD, UNLEARNED, VN
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

SETS = ["id", "easy", "hard"]
FAMILIES = ["sin", "exp", "poly", "gauss"]
AS_PRINTED, TOLD_MASK = {"protocol": "zero_filled"}, {"protocol": "mask_aware"}


@pytest.fixture
def r() -> xr.Dataset:
    """Everything as the paper says, and as our controls would have it."""
    coords = {
        "model": dict.fromkeys([*ELEVEN, "vn_dense", *TOLD]),
        "protocol": ["zero_filled", "mask_aware"],
        "mask": MASKS,
        "set": SETS,
        "kind": [*FAMILIES, *(f"{s}{i}" for s in SETS[1:] for i in range(6))],
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
    return r


@pytest.mark.parametrize("name", ["VN-F3a", "VN-F3b", "VN-F3c"])
def test_all_holds(r, name):
    row = judged(name, r)
    assert row["verdict"] == REPRODUCED == row["verdict_controls"]


@pytest.mark.parametrize(
    ("claim", "name", "where", "value", "printed", "controls"),
    [
        ("VN-F3a", "train_count", {"kind": "gauss"}, 0, [0], [0]),
        ("VN-F3a", "train_count", {"kind": "easy0"}, 1, [0, 1], [0, 1]),
        ("VN-F3a", "repeated", {"set": "hard"}, 1, [1], [1]),
        ("VN-F3a", "mse", {"set": "id", "model": list(ELEVEN)}, 0.011, [2], [2]),
        ("VN-F3a", "mse", {"set": "hard", "model": list(OTHERS[:4])}, 1e-5, [3], [3]),
        ("VN-F3a", "zero_baseline", {"set": "easy"}, 5, [], [3, 4]),
        ("VN-F3a", "mse", {"set": "easy", "model": "pca"}, 5e-3, [], [4]),
        ("VN-F3b", "mse", {"model": "transformer", "set": "easy"}, 0.06, [0], [0]),
        ("VN-F3b", "mse", {"model": "mamba", "set": "hard"}, 0.06, [1], [1]),
        ("VN-F3b", "mse", {"model": "mamba", "set": "hard", "seed": 1}, 0.06, [], [1]),
        ("VN-F3b", "mse", {"model": "vn_dense", "set": "hard"}, 0.004, [], [0, 1]),
        ("VN-F3b", "mse", {"model": "mamba_bottleneck", "set": "id"}, 5e-5, [2], [2]),
        ("VN-F3b", "mse", {"model": "mamba_bottleneck", "set": "id", "seed": 0}, 5e-5, [], [2]),
        ("VN-F3b", "mse", {"model": "sparse_ae", "set": "easy"}, 0.003, [3], [3]),
        ("VN-F3b", "mse", {"model": "rnn", "set": "easy"}, 0.003, [], [3]),
        ("VN-F3b", "mse", {"model": "mamba", "set": "easy"}, 0.003, [4], [4]),
        ("VN-F3b", "mse", {"model": "mamba", "set": "easy", "seed": 2}, 0.003, [], [4]),
        ("VN-F3c", "hidden", AS_PRINTED | {"model": list(OTHERS)}, 0.35, [4, 5], []),
        ("VN-F3c", "mse", {"model": "neural_ode", "set": "hard"}, 0.1, [5], []),
        ("VN-F3c", "zero_baseline_hidden", {}, 0.5, [6], []),
        ("VN-F3c", "hidden", TOLD_MASK | {"model": MASKED[1], "mask": "block_128"}, 0.2, [], [0]),
        ("VN-F3c", "hidden", TOLD_MASK | {"model": "linear", "mask": "random_30"}, 0.1, [], [1]),
        ("VN-F3c", "hidden", AS_PRINTED | {"model": UNLEARNED[0]}, 0.32, [], [2]),
        ("VN-F3c", "hidden", AS_PRINTED | {"model": UNLEARNED[1]}, 0.32, [], [2]),
        ("VN-F3c", "hidden", {"model": "exemplars", "mask": list(MASKS[:2])}, 0.2, [], [3]),
        # Three cells lost to a control leave nine, and one VN of three is enough.
        ("VN-F3c", "hidden", {"model": "exemplars", "mask": MASKS[0]}, 0.2, [], []),
        ("VN-F3c", "hidden", AS_PRINTED | {"model": list(VN[1:])}, 2.0, [], []),
        *[
            # A lower error on the hidden tail of Hard is less of a decline as well.
            ("VN-F3c", "hidden", AS_PRINTED | {"model": "rnn", "mask": mask, "set": name}, 0.2,
             [i, 5] if (i, name) == (0, "hard") else [i], [])
            for i, mask in enumerate(MASKS) for name in SETS
        ],
    ],
)  # fmt: skip
def test_each_part_can_fail_alone(r, claim, name, where, value, printed, controls):
    r[name].loc[where] = value
    assert failing(claim, r) == (printed, controls)


@pytest.mark.parametrize(
    ("claim", "lacking"),
    [
        ("VN-F3a", {"model": "pca"}),
        ("VN-F3b", {"model": "vn_dense"}),
        ("VN-F3c", {"model": "vn_5"}),
        ("VN-F3c", {"model": "exemplars"}),
        ("VN-F3c", {"mask": "random_30"}),
    ],
)
def test_what_lacks_is_named(r, claim, lacking):
    row = judged(claim, r.drop_sel(lacking))
    ((axis, name),) = lacking.items()
    assert row["verdict"] == NOT_TESTABLE and f"the {axis}(s) {name}" in row["missing"]
