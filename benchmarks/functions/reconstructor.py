"""The interface of every model that reconstructs a signal and fills in its hidden part (VN
Sec. 4.2, App. G).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from benchmarks.baselines.parts import check_sizes
from vnlib import checks


class Reconstructor(nn.Module, ABC):
    """Signal in, signal out.

    A model writes `render`; one with a penalty or noise overrides `render_with_penalty`.

    Hidden samples enter as zeros. A model that is `masked` also reads, in a second channel, which
    samples are observed, and is trained to fill in what `training_masks` hides; the others are
    trained on whole signals.

    Raises
    ------
    ValueError
        Unless `length` is an integer >= 2.
    """

    def __init__(self, *, length: int, masked: bool = False) -> None:
        super().__init__()
        checks.number("length", length, low=2, integer=True)
        self.length, self.masked = length, bool(masked)
        self.n_channels = 1 + self.masked

    def forward(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"] | None = None
    ) -> Float[Tensor, "batch time"]:
        """The whole signals, from their observed samples (None: all are).

        What hidden ones hold is never looked at.

        Raises
        ------
        ValueError
            For signals of another length and for a mask of another shape.
        """
        return self.render(self.channels(x, observed))

    def loss(self, x: Float[Tensor, "batch time"], *, generator: Generator) -> Float[Tensor, ""]:
        """Mean squared error over all samples of the whole signals, plus the model's penalty.

        Parameters
        ----------
        generator
            The only source of chance; draws the masks of a masked model.
        """
        observed = (
            training_masks(len(x), self.length, generator=generator).to(x.device)
            if self.masked
            else None
        )
        drawn, penalty = self.render_with_penalty(self.channels(x, observed), generator)
        return F.mse_loss(drawn, x) + penalty

    def channels(
        self, x: Float[Tensor, "batch time"], observed: Bool[Tensor, "batch time"] | None
    ) -> Float[Tensor, "batch channels time"]:
        """What the network reads: signals with zeros where hidden, and the mask as 0 and 1 if it is
        masked.
        """
        check_signals(x, observed, self.length)
        if observed is None:
            observed = torch.ones_like(x, dtype=torch.bool)
        shown = torch.where(observed, x, torch.zeros_like(x))
        return torch.stack([shown, observed.to(x.dtype)] if self.masked else [shown], dim=1)

    @abstractmethod
    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        """The whole signals of checked inputs."""

    def render_with_penalty(
        self, channels: Float[Tensor, "batch channels time"], generator: Generator
    ) -> tuple[Float[Tensor, "batch time"], Float[Tensor, ""]]:
        """The signals of one training pass and what the loss adds to their error; here
        (render(channels), 0).
        """
        return self.render(channels), channels.new_zeros(())


def training_masks(n: int, length: int, *, generator: Generator) -> Bool[Tensor, "n time"]:
    """Masks for training, one kind in turn per signal: a hidden tail, hidden single samples, a
    hidden run.

    The hidden share is uniform in 0.1..0.6, 0.1..0.5 and 0.1..0.4. True is observed. Drawn on the
    generator's device.
    """
    device = generator.device
    share = torch.rand(n, 1, generator=generator, device=device)
    place = torch.rand(n, 1, generator=generator, device=device)
    chance = torch.rand(n, length, generator=generator, device=device)
    at = (torch.arange(length, device=device) + 0.5) / length
    kind = (torch.arange(n, device=device) % 3)[:, None]
    width = 0.1 + 0.3 * share
    start = place * (1 - width)
    hidden = torch.where(
        kind == 0,
        at > 1 - (0.1 + 0.5 * share),
        torch.where(kind == 1, chance < 0.1 + 0.4 * share, (at > start) & (at < start + width)),
    )
    return ~hidden


def patches(
    channels: Float[Tensor, "batch channels time"], size: int
) -> Float[Tensor, "batch tokens channels*size"]:
    """Successive pieces of `size` samples as tokens, all channels of a piece side by side."""
    batch, n_channels, length = channels.shape
    return channels.view(batch, n_channels, length // size, size).transpose(1, 2).flatten(2)


def check_signals(x: Tensor, observed: Tensor | None, length: int) -> None:
    """Raise ValueError unless x is (batch, length) and `observed` None or bool of that shape."""
    if x.ndim != 2 or x.shape[1] != length:
        raise ValueError(f"x must have the shape (batch, length={length}), got {tuple(x.shape)}")
    if observed is not None and (observed.shape != x.shape or observed.dtype != torch.bool):
        got = f"{tuple(observed.shape)} of {observed.dtype}"
        raise ValueError(
            f"observed must be bool and have the shape of x, {tuple(x.shape)}, got {got}"
        )


def check_patch(length: int, size: int) -> int:
    """The number of patches.

    Raises
    ------
    ValueError
        Unless `size` divides `length`.
    """
    check_sizes(patch=size)
    if length % size:
        raise ValueError(f"patch must divide the length {length}, got {size}")
    return length // size
