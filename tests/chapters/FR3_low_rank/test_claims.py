"""The rule of FR-3: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT_TESTABLE, PARTLY, REPRODUCED, all_claims

MODELS = ["none", "entropy", "variance", "both", "free", "rank1"]
HOLD_OUTS = ["square", "large_corner"]
SEEDS, TOKENS = 3, 4
# Part by part, in the order of the rule.
PAPER = ["composes", "does not", "no penalty", "entropy", "variance", "both", "bands", "smoother"]


def results() -> xr.Dataset:
    """All as the paper says, and rank 1 by construction composes."""
    per_model = {
        "mse_train": [1e-5, 1e-5, 3e-5, 2e-5, 1e-5, 2e-5],
        "mse_id": [1e-5, 2e-5, 3e-5, 2e-5, 1e-5, 2e-5],
        "mse_ood": [7e-3, 6e-3, 1e-4, 4e-5, 7e-3, 1e-4],
        "hit_ood": [0.1, 0.2, 1.0, 1.0, 0.1, 1.0],
    }
    shape, dims = (len(MODELS), len(HOLD_OUTS), SEEDS), ("model", "hold_out", "seed")
    values = {
        n: np.broadcast_to(np.array(v)[:, None, None], shape).copy() for n, v in per_model.items()
    }
    values["blank_ood"] = np.full(shape, 6.6e-3)
    band = np.full((*shape, 2, TOKENS, 2), 0.1)
    band[MODELS.index("both"), :, :, 0, :, 0] = band[MODELS.index("both"), :, :, 1, :, 1] = 0.95
    spread = np.full((*shape, 2), 0.5)
    spread[MODELS.index("both")] = 0.1
    ds = xr.Dataset({n: (dims, v) for n, v in values.items()})
    ds["band"] = ((*dims, "axis", "token", "along"), band)
    ds["volume_spread"] = ((*dims, "layer"), spread)
    return ds.assign_coords(
        model=MODELS,
        hold_out=HOLD_OUTS,
        seed=range(SEEDS),
        axis=["x", "y"],
        along=["y", "x"],
        layer=["maps", "output"],
    )


def judged(ds: xr.Dataset) -> tuple[list[bool], list[bool]]:
    row = claims.judge(all_claims()["FR-3"], ds)
    return [p["holds"] for p in row["parts"]], [p["holds"] for p in row["parts_controls"]]


def change(name: str, model: str, value: float, **where) -> xr.Dataset:
    ds = results()
    ds[name].loc[{"model": model, **where}] = value
    return ds


def test_results_as_printed_hold_in_every_part():
    row = claims.judge(all_claims()["FR-3"], results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert len(row["parts"]) == len(PAPER) and len(row["parts_controls"]) == 8


@pytest.mark.parametrize(
    ("ds", "paper", "fair"),
    [
        (change("mse_ood", "both", 1e-3, hold_out="large_corner"), {0, 5}, {0, 5, 7}),
        (change("hit_ood", "both", 0.5, hold_out="square"), {0}, {0}),
        (change("mse_ood", "none", 3e-3, hold_out="square"), {1, 2, 3}, {1, 2, 3}),
        (change("mse_ood", "free", 1e-3), set(), {1}),
        (change("mse_train", "entropy", 1e-6), {2}, set()),
        (change("mse_id", "entropy", 1e-6), set(), {2}),
        (change("mse_ood", "entropy", 8e-3), {2, 3}, {2, 3}),
        (change("mse_ood", "entropy", 1e-3), {3}, {3}),
        (change("mse_ood", "variance", 5e-3), {4}, {4}),
        (change("mse_train", "variance", 1e-5), {4}, set()),
        (change("mse_ood", "variance", 3e-5), {5}, {5, 7}),
        (change("mse_ood", "variance", 5e-5), set(), {7}),
        (change("band", "both", 0.5), {6}, set()),
        (change("band", "none", 0.6), {6}, set()),
        (change("volume_spread", "both", 0.6), {7}, set()),
        (change("mse_ood", "rank1", 1e-2), set(), {6}),
    ],
)
def test_each_part_can_fail_alone(ds, paper, fair):
    found = [{i for i, holds in enumerate(parts) if not holds} for parts in judged(ds)]
    assert found == [paper, fair]


def test_one_bad_seed_does_not_decide():
    assert all(judged(change("mse_ood", "both", 1.0, seed=1))[0])


def test_bands_along_the_wrong_axis_do_not_count():
    ds = results()
    ds["band"] = ds["band"].isel(along=[1, 0]).assign_coords(along=["y", "x"])
    assert not judged(ds)[0][6]


def test_a_missing_model_is_named():
    row = claims.judge(all_claims()["FR-3"], results().drop_sel(model=["rank1"]))
    assert row["verdict"] == NOT_TESTABLE and "rank1" in row["missing"]
    row = claims.judge(all_claims()["FR-3"], change("mse_ood", "entropy", 8e-3))
    assert row["verdict"] == PARTLY
