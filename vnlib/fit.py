"""One training loop for every model: batches, cosine schedule, early stop on validation,
checkpoints, resume.

A learner is anything with `step(batch, scale, generator)` and `state()` (see `Learner`). All
randomness is a function of (seed, step), so a checkpoint holds tensors and counters only, and a
killed run goes on to the same bits.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from tqdm import tqdm

from vnlib import checks, seeding


@runtime_checkable
class Learner(Protocol):
    """What `fit` trains."""

    def step(self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator) -> float:
        """One update with all learning rates multiplied by `scale`; returns the training loss."""
        ...

    def state(self) -> dict[str, Tensor]:
        """All tensors that change, as live references; those of the model itself begin with
        `model.`.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How to train.

    Parameters
    ----------
    steps
        Updates at most.
    batch_size
        Samples per update.
    lr_floor
        The cosine schedule ends at this fraction of the learning rate.
    eval_every
        Updates between two validations.
    patience
        Validations without improvement before training stops, None to run all steps.
    checkpoint_every
        Updates between two checkpoints.
    """

    steps: int
    batch_size: int = 64
    lr_floor: float = 0.01
    eval_every: int = 50
    patience: int | None = None
    checkpoint_every: int = 1000

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "eval_every", "checkpoint_every"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("lr_floor", self.lr_floor, low=0, high=1)
        if self.patience is not None:
            checks.number("patience", self.patience, low=1, integer=True)


@dataclass(frozen=True)
class Training:
    """What a model of a benchmark is told of its training.

    Parameters
    ----------
    lr, steps, batch_size
        Learning rate, steps, and samples per step.
    seed
        Of the model's start and of its batches.
    workdir
        The folder for checkpoints.
    """

    lr: float
    steps: int
    batch_size: int
    seed: int
    workdir: Path

    def config(self, evaluations: int) -> FitConfig:
        """All steps, with about that many looks at the validation error."""
        every = max(1, self.steps // evaluations)
        return FitConfig(steps=self.steps, batch_size=self.batch_size, eval_every=every)


@dataclass
class History:
    """What training went through: training loss per update, validation value per evaluation, and
    the best one.
    """

    train: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    best_step: int = 0
    best_value: float = math.inf


class GradientLearner:
    """Back-propagation with AdamW for a module that has `loss(x, y, generator)`."""

    def __init__(self, model: nn.Module, *, lr: float, weight_decay: float = 0.01) -> None:
        checks.number("lr", lr, above=0)
        checks.number("weight_decay", weight_decay, low=0)
        self.model, self.lr = model, lr
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
        for p in model.parameters():  # made now, so that a checkpoint can fill them
            zeros = {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
            self.optimizer.state[p] = {"step": torch.tensor(0.0), **zeros}

    def step(self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator) -> float:
        self.optimizer.param_groups[0]["lr"] = scale * self.lr
        self.optimizer.zero_grad()
        # torch says of the members of a module that they are tensors or modules.
        loss: Tensor = self.model.loss(*batch, generator=generator)  # pyright: ignore[reportCallIssue]
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())

    def state(self) -> dict[str, Tensor]:
        tensors = {}
        for name, p in self.model.named_parameters():
            tensors[f"model.{name}"] = p.data
            tensors |= {f"adam.{name}.{key}": t for key, t in self.optimizer.state[p].items()}
        return tensors | {f"model.{name}": b for name, b in self.model.named_buffers()}


def fit(
    learner: Learner,
    data: Sequence[Tensor],
    config: FitConfig,
    *,
    seed: int,
    validate: Callable[[], float],
    checkpoint: Path | None = None,
    progress: bool = False,
    title: str = "training",
) -> History:
    """Train, and leave the learner's model at the step that validated best.

    Parameters
    ----------
    data
        Tensors of equal length (samples first); a batch is a tuple of their rows.
    validate
        The in-distribution validation error, lower is better.
    checkpoint
        A safetensors file that is written now and then and, if it is there, continued from.

    Raises
    ------
    ValueError
        For empty or unequal data.
    FloatingPointError
        If the loss stops being finite or the validation error becomes NaN.
    """
    sizes = {len(t) for t in data}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"data must be tensors of one length > 0, got lengths {[len(t) for t in data]}"
        )
    n, device = sizes.pop(), data[0].device
    per_epoch = math.ceil(n / config.batch_size)
    history, state = History(), learner.state()
    best = {name: t.clone() for name, t in state.items() if name.startswith("model.")}
    first, run = 0, json.dumps(asdict(config) | {"seed": seed, "samples": n}, sort_keys=True)
    if checkpoint is not None and checkpoint.exists():
        first = _load(checkpoint, state, best, history, run)
    with tqdm(
        total=config.steps, initial=first, desc=title, disable=not progress, leave=False
    ) as bar:
        for step in range(first, config.steps):
            if _out_of_patience(history, config):
                break
            epoch, index = divmod(step, per_epoch)
            if step == first or index == 0:
                shuffled = torch.randperm(n, generator=seeding.generator(seed, "epoch", epoch)).to(
                    device
                )
            rows = shuffled[index * config.batch_size : (index + 1) * config.batch_size]
            scale = config.lr_floor + (1 - config.lr_floor) * 0.5 * (
                1 + math.cos(math.pi * step / config.steps)
            )
            rng = seeding.generator(seed, "step", step, device=device)
            loss = learner.step(tuple(t[rows] for t in data), scale=scale, generator=rng)
            if not math.isfinite(loss):
                raise FloatingPointError(
                    f"the loss became {loss} at update {step + 1}; lower the learning rate"
                )
            history.train.append(loss)
            if (step + 1) % config.eval_every == 0 or step + 1 == config.steps:
                value = validate()
                if math.isnan(value):
                    raise FloatingPointError(
                        f"the validation error became nan at update {step + 1}; lower the "
                        "learning rate, or check that the validation set is not empty"
                    )
                history.validation.append(value)
                if value < history.best_value:
                    history.best_value, history.best_step = value, step + 1
                    for name in best:
                        best[name].copy_(state[name])
                bar.set_postfix(validation=f"{history.best_value:.2e}", refresh=False)
            if checkpoint is not None and (step + 1) % config.checkpoint_every == 0:
                _save(checkpoint, state, best, history, run)
            bar.update()
    for name, tensor in best.items():
        state[name].copy_(tensor)
    return history


def _out_of_patience(history: History, config: FitConfig) -> bool:
    if config.patience is None or not history.validation:
        return False
    since_best = (len(history.train) - history.best_step) // config.eval_every
    return since_best >= config.patience


def _save(
    path: Path, state: dict[str, Tensor], best: dict[str, Tensor], history: History, run: str
) -> None:
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


def _load(
    path: Path, state: dict[str, Tensor], best: dict[str, Tensor], history: History, run: str
) -> int:
    """Fill state, best and history from a checkpoint; returns the update to go on with."""
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
