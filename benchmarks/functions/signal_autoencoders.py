"""Dense autoencoders of whole signals: DeepAE3 and SparseAE3 of VN Table 5 (App. G)."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from torch import Generator, Tensor

from benchmarks.baselines.parts import check_hidden, check_sizes, perceptron
from benchmarks.functions.reconstructor import Reconstructor
from vnlib import checks


class DeepAutoencoder(Reconstructor):
    """Signal -> latent -> signal by two perceptrons, with an l1 price on the latent or without.

    Encoder channels * length -> hidden... -> latent, decoder latent -> reversed
    hidden... -> length, ReLU between. sparsity = 0: a linear latent z (DeepAE3 as it stands).
    sparsity > 0: z = relu(.), and the loss adds sparsity * mean_batch `|z|_1` / length, so that the
    price weighs against the summed error of a signal (SparseAE3: latent=128, sparsity=1e-3). The
    paper names the models and no sizes: all of them are chosen here.

    Raises
    ------
    ValueError
        Unless `latent` and all of `hidden` are positive integers and `sparsity` >= 0.
    """

    def __init__(
        self,
        *,
        length: int,
        masked: bool = False,
        hidden: Sequence[int] = (512, 256, 128),
        latent: int = 32,
        sparsity: float = 0.0,
    ) -> None:
        super().__init__(length=length, masked=masked)
        hidden = check_hidden(hidden)
        check_sizes(latent=latent)
        checks.number("sparsity", sparsity, low=0)
        self.sparsity = sparsity
        self.encoder = perceptron([self.n_channels * length, *hidden, latent])
        self.decoder = perceptron([latent, *reversed(hidden), length])

    def encode(
        self, channels: Float[Tensor, "batch channels time"]
    ) -> Float[Tensor, "batch latent"]:
        """The latent of what `channels` gives; non-negative where it is sparse."""
        z = self.encoder(channels.flatten(1))
        return z.relu() if self.sparsity else z

    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        return self.decoder(self.encode(channels))

    def render_with_penalty(
        self, channels: Float[Tensor, "batch channels time"], generator: Generator
    ) -> tuple[Float[Tensor, "batch time"], Float[Tensor, ""]]:
        z = self.encode(channels)
        return self.decoder(z), self.sparsity * z.abs().sum(dim=1).mean() / self.length
