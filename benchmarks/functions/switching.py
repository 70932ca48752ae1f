"""Discrete states k_t and a continuous z_t that switch each other: what each says about the other,
and what is learned.

Upwards, k_t picks one of K linear dynamics z_{t+1} = A_k z_t + b_k + N(0, Q_k). Under q(z) q(k) the
state sees the expected log density of each, and z a Gaussian chain whose natural parameters are
averaged over the states.

Downwards, the state follows p(k_t | k_{t-1}, z_t) = softmax(w' f), f = [one-hot of k_{t-1}; z_t],
where a context "start" stands for k_0. The log-sum-exp in its logarithm has no Gaussian
expectation. Böhning's bound (1992) takes its place::

    lse(u) <= lse(v) + softmax(v)'(u - v) + 1/2 (u - v)' B (u - v),    B = 1/2 (I - 1 1' / K).

Its expectation is smallest at v = E u, where it is the value at the mean plus 1/2 tr(B Cov u). So
everything here is a lower bound of the log likelihood, and each step ascends it; a Laplace
approximation would promise neither. Contexts, of which there are K + 1, number the state before,
the last being the start.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.functions.kalman import LOG_2PI, Chain, Smoothed, with_one

PRIOR = 1.0  # transitions, made up, that each state has seen before the data: z stands still
PRIOR_VARIANCE = 0.01  # and by how much it moved nevertheless


class Dynamics(NamedTuple):
    """A (states, d, d), b (states, d), Q (states, d, d)."""

    transition: Tensor
    bias: Tensor
    noise: Tensor


# --- States ---------------------------------------------------------------------------------------


def forward_backward(
    log_factor: Float[Tensor, "batch time contexts states"],
) -> tuple[Float[Tensor, "batch time contexts states"], Float[Tensor, " batch"]]:
    """p(k_{t-1}, k_t) of the chain with weight prod_t exp log_factor[t, k_{t-1}, k_t], and the log
    of the whole weight.

    The first step comes from the start, and no other does.
    """
    time, states = log_factor.shape[1], log_factor.shape[3]
    inner = log_factor[:, :, :states]
    forward, backward = [log_factor[:, 0, states]], [torch.zeros_like(log_factor[:, 0, 0])]
    for t in range(1, time):
        forward.append(torch.logsumexp(forward[-1][:, :, None] + inner[:, t], 1))
        backward.append(torch.logsumexp(inner[:, time - t] + backward[-1][:, None, :], 2))
    total = torch.logsumexp(forward[-1], 1)
    before, after = torch.stack(forward, 1), torch.stack(backward[::-1], 1)
    pairs = torch.zeros_like(log_factor)
    pairs[:, 0, states] = torch.exp(before[:, 0] + after[:, 0] - total[:, None])
    pairs[:, 1:, :states] = torch.exp(
        before[:, :-1, :, None] + inner[:, 1:] + after[:, 1:, None, :] - total[:, None, None, None]
    )
    return pairs, total


def contexts(states: Float[Tensor, "batch time states"]) -> Float[Tensor, "batch time states+1"]:
    """Distribution of the previous state at each step, from that of the states."""
    batch, time, n = states.shape
    previous = states.new_zeros(batch, time, n + 1)
    previous[:, 0, n] = 1
    previous[:, 1:, :n] = states[:, :-1]
    return previous


def log_transition(
    weight: Float[Tensor, "features states"], mean: Float[Tensor, "batch time d"]
) -> Float[Tensor, "batch time contexts states"]:
    """log softmax(w' f) at z = mean, for every context.

    Parameters
    ----------
    weight
        First a row per context, then one per entry of z.
    """
    n = weight.shape[1] + 1
    return torch.log_softmax(weight[:n] + (mean @ weight[n:])[:, :, None, :], -1)


def transition_evidence(
    weight: Float[Tensor, "features states"],
    states: Float[Tensor, "batch time states"],
    mean: Float[Tensor, "batch time d"],
) -> tuple[Float[Tensor, "d d"], Float[Tensor, "batch time d"]]:
    """What the states say about z through the bound taken at `mean`: precision and linear term."""
    slope = weight[states.shape[2] + 1 :]
    curved = slope @ curvature(slope.shape[1], slope)
    guess = (contexts(states)[..., None] * log_transition(weight, mean).exp()).sum(2)
    precision = curved @ slope.mT
    return precision, (states - guess) @ slope.mT + mean @ precision


def variance_cost(
    weight: Float[Tensor, "features states"], covariance: Float[Tensor, "*shape d d"]
) -> Float[Tensor, "*shape"]:
    """1/2 tr(B Cov u), by which the bound lies below the value at the mean."""
    slope = weight[weight.shape[1] + 1 :]
    return 0.5 * (covariance * (slope @ curvature(slope.shape[1], slope) @ slope.mT)).sum((-2, -1))


def ascend(
    weight: Float[Tensor, "features states"],
    pairs: Float[Tensor, "batch time contexts states"],
    mean: Float[Tensor, "batch time d"],
    covariance: Float[Tensor, "batch time d d"],
    steps: int,
) -> Float[Tensor, "features states"]:
    """`steps` steps up the bound of sum E log p(k_t | k_{t-1}, z_t) plus the log prior -PRIOR/2
    `|w|^2`.

    Each goes to the maximum of the quadratic bound. Rows of w that sum to 0 keep doing so, and
    there B is 1/2 I.
    """
    n, before = weight.shape[1] + 1, pairs.sum(-1)
    spread, features = covariance.sum((0, 1)), torch.cat([before, mean], -1).flatten(0, 1)
    scatter = features.mT @ features  # sum of E f f'
    scatter[:n, :n] = before.sum((0, 1)).diag()
    scatter[n:, n:] += spread
    inverse = torch.linalg.inv(
        scatter + 2 * PRIOR * torch.eye(len(scatter), dtype=weight.dtype, device=weight.device)
    )
    for _ in range(steps):
        error = pairs - before[..., None] * log_transition(weight, mean).exp()
        gradient = torch.cat(
            [error.sum((0, 1)), mean.flatten(0, 1).mT @ error.sum(2).flatten(0, 1)]
        )
        gradient[n:] -= 0.5 * (spread @ weight[n:])
        weight = weight + 2 * inverse @ (gradient - PRIOR * weight)
    return weight


def curvature(states: int, like: Tensor) -> Float[Tensor, "states states"]:
    """B, with the type and device of `like`."""
    eye = torch.eye(states, dtype=like.dtype, device=like.device)
    return 0.5 * (eye - 1 / states)


# --- Dynamics under q -----------------------------------------------------------------------------


def expected_chain(dynamics: Dynamics, states: Float[Tensor, "batch steps states"]) -> Chain:
    """E_q(k) of the log dynamics as a chain: natural parameters averaged with the weights q(k_t).

    Its constant is 0.
    """
    a, b, q = dynamics
    inverse = torch.linalg.inv(q)
    back = a.mT @ inverse

    def mixed(value: Tensor) -> Tensor:
        return (states @ value.flatten(1)).unflatten(-1, value.shape[1:])

    batch, steps, d = len(states), states.shape[1], a.shape[-1]
    precision, linear = (
        states.new_zeros(batch, steps + 1, d, d),
        states.new_zeros(batch, steps + 1, d),
    )
    precision[:, :-1] += mixed(back @ a)
    precision[:, 1:] += mixed(inverse)
    linear[:, :-1] -= mixed((back @ b[..., None])[..., 0])
    linear[:, 1:] += mixed((inverse @ b[..., None])[..., 0])
    return Chain(precision, -mixed(back), linear, states.new_zeros(batch))


def expected_log_density(dynamics: Dynamics, z: Smoothed) -> Float[Tensor, "batch steps states"]:
    """E_q(z) log N(z_{t+1}; A_k z_t + b_k, Q_k)."""
    a, b, q = dynamics
    inverse = torch.linalg.inv(q)
    back = a.mT @ inverse
    moved = torch.einsum("kij,ntj->ntki", a, z.mean[:, :-1]) + b
    error = z.mean[:, 1:, None] - moved
    distance = (error * torch.einsum("kij,ntkj->ntki", inverse, error)).sum(-1)
    blurred = z.covariance[:, 1:].flatten(2) @ inverse.flatten(1).mT
    blurred = blurred + z.covariance[:, :-1].flatten(2) @ (back @ a).flatten(1).mT
    blurred = blurred - 2 * z.cross.flatten(2) @ back.flatten(1).mT
    return -0.5 * (distance + blurred + torch.logdet(q) + a.shape[-1] * LOG_2PI)


def moments(
    states: Float[Tensor, "batch steps states"], z: Smoothed
) -> Float[Tensor, "states v v"]:
    """sum_t q(k_t = k) E v v' of v = [z_{t+1}, z_t, 1] for each state."""
    d, weight = z.mean.shape[-1], states.flatten(0, 1)
    v = with_one(torch.cat([z.mean[:, 1:], z.mean[:, :-1]], -1)).flatten(0, 1)
    total = ((weight[:, :, None] * v[:, None, :]).flatten(1).mT @ v).unflatten(0, (-1, v.shape[1]))
    after, before, cross = (
        (weight.mT @ c.flatten(0, 1).flatten(1)).unflatten(-1, (d, d))
        for c in (z.covariance[:, 1:], z.covariance[:, :-1], z.cross)
    )
    total[:, :d, :d] += after
    total[:, d : 2 * d, d : 2 * d] += before
    total[:, d : 2 * d, :d] += cross
    total[:, :d, d : 2 * d] += cross.mT
    return total


def maximal_dynamics(
    total: Float[Tensor, "states v v"], count: Float[Tensor, " states"]
) -> Dynamics:
    """The regression of z_{t+1} on [z_t, 1] per state, under the prior; a state without data stands
    still.
    """
    d = (total.shape[-1] - 1) // 2
    eye = torch.eye(d, dtype=total.dtype, device=total.device)
    inputs = total[:, d:, d:] + PRIOR * torch.eye(d + 1, dtype=total.dtype, device=total.device)
    both = total[:, d:, :d].clone()
    both[:, :d] += PRIOR * eye
    weight = torch.linalg.solve(inputs, both).mT
    scatter = total[:, :d, :d] + PRIOR * (1 + PRIOR_VARIANCE) * eye - weight @ both
    noise = scatter / (count + PRIOR)[:, None, None]
    return Dynamics(weight[:, :, :d], weight[:, :, d], 0.5 * (noise + noise.mT))


def log_prior(dynamics: Dynamics) -> Float[Tensor, ""]:
    """Of all states together, up to a constant."""
    a, b, q = dynamics
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    off = torch.cat([a - eye, b[:, :, None]], 2)
    distance = (
        torch.linalg.solve(q, PRIOR_VARIANCE * eye + off @ off.mT).diagonal(dim1=1, dim2=2).sum(1)
    )
    return -0.5 * PRIOR * (torch.logdet(q) + distance).sum()
