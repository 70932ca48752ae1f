"""What trained models do: predictions, and errors of reconstructions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vnlib.network import VectorNetwork


@torch.no_grad()
def predict(model: nn.Module, x: Tensor, *, batch_size: int = 256) -> Tensor:
    """model(x), in batches that fit into memory."""
    return torch.cat([model(part) for part in x.split(batch_size)])


@torch.no_grad()
def reconstruction_error(network: VectorNetwork, x: Tensor) -> float:
    """Mean squared error of V_1 a_1 after the settle."""
    return float((network.reconstruct(network.settle(x)) - x).square().mean())


@torch.no_grad()
def settled_energy(network: VectorNetwork, x: Tensor) -> float:
    """Mean of the joint energy F that the settle ends at."""
    return float(network.settle(x).energy.mean())
