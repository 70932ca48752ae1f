"""The decoder that is told which inputs are x and which are y, and that an image is their sum."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from benchmarks.baselines.parts import check_hidden, perceptron
from benchmarks.spatial.baseline import Baseline


class AdditiveDecoder(Baseline):
    """image = f(x) + g(y), a perceptron with ReLUs for each half of the code (Lachapelle et al. 2023,
    who prove that such decoders compose wherever the data are sums).

    A bump is no sum of a function of x and one of y: what this decoder cannot draw says how far a
    sum of the factors can come, in distribution and out of it.

    Raises
    ------
    ValueError
        Unless `n_inputs` is even and every entry of `hidden` is a positive integer.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], hidden: Sequence[int] = (256, 256)
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        if n_inputs % 2:
            raise ValueError(f"n_inputs must be even (first half x, second half y), got {n_inputs}")
        sizes = [n_inputs // 2, *check_hidden(hidden), self.n_pixels]
        self.f, self.g = perceptron(sizes), perceptron(sizes)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        code_x, code_y = x.chunk(2, dim=1)
        return (self.f(code_x) + self.g(code_y)).unflatten(1, self.image_shape)
