"""The rule of VN-disc: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import judging
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual import claims as rules
from vnlib.book.ledger import NOT, NOT_TESTABLE, REPRODUCED

MODELS = [rules.VN, rules.AE, *rules.LONG, rules.PCA, rules.TOKENS, rules.MLP, rules.TOKEN_NET]
STREAMS = ["sequence", "replay", "joint", "last"]
TURNS = {"digits": 5, "forces": 4}
# What a model's error grows to, of each earlier task, in the end.
GROWS = dict.fromkeys(MODELS, 2.0) | {rules.VN: 1.1, rules.TOKENS: 1.0}


def made() -> xr.Dataset:
    """All as the paper hopes."""
    coords = {
        "model": MODELS,
        "seed": range(3),
        "stream": STREAMS,
        "after": range(6),
        "task": range(5),
        "images": [64, 1024],
        "set": ["id", "add2"],
        "start": ["cold", "untrained", "lista", "linear"],
        "solver": ["ista", "restart"],
        "level": [1e-2, 1e-3],
    }
    r = xr.Dataset(coords=coords)

    def full(*dims: str, value: object = 1.0) -> xr.DataArray:
        sizes = [r.sizes[d] for d in ("model", "seed", *dims)]
        zero = xr.DataArray(
            np.zeros(sizes),
            dims=("model", "seed", *dims),
            coords={d: r[d] for d in ("model", "seed", *dims)},
        )
        return zero + value

    grown = xr.DataArray([GROWS[m] for m in MODELS], dims="model", coords={"model": MODELS})
    learned, last = r["after"] == r["task"] + 1, r["after"] > r["task"] + 1
    sequence = xr.where(learned, 1.0, xr.where(last, grown, 5.0))
    error = full("stream", "after", "task", value=sequence)
    error = xr.where(r["stream"] == "joint", 1.0, error)
    error = xr.where((r["stream"] == "replay") & (r["after"] > r["task"]), grown, error)
    forces = r["model"].str.startswith("b_")
    inside = (r["task"] < TURNS["forces"]) & (r["after"] <= TURNS["forces"])
    r["error"] = error.where(~forces | inside)
    r["power"] = full("task").where(~forces | (r["task"] < TURNS["forces"]))
    r["data_error"] = full("images", "set", value=xr.where(r["model"] == rules.VN, 0.5, 1.0)).where(
        ~forces
    )
    sweeps = xr.DataArray([100.0, 95.0, 60.0, 70.0], dims="start", coords={"start": r["start"]})
    r["inference_sweeps"] = full("start", "solver", "level", "set", value=sweeps)
    r["inference_cost"] = full("start", value=xr.where(r["start"] == "cold", 0.0, 2.0))
    r["inference_saved"] = 1 - r["inference_sweeps"] / 100
    r["inference_ratio"] = full(value=50.0)
    return r


judged = partial(judging.judged, "VN-disc")
failing = partial(judging.failing, "VN-disc")


def test_all_as_hoped():
    row = judged(made())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"], row
    assert row["numbers"]["vn_1.forgotten"] == pytest.approx(1.1)
    assert row["numbers"]["b_mlp.forgotten"] == pytest.approx(2.0), (
        "of four tasks, the last left out"
    )
    assert row["numbers"]["ae_long.in_turn_over_joint"] == pytest.approx(1.8)


def at(r: xr.Dataset, name: str, value: float, **where: object) -> None:
    r[name] = r[name].copy()
    r[name].loc[where] = value


def early(r: xr.Dataset, model: str, stream: str, value: float) -> None:
    """The error in the end of the first task."""
    at(r, "error", value, model=model, stream=stream, task=0, after=slice(2, None))
    if model.startswith("b_"):
        at(r, "error", np.nan, model=model, after=5)


def one_slow_start(r: xr.Dataset) -> None:
    """Sums gain nothing."""
    at(r, "inference_sweeps", 100.0, set="add2", start=["lista", "linear"])


CASES: dict[str, tuple[Callable[[xr.Dataset], None], tuple[list[int], list[int]]]] = {
    "fast": (lambda r: at(r, "inference_ratio", 2.0), ([0], [0])),
    "fast once": (lambda r: at(r, "inference_ratio", 9.0, seed=0), ([], [0])),
    "nothing saved": (lambda r: at(r, "inference_saved", 0.2), ([1], [])),
    "sums gain nothing": (one_slow_start, ([], [1])),
    "never there": (lambda r: at(r, "inference_sweeps", np.inf), ([], [1])),
    "costly starts": (
        lambda r: at(r, "inference_cost", 90.0, start=["lista", "linear"]),
        ([], [1]),
    ),
    "vn forgets": (lambda r: early(r, rules.VN, "sequence", 9.0), ([2], [2])),
    "long ones lose nothing": (
        lambda r: at(r, "error", 1.0, model=list(rules.LONG), stream="sequence"),
        ([], [2]),
    ),
    "vn worst with replay": (lambda r: early(r, rules.VN, "replay", 9.0), ([], [3])),
    "tokens forget": (lambda r: early(r, rules.TOKENS, "sequence", 9.0), ([3], [4])),
    "tokens worst with replay": (lambda r: early(r, rules.TOKENS, "replay", 9.0), ([], [5])),
    "many images needed": (
        lambda r: at(r, "data_error", 2.0, model=rules.VN, images=64),
        ([4], [6]),
    ),
    "sums need many": (
        lambda r: at(r, "data_error", 2.0, model=rules.VN, images=64, set="add2"),
        ([], [6]),
    ),
    "pca needs fewest": (lambda r: at(r, "data_error", 0.1, model=rules.PCA), ([], [6])),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_each_part_can_fail(case):
    r = made()
    change, wanted = CASES[case]
    change(r)
    assert failing(r) == wanted


def test_nothing_as_hoped():
    r = made()
    r["inference_ratio"], r["inference_saved"] = r["inference_ratio"] * 0, r["inference_saved"] * 0
    for model in (rules.VN, rules.TOKENS):
        early(r, model, "sequence", 9.0)
    at(r, "data_error", 2.0, model=rules.VN)
    assert judged(r)["verdict"] == NOT


def test_errors_of_forces_are_relative_already():
    r, found = made(), judged(made())["numbers"]
    r["power"] = r["power"] * 10
    changed = judged(r)["numbers"]
    assert changed["b_vn_token.error_replay"] == found["b_vn_token.error_replay"]
    assert changed["vn_1.error_replay"] == pytest.approx(found["vn_1.error_replay"] / 10)


@pytest.mark.parametrize("model", (rules.VN, rules.LONG[0], rules.TOKEN_NET))
def test_missing_models_are_named(model):
    row = judged(made().drop_sel(model=model))
    assert row["verdict"] == NOT_TESTABLE and model in row["missing"]
