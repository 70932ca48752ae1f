"""The rule of FR-5: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED, all_claims

MODELS, DIGITS, SEEDS = ["cnn", "cnn_4"], [4, 2], 3
ANGLES = np.arange(161.0, 200.0)


def results() -> xr.Dataset:
    """All outputs in the gap are blends, up to a tenth, and nearer to them than to any rival."""
    shape, dims = (len(MODELS), len(DIGITS), SEEDS), ("model", "digit", "seed")
    ds = xr.Dataset(
        {"mse_id": (dims, np.full(shape, 1e-3)), "mse_ood": (dims, np.full(shape, 2e-2))}
    )
    rests = {
        "rest_blend": 2e-3,
        "rest_truth": 3e-2,
        "rest_rotation": 1.5e-2,
        "rest_null": 5e-2,
        "rest_mean": 2e-2,
    }
    for name, value in rests.items():
        ds[name] = ((*dims, "gap_angle"), np.full((*shape, len(ANGLES)), value))
    line = (ANGLES - 160) / 40
    ds["weight"] = ((*dims, "gap_angle"), np.broadcast_to(line, (*shape, len(ANGLES))).copy())
    ds["ring_step"] = ((*dims, "layer"), np.ones((*shape, 4)))
    layers = ["layer1", "layer2", "output", "target"]
    return ds.assign_coords(
        model=MODELS, digit=DIGITS, seed=range(SEEDS), gap_angle=ANGLES, layer=layers
    )


def failing(ds: xr.Dataset) -> list[set[int]]:
    row = claims.judge(all_claims()["FR-5"], ds)
    return [
        {i for i, p in enumerate(row[parts]) if not p["holds"]}
        for parts in ("parts", "parts_controls")
    ]


def change(name: str, value: float, **where) -> xr.Dataset:
    ds = results()
    ds[name].loc[where] = value
    return ds


def test_results_as_printed_hold_in_every_part():
    row = claims.judge(all_claims()["FR-5"], results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert len(row["parts"]) == 5 and len(row["parts_controls"]) == 7


@pytest.mark.parametrize(
    ("ds", "paper", "fair"),
    [
        (change("mse_ood", 4e-3, model="cnn", digit=4), {0}, {0}),
        (change("mse_ood", 4e-3, model="cnn", digit=2), set(), {0}),
        (change("rest_blend", 8e-3, model="cnn", digit=4), set(), {1}),
        (change("rest_blend", 1.1e-2, model="cnn", digit=4), {1}, {1}),
        (change("rest_truth", 3e-3, model="cnn", digit=4), {2}, {2}),
        (change("weight", 0.5, model="cnn", digit=4), {3}, {3}),
        (change("ring_step", 3.0, model="cnn", digit=4, layer="layer1"), {4}, {4}),
        (change("ring_step", 0.1, model="cnn", digit=2, layer="layer2"), set(), {4}),
        (change("ring_step", 0.1, model="cnn", layer="output"), set(), set()),
        (change("rest_rotation", 1e-3, model="cnn", digit=2), set(), {5}),
        (change("rest_null", 1e-3, model="cnn", digit=2), set(), {5}),
        (change("rest_rotation", 1e-3, model="cnn_4", digit=2), set(), {6}),
    ],
)
def test_each_part_can_fail_alone(ds, paper, fair):
    assert failing(ds) == [paper, fair]


def test_only_the_middle_of_the_gap_counts_for_the_blend():
    edge = {"gap_angle": [161.0, 165.0, 199.0], "model": "cnn"}
    assert failing(change("rest_blend", 1.0, **edge)) == [set(), set()]
    assert failing(change("rest_blend", 1.0, gap_angle=180.0, model="cnn"))[0] == {1, 2}


def test_one_bad_seed_does_not_decide():
    assert failing(change("rest_blend", 1.0, seed=0)) == [set(), set()]


def test_what_lacks_is_named():
    for lacking, name in (
        ({"model": ["cnn_4"]}, "cnn_4"),
        ({"model": ["cnn"]}, "cnn"),
        ({"digit": [4]}, "digit 4"),
    ):
        row = claims.judge(all_claims()["FR-5"], results().drop_sel(lacking))
        assert row["verdict"] == NOT_TESTABLE and name in row["missing"]
