"""Errors along training: they say whether a run has settled; nothing is chosen by those of the
hold-out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import xarray as xr
from torch import Tensor, nn

from vnlib import checks
from vnlib.book.store.variables import Variables
from vnlib.fit import GradientLearner

VARIABLES: Variables = {
    "curve_step": ("updates made", "1"),
    "curve_*": ("mean squared error along training, {}", "1"),
}


class Watch:
    """Notes errors of a model on named sets along its training.

    Parameters
    ----------
    error
        The error of a model on a set.
    sets
        Name -> what `error` takes; "val", the error that a training is selected by, comes by itself.
    steps, evaluations
        How long the training is, and at most how often errors are noted, in equal distances and at
        its end.

    Raises
    ------
    ValueError
        For numbers below 1.
    """

    def __init__(
        self,
        error: Callable[[nn.Module, Any], float],
        sets: Mapping[str, Any],
        *,
        steps: int,
        evaluations: int,
    ) -> None:
        for name, number in (("steps", steps), ("evaluations", evaluations)):
            checks.number(name, number, low=1, integer=True)
        self.error, self.sets, self.steps = error, sets, steps
        self.every = math.ceil(steps / evaluations)
        self.errors = torch.full((evaluations, 1 + len(sets)), torch.nan, dtype=torch.float64)
        self.noted = torch.zeros((), dtype=torch.int64)

    def note(self, model: nn.Module, val: float) -> None:
        """Add the errors of a model as it is now."""
        row = [val, *(self.error(model, one) for one in self.sets.values())]
        self.errors[self.noted] = torch.tensor(row, dtype=torch.float64)
        self.noted += 1

    def curves(self) -> xr.Dataset:
        """`curve_step` and `curve_NAME` (checkpoint); NaN where there was no evaluation."""
        number = torch.arange(len(self.errors))
        step = (self.every * (number + 1.0)).clamp(max=self.steps)
        step = step.where(number < self.noted, torch.nan)
        columns = dict(zip(["step", "val", *self.sets], [step, *self.errors.T], strict=True))
        return xr.Dataset(
            {f"curve_{name}": ("checkpoint", v.numpy()) for name, v in columns.items()}
        )


class WatchedLearner(GradientLearner):
    """Back-propagation whose checkpoints hold what is noted of it."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float, watch: Watch) -> None:
        super().__init__(model, lr=lr, weight_decay=weight_decay)
        self.watch = watch

    def state(self) -> dict[str, Tensor]:
        noted = {"watch.errors": self.watch.errors, "watch.noted": self.watch.noted}
        return super().state() | noted
