"""Parts of baselines: a start by seed, a perceptron, checks of sizes, a count of parameters."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeVar

import torch
from torch import nn

from vnlib import checks

T = TypeVar("T", bound=nn.Module)


def built(family: type[T], *, seed: int, **options: object) -> T:
    """A model whose initial weights are fixed by `seed`; the global random state is left as it was.

    It is built on the CPU, so that the weights do not depend on the device it is moved to.

    Raises
    ------
    ValueError
        For an unknown option, and for what the family refuses.
    """
    known = inspect.signature(family).parameters
    if unknown := sorted(set(options) - set(known)):
        has = sorted(name for name, one in known.items() if one.default is not one.empty)
        raise ValueError(
            f"{family.__name__} has no option {', '.join(unknown)}; it has {', '.join(has)}"
        )
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        # torch.manual_seed would also reseed the GPUs, which fork_rng(devices=[]) does not restore.
        torch.default_generator.manual_seed(seed)
        return family(**options)


def perceptron(sizes: Sequence[int]) -> nn.Sequential:
    """Linear maps between successive `sizes`, with a ReLU between two of them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(sizes):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def n_parameters(module: nn.Module) -> int:
    """The number of trainable scalars of `module`."""
    return sum(p.numel() for p in module.parameters() if p.requires_grad)


def check_sizes(**sizes: object) -> None:
    """Raise ValueError unless all sizes are integers >= 1."""
    for name, value in sizes.items():
        checks.number(name, value, low=1, integer=True)


def check_hidden(hidden: object) -> tuple[int, ...]:
    """`hidden` as a tuple; ValueError unless every entry is a positive integer. It may be empty."""
    if not isinstance(hidden, Sequence) or isinstance(hidden, str):
        raise ValueError(f"hidden must be a sequence of layer sizes, as (256, 256), got {hidden!r}")
    for units in hidden:
        checks.number("each entry of hidden", units, low=1, integer=True)
    return tuple(hidden)
