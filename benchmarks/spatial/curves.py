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
from vnlib.fit import GradientLearner, Learner

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
    consolidation
        Further updates of a second phase, which has its own end.

    Raises
    ------
    ValueError
        For numbers below 1.
    """

    def __init__(
        self,
        error: Callable[[Any, Any], float],
        sets: Mapping[str, Any],
        *,
        steps: int,
        evaluations: int,
        consolidation: int = 0,
    ) -> None:
        checks.number("steps", steps, low=1, integer=True)
        checks.number("consolidation", consolidation, low=0, integer=True)
        self.phases = (steps, consolidation) if consolidation else (steps,)
        checks.number("evaluations", evaluations, low=len(self.phases), integer=True)
        self.error, self.sets = error, sets
        self.every = math.ceil(sum(self.phases) / (evaluations - len(self.phases) + 1))
        self.errors = torch.full((evaluations, 1 + len(sets)), torch.nan, dtype=torch.float64)
        self.noted = torch.zeros((), dtype=torch.int64)

    def note(self, model: Any, val: float, sets: Mapping[str, Any] | None = None) -> None:
        """Add the errors of a model as it is now; sets: its own in another form, such as settled."""
        row = [val, *(self.error(model, one) for one in (sets or self.sets).values())]
        self.errors[self.noted] = torch.tensor(row, dtype=torch.float64)
        self.noted += 1

    def curves(self) -> xr.Dataset:
        """`curve_step` and `curve_NAME` (checkpoint); NaN where there was no evaluation."""
        made, before = [], 0
        for length in self.phases:
            made += [before + s for s in (*range(self.every, length, self.every), length)]
            before += length
        step = torch.full((len(self.errors),), torch.nan, dtype=torch.float64)
        step[: len(made)] = torch.tensor(made, dtype=torch.float64)
        step[int(self.noted) :] = torch.nan
        columns = dict(zip(["step", "val", *self.sets], [step, *self.errors.T], strict=True))
        return xr.Dataset(
            {f"curve_{name}": ("checkpoint", v.numpy()) for name, v in columns.items()}
        )

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps of it."""
        return {"watch.errors": self.errors, "watch.noted": self.noted}


class WatchedLearner(GradientLearner):
    """Back-propagation whose checkpoints hold what is noted of it."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float, watch: Watch) -> None:
        super().__init__(model, lr=lr, weight_decay=weight_decay)
        self.watch = watch

    def state(self) -> dict[str, Tensor]:
        return super().state() | self.watch.state()


class Watched:
    """Any other learner whose checkpoints hold what is noted of it."""

    def __init__(self, learner: Learner, watch: Watch) -> None:
        self.learner, self.watch = learner, watch

    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> float | Tensor:
        return self.learner.step(batch, scale=scale, generator=generator)

    def state(self) -> dict[str, Tensor]:
        return self.learner.state() | self.watch.state()
