"""The fully connected decoder."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from benchmarks.baselines.parts import check_hidden, perceptron
from benchmarks.spatial.baseline import Baseline


class MLP(Baseline):
    """Fully connected decoder n_inputs -> hidden... -> pixels, ReLU between (Liang et al. 2025,
    App. D).

    With sizes s_0..s_L the parameters number sum_l (s_{l-1} + 1) s_l. `hidden=()` leaves one affine
    map.

    Raises
    ------
    ValueError
        Unless every entry of `hidden` is a positive integer.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], hidden: Sequence[int] = (256, 256)
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        self.layers = perceptron([n_inputs, *check_hidden(hidden), self.n_pixels])

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.layers(x).unflatten(1, self.image_shape)
