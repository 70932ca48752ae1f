"""A decoder that looks up a picture per token and mixes two of them: the low-rank embedding network
of FR Sec. 4.1.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from benchmarks.spatial.baseline import Baseline
from vnlib import checks

MAPS = ("factors", "free", "bands")
FLOOR = 1e-8  # of a mode's share, where its logarithm is taken, and of a vector's length


class EmbeddingDecoder(Baseline):
    """A map of image size per token of x and of y; the two maps of an input are channels of a tiny
    CNN (FR App. C).

    The input is two one-hot halves, so it has n/2 tokens of x and as many of y.

    - "factors": E = sum_k s_k u_k v_k' (FR Eqs. 8, 44) with `rank` modes, u_k (height) and v_k
      (width) divided by their lengths in every pass, and not made orthogonal: the text says so, the
      published network does not;
    - "free": one number per pixel, no factors (control);
    - "bands": a vector of the output's side per token, repeated along the other axis (control): a
      token of x is a set of columns, a token of y a set of rows, by construction.

    CNN: [PReLU, Conv 2->2 k3] twice, PReLU, Conv 2->1 k3, all with padding 1; the published
    network's transposed convolutions of stride 1 are the same maps with their kernels turned round.
    Row 0 of a map is row 0 of the image. Loss (FR Eqs. 9-12, 45-48): the mean squared error +
    `entropy` * sum over tokens of -sum_k p_k ln p_k, with p_k = s_k^2 / sum_j s_j^2, +
    `variance` * sum over tokens and modes of Var u_k + Var v_k, taken before u_k and v_k are
    divided by their lengths. Both weights need maps="factors".

    Parameters
    ----------
    maps
        How a token's map is written.
    rank
        Modes per map, None for the image's larger side.

    Raises
    ------
    ValueError
        For values out of range.
    """

    def __init__(
        self,
        *,
        n_inputs: int,
        image_shape: tuple[int, int],
        maps: str = "factors",
        rank: int | None = None,
        entropy: float = 0.0,
        variance: float = 0.0,
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.choice("maps", maps, MAPS)
        checks.number("entropy", entropy, low=0)
        checks.number("variance", variance, low=0)
        if n_inputs % 2:
            raise ValueError(
                f"n_inputs must be even, one half of the code per axis, got {n_inputs}"
            )
        if maps != "factors" and (rank is not None or entropy or variance):
            raise ValueError(f"rank, entropy and variance are of maps='factors', got maps={maps!r}")
        height, width = self.image_shape
        rank = max(height, width) if rank is None else rank
        checks.number("rank", rank, low=1, integer=True)
        self.maps, self.entropy, self.variance = maps, entropy, variance
        if maps == "factors":
            self.s = nn.Parameter(torch.randn(n_inputs, rank) / rank**0.5)
            self.u = nn.Parameter(_unit(torch.randn(n_inputs, rank, height)))
            self.v = nn.Parameter(_unit(torch.randn(n_inputs, rank, width)))
        elif maps == "free":
            # As large as the sum of factors is at its start: entries of variance 1 / (height
            # width).
            self.E = nn.Parameter(torch.randn(n_inputs, height, width) / (height * width) ** 0.5)
        else:
            self.columns = nn.Parameter(torch.randn(n_inputs // 2, width) / (height * width) ** 0.5)
            self.rows = nn.Parameter(torch.randn(n_inputs // 2, height) / (height * width) ** 0.5)
        self.cnn = nn.Sequential(
            nn.PReLU(),
            nn.Conv2d(2, 2, 3, padding=1),
            nn.PReLU(),
            nn.Conv2d(2, 2, 3, padding=1),
            nn.PReLU(),
            nn.Conv2d(2, 1, 3, padding=1),
        )

    def embeddings(self) -> Float[Tensor, "tokens height width"]:
        """The maps of all tokens: those of x first, then those of y."""
        if self.maps == "free":
            return self.E
        if self.maps == "bands":
            height, width = self.image_shape
            columns = self.columns[:, None, :].expand(-1, height, -1)
            return torch.cat([columns, self.rows[:, :, None].expand(-1, -1, width)])
        return (self.s[:, None, :] * _unit(self.u).mT) @ _unit(self.v)

    def channels(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch 2 height width"]:
        """The map of x and the map of y, as the CNN receives them."""
        half, maps = self.n_inputs // 2, self.embeddings()
        chosen = [
            part @ own.flatten(1)
            for part, own in zip(x.split(half, 1), maps.split(half), strict=True)
        ]
        # Channels last in memory: convolutions of two channels run several times faster so.
        return torch.stack(chosen, -1).unflatten(1, self.image_shape).movedim(-1, 1)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.cnn(self.channels(x)).squeeze(1)

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        return self.render(x), self.penalty()

    def penalty(self) -> Float[Tensor, ""]:
        """What the loss adds to the squared error (FR Eqs. 10-12)."""
        total = next(self.parameters()).new_zeros(())
        if self.entropy:
            total = total + self.entropy * spectral_entropy(self.s).sum()
        if self.variance:
            total = total + self.variance * (self.u.var(-1).sum() + self.v.var(-1).sum())
        return total


def spectral_entropy(s: Float[Tensor, "tokens modes"]) -> Float[Tensor, " tokens"]:
    """-sum_k p_k ln p_k of the shares p_k = s_k^2 / sum_j s_j^2 (FR Eqs. 9, 10), in nats; exp of it
    counts modes.
    """
    p = (s.square() / s.square().sum(-1, keepdim=True).clamp_min(FLOOR)).clamp_min(FLOOR)
    return -(p * p.log()).sum(-1)


def _unit(x: Tensor) -> Tensor:
    return x / x.norm(dim=-1, keepdim=True).clamp_min(FLOOR)
