"""Penalties at a matched count: with orthonormal atoms all of them must choose the largest
correlations.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.C_inference import penalties as study
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1
from vnlib.seeding import generator

SIGNED = [
    "l1",
    "elastic net",
    "MCP",
    "CEL0",
    "l0",
    "l1, then top-k",
    "top-k",
    "matching pursuit",
    "orthogonal m. p.",
]


def problem() -> tuple[torch.Tensor, torch.Tensor]:
    """One sample whose correlations fall by a factor from atom to atom, with changing signs."""
    V = torch.linalg.qr(torch.randn(24, 24, generator=generator(0, "V"))).Q
    return V, ((-0.8) ** torch.arange(24) @ V.T)[None]


def test_orthonormal_atoms_leave_no_choice():
    V, x = problem()
    found = study.compare(V, x, atoms=6, sparsity=1e-3)
    signed = found.sel(penalty=SIGNED)
    assert np.allclose(signed["kept"], 6)
    largest = (x @ V).square().sort(descending=True).values[0]
    left = float(1 - largest[:6].sum() / x.square().sum())
    assert np.allclose(signed["error_polished"], left, atol=1e-5)
    # these shrink nothing
    for name in ("CEL0", "l0", "top-k", "matching pursuit", "orthogonal m. p."):
        assert float(found["error"].sel(penalty=name)) == pytest.approx(left, abs=1e-4)
    for name in ("l1", "elastic net"):
        assert float(found["error"].sel(penalty=name)) > left + 1e-3
    # half of the atoms are of no use
    assert float(found["error_polished"].sel(penalty="l1, a >= 0")) > left
    assert float(found["time"].min()) > 0 and float(found["rest"].min()) == 1


def test_the_weight_lies_between_the_last_atom_kept_and_the_first_one_dropped():
    V, x = problem()
    size = (x @ V).abs().sort(descending=True).values[0]
    weight = study._weight(V, x, lambda s: L1(sparsity=s), 6)
    assert float(size[6]) <= weight < float(size[5])


def test_picks_are_the_fewest_that_do():
    V = torch.nn.functional.normalize(
        torch.randn(10, 30, generator=generator(0, "coherent")), dim=0
    )
    x = torch.randn(6, 10, generator=generator(1, "x"))
    picks = study._picks(V, x, 5)

    def active(k: int) -> float:
        return float((study.matching_pursuit(V, x, k=k) != 0).sum(1).double().mean())

    assert active(picks) >= 5 > active(picks - 1)


def coherent() -> tuple[torch.Tensor, torch.Tensor]:
    """Unit atoms that share a direction, and samples."""
    V = torch.randn(15, 30, generator=generator(0, "V"), dtype=torch.float64)
    return unit_columns(V + 0.3), torch.randn(9, 15, generator=generator(0, "x")).double()


def test_matching_pursuit_equals_a_plain_loop():
    V, x = coherent()
    found = study.matching_pursuit(V, x, k=9)
    for row, signal in enumerate(x):
        code, residual = torch.zeros(30, dtype=torch.float64), signal.clone()
        for _ in range(9):
            best = int((V.T @ residual).abs().argmax())
            gain = V[:, best] @ residual
            code[best] += gain
            residual = residual - gain * V[:, best]
        torch.testing.assert_close(found[row], code, atol=1e-12, rtol=0)


def test_matching_pursuit_comes_back_to_an_atom():
    """Three atoms at 120 degrees and a signal between two of them: one atom alone is corrected over
    and over.
    """
    angles = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64) * torch.pi / 3
    V, x = torch.stack([angles.cos(), angles.sin()]), torch.tensor([[0.3, 1.0]]).double()
    assert (study.matching_pursuit(V, x, k=3) @ V.T - x).norm() > 1e-2
    assert (study.matching_pursuit(V, x, k=30) @ V.T - x).norm() < 1e-6


def test_a_pick_takes_its_square_off_the_energy():
    V, x = coherent()
    for k in range(1, 8):
        before, after = (x - study.matching_pursuit(V, x, k=n) @ V.T for n in (k, k + 1))
        gain = (before @ V).abs().amax(1)
        fall = before.square().sum(1) - after.square().sum(1)
        torch.testing.assert_close(fall, gain.square(), atol=1e-12, rtol=0)


def test_matching_pursuit_stops_at_rounding():
    V, x = coherent()
    spanned = 2 * V.T[:3].contiguous()
    torch.testing.assert_close(
        study.matching_pursuit(V, spanned, k=9), 2 * torch.eye(30)[:3].double()
    )
    assert not study.matching_pursuit(V, 0 * x, k=3).any()
