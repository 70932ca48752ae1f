"""Decoders through a regularised latent: sparse activity, or a Gaussian with a prior.

Both weigh their penalty against the *summed* pixel error: times n_pixels, the loss reads
`|y - y_hat|^2 + weight * penalty` per sample, so that a weight means the same at every image size.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from vnlib import checks
from vnlib.baselines.base import Baseline, check_hidden, perceptron


class SparseAutoencoder(Baseline):
    """Code -> non-negative latent z -> image, with an l1 price on z (VN App. F, "SAE").

    z = relu(encoder(x)), loss = MSE(decoder(z), y) + sparsity * mean_batch |z|_1 / n_pixels.
    Encoder n_inputs -> hidden... -> latent; decoder latent -> reversed hidden... -> pixels; ReLU between.
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
        """Raises ValueError unless `latent` and `hidden` are positive integers and `sparsity` >= 0."""
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        hidden = check_hidden(hidden)
        checks.number("latent", latent, low=1, integer=True)
        checks.number("sparsity", sparsity, low=0)
        self.sparsity = sparsity
        self.encoder = perceptron([n_inputs, *hidden, latent])
        self.decoder = perceptron([latent, *reversed(hidden), self.n_pixels])

    def encode(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch latent"]:
        """The non-negative latent activity."""
        return self.encoder(x).relu()

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch height width"]:
        """The image of a latent."""
        return self.decoder(z).unflatten(1, self.image_shape)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        return self.decode(self.encode(x))

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        z = self.encode(x)
        return self.decode(z), self.sparsity * z.sum(dim=1).mean() / self.n_pixels


class VAE(Baseline):
    """Code -> Gaussian latent -> image, with a standard normal prior (VN App. F, "beta-VAE").

    q(z|x) = N(mu(x), diag(exp(logvar(x)))), one sample z per code in the loss, z = mu in `forward`,
    loss = MSE(decoder(z), y) + beta * mean_batch KL(q || N(0, I)) / n_pixels.
    A large `beta` collapses every image onto their mean.
    Encoder n_inputs -> hidden... -> 2 latent (mu, logvar); decoder latent -> reversed hidden... -> pixels.
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
        """Raises ValueError unless `latent` and `hidden` are positive integers and `beta` >= 0."""
        super().__init__(n_inputs=n_inputs, image_shape=image_shape)
        hidden = check_hidden(hidden)
        checks.number("latent", latent, low=1, integer=True)
        checks.number("beta", beta, low=0)
        self.beta = beta
        self.encoder = perceptron([n_inputs, *hidden, 2 * latent])
        self.decoder = perceptron([latent, *reversed(hidden), self.n_pixels])

    def encode(
        self, x: Float[Tensor, "batch d"]
    ) -> tuple[Float[Tensor, "batch latent"], Float[Tensor, "batch latent"]]:
        """Mean and log-variance of the latent."""
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return mean, log_variance

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch height width"]:
        """The image of a latent."""
        return self.decoder(z).unflatten(1, self.image_shape)

    def render(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch height width"]:
        mean, _ = self.encode(x)
        return self.decode(mean)

    def render_with_penalty(
        self, x: Float[Tensor, "batch d"], generator: Generator
    ) -> tuple[Float[Tensor, "batch height width"], Float[Tensor, ""]]:
        mean, log_variance = self.encode(x)
        # Drawn where the generator lives: one CPU generator then serves every device with the same bits.
        noise = torch.randn(mean.shape, generator=generator, device=generator.device, dtype=mean.dtype)
        z = mean + (0.5 * log_variance).exp() * noise.to(mean.device)
        return self.decode(z), self.beta * kl_to_standard_normal(mean, log_variance).mean() / self.n_pixels


def kl_to_standard_normal(
    mean: Float[Tensor, "batch latent"], log_variance: Float[Tensor, "batch latent"]
) -> Float[Tensor, " batch"]:
    """KL(N(mean, diag(exp(log_variance))) || N(0, I)) per sample, in nats."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum(dim=1)
