"""The interface every baseline of positions shares: a code in, an image out, one scalar loss."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from vnlib import checks


class Baseline(nn.Module, ABC):
    """A decoder from a code of `n_inputs` numbers to an image of `image_shape` = (height, width)
    pixels.

    A model writes `render`; one whose training pass differs from its evaluation (noise, penalties)
    also overrides `render_with_penalty`. Row 0 of an image is y = 0, column 0 is x = 0.

    Raises
    ------
    ValueError
        When `n_inputs` or a side of `image_shape` is not a positive integer.
    """

    def __init__(self, *, n_inputs: int, image_shape: tuple[int, int]) -> None:
        super().__init__()
        checks.number("n_inputs", n_inputs, low=1, integer=True)
        if not isinstance(image_shape, Sequence) or len(image_shape) != 2:
            raise ValueError(f"image_shape must be (height, width), got {image_shape!r}")
        for side in image_shape:
            checks.number("each side of image_shape", side, low=1, integer=True)
        self.n_inputs = n_inputs
        self.image_shape = tuple(image_shape)

    @property
    def n_pixels(self) -> int:
        return math.prod(self.image_shape)

    def forward(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        """The images of the codes `x`, without noise.

        Raises
        ------
        ValueError
            When d is not `n_inputs`.
        """
        self._check_codes(x)
        return self.render(x)

    def loss(
        self,
        x: Float[Tensor, "batch d"],
        y: Float[Tensor, "batch height width"],
        *,
        generator: Generator,
    ) -> Float[Tensor, ""]:
        """Mean squared error over samples and pixels, plus the model's penalty.

        Parameters
        ----------
        generator
            The only source of noise; a model without noise leaves it untouched.

        Raises
        ------
        ValueError
            When `x` or `y` has the wrong shape (a broadcast would hide it).
        """
        self._check_codes(x)
        expected = (len(x), *self.image_shape)
        if tuple(y.shape) != expected:
            raise ValueError(
                f"y must have the shape (batch, height, width) = {expected}, got {tuple(y.shape)}"
            )
        images, penalty = self.render_with_penalty(x, generator)
        return F.mse_loss(images, y) + penalty

    @abstractmethod
    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        """The images of checked codes."""

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        """The images of one training pass and what the loss adds to their error; here (render(x),
        0).
        """
        return self.render(x), x.new_zeros(())

    def _check_codes(self, x: Tensor) -> None:
        if x.ndim != 2 or x.shape[1] != self.n_inputs:
            raise ValueError(
                f"x must have the shape (batch, n_inputs={self.n_inputs}), got {tuple(x.shape)}"
            )
