"""Tasks one after the other: what is forgotten, and how much of the same weights they change (VN
Sec. 5).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.beyond_continual.images import Continual
from vnlib import checks, seeding

Data = tuple[Tensor, ...]
STREAMS = ("sequence", "replay", "joint", "last")
"""Tasks in turn; in turn, and half of every batch from a few samples kept of earlier ones; all
mixed, as long as all in turn; the last alone.
"""
SMALL = 1e-30


def order(tasks: int, *, seed: int) -> list[int]:
    """Tasks in the order of a seed. The first stays first: learning rates are chosen on it."""
    checks.number("tasks", tasks, low=1, integer=True)
    return [
        0,
        *(1 + torch.randperm(tasks - 1, generator=seeding.generator(seed, "order"))).tolist(),
    ]


def stream(name: str, tasks: Sequence[Data], *, kept: int, seed: int) -> list[Data | None]:
    """The data of each turn, None where nothing is learned.

    Parameters
    ----------
    kept
        Samples of every earlier task for "replay", drawn by `seed`, which are repeated until they
        are as many as those of the task.

    Raises
    ------
    ValueError
        For an unknown stream, and unless 1 <= kept <= samples of every task.
    """
    checks.choice("stream", name, STREAMS)
    if name == "joint":
        return [_joined(tasks)] * len(tasks)
    if name == "last":
        return [*[None] * (len(tasks) - 1), tasks[-1]]
    if name == "sequence":
        return list(tasks)
    checks.number("kept", kept, low=1, high=min(len(task[0]) for task in tasks), integer=True)
    turns, memory = [], []
    for number, task in enumerate(tasks):
        n = len(task[0])
        if memory:
            old = _joined(memory)
            again = torch.arange(n, device=task[0].device) % len(old[0])
            turns.append(_joined([task, tuple(part[again] for part in old)]))
        else:
            turns.append(task)
        picked = torch.randperm(n, generator=seeding.generator(seed, "kept", number))[:kept].to(
            task[0].device
        )
        memory.append(tuple(part[picked] for part in task))
    return turns


def _joined(tasks: Sequence[Data]) -> Data:
    return tuple(torch.cat(parts) for parts in zip(*tasks, strict=True))


def measure(
    make: Callable[[Data], Continual],
    turns: Sequence[Data | None],
    tests: Sequence[Data],
    *,
    seed: int,
) -> xr.Dataset:
    """All that is measured of one model in one stream.

    `error` (after, task): the error on each task after so many turns, 0 before the first.
    `fact_...` (after). Of pairs of turns (NaN in a pair with a turn without data): `cosine` (task,
    other) of the updates of all weights, and what two of them share of their energy (see `shared`):
    `shared_weights`, by single weights; `shared_units`, by units; and `shared_code`, by units of
    the code, of the two tasks' tests after their own turns.

    Parameters
    ----------
    make
        The model, from the data of the first turn that has some.
    turns
        As `stream` makes them.
    tests
        Other samples, of each task.
    seed
        Of the order of batches.

    Raises
    ------
    ValueError
        Unless there is a test for every turn, and a turn with data.
    """
    if len(turns) != len(tests):
        raise ValueError(f"tests must be one per turn ({len(turns)}), got {len(tests)}")
    if not (given := [turn for turn in turns if turn is not None]):
        raise ValueError("turns must hold data at least once, got only None")
    model, n = make(given[0]), len(turns)
    errors = np.full((n + 1, n), np.nan)
    errors[0] = [model.error(test) for test in tests]
    facts, changes, active = [model.facts()], {}, {}
    for turn, data in enumerate(turns):
        if data is not None:
            before = model.weights()
            model.learn(data, seed=seeding.derive(seed, "turn", turn))
            after = model.weights()
            changes[turn] = [_change(*pair) for pair in zip(before, after, strict=True)]
            active[turn] = model.activity(tests[turn])
            errors[turn + 1] = [model.error(test) for test in tests]
        facts.append(model.facts())
    names = ("cosine", "shared_weights", "shared_units", "shared_code")
    pairs = {name: np.full((n, n), np.nan) for name in names}
    for a, b in combinations(changes, 2):
        found = overlap(changes[a], changes[b]) | {
            "shared_code": _shared_code(active[a], active[b])
        }
        for name, value in found.items():
            pairs[name][a, b] = pairs[name][b, a] = value
    values = {name: (("task", "other"), value) for name, value in pairs.items()}
    values |= {f"fact_{name}": ("after", [fact[name] for fact in facts]) for name in facts[0]}
    coords = {"after": np.arange(n + 1), "task": np.arange(n), "other": np.arange(n)}
    return xr.Dataset({"error": (("after", "task"), errors)} | values, coords)


def _change(before: Float[Tensor, "units numbers"], after: Float[Tensor, "more numbers"]) -> Tensor:
    """What a turn added to the weights. A unit that it added was 0 before."""
    change = after.double().clone()
    change[: len(before)] -= before.double()
    return change


def overlap(one: Sequence[Tensor], other: Sequence[Tensor]) -> dict[str, float]:
    """`cosine`, `shared_weights` and `shared_units` of two updates, groups of (units, numbers); the
    later may have more units than the earlier.
    """
    one = [_padded(a, len(b)) for a, b in zip(one, other, strict=True)]
    a, b = (torch.cat([part.flatten() for part in parts]) for parts in (one, other))
    units = [torch.cat([part.square().sum(1) for part in parts]) for parts in (one, other)]
    return {
        "cosine": float(a @ b / (a.norm() * b.norm()).clamp_min(SMALL)),
        "shared_weights": shared(a.square(), b.square()),
        "shared_units": shared(*units),
    }


def shared(one: Float[Tensor, " n"], other: Float[Tensor, " n"]) -> float:
    """sum_i min(p_i, q_i) of two energies, each as shares of its sum: 0 if they lie apart, 1 if
    they are alike.
    """
    p, q = (energy.double() / energy.double().sum().clamp_min(SMALL) for energy in (one, other))
    return float(torch.minimum(p, q).sum())


def _shared_code(one: Sequence[Tensor], other: Sequence[Tensor]) -> float:
    """Mean over layers of what the codes of two tasks share."""
    return float(np.mean([shared(_padded(a, len(b)), b) for a, b in zip(one, other, strict=True)]))


def _padded(values: Tensor, n: int) -> Tensor:
    return torch.cat([values, values.new_zeros(n - len(values), *values.shape[1:])])


def learned(
    make: Callable[[Data], Continual], data: Data, tests: Mapping[str, Data], *, seed: int
) -> xr.Dataset:
    """`error` (set): of a model that learned from these samples only, on each of the test sets."""
    model = make(data)
    model.learn(data, seed=seed)
    errors = [model.error(test) for test in tests.values()]
    return xr.Dataset({"error": ("set", errors)}, {"set": list(tests)})
