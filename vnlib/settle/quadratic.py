"""The smooth part of a layer's energy and the coupling of two layers, as maps on codes.

The gradient of a layer is H a - V'x - feedback B't (VN Eq. 4) with H = V'V + feedback B'B. Both H
and the coupling are kept as matrices on codes (Gram form) where that is cheaper than going through
the dense space.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib.checks import given
from vnlib.layer import Layer, hessian, lipschitz, message, reconstruct


class Quadratic:
    """H of one layer.

    `coupled` asks for the term of the target; `mask` (batch, d) drops hidden inputs from V'V.
    """

    def __init__(self, layer: Layer, feedback: float) -> None:
        self.layer, self.V, self.feedback = layer, layer.V, feedback
        self.B = layer.reader if feedback else None
        self._gram: dict[bool, Tensor] = {}
        self._largest: dict[tuple[float, float], float | Tensor] = {}

    def times(
        self,
        code: Float[Tensor, "... batch atoms"],
        coupled: bool,
        mask: Float[Tensor, "... batch d"] | None = None,
    ) -> Float[Tensor, "... batch atoms"]:
        """H a for every row a."""
        B = self.B if coupled else None
        d, K = self.V.shape[-2:]
        rows = d + (0 if B is None else B.shape[-2])
        if mask is None and 2 * rows > K:
            return code @ self.gram(coupled)
        seen = code @ self.V.mT
        product = (seen if mask is None else mask * seen) @ self.V
        return product if B is None else product + self.feedback * (code @ B.mT) @ B

    def gram(self, coupled: bool) -> Float[Tensor, "... atoms atoms"]:
        """H itself, kept after the first call."""
        coupled = coupled and self.B is not None
        if coupled not in self._gram:
            self._gram[coupled] = hessian(self.layer, self.feedback * coupled)
        return self._gram[coupled]

    def lipschitz(self, weights: tuple[float, float] = (1.0, 1.0)) -> float | Tensor:
        """The largest eigenvalue of w0 V'V + w1 feedback B'B, kept after the first call."""
        weights = weights if self.B is not None else (weights[0], 0.0)
        if weights not in self._largest:
            W = weights[0] ** 0.5 * self.V
            if weights[1]:
                W = torch.cat([W, (weights[1] * self.feedback) ** 0.5 * self.B], -2)
            # W'W and WW' have the same largest eigenvalue; the smaller one is cheaper.
            gram = W @ W.mT if W.shape[-2] < W.shape[-1] else W.mT @ W
            self._largest[weights] = lipschitz(gram)
        return self._largest[weights]

    def rough_lipschitz(self, coupled: bool) -> Float[Tensor, "... 1 1"]:
        """A cheap estimate of the largest eigenvalue, from below: ten power iterations."""
        v = torch.ones_like(self.V[..., :1, :])
        for _ in range(10):
            v = self.times(v / v.norm(dim=-1, keepdim=True), coupled)
        return v.norm(dim=-1, keepdim=True)


class Coupling:
    """What two neighbouring layers add to each other's gradient."""

    def __init__(self, below: Layer, above: Layer, activation: str) -> None:
        self.below, self.above, self.activation = below, above, activation
        U = given("U", below.U)
        (m, lower), upper = U.shape[-2:], above.V.shape[-1]
        direct = (
            activation == "identity" and below.B is None and lower * upper < m * (lower + upper)
        )
        self.cross = U.mT @ above.V if direct else None
        self.reader = U if below.B is None else below.B

    def up(self, code: Float[Tensor, "... batch lower"]) -> Float[Tensor, "... batch upper"]:
        """V'x of the layer above, whose input is the message of this code."""
        if self.cross is not None:
            return code @ self.cross
        return message(self.below, code, self.activation) @ self.above.V

    def down(self, code: Float[Tensor, "... batch upper"]) -> Float[Tensor, "... batch lower"]:
        """B't of the layer below, whose target is what this code reconstructs."""
        if self.cross is not None:
            return code @ self.cross.mT
        return reconstruct(self.above, code) @ self.reader
