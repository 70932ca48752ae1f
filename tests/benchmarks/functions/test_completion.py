"""Fillings without a network, against numpy, closed forms and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.functions.completion import (
    Gaussian,
    PrincipalComponents,
    hold_last,
    interpolate,
    nearest,
    zero_baseline,
)

N, LENGTH = 12, 40


def drawn(
    n: int, seed: int = 0, length: int = LENGTH, dtype: torch.dtype = torch.float64
) -> torch.Tensor:
    return torch.randn(n, length, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def smooth(n: int, seed: int = 0, rank: int = 5) -> torch.Tensor:
    """Signals in the span of a few cosines, off the origin."""
    t = torch.linspace(0, 1, LENGTH, dtype=torch.float64)
    basis = torch.stack([torch.cos(torch.pi * k * t) for k in range(1, rank + 1)])
    return 0.5 + drawn(n, seed, rank) @ basis


def masks(n: int = N, seed: int = 5) -> torch.Tensor:
    """A mask for each row; a tail shared by three, single samples, a hidden beginning, all seen,
    one seen.
    """
    seen = torch.rand(n, LENGTH, generator=torch.Generator().manual_seed(seed)) < 0.6
    seen[:3] = torch.arange(LENGTH) < 25
    seen[3], seen[4] = torch.arange(LENGTH) > 15, True
    seen[5] = torch.arange(LENGTH) == 20
    return seen


TRAIN, X, SEEN = smooth(60), smooth(N, seed=1), masks()
COMPONENTS, NORMAL = PrincipalComponents(TRAIN), Gaussian(TRAIN)
FILLINGS = {
    "zero_baseline": zero_baseline,
    "hold_last": hold_last,
    "interpolate": interpolate,
    "components": lambda x, seen: COMPONENTS.complete(x, seen, 3),
    "gaussian": lambda x, seen: NORMAL.complete(x, seen, 1e-2),
    "nearest": lambda x, seen: nearest(TRAIN.to(x.dtype), x, seen, 3),
    "nearest scaled": lambda x, seen: nearest(TRAIN.to(x.dtype), x, seen, 3, scaled=True),
}
every_filling = pytest.mark.parametrize("fill", FILLINGS.values(), ids=FILLINGS)


@every_filling
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_observed_samples_stay_and_hidden_ones_are_never_looked_at(fill, dtype):
    x = X.to(dtype)
    found = fill(x, SEEN)
    assert found.shape == x.shape and found.dtype == dtype and found.isfinite().all()
    assert torch.equal(found[SEEN], x[SEEN])
    for hidden in (torch.nan, torch.inf, 1e6):
        assert torch.equal(fill(torch.where(SEEN, x, hidden), SEEN), found)


@every_filling
def test_a_signal_is_filled_in_by_itself(fill):
    whole = fill(X, SEEN)
    for row in range(N):
        torch.testing.assert_close(fill(X[row : row + 1], SEEN[row : row + 1])[0], whole[row])


@every_filling
def test_bad_input_is_refused(fill):
    with pytest.raises(
        ValueError, match=r"observed must be a bool tensor of the shape of x, \(12, 40\)"
    ):
        fill(X, SEEN.double())
    with pytest.raises(ValueError, match=r"observed must be a bool .* got torch.bool \(11, 40\)"):
        fill(X, SEEN[:-1])
    unseen = SEEN.clone()
    unseen[[2, 4]] = False
    with pytest.raises(
        ValueError, match="observed must be True at least once in every signal, got 2"
    ):
        fill(X, unseen)
    broken = X.clone()
    broken[4, 7] = torch.nan
    with pytest.raises(ValueError, match="x where observed holds 1 value"):
        fill(broken, SEEN)


@pytest.mark.parametrize("name", ["components", "gaussian", "nearest"])
def test_signals_of_another_length_are_refused(name):
    with pytest.raises(ValueError, match=r"\(12, 39\)|as many samples as x|\(batch, 40\)"):
        FILLINGS[name](X[:, :-1], SEEN[:, :-1])


def test_the_zero_baseline():
    assert torch.equal(zero_baseline(X, SEEN), X * SEEN)


def test_interpolation_is_that_of_numpy():
    found, at = interpolate(X, SEEN), np.arange(LENGTH)
    for row, seen, got in zip(X.numpy(), SEEN.numpy(), found.numpy(), strict=True):
        np.testing.assert_allclose(got, np.interp(at, at[seen], row[seen]), atol=1e-12)


def test_hold_last_by_a_loop():
    found = hold_last(X, SEEN)
    for row, seen, got in zip(X, SEEN, found, strict=True):
        last = row[seen][0]
        for i in range(LENGTH):
            last = row[i] if seen[i] else last
            assert got[i] == last


# --- principal components -------------------------------------------------------------------------


def test_components_complete_signals_of_their_span_exactly():
    enough = SEEN.sum(1) >= 5
    assert 10 <= enough.sum() < N
    torch.testing.assert_close(
        COMPONENTS.complete(X, SEEN, 5)[enough], X[enough], atol=1e-8, rtol=0
    )
    torch.testing.assert_close(COMPONENTS.reconstruct(X, 5), X, atol=1e-10, rtol=0)
    assert (COMPONENTS.complete(X, SEEN, 4) - X).abs().max() > 0.1


def test_components_fit_the_observed_samples_by_least_squares():
    axes, mean = COMPONENTS.axes[:, :3].numpy(), COMPONENTS.mean.numpy()
    found = COMPONENTS.complete(X, SEEN, 3)
    for row, seen, got in zip(X.numpy(), SEEN.numpy(), found.numpy(), strict=True):
        scores = np.linalg.lstsq(axes[seen], (row - mean)[seen], rcond=None)[0]
        np.testing.assert_allclose(got[~seen], (mean + axes @ scores)[~seen], atol=1e-9)


def test_components_are_those_of_the_covariance():
    values, vectors = np.linalg.eigh(np.cov(drawn(80, seed=2).numpy().T))
    found = PrincipalComponents(drawn(80, seed=2))
    np.testing.assert_allclose(found.spread**2 / 79, values[::-1], atol=1e-10)
    np.testing.assert_allclose(
        np.abs(np.sum(found.axes[:, :4].numpy() * vectors[:, :-5:-1], 0)), 1, atol=1e-8
    )
    x = drawn(3, seed=3)
    residual = x - found.reconstruct(x, 4)
    np.testing.assert_allclose(residual.numpy() @ vectors[:, -4:], 0, atol=1e-10)


@pytest.mark.parametrize("rank", [0, 41, 2.0])
def test_a_rank_out_of_range_is_refused(rank):
    for call in (
        lambda: COMPONENTS.complete(X, SEEN, rank),
        lambda: COMPONENTS.reconstruct(X, rank),
    ):
        with pytest.raises(ValueError, match="rank must be an integer >= 1 and <= 40"):
            call()


# --- the normal distribution ----------------------------------------------------------------------


@pytest.mark.parametrize("noise", [1e-3, 0.5])
def test_conditional_mean_from_the_joint_covariance(noise):
    """The inverse of the whole covariance (its precision) gives the same mean: mu_h - P_hh^-1 P_ho
    (x_o - mu_o).
    """
    mean = TRAIN.numpy().mean(0)
    covariance = np.cov(TRAIN.numpy().T) + noise * np.eye(LENGTH)
    precision, found = np.linalg.inv(covariance), NORMAL.complete(X, SEEN, noise).numpy()
    for row, seen, got in zip(X.numpy(), SEEN.numpy(), found, strict=True):
        pull = precision[~seen][:, seen] @ (row - mean)[seen]
        expected = (
            mean[~seen] - np.linalg.solve(precision[~seen][:, ~seen], pull) if (~seen).any() else []
        )
        np.testing.assert_allclose(got[~seen], expected, atol=1e-8)


def test_much_noise_leaves_the_mean():
    found = NORMAL.complete(X, SEEN, 1e9)
    torch.testing.assert_close(found[~SEEN], NORMAL.mean.expand_as(X)[~SEEN], atol=1e-5, rtol=0)


@pytest.mark.parametrize("noise", [0, -1.0, float("nan")])
def test_noise_must_be_positive(noise):
    with pytest.raises(ValueError, match="noise must be a finite number > 0"):
        NORMAL.complete(X, SEEN, noise)


@pytest.mark.parametrize("family", [PrincipalComponents, Gaussian])
def test_a_fit_needs_signals(family):
    with pytest.raises(
        ValueError, match=r"train must have shape \(samples >= 2, time\), got \(1, 40\)"
    ):
        family(TRAIN[:1])
    with pytest.raises(ValueError, match="train holds 40 value"):
        family(torch.cat([TRAIN, torch.full((1, LENGTH), torch.nan)]))


# --- neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 60])
@pytest.mark.parametrize("scaled", [False, True])
def test_neighbours_by_brute_force(k, scaled):
    found = nearest(TRAIN, X, SEEN, k, scaled=scaled, chunk=5).numpy()
    for row, seen, got in zip(X.numpy(), SEEN.numpy(), found, strict=True):
        if scaled and seen.sum() == 1:
            continue  # many fit a single sample exactly
        candidates = TRAIN.numpy().copy()
        if scaled:
            for signal in candidates:
                signal *= np.clip(signal[seen] @ row[seen] / (signal[seen] @ signal[seen]), -3, 3)
        order = np.argsort(((candidates - row)[:, seen] ** 2).sum(1))
        np.testing.assert_allclose(got[~seen], candidates[order[:k]].mean(0)[~seen], atol=1e-9)


def test_scaling_finds_a_signal_of_other_sign_and_size_up_to_the_bound():
    x, tail = -2 * TRAIN[7:8], SEEN[:1]
    torch.testing.assert_close(nearest(TRAIN, x, tail, 1, scaled=True), x)
    assert (nearest(TRAIN, x, tail, 1) - x).abs().max() > 0.1
    assert (nearest(TRAIN, x, tail, 1, scaled=True, largest_scale=1.0) - x).abs().max() > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer >= 1 and <= 60, got 0"),
        ({"k": 61}, "k must be an integer >= 1 and <= 60, got 61"),
        ({"k": 1, "chunk": 0}, "chunk must be an integer >= 1"),
        ({"k": 1, "largest_scale": 0}, "largest_scale must be a finite number > 0"),
    ],
)
def test_bad_options_of_neighbours_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        nearest(TRAIN, X, SEEN, **options)
