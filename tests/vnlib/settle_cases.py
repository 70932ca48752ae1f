"""Small stacks of layers, and their settles, for the tests of the settle."""

from __future__ import annotations

import pytest
import torch

from vnlib.layer import Layer
from vnlib.learning.rules import unit_columns
from vnlib.prox import make_penalty
from vnlib.settle import SettleConfig, Settler

# A line search may spend a sweep on a step that it takes back; the other two never do.
steady_methods = pytest.mark.parametrize("method", ["ista", "restart"])
every_method = pytest.mark.parametrize("method", ["ista", "restart", "line_search"])
FEEDBACK = 0.3
SPARSITY = (0.4, 0.2, 0.1)  # the messages shrink with depth


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def stack(
    inputs=(16, 10, 8),
    atoms=(20, 12, 8),
    *,
    sparsity=SPARSITY,
    seed=2,
    top_k=None,
    nonnegative=False,
    tilt=0.0,
) -> tuple[Layer, ...]:
    """Layers with random unit atoms; `tilt` adds a common direction, which makes them coherent."""
    layers = []
    for i, (d, K) in enumerate(zip(inputs, atoms, strict=True)):
        V = unit_columns(draw(d, K, seed=seed + 10 * i) + tilt)
        U = (
            unit_columns(draw(inputs[i + 1], K, seed=seed + 10 * i + 1))
            if i + 1 < len(atoms)
            else None
        )
        cap = top_k if i + 1 == len(atoms) else None
        layers.append(
            Layer(V, U, make_penalty(sparsity=sparsity[i], nonnegative=nonnegative, top_k=cap))
        )
    return tuple(layers)


def single(d=16, K=20, *, sparsity=0.4, **options) -> tuple[Layer, ...]:
    return stack((d,), (K,), sparsity=(sparsity,), **options)


def network(depth: int, **options) -> tuple[Layer, ...]:
    return single(**options) if depth == 1 else stack(**options)


def some_codes(layers, *, seed=500, size=1.0) -> list[torch.Tensor]:
    return [size * draw(5, layer.V.shape[1], seed=seed + i) for i, layer in enumerate(layers)]


def settle(
    layers, x, *, feedback=FEEDBACK, start=None, trace=False, activation="identity", **config
):
    settler = Settler(
        layers, feedback=feedback, activation=activation, config=SettleConfig.momentum(**config)
    )
    return settler(x, start, trace=trace)


def energies(settled) -> torch.Tensor:
    return torch.stack(settled.trace.energy)


def largest_rise(rows: torch.Tensor) -> float:
    """The largest relative rise of the energy from one sweep to the next."""
    return float(((rows[1:] - rows[:-1]) / rows[:-1].abs().clamp_min(1e-300)).max())


def pull(layer, code, x, target=None) -> torch.Tensor:
    """What draws the code of a layer: minus the gradient of its energy without the penalty."""
    upward = (x - code @ layer.V.T) @ layer.V
    return upward if target is None else upward + FEEDBACK * (target - code @ layer.U.T) @ layer.U


LONG = {"tol": 0.0, "max_sweeps": 400}  # to rounding, with momentum
X = draw(5, 16, seed=99)
