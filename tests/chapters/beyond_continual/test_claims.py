"""The rule of VN-disc: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from functools import partial

import judging
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual import claims as rules
from vnlib.book.ledger import NOT, NOT_TESTABLE, REPRODUCED

MODELS = [rules.VN, rules.AE, *rules.LONG, rules.PCA, rules.TOKENS, rules.MLP, rules.TOKEN_NET]
FORCES = 4  # tasks, of five of digits
# What a model's error grows to, of each earlier task, in the end.
GROWS = dict.fromkeys(MODELS, 2.0) | {rules.VN: 1.1, rules.TOKENS: 1.0}


AXES = {
    **{"model": MODELS, "seed": range(3), "stream": ["sequence", "replay", "joint", "last"]},
    **{"after": range(6), "task": range(5), "images": [64, 1024], "set": ["id", "add2"]},
    **{"start": ["cold", "untrained", "lista", "linear"], "solver": ["ista", "restart"]},
    "level": [1e-2, 1e-3],
}


def full(*dims: str, value: object = 1.0) -> xr.DataArray:
    """A value of every model and seed, along more dimensions."""
    axes = {d: AXES[d] for d in ("model", "seed", *dims)}
    return xr.DataArray(0.0, axes, list(axes)) + value


def made() -> xr.Dataset:
    """All as the paper hopes."""
    r = xr.Dataset(coords=AXES)
    grown = xr.DataArray([GROWS[m] for m in MODELS], {"model": MODELS})
    learned, last = r["after"] == r["task"] + 1, r["after"] > r["task"] + 1
    error = full("stream", value=xr.where(learned, 1.0, xr.where(last, grown, 5.0)))
    error = xr.where(r["stream"] == "joint", 1.0, error)
    error = xr.where((r["stream"] == "replay") & (r["after"] > r["task"]), grown, error)
    digits = ~r["model"].str.startswith("b_")
    r["error"] = error.where(digits | (r["task"] < FORCES) & (r["after"] <= FORCES))
    r["power"] = full("task").where(digits | (r["task"] < FORCES))
    few = full("images", "set", value=xr.where(r["model"] == rules.VN, 0.5, 1.0))
    r["data_error"] = few.where(digits)
    sweeps = xr.DataArray([100.0, 95.0, 60.0, 70.0], {"start": AXES["start"]})
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
    # Of four tasks of forces, the last left out.
    wanted = {"vn_1.forgotten": 1.1, "b_mlp.forgotten": 2.0, "ae_long.in_turn_over_joint": 1.8}
    assert {name: row["numbers"][name] for name in wanted} == pytest.approx(wanted)


def early(model: str, stream: str) -> dict:
    """Where the error in the end of the first task is."""
    turns = FORCES if model.startswith("b_") else 5
    return {"model": model, "stream": stream, "task": 0, "after": slice(2, turns)}


VN, LEARNED = {"model": rules.VN}, {"start": list(rules.LEARNED)}
IN_TURN = {"model": list(rules.LONG), "stream": "sequence"}


@pytest.mark.parametrize(
    ("name", "where", "value", "parts", "controls"),
    [
        ("inference_ratio", {}, 2.0, [0], [0]),
        ("inference_ratio", {"seed": 0}, 9.0, [], [0]),
        ("inference_saved", {}, 0.2, [1], []),
        ("inference_sweeps", LEARNED | {"set": "add2"}, 100.0, [], [1]),  # sums gain nothing
        ("inference_sweeps", {}, np.inf, [], [1]),
        ("inference_cost", LEARNED, 90.0, [], [1]),
        ("error", early(rules.VN, "sequence"), 9.0, [2], [2]),
        ("error", IN_TURN, 1.0, [], [2]),
        ("error", early(rules.VN, "replay"), 9.0, [], [3]),
        ("error", early(rules.TOKENS, "sequence"), 9.0, [3], [4]),
        ("error", early(rules.TOKENS, "replay"), 9.0, [], [5]),
        ("data_error", VN | {"images": 64}, 2.0, [4], [6]),
        ("data_error", VN | {"images": 64, "set": "add2"}, 2.0, [], [6]),
        ("data_error", {"model": rules.PCA}, 0.1, [], [6]),
    ],
)
def test_each_part_can_fail(name, where, value, parts, controls):
    r = made()
    r[name].loc[where] = value
    assert failing(r) == (parts, controls)


def test_nothing_as_hoped():
    r = made()
    r["inference_ratio"][:] = r["inference_saved"][:] = 0
    for model in (rules.VN, rules.TOKENS):
        r["error"].loc[early(model, "sequence")] = 9.0
    r["data_error"].loc[VN] = 2.0
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
