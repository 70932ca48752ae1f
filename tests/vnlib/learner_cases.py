"""Small networks and planted dictionaries for the tests of the network and of the learner."""

from __future__ import annotations

import torch

from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

QUICK = SettleConfig(max_sweeps=30, tol=0)
THREE = {
    "n_inputs": 12,
    "atoms": (18, 14, 10),
    "interface": (9, 8),
    "sparsity": (0.2, 0.05, 0.02),
    "feedback": 0.2,
}


def draw(*shape: int, seed: int, dtype=torch.float32) -> torch.Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ).to(dtype)


def make(seed: int = 0, **options) -> VectorNetwork:
    return VectorNetwork(VNConfig(**({"settle": QUICK} | options)), seed=seed)


def planted(n: int, seed: int, *, d=16, K=20, active=2) -> tuple[torch.Tensor, torch.Tensor]:
    """A dictionary, and samples that are sums of a few of its atoms with a little noise."""
    rng = torch.Generator().manual_seed(seed)
    atoms = unit_columns(torch.randn(d, K, generator=rng))
    code = torch.zeros(n, K)
    where = torch.rand(n, K, generator=rng).topk(active, dim=1).indices
    signs = torch.where(torch.rand(n, active, generator=rng) < 0.5, -1.0, 1.0)
    code.scatter_(1, where, (1 + torch.rand(n, active, generator=rng)) * signs)
    return atoms, code @ atoms.T + 0.01 * torch.randn(n, d, generator=rng)


def train(
    learner: LocalLearner, x: torch.Tensor, *, steps: int, batch: int, seed: int = 0
) -> list[float]:
    rng = torch.Generator().manual_seed(seed)
    losses = []
    for step in range(steps):
        rows = torch.randperm(len(x), generator=rng)[:batch]
        losses.append(
            learner.step((x[rows],), scale=1.0 if step < 0.6 * steps else 0.1, generator=rng)
        )
    return losses


def snapshot(network: VectorNetwork) -> dict[str, torch.Tensor]:
    return {name: p.clone() for name, p in network.named_parameters()}


X = draw(40, 12, seed=77)
SPARSE = THREE | {"sparsity": (0.7, 0.1, 0.05)}
