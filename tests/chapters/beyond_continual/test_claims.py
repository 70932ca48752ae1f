"""The rule of VN-disc: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import judging
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual.claims import AE, LEARNED, LONG, MLP, PCA, TOKEN_NET, TOKENS, VN

MODELS = [VN, AE, *LONG, PCA, TOKENS, MLP, TOKEN_NET]
FORCES = 4  # tasks, of five of digits
STREAMS = ["sequence", "replay", "joint", "last"]
AXES = {"model": MODELS, "stream": STREAMS, "after": range(6), "task": range(5)}
AXES |= {"images": [64, 1024], "set": ["id", "add2"], "level": [1e-2, 1e-3]}
AXES |= {"start": ["cold", "untrained", "lista", "linear"], "solver": ["ista", "restart"]}


def made() -> xr.Dataset:
    """All as the paper hopes."""
    r = judging.filled(
        AXES,
        error=(5.0, "stream after task"),
        power=(1.0, "task"),
        data_error=(1.0, "images set"),
        inference_sweeps=(100.0, "start solver level set"),
        inference_saved=(0.4, "start solver level set"),
        inference_cost=(2.0, "start"),
        inference_ratio=(50.0, ""),
    )
    digits = ~r["model"].str.startswith("b_")
    r = r.assign_coords(tasks=xr.where(digits, "digits", "forces"))
    # What a model's error grows to, of each earlier task, in the end.
    grows = dict.fromkeys(MODELS, 2.0) | {VN: 1.1, TOKENS: 1.0}
    grown = xr.DataArray(list(grows.values()), {"model": MODELS})
    learned, last = r["after"] == r["task"] + 1, r["after"] > r["task"] + 1
    error = r["error"].where(~last, grown).where(~learned, 1.0).where(r["stream"] != "joint", 1.0)
    error = error.where((r["stream"] != "replay") | (r["after"] <= r["task"]), grown)
    there = digits | (r["task"] < FORCES)
    r["error"] = error.where(there & (digits | (r["after"] <= FORCES))).transpose(*r["error"].dims)
    r["power"] = r["power"].where(there)
    r["data_error"].loc[{"model": VN}] = 0.5
    r["data_error"].loc[{"model": VN, "images": 64}] = 0.4
    r["inference_sweeps"].loc[{"start": list(LEARNED)}] = 60.0
    return r


def early(model: str, stream: str) -> dict:
    """Where the error in the end of the first task is."""
    turns = FORCES if model.startswith("b_") else 5
    return {"model": model, "stream": stream, "task": 0, "after": slice(2, turns)}


START, FEW = {"start": list(LEARNED)}, {"model": VN, "images": 64}
CASES = [
    ("inference_ratio", {}, 0.9, [0], [0]),
    ("inference_ratio", {}, 2.0, [], [0]),
    ("inference_ratio", {"seed": 0}, 0.9, [], []),
    ("inference_saved", {}, 0.2, [2], [1]),
    ("inference_saved", {}, -0.1, [1, 2], [1]),
    ("inference_sweeps", START | {"set": "add2"}, 100.0, [], [3]),  # sums gain nothing
    ("inference_sweeps", {}, np.inf, [], [3]),
    ("inference_cost", START, 90.0, [], [3]),
    ("error", early(VN, "sequence"), 99.0, [3], [4]),
    ("error", {"model": list(LONG), "stream": "sequence"}, 1.0, [], [4]),
    ("error", early(VN, "replay"), 9.0, [], [5]),
    ("error", early(TOKENS, "sequence"), 99.0, [4], [6]),
    ("error", early(TOKENS, "replay"), 9.0, [], [7]),
    ("data_error", FEW, 2.0, [5], [2, 8]),
    ("data_error", FEW | {"set": "id"}, 2.0, [], [2, 8]),
    ("data_error", {"model": VN, "images": 64, "set": "add2"}, 0.6, [5], []),
    ("data_error", FEW | {"set": "add2"}, 2.0, [5], [8]),
    ("data_error", {"model": PCA}, 0.1, [], [8]),
]
LACKING = [({"model": model}, model) for model in (VN, LONG[0], TOKEN_NET)]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = judging.rules(
    {"VN-disc": made},
    [("VN-disc", *case) for case in CASES],
    [("VN-disc", *one) for one in LACKING],
)


def test_errors_of_forces_are_relative_already():
    found, changed = (
        judging.told("VN-disc", made().assign(power=made()["power"] * unit)) for unit in (1, 10)
    )
    assert changed["b_vn_token.error_replay"] == found["b_vn_token.error_replay"]
    assert changed["vn_1.error_replay"] == pytest.approx(found["vn_1.error_replay"] / 10)
    # Of four tasks of forces, the last left out.
    wanted = {"vn_1.forgotten": 1.1, "b_mlp.forgotten": 2.0, "ae_long.in_turn_over_joint": 1.8}
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_an_autoencoder_that_still_learns_cannot_be_said_to_forget():
    r = made()
    assert judging.unmet("VN-disc", r) == ([], [])
    own = {"model": AE, "stream": "sequence", "task": 0, "after": 1}
    assert judging.unmet("VN-disc", judging.changed(r, "error", own, 3.0)) == ([3], [])
