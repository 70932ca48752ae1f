"""Training as FR publishes it, watched: draws with replacement, a constant learning rate, and the errors
of several sets of positions along the way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from benchmarks.spatial import registry
from benchmarks.spatial.decoders import Pair, mean_squared_error
from vnlib import checks, seeding
from vnlib.book.store.variables import Variables
from vnlib.fit import FitConfig, GradientLearner, fit

CHECKPOINTS = 25
LAST = 0.2  # share of the updates in which a settled training gains next to nothing
GAIN = 0.02  # the gain that is next to nothing

VARIABLES: Variables = {
    "checkpoint": ("number of an evaluation along training", "1"),
    "updates": ("updates made before an evaluation", "1"),
    "curve_*": ("mean squared error per pixel along training, {} positions", "1"),
    "gain": ("share of the ID validation error that the last fifth of the updates took away", "1"),
    "settled": ("whether that share is below 2 %", "1"),
}


class WatchedLearner(GradientLearner):
    """Back-propagation that keeps a curve (checkpoint, set) of errors among what is saved of it, so
    that a training that goes on after a stop has its beginning, too.
    """

    def __init__(
        self, model: nn.Module, *, lr: float, weight_decay: float, sets: Mapping[str, Pair]
    ) -> None:
        super().__init__(model, lr=lr, weight_decay=weight_decay)
        self.sets = sets
        self.curve = torch.full((CHECKPOINTS, len(sets)), math.nan, dtype=torch.float64)

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"curve": self.curve}

    def evaluate(self) -> float:
        """The error on the first set, which training may use; those on all sets are noted."""
        row = int(self.curve[:, 0].isfinite().sum())
        for column, pair in enumerate(self.sets.values()):
            self.curve[row, column] = mean_squared_error(self.model, pair)
        return float(self.curve[row, 0])


def train_watched(
    train: Pair,
    sets: Mapping[str, Pair],
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
    draws: int | None = None,
    weight_decay: float = 0.01,
) -> tuple[nn.Module, xr.Dataset]:
    """A baseline trained by AdamW at a constant learning rate, at its best evaluation on the first
    of the `sets`, and what `curves` makes of its evaluations.

    Parameters
    ----------
    sets
        Pairs (codes, images) by name. The first one, ID validation, selects; the others are watched.
    draws
        As many training samples are drawn with replacement, once, and an epoch runs over them (FR's
        public code); None for each sample once.

    Raises
    ------
    ValueError
        For an unknown family or option, and for `draws` below 1.
    """
    codes, images = train
    if draws is not None:
        checks.number("draws", draws, low=1, integer=True)
        rows = torch.randint(len(codes), (draws,), generator=seeding.generator(seed, "draws"))
        codes, images = (t[rows.to(t.device)] for t in train)
    model = registry.build(
        family, n_inputs=codes.shape[1], image_shape=tuple(images.shape[1:]), seed=seed, **options
    ).to(codes.device)
    learner = WatchedLearner(model, lr=lr, weight_decay=weight_decay, sets=sets)
    every = math.ceil(steps / CHECKPOINTS)
    fit(
        learner,
        (codes, images),
        FitConfig(steps=steps, batch_size=batch_size, lr_floor=1.0, eval_every=every),
        seed=seed,
        validate=learner.evaluate,
        checkpoint=workdir / "fit.safetensors",
    )
    updates = np.minimum(every * np.arange(1, CHECKPOINTS + 1), steps)
    values = learner.curve.numpy()
    return model, curves(dict(zip(sets, values.T, strict=True)), updates)


def curves(errors: Mapping[str, np.ndarray], updates: np.ndarray) -> xr.Dataset:
    """Errors by set and checkpoint, the first set being ID validation, as `curve_NAME`; `updates`;
    and whether training has `settled`, by its `gain`.

    The gain is that of the best error so far: how much less it is at the end than it was before the
    last fifth of the updates. NaN, and not settled, where there is no evaluation before.
    """
    first, *_ = errors.values()
    done = np.isfinite(first)
    early = done & (updates <= (1 - LAST) * updates.max())
    best = [first[some].min() if some.any() else math.nan for some in (early, done)]
    gain = 1 - best[1] / best[0]
    found = {f"curve_{n}": ("checkpoint", v.astype(np.float32)) for n, v in errors.items()}
    found["updates"] = ("checkpoint", np.where(done, updates, np.nan))
    return xr.Dataset(found | {"gain": ((), gain), "settled": ((), np.int8(gain < GAIN))})


def unwatched(*sets: str) -> xr.Dataset:
    """What `curves` says of a model that nobody trains, or whose training was not watched: NaN."""
    nothing = np.full(CHECKPOINTS, math.nan)
    return curves({name: nothing for name in sets}, nothing).where(False)
