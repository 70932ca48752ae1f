"""The published training of the network that draws a rotated digit (FR App. F.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import xarray as xr
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from benchmarks.spatial import registry
from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.curves import Watch
from benchmarks.spatial.decoders import Pair, mean_squared_error
from vnlib.fit import FitConfig, GradientLearner, fit

LONGEST = 1.0  # length of a gradient


class PlateauLearner(GradientLearner):
    """AdamW with gradients of bounded length, whose rate `observe` halves where more than 5 passes
    in turn brought no lower validation error, down to 1e-6.
    """

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float) -> None:
        super().__init__(model, lr=lr, weight_decay=weight_decay)
        self.schedule = ReduceLROnPlateau(self.optimizer, factor=0.5, patience=5, min_lr=1e-6)
        self.optimizer.register_step_pre_hook(self._shorten)

    def _shorten(self, *_: object) -> None:
        nn.utils.clip_grad_norm_(self.model.parameters(), LONGEST)

    def observe(self, error: float) -> int:
        """Take note of the validation error after a pass through the data; how many there were."""
        self.optimizer.param_groups[0]["lr"] = self.lr
        self.schedule.step(error)
        self.lr = self.optimizer.param_groups[0]["lr"]
        return self.schedule.last_epoch


def train(
    data: Mapping[str, Pair],
    *,
    family: str | type[Baseline],
    options: Mapping[str, Any],
    lr: float,
    weight_decay: float,
    passes: int,
    batch_size: int,
    seed: int,
    evaluations: int,
) -> tuple[nn.Module, xr.Dataset]:
    """A decoder at its best pass on the validation angles, and its errors along training, counted
    in passes (see `Watch.curves`).

    Parameters
    ----------
    data
        Codes and images of the sets "train", "val" and "ood".
    family
        A name in `benchmarks.spatial.registry`, or a decoder's class that it lacks.
    evaluations
        At most how often errors are noted.
    """
    codes, images = data["train"]
    built = registry.build(
        family, n_inputs=codes.shape[1], image_shape=tuple(images.shape[1:]), seed=seed, **options
    )
    model = built.to(codes.device)
    learner = PlateauLearner(model, lr=lr, weight_decay=weight_decay)
    held_out = {"ood": data["ood"]}
    watch = Watch(mean_squared_error, held_out, steps=passes, evaluations=evaluations)

    def validate() -> float:
        error = mean_squared_error(model, data["val"])
        done = learner.observe(error)
        if done % watch.every == 0 or done == passes:
            watch.note(model, error)
        return error

    updates = math.ceil(len(codes) / batch_size)
    config = FitConfig(
        steps=passes * updates, batch_size=batch_size, lr_floor=1.0, eval_every=updates
    )
    # No checkpoint: the schedule's state would not be in it, and a run takes minutes.
    fit(learner, data["train"], config, seed=seed, validate=validate)
    return model, watch.curves()
