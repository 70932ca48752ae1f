"""What "auto" stands for: which method and criterion fit a stack of layers.

The choice looks at the layers alone, so a batch, a mask or a device changes nothing: what fits
coordinate descent is settled by it under masks too, and for layers on another device on copies on
the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vnlib.layer import Layer
from vnlib.prox import L1, Conjugate, ElasticNet, Penalty
from vnlib.settle.config import SettleConfig


def resolved(
    config: SettleConfig, layers: Sequence[Layer], *, feedback: float, activation: str
) -> SettleConfig:
    """The configuration without "auto" (see `SettleConfig`).

    Raises
    ------
    ValueError
        Where method "cd" is asked for and does not fit.
    """
    method, criterion = config.method, config.criterion
    why = no_lasso(layers, feedback=feedback, activation=activation)
    if method == "cd" and why:
        raise ValueError(f"method 'cd' {why}; use 'auto' or 'line_search'")
    if criterion == "auto":
        energetic = has_energy(layers, feedback=feedback, activation=activation)
        bounded = method == "cd" or all(_bounds(layer.penalty) for layer in layers)
        criterion = "gap" if energetic and bounded else "energy"
    if method == "auto":
        swept = config.schedule != "sweep" or config.steps > 1 or config.monotone or config.mix
        method = "line_search" if why or swept or criterion != "gap" else "cd"
    return replace(config, method=method, criterion=criterion)


def _bounds(penalty: Penalty) -> bool:
    """Whether its gap says anything: without sparsity the residual is a dual point nowhere else
    than at the minimum.
    """
    return isinstance(penalty, Conjugate) and penalty.convex and getattr(penalty, "sparsity", 1) > 0


def alone(layers: Sequence[Layer], feedback: float) -> bool:
    """Whether each layer is settled by itself: without feedback it knows nothing of those above."""
    return not feedback or len(layers) == 1


def has_energy(layers: Sequence[Layer], *, feedback: float, activation: str) -> bool:
    """Whether F is what the steps descend: ReLU messages and untied feedback have no energy."""
    tied = all(layer.B is None for layer in layers)
    return alone(layers, feedback) or (activation == "identity" and tied)


def no_lasso(layers: Sequence[Layer], *, feedback: float, activation: str) -> str:
    """Why coordinate descent does not fit the layers, "" where it does."""
    for number, layer in enumerate(layers, 1):
        if not isinstance(layer.penalty, L1 | ElasticNet):
            return f"needs l1 penalties or elastic nets; layer {number} has {layer.penalty}"
    if not has_energy(layers, feedback=feedback, activation=activation):
        return "needs identity messages and tied dictionaries, or feedback=0"
    alike = len({type(layer.penalty) for layer in layers}) == 1
    if not alone(layers, feedback) and not (alike and all(_bounds(x.penalty) for x in layers)):
        return "needs one kind of penalty with sparsity > 0 in all layers"
    return ""
