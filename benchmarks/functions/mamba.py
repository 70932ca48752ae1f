"""Selective state-space models (Mamba) that reconstruct signals, without and with a bottleneck."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.mamba import Blocks
from benchmarks.baselines.parts import check_sizes
from benchmarks.functions.reconstructor import Reconstructor, check_patch, patches


class MambaReconstructor(Reconstructor):
    """patches p_1..p_n -> t_i = E p_i -> Mamba(t_1..t_n) -> x_i = R norm(t_i).

    With `latent` a number, z = W norm(t_n) -> Mamba(W' z + position_1, ..., W' z + position_n) -> x_i = R norm(.).

    Mamba (latent=None) and Mamba-bottleneck (latent=an integer) of VN App. G, Table 5. The paper
    names them and gives no sizes; chosen here are the blocks of mambapy (Gu and Dao 2023), patches
    of `patch` samples as tokens, `layers` blocks of `expand` times `d_model` inner units with
    `d_state` states each, once before the bottleneck and once after it, and learned positions for
    the decoder, whose steps all read the same `latent` numbers: nothing else reaches it. Tokens and
    states are fewer than usual (there, 16 states and expand=2) for the sake of a CPU.

    Mamba is causal. Without a bottleneck the output at a time depends on the signal up to the end
    of its own patch only, so nothing that is observed later helps to fill in what is hidden before
    it.

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
        patch: int = 32,
        d_model: int = 64,
        layers: int = 2,
        d_state: int = 4,
        expand: int = 1,
        latent: int | None = None,
    ) -> None:
        super().__init__(length=length, masked=masked)
        n_patches, self.patch = check_patch(length, patch), patch
        check_sizes(d_model=d_model, layers=layers, d_state=d_state, expand=expand)
        if latent is not None:
            check_sizes(latent=latent)
        self.embed = nn.Linear(self.n_channels * patch, d_model)
        self.encoder = Blocks(d_model, layers, d_state, expand)
        self.to_latent = None if latent is None else nn.Linear(d_model, latent)
        if latent is not None:
            self.from_latent = nn.Linear(latent, d_model)
            self.position = nn.Parameter(0.02 * torch.randn(n_patches, d_model))
            self.decoder = Blocks(d_model, layers, d_state, expand)
        self.readout = nn.Linear(d_model, patch)

    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        tokens = self.encoder(self.embed(patches(channels, self.patch)))
        if self.to_latent is not None:
            return self.decode(self.to_latent(tokens[:, -1]))
        return self.readout(tokens).flatten(1)

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch time"]:
        """The signals of the bottleneck's codes."""
        return self.readout(self.decoder(self.from_latent(z)[:, None] + self.position)).flatten(1)
