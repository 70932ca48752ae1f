"""Descent and rates, against closed forms and against the settle."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.E_theory.descent import descent, lowest_energy, proximal_path, rates, sweep_energies
from chapters.E_theory.recovery import planted_codes
from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1, TopK
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settler


def problem(d: int = 10, K: int = 16, n: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    V = unit_columns(torch.randn(d, K, generator=generator(0, "V"), dtype=torch.float64))
    return V, planted_codes(n, K, 3, generator(0, "a")) @ V.T


@pytest.mark.parametrize(("momentum", "method"), [(False, "ista"), (True, "fista")])
def test_steps_of_one_over_l_are_those_of_the_settle(momentum, method):
    V, x = problem()
    for penalty in (L1(sparsity=0.1), TopK(penalty=L1(sparsity=0.1), k=2)):
        if momentum and not penalty.accelerable:
            continue
        layer = Layer(V, None, penalty)
        path = proximal_path(layer, x, factor=1, steps=25, momentum=momentum)
        settled = Settler([layer], config=SettleConfig(method=method, max_sweeps=25, tol=0))(x)
        torch.testing.assert_close(path.code, settled.codes[0], rtol=1e-8, atol=1e-10)
        torch.testing.assert_close(path.energy[-1], settled.energy)
        assert path.energy.shape == (26, 5) and path.moved.shape == (25, 5)


@pytest.mark.parametrize("factor", [0.25, 1.0, 1.5])
def test_the_gain_on_an_orthonormal_dictionary_is_the_sharper_constant(factor):
    """Every coefficient moves along a parabola, on which (1 - eta L / 2) is exact."""
    found = descent(
        torch.eye(4, dtype=torch.float64),
        torch.full((2, 4), 3.0, dtype=torch.float64),
        sparsity=0.5,
        top_k=4,
        factors=[factor],
        steps=5,
    )
    np.testing.assert_allclose(found["smallest_gain"], 1 - factor / 2, atol=1e-3)
    assert (found["rises"] == 0).all()


def test_descent_ends_between_two_and_more_over_l():
    V, x = problem()
    found = descent(V, x, sparsity=0.1, top_k=3, factors=[0.5, 1, 1.9, 3], steps=100)
    gain = found["smallest_gain"].sel(penalty="soft")
    assert (gain >= 1 - gain["factor"] / 2 - 1e-3).all()
    assert (found["rises"].sel(penalty="soft", factor=[0.5, 1, 1.9]) == 0).all()
    assert (found["rises"].sel(penalty="hard", factor=[0.5, 1]) == 0).all()
    assert found["rises"].sel(penalty="soft", factor=3) > 0.5
    assert (
        found["end_gap"].sel(safeguard="none", factor=3)
        > 1e3
        > found["end_gap"].sel(safeguard="reject", factor=3)
    )


def test_rejecting_never_rises_but_a_too_long_step_stays_stuck():
    V, x = problem()
    layer = Layer(V, None, L1(sparsity=0.1))
    stuck = proximal_path(layer, x, factor=3, steps=200, reject=True)
    assert (stuck.energy.diff(dim=0) <= 0).all()
    assert (stuck.energy[-1] > 1.01 * lowest_energy(layer, x)[1]).all()
    safe = proximal_path(layer, x, factor=1, steps=400, momentum=True, reject=True)
    assert (safe.energy.diff(dim=0) <= 0).all()
    torch.testing.assert_close(safe.energy[-1], lowest_energy(layer, x)[1], rtol=1e-6, atol=0)


def test_a_step_must_be_positive():
    V, x = problem()
    with pytest.raises(ValueError, match="factor must be a finite number > 0, got 0"):
        proximal_path(Layer(V, None, L1(sparsity=0.1)), x, factor=0, steps=3)


def test_rates_stay_below_the_bounds_and_end_linearly():
    V, x = problem(n=12)
    found = rates(V, x, sparsity=0.1, steps=1500)
    assert (found["worst_to_bound"].sel(algorithm=["ista", "fista"]) <= 1).all()
    assert (found["worst_to_bound"].sel(algorithm=["ista", "fista"]) > 0.01).all()
    rising = found["rising_steps"]
    assert (
        rising.sel(algorithm="ista")
        == rising.sel(algorithm="fista, reject")
        == 0
        < rising.sel(algorithm="fista")
    )
    measured, predicted = found["tail_rate"].values, found["tail_predicted"].values
    known = np.isfinite(measured)
    assert known.sum() > 5
    np.testing.assert_allclose(
        np.median(np.log(measured[known]) / np.log(predicted[known])), 1, atol=0.05
    )


def test_the_joint_energy_descends_and_the_sum_does_not():
    found = sweep_energies(6, 8, batch=8, feedback=0.3, sparsity=0.2, top_k=3, sweeps=60, seed=0)
    assert (found["sweep_rises"].sel(counted="joint") == 0).all()
    assert (found["sweep_rises"].sel(counted="summed") > 0.05).all()
    assert found["sweep_energy"].dims == ("penalty", "counted", "sweep_number")
