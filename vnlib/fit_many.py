"""Replicas of one model trained side by side: seeds and learning rates, in one pass each step.

Where single runs leave a GPU idle between small operations, stacked ones fill it, and their number
costs little time. Each replica has its own start, order of samples, learning rate, best state and
end; to rounding it becomes what `vnlib.fit.fit` makes of it alone, and their checkpoints are the
same files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state

from vnlib import checks, seeding
from vnlib.checkpoint import History, load, save
from vnlib.fit import FitConfig, batches, checked_length, note, out_of_patience, put


class Replicas:
    """Back-propagation with AdamW, as by `GradientLearner`, for models of one architecture.

    Their parameters become rows of stacked tensors, so each model goes on being what is trained.

    Raises
    ------
    ValueError
        For no model, another number of learning rates, and models of different parameters.
    """

    def __init__(
        self, models: Sequence[nn.Module], *, lr: Sequence[float], weight_decay: float = 0.01
    ) -> None:
        for rate in lr:
            checks.number("lr", rate, above=0)
        shapes = [{n: tuple(p.shape) for n, p in m.named_parameters()} for m in models]
        other = [one for one in shapes if one != shapes[0]]
        if not models or other:
            raise ValueError(
                "models must be of equal parameters, at least one, got "
                + (f"{shapes[0]} and {other[0]}" if other else "none")
            )
        if len(lr) != len(models):
            raise ValueError(f"lr must be one per model, {len(models)}, got {lr}")
        self.models, (self.stacked, self.buffers) = list(models), stack_module_state(list(models))
        for name, whole in self.stacked.items():
            whole.grad = torch.zeros_like(whole)
            for model, row in zip(models, whole.detach(), strict=True):
                model.get_parameter(name).data = row
        rows, self.rates, groups = 0, [], []
        self.memory: list[dict[str, dict[str, Tensor]]] = []
        for rate, some in groupby(lr):  # neighbours of one rate are one tensor to the optimizer
            count = len(list(some))
            part = slice(rows, rows + count)
            groups.append({"params": [self._part(whole, part) for whole in self.stacked.values()]})
            self.rates.append(rate)
            rows += count
        self.optimizer = torch.optim.AdamW(groups, weight_decay=weight_decay, fused=True)
        for group in self.optimizer.param_groups:  # made now, so that a checkpoint can fill them
            for p in group["params"]:
                moments = {"exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
                device = p.device if p.device.type != "cpu" else None
                self.optimizer.state[p] = {"step": torch.tensor(0.0, device=device), **moments}
            for row in range(len(group["params"][0])):
                self.memory.append(self._memory(group["params"], row))
        # pyright takes members of a module for tensors or modules.
        loss = torch.vmap(self._loss, in_dims=(0, 0, 0, None), randomness="different")
        self.losses: Callable[..., Tensor] = loss

    @staticmethod
    def _part(whole: Tensor, rows: slice) -> Tensor:
        """Some rows of a parameter and of its gradient, as a parameter of the same memory."""
        part = whole.detach()[rows].requires_grad_()
        part.grad = None if whole.grad is None else whole.grad[rows]
        return part

    def _memory(self, params: Sequence[Tensor], row: int) -> dict[str, dict[str, Tensor]]:
        """What the optimizer remembers of one replica."""
        found = {}
        for name, p in zip(self.stacked, params, strict=True):
            state = self.optimizer.state[p]
            found[name] = {k: t if k == "step" else t[row] for k, t in state.items()}
        return found

    def _loss(
        self, state: dict[str, Tensor], buffers: dict[str, Tensor], batch: tuple, rng: object
    ) -> Tensor:
        model = _Loss(self.models[0])
        named = {f"model.{name}": t for name, t in (state | buffers).items()}
        return functional_call(model, named, batch, {"generator": rng})

    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> Tensor:
        """One step of all replicas on batches (replica, sample, ...); returns their losses."""
        for group, rate in zip(self.optimizer.param_groups, self.rates, strict=True):
            group["lr"] = scale * rate
        for whole in self.stacked.values():
            if whole.grad is not None:
                whole.grad.zero_()
        losses = self.losses(self.stacked, self.buffers, batch, generator)
        losses.sum().backward()
        self.optimizer.step()
        return losses.detach()

    def state(self, replica: int) -> dict[str, Tensor]:
        """What `GradientLearner.state` would say of one replica."""
        tensors = {}
        for name, p in self.models[replica].named_parameters():
            tensors[f"model.{name}"] = p.data
            kept = self.memory[replica][name]
            tensors |= {f"adam.{name}.{key}": t for key, t in kept.items()}
        buffers = self.models[replica].named_buffers()
        return tensors | {f"model.{name}": b for name, b in buffers}


class _Loss(nn.Module):
    """A model whose call is its loss."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *batch: Tensor, generator: torch.Generator) -> Tensor:
        return self.model.loss(*batch, generator=generator)  # pyright: ignore[reportCallIssue]


def fit_many(
    replicas: Replicas,
    data: Sequence[Tensor],
    config: FitConfig,
    *,
    seeds: Sequence[int],
    validate: Callable[[nn.Module], float] | None = None,
    checkpoint: Path | None = None,
) -> list[History]:
    """Train all replicas on the same data, each as `fit` would with its seed; a model that draws
    noise draws other noise than alone.

    Parameters
    ----------
    validate
        The in-distribution validation error of a model, lower is better.
    checkpoint
        A folder with a checkpoint per replica, written at the same steps.

    Raises
    ------
    ValueError
        For another number of seeds than models, patience without keep="best", and as for `fit`.
    FloatingPointError
        As for `fit`.
    """
    n, device = checked_length(data, config, validate), data[0].device
    count, first = len(seeds), 0
    if count != len(replicas.models):
        raise ValueError(f"seeds must be one per model, {len(replicas.models)}, got {count}")
    if config.patience is not None and config.keep != "best":
        raise ValueError(f"keep must be 'best' where patience is given, got {config.keep!r}")
    states = [replicas.state(r) for r in range(count)]
    keeps = config.keep == "best"
    best = [
        {k: t.clone() for k, t in s.items() if keeps and k.startswith("model.")} for s in states
    ]
    histories, pending = [History() for _ in seeds], []
    runs, files = [config.run(seed, n) for seed in seeds], []
    if checkpoint is not None:
        files = [checkpoint / f"{r}.safetensors" for r in range(count)]
    each = list(zip(files, states, best, histories, runs, strict=False))
    if files and all(file.exists() for file in files):
        first = max([load(*one) for one in each])
    ended = [out_of_patience(history, config) for history in histories]
    if any(len(h.train) != first and not end for h, end in zip(histories, ended, strict=True)):
        raise ValueError(f"{checkpoint} holds checkpoints of several steps; delete it")
    orders = [batches(n, config, first, seed, device) for seed in seeds]
    for step in range(first, config.steps):
        if all(ended):
            break
        rows = torch.stack([next(order)[1] for order in orders])
        rng = seeding.generator(seeds[0], "step", step, device=device)
        batch = tuple(t[rows] for t in data)
        pending.append(replicas.step(batch, scale=config.scale(step), generator=rng))
        evaluates = config.evaluates_after(step)
        saves = (step + 1) % config.checkpoint_every == 0
        if not (evaluates or saves):
            continue
        losses, pending = torch.stack(pending, 1).tolist(), []
        for r in (r for r in range(count) if not ended[r]):
            note(histories[r], losses[r])
            if evaluates and validate is not None:
                if histories[r].add(validate(replicas.models[r]), step + 1):
                    put(best[r], states[r])
                ended[r] = out_of_patience(histories[r], config)
        if saves:
            for one in each:
                save(*one)
    for state, one in zip(states, best, strict=True):
        put(state, one)
    return histories
