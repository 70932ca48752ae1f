"""The decoder that is told an image is a product, but not which inputs drive which factor."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial.baseline import Baseline
from vnlib import checks

ACTIVATIONS = ("linear", "relu")


class BilinearDecoder(Baseline):
    """Product readout of one joint code, trained by back-propagation (control for VN Sec. 4.1 and
    App. F).

    b = phi(W x + c), image = (Q b)(U b)^T, phi the identity or a ReLU, with x (n_inputs), b
    (n_units), Q (height, n_units) and U (width, n_units). The image matrix has rank <= 1; no axis
    split is told. With a linear code the image is quadratic in x.

    Raises
    ------
    ValueError
        Unless `n_units` >= 1 and `activation` is "linear" or "relu".
    """

    def __init__(
        self,
        *,
        n_inputs: int,
        image_shape: tuple[int, int],
        n_units: int = 64,
        activation: str = "linear",
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("n_units", n_units, low=1, integer=True)
        checks.choice("activation", activation, ACTIVATIONS)
        height, width = self.image_shape
        encoder = nn.Linear(n_inputs, n_units)
        self.encoder = encoder if activation == "linear" else nn.Sequential(encoder, nn.ReLU())
        self.Q = nn.Linear(n_units, height, bias=False)
        self.U = nn.Linear(n_units, width, bias=False)

    @property
    def readouts(self) -> tuple[nn.Module, ...]:
        """The last, linear layers."""
        return self.Q, self.U

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        units = self.encoder(x)
        return torch.einsum("bh,bw->bhw", self.Q(units), self.U(units))
