"""The transposed-convolution decoder of the compositional-generalisation study."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial.baseline import Baseline
from vnlib import checks


class CNN(Baseline):
    """Transposed-convolution decoder (Liang et al. 2025, App. D; baseline of VN Sec. 4.1 and
    App. F).

    For n x n images: (n_inputs, 1, 1) -> ConvT k(n/4) -> (width, n/4, n/4) -> `depth` ConvT
    blocks -> (width, n, n) -> ConvT k3. The first two blocks double the side (k4 s2 p1:
    7 -> 14 -> 28), the others keep it (k3 s1 p1). A ReLU follows every layer but the last. With
    h = width, the parameters number
    (n/4)^2 n_inputs h + h + 2 (16 h^2 + h) + (depth - 2)(9 h^2 + h) + 9 h + 1.

    Raises
    ------
    ValueError
        Unless `image_shape` is (n, n) with n divisible by 4, `width` >= 1 and `depth` >= 2.
    """

    def __init__(
        self, *, n_inputs: int, image_shape: tuple[int, int], width: int = 64, depth: int = 4
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        checks.number("width", width, low=1, integer=True)
        checks.number("depth", depth, low=2, integer=True)
        side = self.image_shape[0]
        if side != self.image_shape[1] or side % 4:
            raise ValueError(
                "image_shape must be (n, n) with n divisible by 4 for the CNN, got "
                f"{self.image_shape}; its layers have sides n/4, n/2 and n, so crop or pad the "
                "images or take another baseline"
            )
        layers: list[nn.Module] = [nn.ConvTranspose2d(n_inputs, width, side // 4), nn.ReLU()]
        for block in range(depth):
            kernel, stride = (4, 2) if block < 2 else (3, 1)
            layers += [nn.ConvTranspose2d(width, width, kernel, stride, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers, nn.ConvTranspose2d(width, 1, 3, padding=1))

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.layers(x[:, :, None, None]).squeeze(1)
