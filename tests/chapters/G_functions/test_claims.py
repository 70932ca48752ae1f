"""The rules of VN-G3 and VN-G4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, filled, judged

from chapters.G_functions.claims import AUTOENCODERS, DYNAMICS, LOW, MAMBA, MASKS, RULES, SETS, VN
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED, all_claims


def put(r: xr.Dataset, name: str, value: float, **where: object) -> None:
    r[name].loc[where] = value


def shared() -> xr.Dataset:
    """Models that fail as the paper says."""
    coords = {
        "model": [*VN, *AUTOENCODERS, "rnn", *MAMBA, *DYNAMICS, *RULES],
        "set": SETS,
        "protocol": ["mask_aware", "zero_filled"],
        "mask": MASKS,
        "band": [*LOW, "5-10", "10-20", "20+"],
        "place": range(1, 9),
    }
    r = filled(
        coords,
        mse=(1e-3, "set"),
        zero_baseline=(1, "set"),
        bend=(1, "set"),
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
    put(r, "bend", 0.05, model="deep_ae")
    put(r, "band_gain", 0.2, model="rnn", band=["10-20", "20+"])
    put(r, "band_missed", 0.7, model="mamba_bottleneck", band="10-20")
    put(r, "tail_power", 0.1, model=list(AUTOENCODERS))
    put(r, "tail_growth", 1.0, model=list(DYNAMICS))
    put(r, "tail_error", 1.5, model=[*DYNAMICS, *MAMBA])
    put(r, "seen_error", 0.001, model=list(MAMBA))
    put(r, "hidden", 0.8, model=list(RULES))
    return r


def own() -> xr.Dataset:
    """Rounds that do what the paper says."""
    coords = {
        "model": [*VN, "vn_untrained"],
        "set": ["val", *SETS],
        "mask": MASKS,
        "round": range(1, 81),
        "early": range(1, 6),
        "reading": ["first", "top"],
        "solver": ["rounds", "limit"],
        "rule": ["zero_baseline", "hold_last", "interpolate"],
    }
    r = filled(
        coords,
        curve_gap=(1e-5, "mask round set"),
        curve_gain=(1e-5, "mask round set"),
        curve_rms=(1e-4, "mask round set"),
        limit_rms=(1e-4, "mask set"),
        unchanged=(1, ""),
        hidden=(0.1, "reading solver mask set"),
        hidden_rule=(1, "rule mask set"),
    )
    put(r, "hidden", 0.2, model="vn_untrained")
    for name in ("curve_gap", "curve_gain", "curve_rms", "limit_rms"):
        put(r, name, np.nan, mask=["forecast_50", "random_30"])
    return r


RESULTS = {"VN-G3": shared, "VN-G4": own}
MIDDLE = {"model": "mamba_bottleneck", "set": "hard"}


@pytest.mark.parametrize("claim", RESULTS)
def test_all_holds(claim):
    row = judged(claim, RESULTS[claim]())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"]


@pytest.mark.parametrize(
    ("claim", "name", "value", "where", "printed", "controls"),
    [
        ("VN-G3", "bend", 0.3, {"model": "deep_ae"}, [0], [0]),
        ("VN-G3", "bend", 0.3, {"model": "deep_ae", "seed": 0}, [], [0]),
        ("VN-G3", "bend", 0.5, {"model": "vn_1"}, [], [0]),
        ("VN-G3", "band_gain", 0.6, {"model": "rnn", "band": "2-5"}, [1], []),
        ("VN-G3", "band_gain", 0.4, {"model": "rnn", "band": "10-20"}, [1], []),
        ("VN-G3", "band_gain", 0.1, {"model": "vn_3", "band": "10-20"}, [], [1]),
        ("VN-G3", "band_missed", 0.4, {"model": "rnn", "band": list(LOW)}, [], [1]),
        ("VN-G3", "band_missed", 0.4, MIDDLE | {"band": "10-20"}, [2], []),
        ("VN-G3", "band_missed", 0.5, MIDDLE | {"band": ["0", "0-2"]}, [2], [2]),
        ("VN-G3", "band_missed", 0.02, MIDDLE | {"band": "0"}, [], [2]),
        ("VN-G3", "band_missed", 0.8, {"model": "vn_1", "band": "10-20"}, [], [2, 3]),
        ("VN-G3", "mse", 0.02, {"model": "vn_5"}, [3], [3]),
        ("VN-G3", "mse", 0.02, {"model": "vn_1"}, [], [3]),
        ("VN-G3", "tail_power", 0.6, {"model": "sparse_ae"}, [4], [4]),
        ("VN-G3", "tail_power", 0.15, {"model": "vn_5"}, [], [4]),
        ("VN-G3", "tail_growth", -0.1, {"model": "rslds"}, [5], [5]),
        ("VN-G3", "tail_growth", 2.0, {"model": "vn_1"}, [], [5]),
        ("VN-G3", "tail_error", 0.9, {"model": "neural_ode", "place": 8}, [5], []),
        ("VN-G3", "seen_error", 0.2, {"model": "mamba"}, [6], [6]),
        ("VN-G3", "seen_error", 1e-4, {"model": "vn_1"}, [], [6]),
        ("VN-G3", "tail_error", 0.5, {"model": "mamba_bottleneck"}, [6], []),
        ("VN-G3", "tail_error", 1.6, {"model": "vn_1"}, [], [6]),
        ("VN-G3", "tail_error", 0.2, {"model": "vn_3"}, [7], []),
        ("VN-G3", "hidden", 0.9, {"model": "vn_1", "protocol": "zero_filled"}, [], [7]),
        ("VN-G3", "hidden", 0.04, {"model": "hold_last", "protocol": "mask_aware"}, [], [7]),
        ("VN-G4", "curve_gap", 0.02, {"round": 5, "model": "vn_5", "mask": "block_128"}, [0], []),
        ("VN-G4", "curve_gain", 0.002, {"round": 5, "mask": "forecast_25"}, [0], []),
        ("VN-G4", "curve_rms", 0.2, {"round": 5, "mask": "block_128"}, [1], []),
        ("VN-G4", "limit_rms", 0.2, {"mask": "block_128"}, [], [1]),
        ("VN-G4", "curve_gap", 0.01, {"round": 80, "mask": "block_128"}, [2], [2]),
        ("VN-G4", "curve_gap", 0.01, {"round": 80, "mask": "block_128", "seed": 0}, [], [2]),
        ("VN-G4", "unchanged", 0, {"model": "vn_3", "seed": 1}, [3], [3]),
        ("VN-G4", "hidden", 0.11,
         {"model": "vn_3", "solver": "rounds", "mask": "random_30", "reading": "first"}, [], [0]),
        ("VN-G4", "hidden_rule", 0.05, {"rule": "zero_baseline", "mask": "forecast_50"}, [], [4]),
        ("VN-G4", "hidden", 0.1, {"model": "vn_untrained"}, [], [5]),
        # Validation signals and the top reading do not decide.
        ("VN-G4", "curve_gap", 1.0, {"set": "val", "mask": ["forecast_25", "block_128"]}, [], []),
        ("VN-G4", "hidden", 9.0, {"reading": "top", "model": list(VN)}, [], []),
    ],
)  # fmt: skip
def test_each_part_can_fail_alone(claim, name, value, where, printed, controls):
    r = RESULTS[claim]()
    put(r, name, value, **({"set": "hard"} if claim == "VN-G3" else {}) | where)
    assert failing(claim, r) == (printed, controls)
    if claim == "VN-G3":
        easy = shared()
        put(easy, name, value, **where | {"set": "easy"})
        assert failing(claim, easy) == ([], []), "only Hard signals decide"


@pytest.mark.parametrize(
    ("claim", "lacking"),
    [("VN-G3", model) for model in ("vn_3", "deep_ae", "rslds", "linear")] + [("VN-G4", "vn_5")],
)
def test_a_missing_model_is_named(claim, lacking):
    row = judged(claim, RESULTS[claim]().drop_sel(model=lacking))
    assert row["verdict"] == NOT_TESTABLE and lacking in row["missing"]


def test_other_numbers_of_rounds_are_named():
    row = judged("VN-G4", own().sel(early=[1, 2]))
    assert row["verdict"] == NOT_TESTABLE and "five rounds" in row["missing"]


def test_signatures_are_read_from_the_results_of_figure_3():
    assert all_claims()["VN-G3"].reads == "fig3_functions"
