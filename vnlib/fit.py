"""One training loop for every model: batches, cosine schedule, early stop on validation,
checkpoints, resume.

A learner is anything with `step(batch, scale, generator)` and `state()` (see `Learner`). All
randomness is a function of (seed, step), so a checkpoint holds tensors and counters only, and a
killed run goes on to the same bits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from greenlet import getcurrent, greenlet
from torch import Tensor, nn
from tqdm import tqdm

from vnlib import checks, seeding
from vnlib.checkpoint import History, load, save
from vnlib.checks import given


@runtime_checkable
class Learner(Protocol):
    """What `fit` trains."""

    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> float | Tensor:
        """One step with all learning rates multiplied by `scale`; returns the training loss, which
        as a tensor need not be waited for.
        """
        ...

    def state(self) -> dict[str, Tensor]:
        """All tensors that change, as live references; the model's own begin with `model.`."""
        ...


_USUAL = ("keep", "best")


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """How to train.

    Parameters
    ----------
    lr_floor
        The cosine schedule ends at this fraction of the learning rate.
    eval_every, checkpoint_every
        Steps between two evaluations of the validation error, and between two checkpoints.
    keep
        The state that the model is left in: "best", that of the evaluation with the least error, or
        "last", where evaluations only watch and may be missing.
    """

    steps: int
    batch_size: int = 64
    lr_floor: float = 0.01
    eval_every: int = 50
    checkpoint_every: int = 1000
    keep: str = "best"

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size", "eval_every", "checkpoint_every"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("lr_floor", self.lr_floor, low=0, high=1)
        checks.choice("keep", self.keep, ("best", "last"))

    def scale(self, step: int) -> float:
        """What the learning rates are multiplied by at a step, counted from 0."""
        wave = 1 + math.cos(math.pi * step / self.steps)
        return self.lr_floor + (1 - self.lr_floor) * 0.5 * wave

    def evaluates_after(self, step: int) -> bool:
        """Whether an evaluation follows a step, counted from 0."""
        return (step + 1) % self.eval_every == 0 or step + 1 == self.steps

    def run(self, seed: int, samples: int) -> str:
        """What a checkpoint must share; `keep` as it always was goes without saying."""
        own = {name: value for name, value in asdict(self).items() if (name, value) != _USUAL}
        return json.dumps(own | {"seed": seed, "samples": samples}, sort_keys=True)


@dataclass(frozen=True)
class Training:
    """What a model of a benchmark is told of its training.

    Parameters
    ----------
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

    def config(self, evaluations: int, *, keep: str = "best") -> FitConfig:
        """All steps, with about that many evaluations of the validation error."""
        every = max(1, self.steps // evaluations)
        return FitConfig(steps=self.steps, batch_size=self.batch_size, eval_every=every, keep=keep)


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

    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> Tensor:
        self.optimizer.param_groups[0]["lr"] = scale * self.lr
        self.optimizer.zero_grad()
        # torch says of the members of a module that they are tensors or modules.
        loss: Tensor = self.model.loss(*batch, generator=generator)  # pyright: ignore[reportCallIssue]
        loss.backward()
        self.optimizer.step()
        return loss.detach()

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
    validate: Callable[[], float] | None = None,
    checkpoint: Path | None = None,
    progress: bool = False,
    title: str = "training",
) -> History:
    """Train, and leave the learner's model at the step that validated best, or at the last one
    (`FitConfig.keep`).

    Parameters
    ----------
    data
        Tensors of equal length (samples first); a batch is a tuple of their rows.
    validate
        The in-distribution validation error, lower is better; None where nothing depends on it.
    checkpoint
        A safetensors file that is written now and then and, if it is there, continued from.

    Raises
    ------
    ValueError
        For empty or unequal data, and where validate is missed.
    FloatingPointError
        If the loss stops being finite or the validation error becomes NaN.
    """
    checks.seed(seed)
    course, here = Course(learner, data, config, int(seed), validate, checkpoint), getcurrent()
    if isinstance(here, Lane):
        history = given("the greenlet that trains", here.parent).switch(course)
        if history is not None:
            return history
    return course.alone(progress, title)


class Lane(greenlet):
    """A call beside others (`vnlib.fit_many.side_by_side`): its learners train with theirs."""


@dataclass
class Course:
    """A training on its way: what `fit` was asked for, and how far it has come."""

    learner: Learner
    data: Sequence[Tensor]
    config: FitConfig
    seed: int
    validate: Callable[[], float] | None
    checkpoint: Path | None

    def __post_init__(self) -> None:
        n, self.device = checked_length(self.data, self.config, self.validate), self.data[0].device
        self.history, self.state = History(), self.learner.state()
        self.first, keeps = 0, self.config.keep == "best"
        kept = [name for name in self.state if name.startswith("model.") and keeps]
        self.best = {name: self.state[name].clone() for name in kept}
        self.run = self.config.run(self.seed, n)
        if self.checkpoint is not None and self.checkpoint.exists():
            self.first = load(self.checkpoint, self.state, self.best, self.history, self.run)
        self.batches = batches(n, self.config, self.first, self.seed, self.device)

    def due(self, step: int) -> tuple[bool, bool]:
        """Whether an evaluation and a checkpoint follow a step."""
        saves = self.checkpoint is not None and (step + 1) % self.config.checkpoint_every == 0
        return self.config.evaluates_after(step), saves

    def after(self, step: int, losses: list[float | Tensor]) -> None:
        """Note the losses up to a step, and evaluate and save where it is time."""
        note(self.history, losses)
        evaluates, saves = self.due(step)
        if evaluates and self.validate and self.history.add(self.validate(), step + 1):
            put(self.best, self.state)
        if saves and self.checkpoint:
            save(self.checkpoint, self.state, self.best, self.history, self.run)

    def alone(self, progress: bool, title: str) -> History:
        """All steps, by the learner's own."""
        losses: list[float | Tensor] = []
        total, first = self.config.steps, self.first
        with tqdm(total=total, initial=first, desc=title, disable=not progress, leave=False) as bar:
            for step, rows in self.batches:
                rng = seeding.generator(self.seed, "step", step, device=self.device)
                batch, scale = tuple(t[rows] for t in self.data), self.config.scale(step)
                losses.append(self.learner.step(batch, scale=scale, generator=rng))
                if any(self.due(step)) or self.device.type == "cpu":  # others would be waited for
                    self.after(step, losses)
                if progress and self.history.validation:
                    bar.set_postfix(validation=f"{self.history.best_value:.2e}", refresh=False)
                bar.update()
        return self.end()

    def end(self) -> History:
        """Leave the model in the state that is kept."""
        put(self.state, self.best)
        return self.history


def checked_length(data: Sequence[Tensor], config: FitConfig, validate: object) -> int:
    """How many samples there are; ValueError for what `fit` refuses."""
    if validate is None and config.keep == "best":
        raise ValueError("validate must be given unless keep is 'last', got None")
    sizes = {len(t) for t in data}
    if len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"data must be tensors of one length > 0, got lengths {[len(t) for t in data]}"
        )
    return sizes.pop()


def batches(
    n: int, config: FitConfig, first: int, seed: int, device: torch.device
) -> Iterator[tuple[int, Tensor]]:
    """The steps from `first` on, each with the samples of its batch; an order for every epoch."""
    per_epoch = math.ceil(n / config.batch_size)
    for step in range(first, config.steps):
        epoch, index = divmod(step, per_epoch)
        if step == first or index == 0:
            order = torch.randperm(n, generator=seeding.generator(seed, "epoch", epoch)).to(device)
        yield step, order[index * config.batch_size : (index + 1) * config.batch_size]


def note(history: History, losses: list[float | Tensor]) -> None:
    """Move the losses of the last steps into the history; FloatingPointError if one is not finite."""
    for loss in map(float, losses):
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the loss became {loss} at step {len(history.train) + 1}; lower the learning rate"
            )
        history.train.append(loss)
    losses.clear()


def put(into: dict[str, Tensor], source: dict[str, Tensor]) -> None:
    """Copy the tensors that both have."""
    for name in into.keys() & source.keys():
        into[name].copy_(source[name])
