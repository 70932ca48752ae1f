"""Exchanges of atoms against a search through all of them."""

from __future__ import annotations

import pytest
import torch

from chapters.C_inference.exchanges import swap_atoms
from vnlib.greedy import orthogonal_matching_pursuit, polish
from vnlib.learning.rules import unit_columns


def draw(*shape: int, seed: int, dtype=torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def dictionary(d=15, atoms=30, *, seed=0, tilt=0.0) -> torch.Tensor:
    """Random unit atoms; `tilt` adds a common direction, which makes them coherent."""
    return unit_columns(draw(d, atoms, seed=seed) + tilt)


def planted(
    V: torch.Tensor, batch: int, active: int, *, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes with `active` coefficients between 1 and 2 in size, and the signals they make."""
    on = draw(batch, V.shape[1], seed=seed).topk(active, dim=1).indices
    values = draw(batch, active, seed=seed + 1)
    values = values.sign() * (1 + values.abs() / 4).clamp_max(2)
    code = torch.zeros(batch, V.shape[1], dtype=V.dtype).scatter(1, on, values)
    return code, code @ V.T


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
