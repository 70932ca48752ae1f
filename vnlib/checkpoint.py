"""What training went through, and the file from which a killed run goes on to the same bits."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


@dataclass
class History:
    """Training loss per step, validation error per evaluation, and the best one."""

    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_step: int = 0
    best_value: float = math.inf

    def add(self, value: float, step: int) -> bool:
        """Note the validation error after so many steps; whether it is the least so far.

        Raises
        ------
        FloatingPointError
            If it is NaN.
        """
        if math.isnan(value):
            raise FloatingPointError(
                f"the validation error became nan at step {step}; lower the learning rate, or "
                "check that the validation set is not empty"
            )
        self.validation.append(value)
        better = value < self.best_value
        if better:
            self.best_value, self.best_step = value, step
        return better


def save(
    path: Path, state: dict[str, Tensor], best: dict[str, Tensor], history: History, run: str
) -> None:
    """Write a checkpoint of the run that `run` describes; it appears whole or not at all."""
    tensors = {name: t.contiguous() for name, t in _named(state, best).items()}
    # Float64 tensors, since JSON text would be long; the numbers come back to the bit.
    tensors["train"] = torch.tensor(history.train, dtype=torch.float64)
    tensors["validation"] = torch.tensor(history.validation, dtype=torch.float64)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    save_file(tensors, temporary, metadata={"run": run, "best_step": str(history.best_step)})
    os.replace(temporary, path)


def load(
    path: Path, state: dict[str, Tensor], best: dict[str, Tensor], history: History, run: str
) -> int:
    """Fill state, best and history from a checkpoint; returns the step to go on with."""
    anew = "delete it to start this run anew"
    try:
        with safe_open(path, framework="pt") as file:
            meta, names = file.metadata() or {}, file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a readable checkpoint ({error}); {anew}") from error
    train, validation = (tensors.pop(name, torch.empty(0)) for name in ("train", "validation"))
    wanted = _named(state, best)
    shapes = [{name: t.shape for name, t in some.items()} for some in (tensors, wanted)]
    if meta.get("run") != run or shapes[0] != shapes[1]:
        raise ValueError(f"{path} belongs to a run with other settings; {anew}")
    for name, tensor in wanted.items():
        tensor.copy_(tensors[name])
    history.train, history.validation = train.tolist(), validation.tolist()
    history.best_step = int(meta["best_step"])
    history.best_value = min(history.validation, default=math.inf)
    return len(history.train)


def _named(state: dict[str, Tensor], best: dict[str, Tensor]) -> dict[str, Tensor]:
    now = {f"now.{name}": tensor for name, tensor in state.items()}
    return now | {f"best.{name}": tensor for name, tensor in best.items()}
