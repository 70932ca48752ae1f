"""The rule of FR-1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED, all_claims

ENTANGLED = ["cnn_bump", "cnn_ramp", "cnn_bright", "mlp_bump", "mlp_ramp"]
MODELS = [*ENTANGLED, "factorised", "vn_full"]
HOLD_OUTS, SEEDS = ["square", "corner"], 4
DIMS = ("model", "hold_out", "seed")
SHAPE = (len(MODELS), 2, SEEDS)


def by_model(entangled: float, composing: float) -> np.ndarray:
    values = np.array([entangled] * len(ENTANGLED) + [composing] * 2)
    return np.broadcast_to(values[:, None, None], SHAPE).copy()


def failure() -> xr.Dataset:
    """What the paper describes: five models that superpose, two that compose."""
    where, tests = ["train", "id", "ood"], ["averaged", "memorised"]
    error = np.stack([by_model(0.1, 1e-3), by_model(0.2, 1e-3), by_model(1.2, 2e-3)], -1)
    kernels, sources = ["binary", "sum", "product"], ["model", "bumps", "superposed bumps"]
    r2 = np.zeros((*SHAPE, 3, 2, 1, 3, 2))  # source, of, metric, kernel, width
    r2[..., 0, :, 0, 0, :] = by_model(0.3, 0.1)[..., None, None]
    r2[1, :, :, 0, :, 0, 0] = 0.2  # the CNN with ramps
    r2[..., 0, :, 0, 1, :] = by_model(0.8, 0.4)[..., None, None]
    r2[..., 0, :, 0, 2, :] = by_model(0.4, 1.0)[..., None, None]
    r2[..., 1, :, 0, 0, :], r2[..., 2, :, 0, 0, :] = 0.1, 0.4
    values = {
        "error": ((*DIMS, "where"), 0.004 * error),
        "blank": ((*DIMS, "where"), np.full((*SHAPE, 3), 0.004)),
        "several": (
            (*DIMS, "where"),
            np.stack([by_model(0, 0), by_model(0, 0), by_model(0.9, 0)], -1),
        ),
        "share_cross": ((*DIMS, "where"), np.stack([by_model(0.8, 1)] * 3, -1)),
        "chance_cross": ((*DIMS, "where"), np.full((*SHAPE, 3), 0.3)),
        "resembles": ((*DIMS, "test"), np.stack([by_model(0.8, 0.2)] * 2, -1)),
        "resembles_shuffled": ((*DIMS, "test"), np.zeros((*SHAPE, 2))),
        "closer": ((*DIMS, "test"), np.stack([by_model(0.9, 0.0)] * 2, -1)),
        "kernel_r2": ((*DIMS, "source", "of", "metric", "kernel", "width"), r2),
    }
    coords = {
        "model": MODELS,
        "hold_out": HOLD_OUTS,
        "seed": range(SEEDS),
        "where": where,
        "test": tests,
        "source": sources,
        "of": ["id", "ood"],
        "metric": ["cosine"],
        "kernel": kernels,
        "width": [1, 2],
    }
    return xr.Dataset(values, coords)


def judged(results: xr.Dataset) -> tuple[list[bool], list[bool]]:
    row = claims.judge(all_claims()["FR-1"], results)
    return [p["holds"] for p in row["parts"]], [p["holds"] for p in row["parts_controls"]]


def test_what_the_paper_describes_reproduces_it():
    row = claims.judge(all_claims()["FR-1"], failure())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert row["numbers"]["cnn_bump.square.ratio"] == pytest.approx(12)
    assert row["numbers"]["mlp_bump.corner.sum_minus_product"] == pytest.approx(0.4)


# What is changed, where, to what: and which parts of the paper's rule and of the fair one then
# fail.
CHANGES = {
    "the CNN composes": ("error", {"model": "cnn_bump", "where": "ood"}, 4e-4, [0], [1]),
    "an MLP composes": ("error", {"model": "mlp_ramp", "where": "ood"}, 4e-4, [], [1]),
    "the CNN has not learned": ("error", {"model": "cnn_bump", "where": "id"}, 4e-3, [], [0]),
    "a ramp has not learned": ("error", {"model": "cnn_ramp", "where": "id"}, 4e-3, [], []),
    "the VN fails": ("error", {"model": "vn_full", "where": "ood"}, 4e-3, [], [2]),
    "one bump": (
        "several",
        {"model": "cnn_ramp", "hold_out": "corner", "where": "ood"},
        0.1,
        [1],
        [3],
    ),
    "ink anywhere": ("share_cross", {"model": "mlp_bump", "where": "ood"}, 0.35, [], [3]),
    "no resemblance": ("resembles", {"model": "cnn_bump", "test": "averaged"}, 0.1, [2], [4]),
    "ramps are not averaged": ("resembles", {"model": "cnn_ramp", "test": "averaged"}, 0.1, [], []),
    "all sums are alike": ("resembles_shuffled", {"model": "cnn_bump"}, 0.75, [], [4]),
    "the bump is closer": ("closer", {"model": "cnn_bright"}, 0.5, [], [4]),
    "a control superposes": ("closer", {"model": "vn_full"}, 0.5, [], [4]),
    "no binary kernel": (
        "kernel_r2",
        {"model": "cnn_bump", "source": "model", "kernel": "binary"},
        0.22,
        [3],
        [],
    ),
    "ramps follow it more": (
        "kernel_r2",
        {"model": "cnn_ramp", "source": "model", "kernel": "binary"},
        0.35,
        [4],
        [],
    ),
    "a product kernel": (
        "kernel_r2",
        {"model": "mlp_bump", "source": "model", "kernel": "product"},
        0.9,
        [],
        [5],
    ),
    "with another width": (
        "kernel_r2",
        {"model": "mlp_bump", "source": "model", "kernel": "product", "width": 2},
        0.9,
        [],
        [5],
    ),
    "in half of the seeds": (
        "kernel_r2",
        {"model": "cnn_bump", "source": "model", "kernel": "sum", "width": 1, "seed": [0, 1]},
        0.3,
        [],
        [5],
    ),
    "ID pairs do not count": (
        "kernel_r2",
        {"of": "id", "source": "model", "kernel": "product"},
        0.9,
        [],
        [],
    ),
    "the control's kernel": (
        "kernel_r2",
        {"model": "vn_full", "source": "model", "kernel": "sum"},
        1.0,
        [],
        [6],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_part_fails_by_itself(change):
    name, where, value, paper, fair = CHANGES[change]
    results = failure()
    results[name].loc[where] = value
    parts, parts_controls = judged(results)
    assert [i for i, holds in enumerate(parts) if not holds] == paper
    assert [i for i, holds in enumerate(parts_controls) if not holds] == fair


@pytest.mark.parametrize("lacking", MODELS)
def test_a_model_that_lacks_is_named(lacking):
    row = claims.judge(all_claims()["FR-1"], failure().drop_sel(model=lacking))
    assert row["verdict"] == NOT_TESTABLE and lacking in row["missing"]


def test_a_hold_out_that_lacks_is_named():
    row = claims.judge(all_claims()["FR-1"], failure().sel(hold_out=["square"]))
    assert row["verdict"] == NOT_TESTABLE and "corner" in row["missing"]


def test_order_does_not_matter():
    results = failure()
    mixed = results.isel(model=slice(None, None, -1), hold_out=[1, 0], seed=[2, 0, 3, 1])
    assert judged(mixed) == judged(results)
