"""Autoencoders of images: dense, k-sparse and denoising, with a decoder of any depth (VN Sec. 4.4,
Fig. 5).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from benchmarks.baselines import parts
from benchmarks.baselines.parts import check_hidden, perceptron
from vnlib import checks


class ImageAutoencoder(nn.Module):
    """Image -> code -> image by two perceptrons with ReLUs between their layers; the code itself is
    linear.

    Encoder pixels -> hidden... -> latent, decoder latent -> reversed hidden... -> pixels; where one
    is "linear", it is a single linear map instead. Images are rows of pixels of any sign and size;
    a sigmoid output draws in 0..1 only. The paper compares with autoencoders matched on ID error or
    on the sparsity of the code, and names no sizes.

    Parameters
    ----------
    k
        Only the k entries of the code that are largest in size are kept, in training and after it;
        None: all are. The k-sparse autoencoder of Makhzani and Frey (2014) is linear on both sides
        and keeps the largest by value; here codes are signed, as a Vector Network's are.
    noise, dropout
        Training reads the image plus normal noise of this deviation, each pixel then set to zero
        with this chance, and has to draw the clean image (denoising autoencoder, Vincent et al.
        2008).
    signed
        Training multiplies each image by a random sign.

    Raises
    ------
    ValueError
        For a size that is no positive integer, k > latent, an unknown `encoder`, `decoder` or
        `output`, noise < 0, dropout outside 0..1, and signed images with a sigmoid output, which
        cannot draw them.
    """

    def __init__(
        self,
        *,
        pixels: int,
        hidden: Sequence[int] = (512,),
        latent: int = 128,
        k: int | None = None,
        encoder: str = "deep",
        decoder: str = "deep",
        output: str = "linear",
        noise: float = 0.0,
        dropout: float = 0.0,
        signed: bool = False,
    ) -> None:
        super().__init__()
        checks.number("pixels", pixels, low=1, integer=True)
        hidden = check_hidden(hidden)
        checks.number("latent", latent, low=1, integer=True)
        if k is not None:
            checks.number("k", k, low=1, high=latent, integer=True)
        checks.choice("encoder", encoder, ("deep", "linear"))
        checks.choice("decoder", decoder, ("deep", "linear"))
        checks.choice("output", output, ("linear", "sigmoid"))
        checks.number("noise", noise, low=0)
        checks.number("dropout", dropout, low=0, high=1)
        if signed and output == "sigmoid":
            raise ValueError(
                "output must be 'linear' where signed is true, got 'sigmoid', which draws "
                "in 0..1 only"
            )
        self.pixels, self.latent, self.k, self.output = pixels, latent, k, output
        self.noise, self.dropout, self.signed = noise, dropout, bool(signed)
        self.encoder = perceptron([pixels, *(hidden if encoder == "deep" else ()), latent])
        self.decoder = perceptron(
            [latent, *(reversed(hidden) if decoder == "deep" else ()), pixels]
        )

    def forward(self, x: Float[Tensor, "batch pixels"]) -> Float[Tensor, "batch pixels"]:
        """The drawings of images, without noise.

        Raises
        ------
        ValueError
            For images of another size.
        """
        return self.decode(self.encode(x))

    def encode(self, x: Float[Tensor, "batch pixels"]) -> Float[Tensor, "batch latent"]:
        """The codes of images, with at most k nonzero entries.

        Raises
        ------
        ValueError
            For images of another size.
        """
        if x.ndim != 2 or x.shape[1] != self.pixels:
            raise ValueError(
                f"x must have the shape (batch, pixels={self.pixels}), got {tuple(x.shape)}"
            )
        return self.sparse(self.encoder(x))

    def sparse(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch latent"]:
        """The codes with all but the k entries of largest size set to zero: the nearest codes that
        are allowed.
        """
        return z if self.k is None else largest(z, self.k)

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch pixels"]:
        """The drawings of codes."""
        drawn = self.decoder(z)
        return drawn.sigmoid() if self.output == "sigmoid" else drawn

    def loss(self, x: Float[Tensor, "batch pixels"], *, generator: Generator) -> Float[Tensor, ""]:
        """Mean squared error over images and pixels.

        Parameters
        ----------
        generator
            Of signs, noise and dropout, where there are such.
        """
        if self.signed:
            x = x * (1 - 2 * torch.randint(2, (len(x), 1), generator=generator, device=x.device))
        return F.mse_loss(self(self.corrupted(x, generator)), x)

    def corrupted(
        self, x: Float[Tensor, "batch pixels"], generator: Generator
    ) -> Float[Tensor, "batch pixels"]:
        """The images as training reads them."""
        if self.noise:
            x = x + self.noise * torch.randn(x.shape, generator=generator, device=x.device)
        if self.dropout:
            x = x * (torch.rand(x.shape, generator=generator, device=x.device) >= self.dropout)
        return x


def largest(z: Float[Tensor, "batch latent"], k: int) -> Float[Tensor, "batch latent"]:
    """Each row with all but its k entries of largest size set to zero; of equal ones, some are
    taken.
    """
    kept = z.abs().topk(k, dim=1, sorted=False).indices
    return torch.zeros_like(z).scatter(1, kept, z.gather(1, kept))


def built(*, pixels: int, seed: int, **options: object) -> ImageAutoencoder:
    """An autoencoder whose initial weights are fixed by `seed` (see `benchmarks.baselines.parts`)."""
    return parts.built(ImageAutoencoder, pixels=pixels, seed=seed, **options)
