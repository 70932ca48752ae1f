"""Hard sparsity over exemplars: planted supports, brute force, caps, masks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch

from benchmarks.functions.exemplars import Exemplars, _amplitudes, _library, _search

LENGTH = 48


def smooth(n: int, seed: int = 0) -> torch.Tensor:
    """Sums of twelve cosines, in float64."""
    t = torch.linspace(0, 1, LENGTH, dtype=torch.float64)
    basis = torch.stack([torch.cos(torch.pi * k * t) for k in range(12)])
    return (
        torch.randn(n, 12, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        @ basis
    )


def masks(n: int, seed: int = 5) -> torch.Tensor:
    seen = torch.rand(n, LENGTH, generator=torch.Generator().manual_seed(seed)) < 0.7
    seen[::2] = torch.arange(LENGTH) < 32
    return seen


TRAIN = smooth(40)
EXEMPLARS = Exemplars(TRAIN, 40, seed=0)
EXACT = {"ridge": 1e-9, "floor": 1e-12}


@pytest.mark.parametrize("k", [2, 3])
def test_a_planted_sum_of_two_exemplars_is_found_under_a_mask(k):
    pairs = torch.tensor([[0, 1], [5, 9], [12, 3], [30, 31], [7, 22], [18, 25]])
    scales = torch.tensor(
        [[1.0, -2], [0.5, 0.5], [-1, 1.5], [2, 2.5], [-0.7, -1], [1, 1]], dtype=torch.float64
    )
    x, seen = torch.einsum("bk,bkt->bt", scales, TRAIN[pairs]), masks(6)
    found = EXEMPLARS.complete(torch.where(seen, x, torch.nan), seen, k=k, starts=16, **EXACT)
    torch.testing.assert_close(found, x, atol=1e-5, rtol=0)


def test_reconstruction_is_completion_with_all_observed_but_for_the_samples_themselves():
    x = smooth(5, seed=1)
    found = EXEMPLARS.reconstruct(x)
    assert found.shape == x.shape and (found - x).abs().max() > 0.01
    assert torch.equal(EXEMPLARS.complete(x, torch.ones_like(x, dtype=torch.bool)), x)
    torch.testing.assert_close(
        EXEMPLARS.reconstruct(TRAIN[:5], **EXACT), TRAIN[:5], atol=1e-5, rtol=0
    )


def test_no_swap_of_one_atom_helps_in_the_end():
    """Every support that differs in one atom, by brute force: unbounded amplitudes, float64."""
    library, x, seen, ridge = _library(TRAIN, 1e6), smooth(4, seed=2), masks(4), 1e-3
    begin = torch.tensor([[i, (i + 7) % 40] for i in range(20)])

    def value(row: int, support: list[int]) -> float:
        A = (library.atoms[support] * seen[row]).numpy().T
        y = (x[row] * seen[row]).numpy()
        a = np.linalg.solve(A.T @ A + ridge * np.eye(len(support)), A.T @ y)
        return ((y - A @ a) ** 2).sum() + ridge * (a**2).sum()

    found = _search(library, torch.where(seen, x, 0), seen, begin, ridge, 50).tolist()
    best = [min(value(row, list(pair)) for pair in combinations(range(40), 2)) for row in range(4)]
    for row, supports in enumerate(found):
        values = []
        for start, support in zip(begin.tolist(), supports, strict=True):
            values.append(value(row, support))
            assert len(set(support)) == 2 and values[-1] <= value(row, start)
            for out in range(2):
                for new in set(range(40)) - set(support):
                    swapped = [new if i == out else atom for i, atom in enumerate(support)]
                    assert value(row, swapped) >= values[-1] * (1 - 1e-4)
        assert min(values) == pytest.approx(best[row], rel=1e-4)


def test_one_atom_is_the_best_one():
    x, seen = smooth(6, seed=3), masks(6)
    found = EXEMPLARS.complete(x, seen, k=1, starts=1, **EXACT)
    for row, mask, got in zip(x, seen, found, strict=True):
        bound = 3.0
        scale = ((TRAIN[:, mask] @ row[mask]) / TRAIN[:, mask].square().sum(1)).clamp(
            -bound, bound
        )[:, None]
        best = ((scale * TRAIN - row)[:, mask].square().sum(1)).argmin()
        torch.testing.assert_close(got[~mask], (scale * TRAIN)[best][~mask], atol=1e-5, rtol=0)


def test_amplitudes_are_capped_at_a_multiple_of_the_exemplars():
    """A signal that an exemplar explains only by being blown up is not blown up where it is
    hidden.
    """
    ramp = torch.linspace(0, 1, LENGTH, dtype=torch.float64) ** 8
    seen = (torch.arange(LENGTH) < 32).expand(1, -1)
    x, wild = 100 * ramp[None], Exemplars(ramp[None].repeat(2, 1), 2, seed=0, largest_scale=1e3)
    torch.testing.assert_close(wild.complete(x, seen, k=1, **EXACT), x, atol=1e-3, rtol=0)
    tame = Exemplars(ramp[None].repeat(2, 1), 2, seed=0, largest_scale=3)
    torch.testing.assert_close(tame.complete(x, seen, k=1, **EXACT)[~seen], 3 * ramp[~seen[0]])


def test_bounded_amplitudes_are_those_of_a_grid():
    rng = torch.Generator().manual_seed(4)
    A = torch.randn(20, 6, 2, generator=rng, dtype=torch.float64)
    gram, pull = A.mT @ A, 6 * torch.randn(20, 2, generator=rng, dtype=torch.float64)
    largest = torch.full_like(pull, 0.5)
    found = _amplitudes(gram, pull, largest, passes=50)
    grid = torch.cartesian_prod(*[torch.linspace(-0.5, 0.5, 201, dtype=torch.float64)] * 2)
    values = torch.einsum("gi,bij,gj->bg", grid, gram, grid) - 2 * pull @ grid.T
    assert (found.abs() == 0.5).any() and (found.abs() < 0.5).any()
    torch.testing.assert_close(found, grid[values.argmin(1)], atol=0.006, rtol=0)


def test_the_supports_that_fit_best_count_most():
    """With a huge power only the best start is left; with none all of them count alike."""
    x, seen = smooth(4, seed=6), masks(4)
    single = [EXEMPLARS.complete(x, seen, starts=s, swaps=0, power=0) for s in (1, 2)]
    second = 2 * single[1] - single[0]  # the second start by itself
    best = EXEMPLARS.complete(x, seen, starts=2, swaps=0, power=1e5)
    for row in range(4):
        assert min((best[row] - one[row]).abs().max() for one in (single[0], second)) < 1e-6


def test_several_libraries_are_averaged():
    x, seen = smooth(3, seed=7), masks(3)
    both = Exemplars(TRAIN, 20, seed=4, nets=2)
    first = Exemplars(TRAIN, 20, seed=4, nets=1)
    assert torch.equal(both.libraries[0].atoms, first.libraries[0].atoms)
    assert not torch.equal(both.libraries[1].atoms, first.libraries[0].atoms)
    second = Exemplars(TRAIN, 20, seed=4, nets=2)
    one, two = first.complete(x, seen, starts=4), both.complete(x, seen, starts=4)
    assert torch.equal(second.complete(x, seen, starts=4), two)
    assert (one - two)[~seen].abs().max() > 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_same_seed_same_bits_and_hidden_samples_never_matter(dtype):
    x, seen = smooth(20, seed=8).to(dtype), masks(20)
    found = Exemplars(TRAIN, 30, seed=3).complete(x, seen)
    assert found.dtype == dtype and torch.equal(found[seen], x[seen])
    for hidden in (torch.nan, torch.inf, -1e9):
        assert torch.equal(
            Exemplars(TRAIN, 30, seed=3).complete(torch.where(seen, x, hidden), seen), found
        )
    assert not torch.equal(Exemplars(TRAIN, 30, seed=5).complete(x, seen), found)


def test_a_signal_is_filled_in_by_itself():
    x, seen = smooth(20, seed=9), masks(20)
    whole = EXEMPLARS.complete(x, seen)
    torch.testing.assert_close(EXEMPLARS.complete(x[13:15], seen[13:15]), whole[13:15])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer >= 1 and <= 39, got 0"),
        ({"k": 40}, "k must be an integer >= 1 and <= 39, got 40"),
        ({"starts": 0}, "starts must be an integer >= 1"),
        ({"swaps": -1}, "swaps must be an integer >= 0"),
        ({"ridge": 0}, "ridge must be a finite number > 0"),
        ({"floor": 0.0}, "floor must be a finite number > 0"),
        ({"power": -1}, "power must be a finite number >= 0"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EXEMPLARS.complete(TRAIN[:2], masks(2), **options)


def test_bad_signals_are_refused():
    with pytest.raises(ValueError, match=r"x must be a tensor \(batch, 48\)"):
        EXEMPLARS.complete(TRAIN[:2, 1:], masks(2)[:, 1:])
    with pytest.raises(ValueError, match="observed must be a bool tensor of the shape of x"):
        EXEMPLARS.complete(TRAIN[:2], masks(3))
    with pytest.raises(ValueError, match="n_atoms must be an integer >= 1 and <= 40, got 41"):
        Exemplars(torch.cat([TRAIN, torch.zeros(3, LENGTH)]), 41, seed=0)
    with pytest.raises(ValueError, match="nets must be an integer >= 1"):
        Exemplars(TRAIN, 4, seed=0, nets=0)
    with pytest.raises(ValueError, match="largest_scale must be a finite number > 0"):
        Exemplars(TRAIN, 4, seed=0, largest_scale=0)
    with pytest.raises(ValueError, match="train holds 48 value"):
        Exemplars(torch.cat([TRAIN, torch.full((1, LENGTH), torch.nan)]), 4, seed=0)
