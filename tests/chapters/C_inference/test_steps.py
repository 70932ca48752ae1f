"""Step sizes, the line search's steps, accept/reject and variants: on problems whose answer is
known.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.C_inference import steps as study
from chapters.C_inference.measure import Task, layer_steps, with_reference
from vnlib.layer import Layer, hessian, lipschitz
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1
from vnlib.seeding import generator
from vnlib.settle import SettleConfig


def dictionary(d: int, K: int, *, coherent: float = 0.0, seed: int = 0) -> torch.Tensor:
    V = torch.randn(d, K, generator=generator(seed, "V"), dtype=torch.float64)
    return unit_columns(V + coherent * V[:, :1])


def single(V: torch.Tensor, *, sparsity: float = 0.1, n: int = 4) -> Task:
    x = torch.randn(n, V.shape[0], generator=generator(0, "x"), dtype=torch.float64)
    return with_reference(Task((Layer(V, None, L1(sparsity=sparsity)),), 0.0, x))


def pair(*, sparsity: float = 0.1, feedback: float = 1.0) -> Task:
    x = torch.randn(4, 12, generator=generator(0, "x"), dtype=torch.float64)
    below = Layer(dictionary(12, 5, coherent=0.5), dictionary(6, 5, seed=1), L1(sparsity=sparsity))
    return with_reference(
        Task((below, Layer(dictionary(6, 4, seed=2), None, L1(sparsity=sparsity))), feedback, x)
    )


def test_a_factor_of_one_is_the_step_of_the_settle():
    one = pair()
    config = SettleConfig(method="ista", max_sweeps=5, tol=0)
    mine, usual = (one.settler(config, rule)(one.x).codes for rule in (study.ScaledIsta(1.0), None))
    assert all(map(torch.equal, mine, usual))


def test_the_first_step_may_use_the_bottom_up_constant():
    one = pair()
    below = one.layers[0]
    for rule, L in (
        (study.ScaledIsta(2.0), lipschitz(hessian(below, 1.0)) / 2),
        (study.ScaledIsta(bottom_up=True), lipschitz(hessian(below))),
    ):
        # The message of the first step is what layer 2 sees; after one step on an empty code,
        # a = S(V'x / L).
        state = rule.begin(one.x.new_zeros(4, 5), one.settler(SettleConfig()).quadratics[0])
        problem = study.Problem(
            one.settler(SettleConfig()).quadratics[0], below.penalty, coupled=False
        )
        rule.step(state, one.x @ below.V, problem)
        assert torch.allclose(state.code, below.penalty.prox(one.x @ below.V / L, 1 / L))


def test_steps_beyond_two_over_L_diverge_and_shorter_ones_do_not():
    """One atom: the error shrinks by 1 - factor per sweep, so 1 is exact and beyond 2 it grows."""
    found = study.step_sizes(
        [single(dictionary(6, 1), sparsity=1e-3)], factors=[0.5, 1.0, 1.9, 2.2], sweeps=200, kept=60
    )
    assert found["diverged"].values.tolist() == [[0, 0, 0, 1]]
    needed = found["step_needed"].sel(step_depth=1, level=1e-6).values
    assert needed[1] == 1 and 1 < needed[0] < needed[2] < needed[3] == np.inf
    assert found["step_rises"].sel(step_depth=1).values[:3].tolist() == [0, 0, 0]
    assert float(found["step_rises"].sel(step_depth=1, factor=2.2)) > 0.5


def test_orthonormal_atoms_allow_no_longer_step():
    V = torch.linalg.qr(torch.randn(8, 5, generator=generator(0, "q"), dtype=torch.float64)).Q
    found = study.found_steps([single(V)], sweeps=60, kept=10)
    assert np.allclose(found["allowed"], 1, atol=1e-3)
    assert float(found["found"].isel(found_sweep=0).max()) <= 4.01  # it starts at 4 / L or below


def test_a_smaller_support_allows_longer_steps():
    """One pair of near-duplicate atoms sets L; a sample along the third atom does not feel it."""
    V = torch.eye(3, dtype=torch.float64)[:, [0, 0, 1]]
    V[:, 1] = torch.tensor([0.8, 0.0, 0.6], dtype=torch.float64)
    one = with_reference(Task((Layer(V, None, L1(sparsity=0.1)),), 0.0, V[:, 2:].T.contiguous()))
    found = study.found_steps([one], sweeps=200, kept=10)
    assert float(found["allowed"][0, 0, 0]) == pytest.approx(1.8, rel=1e-3)
    assert float(found["found_end"][0, 0, 0]) > 1.5


def test_accept_reject_keeps_momentum_from_rising_and_ends_in_the_same_point():
    one = pair()
    found = study.safeguards(one, sweeps=40, end_steps=1500)
    rises = found["guard_rises"]
    assert float(rises.sel(safeguard="reject").max()) == 0
    assert float(rises.sel(safeguard="none", guard_solver="ista")) == 0
    assert float(rises.sel(safeguard="none", guard_solver="fista")) > 0
    rejected = found["rejected"].sel(safeguard="reject")
    assert float(rejected.sel(guard_solver="fista")) > 0 == float(rejected.sel(guard_solver="ista"))
    assert float(found["guard_distance"].max()) < 1e-4
    path = found["guard_path"].sel(safeguard="reject")
    assert float(path.diff("guard_sweep").max()) <= 1e-12


def test_the_summed_energy_is_f_where_nothing_is_coupled_and_not_where_something_is():
    alone = study.safeguards(single(dictionary(8, 6)), sweeps=40, end_steps=30, methods=["ista"])
    assert alone["summed_rises"].item() == 0 and np.isnan(alone["summed_stop"].item())
    coupled = study.safeguards(pair(feedback=4.0), sweeps=40, end_steps=30, methods=["ista"])
    assert coupled["summed_rises"].item() > 0
    assert coupled["summed_stop"].item() >= 2 and coupled["summed_height"].item() > 0


def test_variants_count_layer_steps_and_change_no_end():
    one = pair()
    found = study.variants(one, sweeps=60, kept=12, end_steps=1500)
    ends = found["variant_distance"]
    assert float(ends.max()) < 1e-4
    bottom_up = found.sel(variant="bottom-up first", variant_solver="restart")
    assert np.isnan(float(bottom_up["variant_distance"])) and bool(
        bottom_up["variant_needed"].isnull().all()
    )
    needed = found["variant_needed"].sel(level=1e-3)
    assert float(needed.sel(variant="none").min()) >= layer_steps(2, "sweep", 1)
    assert bool((needed.sel(variant="mix 0.5") > needed.sel(variant="none")).all())
    assert bool((needed.sel(variant="5 steps") >= 5 * layer_steps(2, "sweep", 1)).all())


def test_a_path_that_overflows_is_walked_to_its_end():
    found = study.step_sizes(
        [single(dictionary(6, 1), sparsity=1e-3)], factors=[1.0, 9.0], sweeps=1000, kept=10
    )
    assert found["diverged"].values.tolist() == [[0, 1]]
    assert found["step_needed"].sel(factor=9.0, level=1e-6).values.tolist() == [np.inf]
