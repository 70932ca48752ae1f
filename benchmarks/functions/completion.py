"""Signals filled in without a network: rules of thumb, linear algebra, neighbours (controls of VN
Table 6, App. G).

All take signals x (batch, time) and what of them is observed, bool (batch, time), and return whole
signals: observed samples as they are, hidden ones filled in. What x holds at hidden samples is
never looked at and may be NaN. All raise ValueError for shapes and types that do not fit and for
observed samples that are not finite.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.functions.masks import by_mask, shown
from vnlib import checks


def zero_baseline(
    x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time"]:
    """Zero where hidden: the zero baseline."""
    return shown(x, observed)


def hold_last(
    x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time"]:
    """The last observed sample before; the first observed one at a hidden beginning."""
    x, (before, after) = shown(x, observed), _neighbours(observed)
    return x.gather(1, torch.where(before >= 0, before, after))


def interpolate(
    x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"]
) -> Float[Tensor, "batch time"]:
    """Linear in time between the observed samples around; beyond the first and the last one these
    are held.
    """
    x, (before, after) = shown(x, observed), _neighbours(observed)
    last = x.shape[1] - 1
    left, right = torch.where(before >= 0, before, after), torch.where(after <= last, after, before)
    share = (torch.arange(last + 1, device=x.device) - left).to(x.dtype) / (right - left).clamp_min(
        1
    )
    low, high = x.gather(1, left), x.gather(1, right)
    return torch.where(observed, x, low + share * (high - low))


class PrincipalComponents:
    """The mean and the principal axes of training signals, in float64.

    Raises
    ------
    ValueError
        Unless `train` is a finite matrix of at least 2 signals.
    """

    def __init__(self, train: Float[Tensor, "samples time"]) -> None:
        self.mean, centred = _centred(train)
        # Eigenvectors of the covariance would do, but square the condition number.
        _, self.spread, axes = torch.linalg.svd(centred, full_matrices=False)
        self.axes = axes.T

    def reconstruct(self, x: Float[Tensor, "batch time"], rank: int) -> Float[Tensor, "batch time"]:
        """The projection on the mean plus the first `rank` axes.

        Raises
        ------
        ValueError
            For a rank out of range.
        """
        axes = self._first(rank)
        checks.matrix("x", x, len(self.mean), "one row per signal")
        return (self.mean + (x.double() - self.mean) @ axes @ axes.T).to(x.dtype)

    def complete(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"], rank: int
    ) -> Float[Tensor, "batch time"]:
        """The combination of the first `rank` axes that fits the observed samples best (least
        squares, least norm).
        """
        axes, seen = self._first(rank), shown(x, observed, len(self.mean)).double()
        filled = torch.empty_like(seen)
        for mask, rows in by_mask(observed):
            scores = (seen[rows] - self.mean)[:, mask] @ torch.linalg.pinv(axes[mask]).T
            filled[rows] = self.mean + scores @ axes.T
        return torch.where(observed, x, filled.to(x.dtype))

    def _first(self, rank: int) -> Tensor:
        checks.number("rank", rank, low=1, high=self.axes.shape[1], integer=True)
        return self.axes[:, :rank]


class Gaussian:
    """A normal distribution with the mean and the covariance of training signals, in float64.

    Raises
    ------
    ValueError
        Unless `train` is a finite matrix of at least 2 signals.
    """

    def __init__(self, train: Float[Tensor, "samples time"]) -> None:
        self.mean, centred = _centred(train)
        self.covariance = centred.T @ centred / (len(centred) - 1)

    def complete(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"], noise: float
    ) -> Float[Tensor, "batch time"]:
        """The mean given the observed samples, where each was seen with independent noise of this
        variance (> 0).

        mu_h + C_ho (C_oo + noise I)^-1 (x_o - mu_o), one Cholesky factor per different mask.
        """
        checks.number("noise", noise, above=0)
        deviation = shown(x, observed, len(self.mean)).double() - self.mean
        filled = torch.empty_like(deviation)
        for mask, rows in by_mask(observed):
            seen = self.covariance[mask][:, mask]
            seen.diagonal().add_(noise)
            weights = torch.cholesky_solve(deviation[rows][:, mask].T, torch.linalg.cholesky(seen))
            filled[rows] = self.mean + weights.T @ self.covariance[mask]
        return torch.where(observed, x, filled.to(x.dtype))


def nearest(
    train: Float[Tensor, "samples time"],
    x: Float[Tensor, "batch time"],
    observed: Bool[Tensor, "batch time"],
    k: int,
    *,
    scaled: bool = False,
    largest_scale: float = 3.0,
    chunk: int = 64,
) -> Float[Tensor, "batch time"]:
    """The mean of the k training signals that are nearest on the observed samples (least squared
    distance).

    Parameters
    ----------
    scaled
        Every training signal is first multiplied by the number that fits it to the observed samples
        best, of either sign and at most `largest_scale` in size: a sparse code has sign and scale
        for free as well. Without a bound, a signal that is almost zero where observed would be
        blown up where it is hidden.
    chunk
        Signals at a time.
    """
    checks.matrix("train", train, x.shape[-1], "as many samples as x")
    checks.number("k", k, low=1, high=len(train), integer=True)
    checks.number("largest_scale", largest_scale, above=0)
    checks.number("chunk", chunk, low=1, integer=True)
    seen, signals = shown(x, observed).double(), train.double()
    squares, filled = signals.square(), []
    for part, mask in zip(seen.split(chunk), observed.split(chunk), strict=True):
        along, power = part @ signals.T, mask.double() @ squares.T
        scale = torch.ones_like(along)
        if scaled:
            scale = (along / power.clamp_min(1e-12)).clamp(-largest_scale, largest_scale)
        # but for |x|^2 of the observed samples, the same for all
        distance = scale * (scale * power - 2 * along)
        best = distance.topk(k, dim=1, largest=False).indices
        filled.append((scale.gather(1, best)[..., None] * signals[best]).mean(1))
    return torch.where(observed, x, torch.cat(filled).to(x.dtype))


def _neighbours(observed: Tensor) -> tuple[Tensor, Tensor]:
    """Index of the last observed sample at or before each (-1: none), and of the first at or after
    (length: none).
    """
    length = observed.shape[1]
    at = torch.arange(length, device=observed.device).expand(observed.shape)
    before = torch.where(observed, at, -1).cummax(1).values
    after = torch.where(observed, at, length).flip(1).cummin(1).values.flip(1)
    return before, after


def _centred(train: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviations of training signals in float64."""
    checks.finite("train", train)
    if train.ndim != 2 or len(train) < 2:
        raise ValueError(f"train must have shape (samples >= 2, time), got {tuple(train.shape)}")
    mean = train.double().mean(0)
    return mean, train.double() - mean
