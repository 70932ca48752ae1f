"""Stacks of random layers, and their settle."""

from __future__ import annotations

import torch

from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1
from vnlib.settle import SettleConfig, Settler

FEEDBACK = 0.3
SCHEDULES = ("sweep", "staggered", "recurrent")


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def stack(depth=3, *, sparsity=(0.4, 0.2, 0.1), seed=3, penalty=L1, tilt=0.0) -> list[Layer]:
    inputs, atoms = (16, 10, 8)[:depth], (20, 12, 9)[:depth]
    layers = []
    for i, (d, K) in enumerate(zip(inputs, atoms, strict=True)):
        V = unit_columns(draw(d, K, seed=seed + 10 * i) + tilt)
        U = unit_columns(draw(inputs[i + 1], K, seed=seed + 10 * i + 1)) if i + 1 < depth else None
        layers.append(Layer(V, U, penalty(sparsity=sparsity[i])))
    return layers


def settle(
    layers,
    x,
    start=None,
    *,
    mask=None,
    trace=False,
    feedback=FEEDBACK,
    activation="identity",
    **config,
):
    settler = Settler(
        layers, feedback=feedback, activation=activation, config=SettleConfig.momentum(**config)
    )
    return settler(x, start, trace=trace, mask=mask)


X = draw(6, 16, seed=77)
REST = {"tol": 0.0, "max_sweeps": 2500}
SOON = {"method": "restart", "tol": 0.0, "max_sweeps": 600}  # at rest too, where momentum is of use
