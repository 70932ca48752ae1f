"""Exact inference in linear Gaussian chains, against the joint Gaussian written out whole and
conditioned.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import MultivariateNormal

from benchmarks.functions import kalman

BATCH, TIME, D, P = 5, 6, 3, 4


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def covariances(*shape: int, size: int, rng: torch.Generator) -> torch.Tensor:
    root = torch.randn(*shape, size, size, generator=rng, dtype=torch.float64)
    return root @ root.mT / size + 0.1 * torch.eye(size, dtype=torch.float64)


def problem() -> dict:
    """Dynamics that differ by step and by signal."""
    rng = generator()
    draw = lambda *shape: torch.randn(*shape, generator=rng, dtype=torch.float64)  # noqa: E731
    return {
        "dynamics": (
            0.7 * draw(BATCH, TIME - 1, D, D),
            draw(BATCH, TIME - 1, D),
            covariances(BATCH, TIME - 1, size=D, rng=rng),
        ),
        "emission": (draw(P, D), draw(P), 0.1 + torch.rand(P, generator=rng, dtype=torch.float64)),
        "start": (draw(D), covariances(size=D, rng=rng)),
    }


def joint(one: int, given: dict) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean and covariance of all z of one signal, flat, and the matrix and bias from them to all of
    y.
    """
    (a, b, q), (c, d, _), (mean, covariance) = given["dynamics"], given["emission"], given["start"]
    means, rows = [mean], [[covariance]]
    for t in range(TIME - 1):
        means.append(a[one, t] @ means[t] + b[one, t])
        # Cov(z_{t+1}, z_s) = A_t Cov(z_t, z_s), s <= t
        cross = [a[one, t] @ block for block in rows[t]]
        rows.append([*cross, cross[t] @ a[one, t].T + q[one, t]])
    whole = torch.zeros(TIME * D, TIME * D, dtype=torch.float64)
    for t, row in enumerate(rows):
        for s, block in enumerate(row):
            whole[t * D : (t + 1) * D, s * D : (s + 1) * D] = block
            whole[s * D : (s + 1) * D, t * D : (t + 1) * D] = block.T
    return torch.cat(means), whole, torch.block_diag(*[c] * TIME), d.repeat(TIME)


def conditioned(one: int, y: torch.Tensor, seen: torch.Tensor, given: dict):
    """Posterior mean, covariance and log likelihood by conditioning the joint of z and the observed
    entries of y.
    """
    mean, covariance, c, d = joint(one, given)
    keep = seen[one].flatten()
    c, d, noise = c[keep], d[keep], given["emission"][2].repeat(TIME)[keep].diag()
    spread, error = c @ covariance @ c.T + noise, y[one].flatten()[keep] - c @ mean - d
    gain = torch.linalg.solve(spread, c @ covariance).T
    return (
        (mean + gain @ error).view(TIME, D),
        covariance - gain @ c @ covariance,
        MultivariateNormal(torch.zeros_like(error), spread).log_prob(error)
        if keep.any()
        else torch.zeros(()),
        mean,
    )


def masks() -> dict[str, torch.Tensor]:
    single = torch.rand(BATCH, TIME, P, generator=generator()) < 0.6
    tail = torch.ones(BATCH, TIME, P, dtype=torch.bool)
    tail[:, 4:] = False
    nothing = torch.zeros(BATCH, TIME, P, dtype=torch.bool)
    return {"whole": torch.ones_like(tail), "single": single, "tail": tail, "nothing": nothing}


@pytest.mark.parametrize("name", masks())
def test_smoother_is_the_conditioned_joint_gaussian(name):
    given, seen = problem(), masks()[name]
    y = 2 * torch.randn(BATCH, TIME, P, generator=generator(), dtype=torch.float64)
    z = kalman.kalman_smoother(y, None if name == "whole" else seen, **given)
    for one in range(BATCH):
        mean, covariance, log_likelihood, _ = conditioned(one, y, seen, given)
        blocks = covariance.view(TIME, D, TIME, D)
        torch.testing.assert_close(z.mean[one], mean, rtol=1e-8, atol=1e-8)
        for t in range(TIME):
            torch.testing.assert_close(z.covariance[one, t], blocks[t, :, t], rtol=1e-8, atol=1e-8)
        for t in range(TIME - 1):
            torch.testing.assert_close(z.cross[one, t], blocks[t, :, t + 1], rtol=1e-8, atol=1e-8)
        assert float(z.log_normaliser[one]) == pytest.approx(
            float(log_likelihood), rel=1e-8, abs=1e-8
        )
        entropy = 0.5 * torch.logdet(2 * math.pi * math.e * covariance)
        assert float(z.entropy[one]) == pytest.approx(float(entropy), rel=1e-8, abs=1e-8)


def test_all_observed_is_no_mask():
    given, y = problem(), torch.randn(BATCH, TIME, P, generator=generator(), dtype=torch.float64)
    with_mask = kalman.kalman_smoother(y, torch.ones(y.shape, dtype=torch.bool), **given)
    torch.testing.assert_close(
        with_mask.mean, kalman.kalman_smoother(y, **given).mean, rtol=1e-10, atol=1e-10
    )


def test_missing_entries_are_never_looked_at():
    given, seen = problem(), masks()["single"]
    y = torch.randn(BATCH, TIME, P, generator=generator(), dtype=torch.float64)
    first = kalman.kalman_smoother(torch.where(seen, y, torch.nan), seen, **given)
    second = kalman.kalman_smoother(torch.where(seen, y, 1e9), seen, **given)
    assert torch.equal(first.mean, second.mean) and torch.equal(
        first.log_normaliser, second.log_normaliser
    )
    assert bool(first.mean.isfinite().all())


def test_beyond_the_last_observation_the_dynamics_run_on():
    given, seen = problem(), masks()["tail"]
    y = torch.randn(BATCH, TIME, P, generator=generator(), dtype=torch.float64)
    mean, (a, b, _) = kalman.kalman_smoother(y, seen, **given).mean, given["dynamics"]
    for t in (3, 4):
        torch.testing.assert_close(
            mean[:, t + 1], (a[:, t] @ mean[:, t, :, None])[..., 0] + b[:, t]
        )


def test_dynamics_of_a_batch_may_be_shared():
    given = problem()
    shared = tuple(x[:1] for x in given["dynamics"])
    repeated = tuple(x[:1].expand(BATCH, *x.shape[1:]) for x in given["dynamics"])
    y = torch.randn(BATCH, TIME, P, generator=generator(), dtype=torch.float64)
    one = kalman.kalman_smoother(y, **given | {"dynamics": shared})
    torch.testing.assert_close(
        one.covariance, kalman.kalman_smoother(y, **given | {"dynamics": repeated}).covariance
    )


def test_emission_of_known_latents_is_least_squares():
    rng = generator()
    mean = torch.randn(3, 50, D, generator=rng, dtype=torch.float64)
    y = torch.randn(3, 50, P, generator=rng, dtype=torch.float64)
    zero = torch.zeros(3, 50, D, D, dtype=torch.float64)
    c, d, noise = kalman.maximal_emission(
        y, kalman.Smoothed(mean, zero, zero[:, 1:], y[:, 0, 0], y[:, 0, 0]), floor=0
    )
    inputs = torch.cat([mean, torch.ones(3, 50, 1, dtype=torch.float64)], -1).flatten(0, 1)
    expected = torch.linalg.lstsq(inputs, y.flatten(0, 1)).solution.T
    torch.testing.assert_close(torch.cat([c, d[:, None]], 1), expected)
    torch.testing.assert_close(noise, (y.flatten(0, 1) - inputs @ expected.T).pow(2).mean(0))


def test_a_chain_that_is_no_gaussian_is_refused():
    eye = torch.eye(D, dtype=torch.float64)[None, None].repeat(1, 2, 1, 1)
    zero = torch.zeros(1, 2, D, dtype=torch.float64)
    with pytest.raises(torch.linalg.LinAlgError):
        kalman.smooth(kalman.Chain(eye, 2 * eye[:, :1], zero, zero[:, 0, 0]))
