"""The transposed-convolution network that draws a rotated digit (FR App. F.2)."""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from benchmarks.spatial.baseline import Baseline
from vnlib import checks


class RotationDecoder(Baseline):
    """FC to 7 x 7 -> [ConvT k4 s2, batch norm, ReLU] twice -> Conv k3 -> sigmoid, for images with
    sides of 4n px.

    The first stage has `width` channels, the second half as many; the paper has 128 and 64, which
    with two inputs and 28 x 28 pixels makes 413,185 parameters. Weights start from Kaiming's rule
    by fan-out. Loss: mean squared error + `l1` * mean absolute error. Batch norm takes the
    statistics of the batch in `loss` and running ones elsewhere.

    Raises
    ------
    ValueError
        Unless both sides are divisible by 4, `width` is even and >= 2 and `l1` >= 0.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 128, l1: float = 0.1
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("width", width, low=2, integer=True)
        checks.number("l1", l1, low=0)
        if width % 2:
            raise ValueError(f"width must be even, got {width}")
        height, breadth = self.image_shape
        if height % 4 or breadth % 4:
            raise ValueError(f"image_shape must have sides divisible by 4, got {self.image_shape}")
        self.l1 = l1
        self.layers = nn.Sequential(
            nn.Linear(n_inputs, width * (height // 4) * (breadth // 4)),
            nn.Unflatten(1, (width, height // 4, breadth // 4)),
            nn.ConvTranspose2d(width, width, 4, 2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.ConvTranspose2d(width, width // 2, 4, 2, padding=1),
            nn.BatchNorm2d(width // 2),
            nn.ReLU(),
            nn.Conv2d(width // 2, 1, 3, padding=1),
            nn.Sigmoid(),
        )
        for layer in self.layers:
            if isinstance(layer, (nn.Linear, nn.ConvTranspose2d, nn.Conv2d)):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)
        self.layers.eval()

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.layers(x).squeeze(1)

    def loss(
        self,
        x: Float[Tensor, "batch d"],
        y: Float[Tensor, "batch height width"],
        *,
        generator: Generator,
    ) -> Float[Tensor, ""]:
        """Mean squared error + l1 * mean absolute error, over samples and pixels, of one training
        pass.

        Raises
        ------
        ValueError
            When `x` or `y` has the wrong shape.
        """
        self._check_codes(x)
        expected = (len(x), *self.image_shape)
        if tuple(y.shape) != expected:
            raise ValueError(
                f"y must have the shape (batch, height, width) = {expected}, got {tuple(y.shape)}"
            )
        self.layers.train()
        images = self.layers(x).squeeze(1)
        self.layers.eval()
        return F.mse_loss(images, y) + self.l1 * F.l1_loss(images, y)
