"""The rules of VN-G3 and VN-G4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import xarray as xr
from judging import filled, rules

from benchmarks.functions.names import AUTOENCODERS, DYNAMICS, MAMBA, MASKS, SETS, VN

RULES = ["zero_baseline", "hold_last", "linear"]
DETAIL, LOW, NARROW = {"band": "10-20"}, ["0", "0-2", "2-5"], {"model": "mamba_bottleneck"}


def shared() -> xr.Dataset:
    """Models that fail as the paper says."""
    coords = {
        "model": [*VN, *AUTOENCODERS, "rnn", *MAMBA, *DYNAMICS, *RULES],
        "set": SETS,
        "protocol": ["mask_aware", "zero_filled"],
        "mask": list(MASKS),
        "band": [*LOW, "5-10", "10-20", "20+"],
        "place": range(1, 9),
    }
    r = filled(
        coords,
        mse=(1e-3, "set"),
        zero_baseline=(1, "set"),
        **dict.fromkeys(["bend", "variety", "correlation"], (1, "set")),
        band_gain=(1, "set band"),
        band_missed=(0.01, "set band"),
        band_power=(1, "set band"),
        tail_error=(0.05, "set protocol place"),
        tail_truth=(1, "set protocol place"),
        tail_power=(1, "set protocol"),
        tail_growth=(0.1, "set protocol"),
        seen_error=(0.02, "set protocol"),
        hidden=(0.05, "protocol mask set"),
    )
    r["bend"].loc[{"model": "deep_ae"}] = 0.05
    r["band_gain"].loc[{"model": "rnn", "band": ["10-20", "20+"]}] = 0.2
    r["band_missed"].loc[{"model": "mamba_bottleneck", "band": "10-20"}] = 0.7
    r["tail_power"].loc[{"model": list(AUTOENCODERS)}] = 0.1
    r["tail_growth"].loc[{"model": list(DYNAMICS)}] = 1.0
    r["tail_error"].loc[{"model": [*DYNAMICS, *MAMBA]}] = 1.5
    r["seen_error"].loc[{"model": list(MAMBA)}] = 0.001
    r["hidden"].loc[{"model": RULES}] = 0.8
    return r


def own() -> xr.Dataset:
    """Rounds that do what the paper says."""
    coords = {
        "model": [*VN, "vn_untrained"],
        "set": ["val", *SETS],
        "mask": list(MASKS),
        "round": range(1, 81),
        "early": range(1, 6),
        "reading": ["first", "top"],
        "solver": ["rounds", "limit"],
        "rule": ["zero_baseline", "hold_last", "interpolate"],
    }
    r = filled(
        coords,
        **dict.fromkeys(["curve_gap", "curve_gain", "curve_rms"], (1e-5, "mask round set")),
        limit_rms=(1e-4, "mask set"),
        unchanged=(1, ""),
        hidden=(0.1, "reading solver mask set"),
        hidden_rule=(1, "rule mask set"),
    )
    r["hidden"].loc[{"model": "vn_untrained"}] = 0.2
    for name in ("curve_gap", "curve_gain", "curve_rms", "limit_rms"):
        r[name].loc[{"mask": ["forecast_50", "random_30"]}] = np.nan
    return r


MADE = {"VN-G3": shared, "VN-G4": own}
FIFTH, LAST = ({"round": n, "mask": "block_128"} for n in (5, 80))
CASES = [
    ("VN-G3", "bend", {"model": "deep_ae"}, 0.3, [0], []),
    ("VN-G3", "bend", {"model": "deep_ae", "seed": 0}, 0.3, [], []),
    ("VN-G3", "bend", {"model": "vn_1"}, 0.5, [], [0]),
    ("VN-G3", "band_gain", {"model": "rnn", "band": "2-5"}, 0.6, [1], []),
    ("VN-G3", "band_gain", {"model": "rnn"} | DETAIL, 0.4, [1], []),
    ("VN-G3", "band_gain", {"model": "vn_3"} | DETAIL, 0.1, [], [1]),
    ("VN-G3", "band_missed", {"model": "rnn", "band": LOW}, 0.4, [], [2]),
    ("VN-G3", "band_missed", NARROW | DETAIL, 0.4, [2], []),
    ("VN-G3", "band_missed", NARROW | {"band": LOW[:2]}, 0.5, [2], [4]),
    ("VN-G3", "band_missed", NARROW | {"band": "0"}, 0.02, [], [4]),
    ("VN-G3", "band_missed", {"model": "vn_1"} | DETAIL, 0.8, [], [3, 6]),
    ("VN-G3", "mse", {"model": "vn_5"}, 0.02, [3], [5]),
    ("VN-G3", "mse", {"model": "vn_1"}, 0.02, [], [5]),
    ("VN-G3", "tail_power", {"model": "sparse_ae"}, 0.6, [4], [7]),
    ("VN-G3", "tail_power", {"model": "vn_5"}, 0.15, [], [7]),
    ("VN-G3", "tail_growth", {"model": "rslds"}, -0.1, [5], [8]),
    ("VN-G3", "tail_growth", {"model": "vn_1"}, 2.0, [], [8]),
    ("VN-G3", "tail_error", {"model": "neural_ode", "place": 8}, 0.9, [5], []),
    ("VN-G3", "seen_error", {"model": "mamba"}, 0.2, [6], [9]),
    ("VN-G3", "seen_error", {"model": "vn_1"}, 1e-4, [], [9]),
    ("VN-G3", "tail_error", NARROW, 0.5, [6], []),
    ("VN-G3", "tail_error", {"model": "vn_1"}, 1.6, [], [10]),
    ("VN-G3", "tail_error", {"model": "vn_3"}, 0.2, [7], []),
    ("VN-G3", "hidden", {"model": "vn_1", "protocol": "mask_aware"}, 0.9, [], [11]),
    # Five rounds of the VN, and what others do that are told the mask, do not decide.
    ("VN-G3", "hidden", {"model": "vn_1", "protocol": "zero_filled"}, 0.9, [], []),
    ("VN-G3", "tail_error", {"model": "vn_3", "protocol": "zero_filled"}, 0.2, [], []),
    ("VN-G3", "tail_power", {"model": "sparse_ae", "protocol": "mask_aware"}, 0.6, [], []),
    ("VN-G3", "hidden", {"model": "hold_last", "protocol": "mask_aware"}, 0.04, [], [11]),
    # Hard signals decide.
    *[("VN-G3", name, {"set": ["id", "easy"]}, -1, [], []) for name in shared()],
    ("VN-G4", "curve_gap", FIFTH | {"model": "vn_5"}, 0.02, [0], []),
    ("VN-G4", "curve_gain", {"round": 5, "mask": "forecast_25"}, 0.002, [0], []),
    ("VN-G4", "curve_rms", FIFTH, 0.2, [], [1]),
    ("VN-G4", "limit_rms", {"mask": "block_128"}, 0.2, [], [2]),
    ("VN-G4", "curve_gap", LAST, 0.01, [2], []),
    ("VN-G4", "unchanged", {"model": "vn_3", "seed": 1}, 0, [3], [3]),
    ("VN-G4", "hidden", {"model": "vn_3", "solver": "rounds", "mask": "random_30"}, 0.11, [], [0]),
    ("VN-G4", "hidden_rule", {"rule": "zero_baseline", "mask": "forecast_50"}, 0.05, [], [4]),
    ("VN-G4", "hidden", {"model": "vn_untrained"}, 0.1, [], [5]),
    # Validation signals and the top reading do not decide.
    ("VN-G4", "curve_gap", {"set": "val"}, 1.0, [], []),
    ("VN-G4", "hidden", {"reading": "top", "model": list(VN)}, 9.0, [], []),
]
LACKING = [("VN-G3", {"model": m}, m) for m in ("vn_3", "deep_ae", "rslds", "linear")]
LACKING += [("VN-G4", {"model": "vn_5"}, "vn_5"), ("VN-G4", {"early": [3, 4, 5]}, "five rounds")]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(MADE, CASES, LACKING)
