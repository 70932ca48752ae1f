"""A trained model as functions that draw and fill in signals (VN Fig. 3, Tables 5 and 6, App. G).

All signals are (batch, time); `observed` is bool of the same shape, and what a signal holds
elsewhere is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

Signals = Float[Tensor, "batch time"]
Fill = Callable[[Signals, Bool[Tensor, "batch time"]], Signals]

CHOOSERS = 120  # validation signals that choose


@dataclass(frozen=True)
class Imputer:
    """A trained model as functions of signals; None for what it cannot do.

    Fillings are the model's own drawing of all samples, observed ones too.

    Parameters
    ----------
    reconstruct
        `reconstruct(x)`: the model's drawing of whole signals.
    zero_filled
        `zero_filled(x, observed)`: as printed, hidden samples as zeros, or five rounds of
        imputation for a dictionary.
    mask_aware
        `mask_aware(x_val, observed_val)`: inference that knows the mask, ready for one mask;
        whatever it has to choose, it chooses on these validation signals.
    curve
        The validation error at the evaluations of training.
    facts
        What else is known of the model.
    """

    reconstruct: Callable[[Signals], Signals] | None = None
    zero_filled: Fill | None = None
    mask_aware: Callable[[Signals, Bool[Tensor, "batch time"]], Fill] | None = None
    curve: Sequence[float] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


def error_of(draw: Callable[[Signals], Signals], x: Signals) -> float:
    """The mean squared error of whole signals as they are drawn."""
    return float((draw(x) - x).square().mean())


def best_of(
    choices: Sequence[Any],
    fill: Callable[[Any], Fill],
    x: Signals,
    observed: Bool[Tensor, "batch time"],
) -> Fill:
    """The filling of the choice whose mean squared error on the hidden samples of the first signals
    of x is least, the first of equals.

    A choice whose error is NaN is never taken.

    Raises
    ------
    ValueError
        If no choice has an error that is a number.
    """
    x, observed = x[:CHOOSERS], observed[:CHOOSERS]
    fills = [fill(choice) for choice in choices]
    errors = [float((f(x, observed) - x)[~observed].double().square().mean()) for f in fills]
    if all(math.isnan(error) for error in errors):
        raise ValueError(f"choices must hold one whose error is a number, got {list(choices)}")
    return fills[int(np.nanargmin(errors))]
