"""What starts save: settles that are known beforehand, ends that agree, and bits that repeat."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.starts import measure as study
from benchmarks.starts.initialiser import Stack
from benchmarks.starts.settling import Sizes, first_below, heights, settled, support, zeros
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig, Settler

SWEEPS = dict.fromkeys(("ista", "restart", "line_search"), 400)
SIZES = {"sweeps": SWEEPS, "settled": 3, "end": 3000, "gap": 1e-10, "timed": 2, "repeats": 1}
RATES = {name: [1e-2] for name in study.LEARNED}
TIMES = ["train_time", "codes_time", "time_ratio", "time_cold"]


def inputs(n: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(n, 16, generator=torch.Generator().manual_seed(seed)) ** 3


def network(depth: int = 1, **options) -> VectorNetwork:
    shape = {
        "atoms": (12, 9, 6)[:depth],
        "interface": (10, 8)[: depth - 1],
        "sparsity": 0.05,
        "feedback": 0.2,
    }
    return VectorNetwork.for_data(inputs(60, 1), seed=0, **shape, **options)


def orthonormal() -> VectorNetwork:
    """One layer that the first step of 1/L all but settles."""
    net = VectorNetwork(VNConfig(n_inputs=16, atoms=(16,), sparsity=(0.1,)), seed=0)
    net.V[0].copy_(torch.eye(16))
    return net


def found(net: VectorNetwork, **changes) -> xr.Dataset:
    tests = {"id": inputs(4, 7), "sum": inputs(4, 7) + inputs(4, 8)}
    given = {
        "training": {"steps": 20, "batch_size": 20},
        "rates": RATES,
        "unrolled": 2,
        "hidden": [8],
        "targets": {"tol": 1e-5, "sweeps": 500},
        "sizes": SIZES,
        "seed": 0,
        "train_x": inputs(40, 2),
        "held": inputs(20, 3),
        "tests": tests,
    } | changes
    return study.study(net, **given)


def test_first_below_by_hand():
    rows = torch.tensor([[1.0, 0.01, 1.0], [0.2, 0.5, 0.9], [0.05, 0.5, 0.9], [0.3, 0.0, 0.9]])
    assert first_below([0, 1, 2, 6], rows, 0.05).tolist() == [2, 0, torch.inf]


def test_supports_leave_out_traces():
    codes = (torch.tensor([[1.0, 1e-9, -0.1], [0.0, 0.0, 0.0]]),)
    assert support(codes)[0].tolist() == [[True, False, True], [False, False, False]]


@pytest.mark.parametrize("solver", ("ista", "restart", "line_search"))
def test_heights_are_those_of_the_settle(solver):
    stack, x = study.stack_of(network(3), torch.float64), inputs(4).double()
    lowest = stack.energy(settled(stack, x, tol=1e-11, sweeps=5000), x)
    seen, rows = heights(stack, x, lowest, None, solver=solver, sweeps=31)
    assert seen[:21] == list(range(21)) and seen[-1] <= 31
    torch.testing.assert_close(rows[0], stack.energy(zeros(stack, x), x) / lowest - 1)
    for row in (1, 7, len(seen) - 1):
        config = SettleConfig(method=solver, max_sweeps=seen[row], tol=0)
        whole = Settler(stack.layers, feedback=stack.feedback, config=config)(x)
        torch.testing.assert_close(rows[row], whole.energy / lowest - 1, rtol=1e-9, atol=1e-12)


def test_heights_stop_where_all_is_done():
    stack, x = study.stack_of(network(), torch.float64), inputs(4).double()
    rest = settled(stack, x, tol=1e-11, sweeps=5000)
    seen, rows = heights(stack, x, stack.energy(rest, x), rest, solver="ista", sweeps=50)
    assert seen == [0] and float(rows.abs().max()) == 0


def test_an_orthonormal_dictionary_needs_one_sweep_and_what_is_learned_none():
    results = found(orthonormal(), starts=("cold", "untrained", "lista"))
    assert (results["needed"].sel(start="cold", solver="ista") == 1).all()
    assert (results["needed"].sel(start="untrained") == 0).all()
    assert (results["saved"].sel(start="untrained") == 1).all()
    # Two sweeps of 16 x 16, the first of them from zero; V'x is made for both.
    assert float(results["cost"].sel(start="untrained")) == 1
    assert float(results["cost"].sel(start="lista")) == 2
    assert (results["saved_paid"].sel(start="untrained", solver="ista") == 0).all()
    assert (results["overlap"].sel(start="untrained") == 1).all()
    assert (results["overlap"].sel(start="cold") == 0).all()


@pytest.mark.parametrize("depth", (1, 3))
def test_all_starts_end_where_the_cold_one_does(depth):
    results = found(network(depth))
    assert (results["end_gap"] < 1e-9).all()
    assert float(results["end_height"].max()) < 1e-9
    assert float(results["end_distance"].max()) < 1e-3
    assert float(results["end_lower"].max()) == 0
    # ... though they begin at other codes.
    begun = results["start_distance"].sel(set="id")
    assert float(begun.sel(start="cold")) == 1 and float(begun.min()) < 0.6
    assert np.isfinite(results["time_ratio"]).all()


def test_the_nearest_of_the_inputs_themselves_is_the_end():
    tests = {"id": inputs(40, 2)[:4]}
    results = found(
        network(), tests=tests, starts=("cold", "nearest"), targets={"tol": 1e-6, "sweeps": 2000}
    )
    assert (results["needed"].sel(start="nearest") == 0).all()
    assert (results["saved"].sel(start="nearest") == 1).all()
    assert float(results["cost"].sel(start="nearest")) == pytest.approx(40 * 16 / 12**2)


def test_under_a_cap_there_is_no_gap_and_no_time():
    results = found(
        network(3, top_k=2), starts=("cold", "untrained", "lista"), sizes=SIZES | {"end": 150}
    )
    assert "time_ratio" not in results and results["end_gap"].isnull().all()
    assert float(results["end_differs"].sel(start="cold").max()) == 0
    assert ((results["end_differs"] >= 0) & (results["end_differs"] <= 1)).all()
    # Heights are above the lowest energy that any start reaches.
    assert float(results["height"].min()) > -1e-3


def test_one_seed_one_result():
    few = {
        "starts": ("cold", "lista", "mlp"),
        "sizes": SIZES | {"sweeps": dict.fromkeys(SWEEPS, 9), "end": 50},
    }
    one, again, other = (found(network(2), seed=seed, **few).drop_vars(TIMES) for seed in (0, 0, 1))
    xr.testing.assert_identical(one, again)
    assert not one.sel(start="mlp").equals(other.sel(start="mlp"))
    assert float(one["excess"].sel(start="cold")) == float(other["excess"].sel(start="cold"))


@pytest.mark.parametrize(
    ("changes", "says"),
    (
        ({"starts": ("cold", "warm")}, "each of starts must be one of"),
        ({"starts": ("lista",)}, "starts must hold 'cold'"),
        ({"tests": {"sum": inputs(4)}}, "tests must hold 'id'"),
        ({"rates": {"lista": [0.1]}}, "rates must have an entry .* steps"),
        ({"tests": {"id": inputs(4), "sum": inputs(5)}}, "equally many"),
        ({"sizes": SIZES | {"settled": 5}}, "at least as many"),
    ),
)
def test_bad_arguments_are_named(changes, says):
    with pytest.raises(ValueError, match=says):
        found(network(), **changes)


def test_sizes_are_checked():
    with pytest.raises(ValueError, match="sweeps of restart"):
        Sizes(**SIZES | {"sweeps": {"ista": 1}})
    for name in ("settled", "end", "timed", "repeats", "gap"):
        with pytest.raises(ValueError, match=name):
            Sizes(**SIZES | {name: 0})
    assert isinstance(study.stack_of(network()), Stack)
