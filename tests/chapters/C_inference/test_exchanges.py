"""Exchanges of atoms against a search through all of them."""

from __future__ import annotations

import pytest
import torch
from sparse_cases import dictionary, draw, planted

from chapters.C_inference.exchanges import swap_atoms
from vnlib.greedy import orthogonal_matching_pursuit, polish


def error(V: torch.Tensor, x: torch.Tensor, code: torch.Tensor) -> torch.Tensor:
    return (x - code @ V.T).square().sum(1)


def test_no_exchange_of_two_atoms_improves_what_was_swapped():
    """Every pair is tried by least squares; the same search does find better ones before."""
    V, x = dictionary(tilt=1.0), draw(5, 15, seed=29)
    greedy = orthogonal_matching_pursuit(V, x, k=4)
    swapped = swap_atoms(V, x, greedy)
    assert ((swapped != 0).sum(1) == 4).all()

    def best(row: int, code: torch.Tensor) -> float:
        on, found = code.nonzero().squeeze(1).tolist(), []
        for leaves in on:
            for joins in set(range(30)) - set(on):
                A = V[:, [*(atom for atom in on if atom != leaves), joins]]
                fit = torch.linalg.lstsq(A, x[row][:, None]).solution
                found.append(float((x[row] - (A @ fit)[:, 0]).square().sum()))
        return min(found)

    before, after = error(V, x, greedy), error(V, x, swapped)
    assert all(best(row, swapped[row]) > float(after[row]) - 1e-9 for row in range(5))
    assert any(best(row, greedy[row]) < float(before[row]) - 1e-3 for row in range(5))
    assert (after <= before + 1e-12).all()


def test_exchanges_find_planted_atoms_that_the_pursuit_misses():
    V = dictionary(25, 40, tilt=1.0)
    code, x = planted(V, 60, 4, seed=30)
    found = {
        name: ((one != 0) == (code != 0)).all(1).double().mean()
        for name, one in (
            ("greedy", orthogonal_matching_pursuit(V, x, k=4)),
            ("swapped", swap_atoms(V, x, orthogonal_matching_pursuit(V, x, k=4))),
        )
    }
    assert found["greedy"] < 0.8 < 0.9 < found["swapped"]


def test_exchanges_leave_what_cannot_be_improved():
    V, x = dictionary(), draw(3, 15, seed=31)
    everything = torch.ones(3, 30, dtype=torch.float64)
    torch.testing.assert_close(swap_atoms(V, x, everything), polish(V, x, everything))
    assert torch.equal(swap_atoms(V, x, 0 * everything), 0 * everything)
    code = draw(3, 30, seed=32).float() * (draw(3, 30, seed=33) > 1)
    assert swap_atoms(V.float(), x.float(), code).dtype == torch.float32
    with pytest.raises(ValueError, match="V must have unit columns, got norms from 2 to 2"):
        swap_atoms(2 * V, x, everything)
