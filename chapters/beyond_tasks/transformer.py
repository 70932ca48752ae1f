"""A decoder whose pixels are tokens that attend to each other."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.coordinates import sinusoids
from vnlib import checks

HEADS = 4
WIDEN = 4  # units of the perceptron in a layer, over its width


class PixelTransformer(Baseline):
    """A token for every pixel, a linear map of the code plus `sinusoids` of the pixel; then `depth`
    layers of self-attention with `HEADS` heads, then one number of every token (FR's public code,
    at width 128 and with dropout; it is not in the paper).

    With w = width the parameters number (n_inputs + 1) w + depth (12 w^2 + 13 w) + w + 1.

    Raises
    ------
    ValueError
        Unless `width` is a positive multiple of 4 and `depth` >= 1.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 128, depth: int = 2
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("width", width, low=4, integer=True)
        checks.number("depth", depth, low=1, integer=True)
        if width % 4:
            raise ValueError(f"width must be a multiple of 4, got {width}")
        self.width, self.encoder = width, nn.Linear(n_inputs, width)
        sizes = {"nhead": HEADS, "dim_feedforward": WIDEN * width, "dropout": 0.0}
        self.layers = nn.Sequential(
            *(nn.TransformerEncoderLayer(width, **sizes, batch_first=True) for _ in range(depth))
        )
        self.head = nn.Linear(width, 1)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        tokens = self.encoder(x)[:, None] + sinusoids(self.image_shape, self.width, x.device)
        return self.head(self.layers(tokens)).unflatten(1, self.image_shape)[..., 0]
