"""A transformer that reconstructs signals."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.parts import check_sizes
from benchmarks.functions.reconstructor import Reconstructor, check_patch, patches


class TransformerReconstructor(Reconstructor):
    """patches p_1..p_n -> t_i = E p_i + position_i -> `layers` of attention and MLP over all
    t -> x_i = R norm(t_i).

    The Transformer of VN App. G, Table 5. The paper names it and gives no sizes; chosen here are
    patches of `patch` samples as tokens, learned positions, torch's encoder layers with
    normalisation before each half (`d_model` wide, `heads` heads, an MLP of `width` GELU units),
    and no dropout. Every token sees every other and has a path of its own to the output, so there
    is no bottleneck: the identity is within reach.

    Raises
    ------
    ValueError
        For sizes that are not positive integers, and unless `patch` divides `length` and `heads`
        divides `d_model`.
    """

    def __init__(
        self,
        *,
        length: int,
        masked: bool = False,
        patch: int = 16,
        d_model: int = 64,
        heads: int = 4,
        layers: int = 2,
        width: int = 128,
    ) -> None:
        super().__init__(length=length, masked=masked)
        n_patches, self.patch = check_patch(length, patch), patch
        check_sizes(d_model=d_model, heads=heads, layers=layers, width=width)
        if d_model % heads:
            raise ValueError(f"heads must divide d_model={d_model}, got {heads}")
        self.embed = nn.Linear(self.n_channels * patch, d_model)
        self.position = nn.Parameter(0.02 * torch.randn(n_patches, d_model))
        layer = nn.TransformerEncoderLayer(
            d_model, heads, width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        # torch copies the one layer, so that all layers start from the same weights.
        self.layers = nn.TransformerEncoder(
            layer, layers, norm=nn.LayerNorm(d_model), enable_nested_tensor=False
        )
        self.readout = nn.Linear(d_model, patch)

    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        tokens = self.embed(patches(channels, self.patch)) + self.position
        return self.readout(self.layers(tokens)).flatten(1)
