"""Decoders whose layers know where each pixel is: the code is rendered at every pixel, and what
follows acts locally.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.cnn import CNN
from vnlib import checks


def with_coordinates(
    maps: Float[Tensor, "batch channels height width"],
) -> Float[Tensor, "batch _more height width"]:
    """The maps and two more channels, the row and the column of every pixel, from -1 to 1."""
    ends = [torch.linspace(-1, 1, n, device=maps.device, dtype=maps.dtype) for n in maps.shape[2:]]
    places = torch.stack(torch.meshgrid(*ends, indexing="ij"))
    return torch.cat([maps, places.expand(len(maps), -1, -1, -1)], 1)


def sinusoids(
    shape: tuple[int, int], width: int, device: torch.device
) -> Float[Tensor, "pixels width"]:
    """A fixed code of every pixel: channels in fours hold sine and cosine of its row, then of its
    column, at frequencies 10000^(-4 j / width) per px (FR's public code; Vaswani et al. 2017).
    """
    frequency = 10_000.0 ** (-4 * torch.arange(width // 4, device=device) / width)
    axes = (torch.arange(n, device=device) for n in shape)
    row, column = (at.flatten()[:, None] * frequency for at in torch.meshgrid(*axes, indexing="ij"))
    return torch.stack([row.sin(), row.cos(), column.sin(), column.cos()], 2).flatten(1)


class CoordinateMLP(Baseline):
    """One perceptron for every pixel: a linear map of the code plus `sinusoids` of the pixel, then
    `depth` layers with PReLUs, then one number (FR's public code; it is not in the paper).

    The parameters number (n_inputs + 1) w + depth (w^2 + w + 1) + w + 1, with w = width.

    Raises
    ------
    ValueError
        Unless `width` is a positive multiple of 4 and `depth` >= 1.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 256, depth: int = 2
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("width", width, low=4, integer=True)
        checks.number("depth", depth, low=1, integer=True)
        if width % 4:
            raise ValueError(f"width must be a multiple of 4, got {width}")
        self.width, self.encoder = width, nn.Linear(n_inputs, width)
        self.layers = nn.Sequential(*(self.block() for _ in range(depth)), nn.Linear(width, 1))

    def block(self) -> nn.Module:
        """A layer, from (batch, pixels, width) to the same."""
        return nn.Sequential(nn.Linear(self.width, self.width), nn.PReLU())

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        pixels = sinusoids(self.image_shape, self.width, x.device)
        return self.layers(self.encoder(x)[:, None] + pixels).unflatten(1, self.image_shape)[..., 0]


class SpatialBroadcast(Baseline):
    """Spatial broadcast decoder (Watters et al. 2019): the code stands at every pixel beside the
    pixel's coordinates, then `depth` convolutions k3 with ReLUs, then one k1.

    With h = width the parameters number 9 (n_inputs + 2) h + h + (depth - 1)(9 h^2 + h) + h + 1.

    Raises
    ------
    ValueError
        Unless `width` and `depth` are positive integers.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 64, depth: int = 4
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("width", width, low=1, integer=True)
        checks.number("depth", depth, low=1, integer=True)
        layers: list[nn.Module] = []
        for inputs in (n_inputs + 2, *[width] * (depth - 1)):
            layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(width, 1, 1))

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        everywhere = x[:, :, None, None].expand(-1, -1, *self.image_shape)
        return self.layers(with_coordinates(everywhere)).squeeze(1)


class CoordConv(CNN):
    """The CNN with two channels more before every layer but the first: the coordinates of the pixels
    (Liu et al. 2018).

    Raises
    ------
    ValueError
        As the CNN.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 64, depth: int = 4
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape, width=width, depth=depth)
        first, *others = self.layers
        self.layers = nn.Sequential(first, *(_told(layer) for layer in others))


def _told(layer: nn.Module) -> nn.Module:
    """The same layer with coordinates before it, if it is a convolution."""
    if not isinstance(layer, nn.ConvTranspose2d):
        return layer
    sizes = (layer.kernel_size, layer.stride, layer.padding)
    return _Told(layer.in_channels + 2, layer.out_channels, *sizes)


class _Told(nn.ConvTranspose2d):
    def forward(self, maps: Tensor) -> Tensor:
        return super().forward(with_coordinates(maps))
