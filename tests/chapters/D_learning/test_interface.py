"""How the interface learns: closed forms, and rules told apart by what they serve."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from chapters.D_learning import interface, measure
from vnlib.network import VNConfig


def draw(*shape: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng, dtype=torch.float64).float()


X = draw(120, 10, seed=1) @ draw(10, 10, seed=2)
TWO = VNConfig(n_inputs=10, atoms=(24, 12), interface=(8,), sparsity=(0.5, 0.2), feedback=0.2)


def test_effective_rank_of_known_matrices():
    assert interface.effective_rank(torch.eye(5)) == pytest.approx(5)
    assert interface.effective_rank(torch.outer(torch.ones(4), draw(7, seed=7))) == pytest.approx(
        1, abs=1e-4
    )
    p = torch.tensor([3.0, 1.0])
    expected = math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert interface.effective_rank(torch.diag(p)) == pytest.approx(expected)


def test_captured_power_is_that_in_the_row_space():
    U, code = torch.eye(3, 5), torch.tensor([[1.0, 0, 0, 2.0, 0], [0, 1.0, 0, 0, 0]])
    assert interface.captured(U, code) == pytest.approx(2 / 6)
    assert interface.captured(torch.eye(5), code) == pytest.approx(1)
    one = torch.outer(torch.ones(3), torch.tensor([1.0, 0, 0, 0, 0]))
    # rank counts, not the number of rows
    assert interface.captured(one, code) == pytest.approx(1 / 6)


def test_readback_is_nothing_for_an_isometry_and_the_code_for_silence():
    code = draw(6, 4, seed=8)
    assert interface.readback(torch.linalg.qr(draw(4, 4, seed=9)).Q, code) == pytest.approx(
        0, abs=1e-6
    )
    power = float(0.5 * code.square().sum(1).mean())
    assert interface.readback(torch.zeros(3, 4), code) == pytest.approx(power)


def test_silence_is_a_unit_norm_interface_of_rank_one():
    network = measure.start(TWO, X, seed=0)
    silent = interface.silence(network, seed=0)
    assert interface.effective_rank(silent.U[0]) == pytest.approx(1, abs=1e-3)
    torch.testing.assert_close(silent.U[0].norm(dim=0), torch.ones(24))
    assert torch.equal(silent.V[1], network.V[1]) and not torch.equal(silent.U[0], network.U[0])
    assert interface.state(silent, X)["message"] < 0.8 * interface.state(network, X)["message"]


def test_interfaces_are_told_apart():
    found = interface.interfaces(
        TWO,
        X[:80],
        X[80:],
        stages=(0, 30),
        batch_size=40,
        lr=2e-2,
        interface_lr=2e-2,
        seed=0,
    )
    first, last = found.isel(stage=0), found.isel(stage=-1)
    assert float(first["interface_mse"].sel(rule="subspace")) == float(
        first["interface_mse"].sel(rule="literal")
    )
    assert (
        np.isnan(first["interface_energy"].sel(rule="silent"))
        and last["interface_energy"].notnull().all()
    )
    strict = last["interface_mse_from_top"]
    assert strict.sel(rule="subspace") < strict.sel(rule="literal")
    assert last["interface_energy"].sel(rule="literal") < last["interface_energy"].sel(
        rule="subspace"
    )
    rank = found["interface_rank"].sel(rule="frozen")
    assert float(rank[0]) == float(rank[1]) == pytest.approx(8, abs=1e-3)


def test_the_two_objectives_move_as_their_rules_say():
    found = interface.two_objectives(
        TWO,
        X,
        before=5,
        steps=10,
        batch_size=60,
        lr=1e-2,
        interface_lr=1e-2,
        seed=0,
    )["objective_change"]
    assert found.sel(moved="V", objective="F") < 0
    assert (
        found.sel(moved="U, subspace", objective="C")
        < 0
        < found.sel(moved="U, literal", objective="C")
    )
    assert found.sel(moved="U, literal", objective="F") < 0


def test_relative_sparsity_knows_no_contrast():
    three = VNConfig(
        n_inputs=10, atoms=(16, 12, 8), interface=(8, 6), sparsity=(1.0, 1.0, 1.0), feedback=0.1
    )
    found = interface.units_of_sparsity(
        three,
        X[:80],
        X[80:],
        sparsity={"absolute": (2.0, 2.0, 2.0), "relative": (0.2, 0.2, 0.2)},
        contrasts=(0.125, 1.0, 8.0),
        steps=3,
        batch_size=20,
        lr=1e-2,
        interface_lr=1e-2,
        seed=0,
    )["units_active"]
    # Adam's step has no units, but its epsilon has: equal to a small fraction of an atom.
    assert float((found.sel(sparsity_in="relative").std("contrast")).max()) < 0.5
    absolute = found.sel(sparsity_in="absolute", layer=1)
    assert (absolute.diff("contrast") > 1).all()
