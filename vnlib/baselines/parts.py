"""Parts of baselines: a perceptron, the check of its sizes, and a count of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from vnlib import checks


def perceptron(sizes: Sequence[int]) -> nn.Sequential:
    """Linear maps between successive `sizes`, with a ReLU between two of them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def n_parameters(module: nn.Module) -> int:
    """The number of trainable scalars of `module`."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def check_hidden(hidden: object) -> tuple[int, ...]:
    """`hidden` as a tuple; ValueError unless every entry is a positive integer. It may be empty."""
    if not isinstance(hidden, Sequence) or isinstance(hidden, str):
        raise ValueError(
            f"hidden must be a sequence of layer sizes such as (256, 256), got {hidden!r}"
        )
    for units in hidden:
        checks.number("each entry of hidden", units, low=1, integer=True)
    return tuple(hidden)
