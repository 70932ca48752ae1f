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
    """What training went through: training loss per step, validation error per evaluation, and the
    best one.
    """

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
    tensors = {f"now.{name}": t.contiguous() for name, t in state.items()}
    tensors |= {f"best.{name}": t.contiguous() for name, t in best.items()}
    # Float64 tensors, since JSON text would be long; the numbers come back to the bit.
    tensors["train"] = torch.tensor(history.train, dtype=torch.float64)
    tensors["validation"] = torch.tensor(history.validation, dtype=torch.float64)
    meta = {"run": run, "best_step": str(history.best_step)}
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    save_file(tensors, temporary, metadata=meta)
    os.replace(temporary, path)


def load(
    path: Path, state: dict[str, Tensor], best: dict[str, Tensor], history: History, run: str
) -> int:
    """Fill state, best and history from a checkpoint; returns the step to go on with."""
    try:
        with safe_open(path, framework="pt") as file:
            meta, tensors = (
                file.metadata() or {},
                {name: file.get_tensor(name) for name in file.keys()},  # noqa: SIM118
            )
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} is not a readable checkpoint ({error}); delete it to start this run anew"
        ) from error
    wanted = {f"now.{n}": t.shape for n, t in state.items()} | {
        f"best.{n}": t.shape for n, t in best.items()
    }
    found = {n: t.shape for n, t in tensors.items() if n not in ("train", "validation")}
    if meta.get("run") != run or wanted != found:
        raise ValueError(
            f"{path} belongs to a run with other settings; delete it to start this run anew"
        )
    for name, tensor in state.items():
        tensor.copy_(tensors[f"now.{name}"])
    for name, tensor in best.items():
        tensor.copy_(tensors[f"best.{name}"])
    history.train, history.validation = tensors["train"].tolist(), tensors["validation"].tolist()
    history.best_step = int(meta["best_step"])
    history.best_value = min(history.validation, default=math.inf)
    return len(history.train)
