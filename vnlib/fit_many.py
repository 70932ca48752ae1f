"""Calls side by side, which train models of one architecture together: one pass for all each step.

Each has its own start, order of samples, learning rate and best state; to rounding it becomes what
it becomes alone, and its checkpoints are the same files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from vnlib import seeding
from vnlib.checkpoint import History
from vnlib.fit import Course, GradientLearner, Lane
from vnlib.learning.learner import LocalLearner
from vnlib.learning.replicas import LocalReplicas, kind

T = TypeVar("T")


def side_by_side(calls: Sequence[Callable[[], T]]) -> Iterator[tuple[int, T]]:
    """The number and the result of each call, as they end. A call that trains by `vnlib.fit.fit`
    waits there for the others; those whose trainings are `alike` train together, one that is like
    no other goes on alone.

    Models of a `GradientLearner` must be such that `torch.vmap` takes their loss; one that draws
    noise is refused, since each would draw another noise than alone.
    """
    lanes = [Lane(call) for call in calls]
    answers: dict[int, tuple[History | None, ...]] = {number: () for number in range(len(calls))}
    while answers:
        asked: dict[Hashable, dict[int, Course]] = defaultdict(dict)
        for number, answer in answers.items():
            found: Any = lanes[number].switch(*answer)
            if lanes[number].dead:
                yield number, found
            else:
                asked[alike(found)][number] = found
        answers = {}
        for courses in asked.values():
            histories = fit_many(list(courses.values())) if len(courses) > 1 else [None]
            answers |= {n: (one,) for n, one in zip(courses, histories, strict=True)}


def alike(course: Course) -> str:
    """What trainings must share to be made together: all but seeds, learning rates and numbers."""
    learner, of_data = course.learner, [(t.shape, t.dtype, t.device) for t in course.data]
    own = kind(learner) if isinstance(learner, LocalLearner) else ""
    if isinstance(learner, GradientLearner) and not [*learner.model.buffers()]:
        parts = [{k: v for k, v in vars(m).items() if k[0] != "_"} for m in learner.model.modules()]
        numbers = [(n, p.shape, p.requires_grad) for n, p in learner.model.named_parameters()]
        own = repr((learner.model, parts, numbers))
    return repr((course.config, course.first, of_data, own)) if own else f"alone {id(course)}"


def fit_many(courses: Sequence[Course]) -> list[History]:
    """Train all, which are `alike`, side by side, each as `fit` would; raises what it would."""
    one, pending = courses[0], []
    local = isinstance(one.learner, LocalLearner)
    learners: list[Any] = [course.learner for course in courses]
    replicas = LocalReplicas(learners) if local else GradientReplicas(learners)
    for course in courses:
        course.state = course.learner.state()
    for step in range(one.first, one.config.steps):
        rows = [next(course.batches)[1] for course in courses]
        batches = ([t[r] for t in c.data] for c, r in zip(courses, rows, strict=True))
        batch = tuple(torch.stack(parts) for parts in zip(*batches, strict=True))
        rngs = [seeding.generator(c.seed, "step", step, device=one.device) for c in courses]
        pending.append(replicas.step(batch, scale=one.config.scale(step), generator=rngs))
        if any(one.due(step)):
            for course, losses in zip(courses, torch.stack(pending, 1).tolist(), strict=True):
                course.after(step, losses)
            pending = []
    return [course.end() for course in courses]


class GradientReplicas:
    """Gradient learners as one: what they train, and its gradients, are rows of stacked tensors."""

    def __init__(self, learners: Sequence[GradientLearner]) -> None:
        models, self.learners = [learner.model for learner in learners], learners
        self.model, (self.stacked, _) = _Loss(models[0]), stack_module_state(models)
        # pyright takes members of a module for tensors or modules.
        losses: Callable[..., Tensor] = torch.vmap(self._loss, in_dims=(0, 0, None))
        self.losses = losses
        for name, whole in self.stacked.items():
            if whole.requires_grad:
                whole.grad = torch.zeros_like(whole)
            for row, model in enumerate(models):
                p = model.get_parameter(name)
                p.data = whole.detach()[row]
                p.grad = None if whole.grad is None else whole.grad[row]
        groups = [{**learner.optimizer.param_groups[0], "fused": True} for learner in learners]
        self.optimizer = torch.optim.AdamW(groups)
        for learner in learners:
            for p, kept in learner.optimizer.state.items():
                self.optimizer.state[p] = kept  # what it remembers stays the learner's
                kept["step"] = kept["step"].to(p.device)

    def _loss(self, state: dict[str, Tensor], batch: tuple, rng: object) -> Tensor:
        named = {f"model.{name}": tensor for name, tensor in state.items()}
        return functional_call(self.model, named, batch, {"generator": rng})

    def step(self, batch: tuple[Tensor, ...], *, scale: float, generator: Any) -> Tensor:
        """One step of all on batches (replica, sample, ...); returns their losses."""
        for group, learner in zip(self.optimizer.param_groups, self.learners, strict=True):
            group["lr"] = scale * learner.lr
        for whole in self.stacked.values():
            if whole.grad is not None:
                whole.grad.zero_()
        losses = self.losses(self.stacked, batch, generator[0])
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach()


class _Loss(nn.Module):
    """A model whose call is its loss."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *batch: Tensor, generator: torch.Generator) -> Tensor:
        return self.model.loss(*batch, generator=generator)  # pyright: ignore[reportCallIssue]
