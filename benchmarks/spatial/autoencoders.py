"""Decoders through a regularised latent (sparse activity, or a Gaussian with a prior), and images
in, images out.

The first two weigh their penalty against the *summed* pixel error: times n_pixels, the loss reads
`|y - y_hat|^2 + weight * penalty` per sample, so that a weight means the same at every image size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from benchmarks.baselines.parts import check_hidden, perceptron
from benchmarks.spatial.baseline import Baseline
from vnlib import checks


class LatentDecoder(Baseline):
    """Code -> latent -> image, by two perceptrons with a ReLU between layers."""

    def build(self, latent: int, hidden: Sequence[int], *, per_unit: int = 1) -> None:
        """The encoder n_inputs -> hidden... -> `per_unit` numbers for each unit of the latent, and
        the decoder latent -> reversed hidden... -> pixels.
        """
        hidden = check_hidden(hidden)
        checks.number("latent", latent, low=1, integer=True)
        self.encoder = perceptron([self.n_inputs, *hidden, per_unit * latent])
        self.decoder = perceptron([latent, *reversed(hidden), self.n_pixels])

    @property
    def readouts(self) -> tuple[nn.Module, ...]:
        """The last, linear layer."""
        return (self.decoder[-1],)

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch height width"]:
        """The image of a latent."""
        return self.decoder(z).unflatten(1, self.image_shape)


class SparseAutoencoder(LatentDecoder):
    """Code -> non-negative latent z -> image, with an l1 price on z (VN App. F, "SAE").

    z = relu(encoder(x)), loss = MSE(decoder(z), y) + sparsity * mean_batch `|z|_1` / n_pixels.

    Raises
    ------
    ValueError
        Unless `latent` and `hidden` are positive integers and `sparsity` >= 0.
    """

    def __init__(
        self,
        *,
        n_inputs: int,
        image_shape: tuple[int, int],
        latent: int = 32,
        hidden: Sequence[int] = (256,),
        sparsity: float = 1e-3,
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        self.build(latent, hidden)
        checks.number("sparsity", sparsity, low=0)
        self.sparsity = sparsity

    def encode(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch latent"]:
        """The non-negative latent activity."""
        return self.encoder(x).relu()

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.decode(self.encode(x))

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        z = self.encode(x)
        return self.decode(z), self.sparsity * z.sum(dim=1).mean() / self.n_pixels


class VAE(LatentDecoder):
    """Code -> Gaussian latent -> image, with a standard normal prior (VN App. F, "beta-VAE").

    q(z|x) = N(mu(x), diag(exp(logvar(x)))) with (mu, logvar) = encoder(x), one sample z per code in
    the loss, z = mu in `forward`, loss = MSE(decoder(z), y) + beta * mean_batch KL(q || N(0, I)) /
    n_pixels. A large `beta` collapses every image onto their mean.

    Raises
    ------
    ValueError
        Unless `latent` and `hidden` are positive integers and `beta` >= 0.
    """

    def __init__(
        self,
        *,
        n_inputs: int,
        image_shape: tuple[int, int],
        latent: int = 32,
        hidden: Sequence[int] = (256,),
        beta: float = 1e-3,
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        self.build(latent, hidden, per_unit=2)
        checks.number("beta", beta, low=0)
        self.beta = beta

    def encode(
        self, x: Float[Tensor, "batch d"]
    ) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
        """Mean and log-variance of the latent."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        mean, _ = self.encode(x)
        return self.decode(mean)

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        mean, log_variance = self.encode(x)
        # Drawn where the generator lives: one CPU generator then serves every device with the same
        # bits.
        noise = torch.randn(
            mean.shape, generator=generator, device=generator.device, dtype=mean.dtype
        )
        z = mean + (0.5 * log_variance).exp() * noise.to(mean.device)
        return self.decode(z), self.beta * kl_to_standard_normal(
            mean, log_variance
        ).mean() / self.n_pixels


class ConvAutoencoder(Baseline):
    """Image -> image by convolutions; a code is an image, row by row (entangled input, VN App. F).

    latent=None: four 3 x 3 convolutions at full size, `width` channels, a ReLU between: no
    bottleneck, and the same map at every pixel. Otherwise two strided convolutions (k4 s2 p1), a
    dense layer to `latent` numbers, and the way back.

    Raises
    ------
    ValueError
        Unless `n_inputs` is the number of pixels; a latent needs sides divisible by 4.
    """

    def __init__(
        self,
        *,
        n_inputs: int,
        image_shape: tuple[int, int],
        width: int = 16,
        latent: int | None = None,
    ) -> None:
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        if n_inputs != self.n_pixels:
            raise ValueError(
                f"n_inputs must be the number of pixels, {self.n_pixels}, got {n_inputs}"
            )
        checks.number("width", width, low=1, integer=True)
        if latent is None:
            layers = [nn.Conv2d(1, width, 3, padding=1)]
            for into in (width, width, 1):
                layers += [nn.ReLU(), nn.Conv2d(width, into, 3, padding=1)]
        else:
            checks.number("latent", latent, low=1, integer=True)
            if any(side % 4 for side in self.image_shape):
                raise ValueError(
                    "image_shape must have sides divisible by 4 with a latent, got "
                    f"{self.image_shape}"
                )
            small = (width, *(side // 4 for side in self.image_shape))
            n = small[0] * small[1] * small[2]
            layers = [
                nn.Conv2d(1, width, 4, 2, padding=1),
                nn.ReLU(),
                nn.Conv2d(width, width, 4, 2, padding=1),
                nn.ReLU(),
                nn.Flatten(),
                nn.Linear(n, latent),
                nn.Linear(latent, n),
                nn.ReLU(),
                nn.Unflatten(1, small),
                nn.ConvTranspose2d(width, width, 4, 2, padding=1),
                nn.ReLU(),
                nn.ConvTranspose2d(width, 1, 4, 2, padding=1),
            ]
        self.layers = nn.Sequential(*layers)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.layers(x.unflatten(1, (1, *self.image_shape))).squeeze(1)


def kl_to_standard_normal(
    mean: Float[Tensor, "batch latent"], log_variance: Float[Tensor, "batch latent"]
) -> Float[Tensor, " batch"]:
    """KL(N(mean, diag(exp(log_variance))) || N(0, I)) per sample, in nats."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1)
