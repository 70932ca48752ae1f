"""Exact inference in linear Gaussian chains with missing entries: the Kalman filter and the RTS
smoother.

A chain of z_1..z_T whose dynamics may differ by step and by signal, ::

    z_1 ~ N(m, P),    z_{t+1} = A_t z_t + b_t + N(0, Q_t),    y_t = C z_t + d + N(0, diag R),

is one Gaussian with a block-tridiagonal precision. `smooth` works on that precision: forward
elimination is the Kalman filter in information form, back substitution the smoother of Rauch, Tung
and Striebel. A missing entry of y has the precision 0 and drops out, so signals with different
masks are one tensor operation and nothing is approximated. The natural parameters may be any (not
only of normalised dynamics), which variational inference needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LOG_2PI = math.log(2 * math.pi)


@dataclass(frozen=True)
class Chain:
    """A Gaussian chain exp(constant + sum_t [-1/2 z_t' J_t z_t + h_t' z_t] - sum_t z_t' K_t
    z_{t+1}), unnormalised.
    """

    precision: Float[Tensor, "batch time d d"]
    coupling: Float[Tensor, "batch time-1 d d"]
    linear: Float[Tensor, "batch time d"]
    constant: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Smoothed:
    """A normalised chain: E z_t, Cov z_t, Cov(z_t, z_{t+1}), its entropy, and the log of what it
    was divided by.
    """

    mean: Float[Tensor, "batch time d"]
    covariance: Float[Tensor, "batch time d d"]
    cross: Float[Tensor, "batch time-1 d d"]
    entropy: Float[Tensor, " batch"]
    log_normaliser: Float[Tensor, " batch"]


def smooth(chain: Chain) -> Smoothed:
    """Moments, entropy and log normaliser of a chain.

    Raises
    ------
    torch.linalg.LinAlgError
        Where it is not a Gaussian.
    """
    batch, time, d = chain.linear.shape
    # z_t given z_{t+1} and the evidence up to t is N(offset - gain z_{t+1}, inverse).
    inverse, gain, offset = [], [], []
    precision, linear = chain.precision[:, 0], chain.linear[:, 0]
    log_det, log_normaliser = chain.constant.new_zeros(batch), chain.constant.clone()
    for t in range(time):
        factor = torch.linalg.cholesky(precision)
        inverse.append(torch.cholesky_inverse(factor))
        offset.append(_apply(inverse[t], linear))
        log_det = log_det + 2 * factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        log_normaliser = log_normaliser + 0.5 * (linear * offset[t]).sum(-1)
        if t + 1 < time:
            back = chain.coupling[:, t].mT
            gain.append(inverse[t] @ chain.coupling[:, t])
            precision = chain.precision[:, t + 1] - back @ gain[t]
            linear = chain.linear[:, t + 1] - _apply(back, offset[t])
    mean, covariance, cross = [offset[-1]], [inverse[-1]], []
    for t in range(time - 2, -1, -1):
        cross.append(-gain[t] @ covariance[-1])
        covariance.append(inverse[t] - cross[-1] @ gain[t].mT)
        mean.append(offset[t] - _apply(gain[t], mean[-1]))
    constant = 0.5 * time * d * LOG_2PI - 0.5 * log_det
    return Smoothed(
        torch.stack(mean[::-1], 1),
        torch.stack(covariance[::-1], 1),
        torch.stack(cross[::-1], 1) if cross else chain.coupling,
        constant + 0.5 * time * d,
        constant + log_normaliser,
    )


def linear_chain(
    transition: Float[Tensor, "#batch steps d d"],
    bias: Float[Tensor, "#batch steps d"],
    noise: Float[Tensor, "#batch steps d d"],
    mean: Float[Tensor, " d"],
    covariance: Float[Tensor, "d d"],
) -> Chain:
    """The prior of z: dynamics A_t, b_t, Q_t, and z_1 ~ N(mean, covariance)."""
    batch, steps, d = bias.shape
    first, inverse = torch.linalg.inv(covariance), torch.linalg.inv(noise)
    back = transition.mT @ inverse
    precision, linear = bias.new_zeros(batch, steps + 1, d, d), bias.new_zeros(batch, steps + 1, d)
    precision[:, 0], linear[:, 0] = first, first @ mean
    precision[:, 1:] += inverse
    precision[:, :-1] += back @ transition
    linear[:, 1:] += _apply(inverse, bias)
    linear[:, :-1] -= _apply(back, bias)
    constant = -0.5 * (mean @ first @ mean + torch.logdet(covariance) + (steps + 1) * d * LOG_2PI)
    pairs = (bias * _apply(inverse, bias)).sum(-1) + torch.logdet(noise)
    return Chain(precision, -back, linear, constant - 0.5 * pairs.sum(-1))


def evidence(
    y: Float[Tensor, "batch time p"],
    observed: Bool[Tensor, "batch time p"] | None,
    emission: Float[Tensor, "p d"],
    bias: Float[Tensor, " p"],
    variance: Float[Tensor, " p"],
) -> tuple[
    Float[Tensor, "#batch #time d d"], Float[Tensor, "batch time d"], Float[Tensor, " batch"]
]:
    """What the observed entries (None: all) say about z: precision, linear term and constant to add
    to a chain.

    What y holds at missing entries is never looked at, NaN included.
    """
    weight = 1 / variance
    if observed is None:
        error, scaled = y - bias, weight.expand(1, 1, -1)
    else:
        error, scaled = torch.where(observed, y - bias, 0), observed.to(weight.dtype) * weight
    constant = -0.5 * (error**2 * weight).sum((1, 2))
    spent = (variance.log() + LOG_2PI).expand_as(y)
    constant = constant - 0.5 * (
        spent if observed is None else torch.where(observed, spent, 0)
    ).sum((1, 2))
    # per entry c c', so a mask is a matrix product
    outer = (emission[:, :, None] * emission[:, None, :]).flatten(1)
    d = emission.shape[1]
    return (scaled @ outer).unflatten(-1, (d, d)), (error * scaled) @ emission, constant


def maximal_emission(
    y: Float[Tensor, "batch time p"], z: Smoothed, *, floor: float
) -> tuple[Float[Tensor, "p d"], Float[Tensor, " p"], Float[Tensor, " p"]]:
    """The regression of y on [z, 1]: C, d, and the variances that are left, not under `floor`."""
    flat, inputs, blur = y.flatten(0, 1), with_one(z.mean).flatten(0, 1), z.covariance.sum((0, 1))
    scatter = inputs.mT @ inputs
    scatter[:-1, :-1] += blur
    both = torch.linalg.solve(scatter, inputs.mT @ flat).mT
    emission = both[:, :-1]
    error = (flat - inputs @ both.mT).pow(2).sum(0) + (emission @ blur * emission).sum(1)
    return emission, both[:, -1], (error / len(flat)).clamp(min=floor)


def with_one(x: Float[Tensor, "*shape d"]) -> Float[Tensor, "*shape d+1"]:
    """A last entry 1 appended to every vector."""
    return torch.cat([x, torch.ones_like(x[..., :1])], -1)


def kalman_smoother(
    y: Float[Tensor, "batch time p"],
    observed: Bool[Tensor, "batch time p"] | None = None,
    *,
    dynamics: tuple[Tensor, Tensor, Tensor],
    emission: tuple[Tensor, Tensor, Tensor],
    start: tuple[Tensor, Tensor],
) -> Smoothed:
    """The posterior of z given the observed entries of y; `log_normaliser` is their log likelihood.

    Beyond the last observation the means are those of the dynamics running on.

    Parameters
    ----------
    dynamics
        A (batch, time-1, d, d), b (batch, time-1, d), Q (batch, time-1, d, d), batch may be 1.
    emission
        C (p, d), d (p), variances R (p).
    start
        Mean (d) and covariance (d, d) of z_1.
    """
    prior = linear_chain(*dynamics, *start)
    precision, linear, constant = evidence(y, observed, *emission)
    return smooth(
        Chain(
            (prior.precision + precision).expand(len(y), -1, -1, -1),
            prior.coupling.expand(len(y), -1, -1, -1),
            prior.linear + linear,
            prior.constant + constant,
        )
    )


def _apply(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector[..., None])[..., 0]
