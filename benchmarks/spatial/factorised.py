"""The decoder that is told which inputs are x and which are y, and that an image is their
product.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.parts import perceptron
from benchmarks.spatial.baseline import Baseline
from vnlib import checks


class FactorisedDecoder(Baseline):
    """Hand-built product of two axis networks (the hand-factorised decoder of VN Sec. 4.1 and
    App. F).

    image[row, column] = sum_{r < rank} g_r(y)[row] f_r(x)[column], x the first half of the code, y
    the rest. f: n_inputs/2 -> hidden -> rank * width and g: n_inputs/2 -> hidden -> rank * height,
    with a ReLU; `hidden=0` makes both affine. The image matrix has rank <= `rank`.

    Raises
    ------
    ValueError
        Unless `n_inputs` is even, `hidden` >= 0 and `rank` >= 1.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], hidden: int = 64, rank: int = 1
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        if n_inputs % 2:
            raise ValueError(f"n_inputs must be even (first half x, second half y), got {n_inputs}")
        checks.number("hidden", hidden, low=0, integer=True)
        checks.number("rank", rank, low=1, integer=True)
        self.rank = rank
        height, width = self.image_shape
        inner = [hidden] if hidden else []
        self.f = perceptron([n_inputs // 2, *inner, rank * width])
        self.g = perceptron([n_inputs // 2, *inner, rank * height])

    @property
    def readouts(self) -> tuple[nn.Module, ...]:
        """The last, linear layers."""
        return self.g[-1], self.f[-1]

    def streams(
        self, x: Float[Tensor, "batch d"]
    ) -> tuple[Float[Tensor, "batch rank height"], Float[Tensor, "batch rank width"]]:
        """What the `rank` streams draw: stream r the image rows[:, r, :, None] * columns[:, r,
        None, :].
        """
        code_x, code_y = x.chunk(2, dim=1)
        return self.g(code_y).unflatten(1, (self.rank, -1)), self.f(code_x).unflatten(
            1, (self.rank, -1)
        )

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return torch.einsum("brh,brw->bhw", *self.streams(x))
