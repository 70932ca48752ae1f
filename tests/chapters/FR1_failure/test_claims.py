"""The rule of FR-1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import judging
import numpy as np
import pytest
import xarray as xr

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

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
    ood_only = np.stack([by_model(0, 0), by_model(0, 0), by_model(0.9, 0)], -1)
    measures = {
        "error": ("where", 0.004 * error),
        "zero_baseline": ("where", np.full((*SHAPE, 3), 0.004)),
        "several": ("where", ood_only),
        "share_cross": ("where", np.stack([by_model(0.8, 1)] * 3, -1)),
        "chance_cross": ("where", np.full((*SHAPE, 3), 0.3)),
        "resembles": ("test", np.stack([by_model(0.8, 0.2)] * 2, -1)),
        "resembles_shuffled": ("test", np.zeros((*SHAPE, 2))),
        "closer": ("test", np.stack([by_model(0.9, 0.0)] * 2, -1)),
    }
    values = {name: ((*DIMS, last), value) for name, (last, value) in measures.items()}
    values["kernel_r2"] = (*DIMS, "source", "pairs", "metric", "kernel", "width"), r2
    coords = {"model": MODELS, "hold_out": HOLD_OUTS, "seed": range(SEEDS), "where": where}
    coords |= {"test": tests, "source": sources, "kernel": kernels, "width": [1, 2]}
    return xr.Dataset(values, coords | {"pairs": ["id", "ood"], "metric": ["cosine"]})


def test_what_the_paper_describes_reproduces_it():
    row = judging.judged("FR-1", failure())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert row["numbers"]["cnn_bump.square.ratio"] == pytest.approx(12)
    assert row["numbers"]["mlp_bump.corner.sum_minus_product"] == pytest.approx(0.4)


def r2(model: str, kernel: str, value: float, **where: object) -> tuple:
    """A change of a model's R^2, of both widths unless one is named."""
    return "kernel_r2", {"model": model, "source": "model", "kernel": kernel, **where}, value


# What is changed, where, to what, and which parts then fail: as printed, and with controls.
CHANGES = {
    "the CNN composes": ("error", {"model": "cnn_bump", "where": "ood"}, 4e-4, [0], [1]),
    "an MLP composes": ("error", {"model": "mlp_ramp", "where": "ood"}, 4e-4, [], [1]),
    "the CNN has not learned": ("error", {"model": "cnn_bump", "where": "id"}, 4e-3, [], [0]),
    "a ramp has not learned": ("error", {"model": "cnn_ramp", "where": "id"}, 4e-3, [], []),
    "the VN fails": ("error", {"model": "vn_full", "where": "ood"}, 4e-3, [], [2]),
    "one bump": ("several", {"model": "cnn_ramp", "hold_out": "corner"}, 0.1, [1], [3]),
    "ink anywhere": ("share_cross", {"model": "mlp_bump", "where": "ood"}, 0.35, [], [3]),
    "no resemblance": ("resembles", {"model": "cnn_bump", "test": "averaged"}, 0.1, [2], [4]),
    "ramps are not averaged": ("resembles", {"model": "cnn_ramp", "test": "averaged"}, 0.1, [], []),
    "all sums are alike": ("resembles_shuffled", {"model": "cnn_bump"}, 0.75, [], [4]),
    "the bump is closer": ("closer", {"model": "cnn_bright"}, 0.5, [], [4]),
    "a control superposes": ("closer", {"model": "vn_full"}, 0.5, [], [4]),
    "no binary kernel": (*r2("cnn_bump", "binary", 0.22), [3], []),
    "ramps follow it more": (*r2("cnn_ramp", "binary", 0.35), [4], []),
    "a product kernel": (*r2("mlp_bump", "product", 0.9), [], [5]),
    "with another width": (*r2("mlp_bump", "product", 0.9, width=2), [], [5]),
    "in half of the seeds": (*r2("cnn_bump", "sum", 0.3, width=1, seed=[0, 1]), [], [5]),
    "ID pairs do not count": (*r2("cnn_bump", "product", 0.9, pairs="id"), [], []),
    "the control's kernel": (*r2("vn_full", "sum", 1.0), [], [6]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_part_fails_by_itself(change):
    name, where, value, printed, controls = CHANGES[change]
    results = failure()
    results[name].loc[where] = value
    assert judging.failing("FR-1", results) == (printed, controls)


LACKING = [("model", name) for name in MODELS] + [("hold_out", "corner")]


@pytest.mark.parametrize(("along", "lacking"), LACKING)
def test_what_lacks_is_named(along, lacking):
    row = judging.judged("FR-1", failure().drop_sel({along: lacking}))
    assert row["verdict"] == NOT_TESTABLE and lacking in row["missing"]


def test_order_does_not_matter():
    results = failure()
    mixed = results.isel(model=slice(None, None, -1), hold_out=[1, 0], seed=[2, 0, 3, 1])
    assert judging.failing("FR-1", mixed) == judging.failing("FR-1", results) == ([], [])
