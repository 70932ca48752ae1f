"""What "auto" stands for: which method and criterion fit a stack of layers.

The choice looks at the layers alone, so a batch, a mask or a device changes nothing: what fits
coordinate descent is settled by it under masks too, and for layers on another device on copies on
the CPU. Convex penalties are settled to a duality gap. l0, MCP and CEL0 have none; by coordinates
they stop at a minimum in each coefficient, by default too, being sooner there and mostly lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from vnlib.layer import Layer
from vnlib.prox import L1, Conjugate, ElasticNet, Firm, Penalty
from vnlib.settle.config import SettleConfig


def resolved(
    config: SettleConfig, layers: Sequence[Layer], *, feedback: float, activation: str
) -> SettleConfig:
    """The configuration without "auto" (see `SettleConfig`); ValueError where "cd" does not fit."""
    method, criterion = config.method, config.criterion
    why = no_lasso(layers, feedback=feedback, activation=activation)
    if method == "cd" and why:
        raise ValueError(f"method 'cd' {why}; use 'auto' or 'line_search'")
    by_coordinates = "energy" if isinstance(layers[0].penalty, Firm) else "gap"
    if criterion == "auto":
        energetic = has_energy(layers, feedback=feedback, activation=activation)
        bounded = energetic and all(_bounds(layer.penalty) for layer in layers)
        criterion = by_coordinates if method == "cd" else "gap" if bounded else "energy"
    if method == "cd" and criterion != by_coordinates:
        raise ValueError(
            "method 'cd' stops on the duality gap, and on the energy where penalties are not "
            f"convex: set criterion={by_coordinates!r}"
        )
    if method == "auto":
        swept = config.schedule != "sweep" or config.steps > 1 or config.monotone or config.mix
        method = "line_search" if why or swept or criterion != by_coordinates else "cd"
    return replace(config, method=method, criterion=criterion)


def _bounds(penalty: Penalty) -> bool:
    """Whether its gap says anything: without sparsity the residual is a dual point nowhere else
    than at the minimum.
    """
    lambdas = torch.as_tensor(getattr(penalty, "sparsity", 1))
    return isinstance(penalty, Conjugate) and penalty.convex and bool((lambdas > 0).all())


def alone(layers: Sequence[Layer], feedback: float) -> bool:
    """Whether each layer is settled by itself: without feedback it knows nothing of those above."""
    return not feedback or len(layers) == 1


def has_energy(layers: Sequence[Layer], *, feedback: float, activation: str) -> bool:
    """Whether F is what the steps descend: ReLU messages and untied feedback have no energy."""
    tied = all(layer.B is None for layer in layers)
    return alone(layers, feedback) or (activation == "identity" and tied)


def no_lasso(layers: Sequence[Layer], *, feedback: float, activation: str) -> str:
    """Why coordinate descent does not fit the layers, "" where it does."""
    if layers[0].V.ndim > 2:
        return "takes one dictionary per layer, not replicas"
    for number, layer in enumerate(layers, 1):
        if not isinstance(layer.penalty, L1 | ElasticNet | Firm):
            return f"needs other penalties than {layer.penalty}, which layer {number} has"
    firm = [x.penalty for x in layers if isinstance(x.penalty, Firm)]
    each = len(firm) == len(layers) and all(penalty.sparsity > 0 for penalty in firm)
    if firm and not (each and alone(layers, feedback)):
        return "needs sparsity > 0 for l0, MCP and CEL0, in all layers, each settled alone"
    if not has_energy(layers, feedback=feedback, activation=activation):
        return "needs identity messages and tied dictionaries, or feedback=0"
    alike = len({type(layer.penalty) for layer in layers}) == 1
    if not alone(layers, feedback) and not (alike and all(_bounds(x.penalty) for x in layers)):
        return "needs one kind of penalty with sparsity > 0 in all layers"
    return ""
