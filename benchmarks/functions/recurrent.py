"""A recurrent sequence autoencoder of signals."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.parts import check_sizes
from benchmarks.functions.reconstructor import Reconstructor, check_patch, patches


class RecurrentAutoencoder(Reconstructor):
    """patches p_1..p_n -> h_n = GRU(p_1..p_n) -> z = W h_n -> s_1..s_n = GRU(z, ..., z) -> x_i = R
    s_i.

    The RNN of VN App. G, Table 5. The paper names it and gives no sizes; chosen here are gated
    units (GRU), patches of `patch` samples as steps of time, states of `hidden` numbers in both
    directions of the map, and a code z of `latent` numbers, which is all the decoder knows of the
    signal: it starts from W' z and reads z at every step.

    Raises
    ------
    ValueError
        For sizes that are not positive integers and unless `patch` divides `length`.
    """

    def __init__(
        self,
        *,
        length: int,
        masked: bool = False,
        patch: int = 16,
        hidden: int = 96,
        latent: int = 32,
    ) -> None:
        super().__init__(length=length, masked=masked)
        self.n_patches, self.patch = check_patch(length, patch), patch
        check_sizes(hidden=hidden, latent=latent)
        self.encoder = nn.GRU(self.n_channels * patch, hidden, batch_first=True)
        self.to_latent = nn.Linear(hidden, latent)
        self.to_start = nn.Linear(latent, hidden)
        self.decoder = nn.GRU(latent, hidden, batch_first=True)
        self.readout = nn.Linear(hidden, patch)

    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        last = self.encoder(patches(channels, self.patch))[1][0]
        return self.decode(self.to_latent(last))

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch time"]:
        """The signals of codes."""
        steps = z[:, None].expand(-1, self.n_patches, -1)
        states, _ = self.decoder(steps, self.to_start(z).tanh()[None])
        return self.readout(states).flatten(1)
