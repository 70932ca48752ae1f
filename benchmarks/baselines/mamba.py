"""Blocks of selective state-space models (Gu and Dao 2023), shared by baselines of sequences."""

from __future__ import annotations

from importlib.util import find_spec

import torch
from jaxtyping import Float
from mambapy.mamba import Mamba, MambaConfig, RMSNorm
from torch import Tensor, nn


class Blocks(nn.Module):
    """Mamba blocks and a last normalisation: tokens (batch, tokens, d_model) in, tokens of the same
    shape out.

    Where a GPU and the package mamba_ssm are present, its fused CUDA kernel does the scan of
    float32 tensors that lie on the GPU; everything else runs in torch. Both compute the same
    function, up to rounding, of the same weights.
    """

    def __init__(self, d_model: int, layers: int, d_state: int, expand: int) -> None:
        super().__init__()
        fused = torch.cuda.is_available() and find_spec("mamba_ssm") is not None
        self.config = MambaConfig(
            d_model=d_model, n_layers=layers, d_state=d_state, expand_factor=expand, use_cuda=fused
        )
        self.blocks, self.norm = Mamba(self.config), RMSNorm(d_model)
        self.fused = self.config.use_cuda  # mambapy takes it back if the kernel does not import

    def forward(
        self, tokens: Float[Tensor, "batch tokens d_model"]
    ) -> Float[Tensor, "batch tokens d_model"]:
        # A model is moved after it was built, so that each call looks where its tensors lie.
        self.config.use_cuda = self.fused and tokens.is_cuda and tokens.dtype == torch.float32
        return self.norm(self.blocks(tokens))
