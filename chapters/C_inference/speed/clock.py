"""Time and threads: what a call costs, and how many threads it may use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

import torch

from vnlib import checks

T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock on the wall, and of all of this process's threads."""

    wall: float
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu)

    def times(self, factor: float) -> Cost:
        return Cost(self.wall * factor, self.cpu * factor)


def typical(costs: Sequence[Cost]) -> Cost:
    """The median of each."""
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def timed(call: Callable[[], T], device: torch.device | str = "cpu") -> tuple[T, Cost]:
    """What a call returns and what it costs, with the work that it leaves running on a GPU."""
    wait = torch.cuda.synchronize if torch.device(device).type == "cuda" else lambda: None
    wait()
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    wait()
    return result, Cost(time.perf_counter() - wall, time.process_time() - cpu)


def in_turns(
    calls: Mapping[str, Callable[[], T]], *, repeats: int, patience: float
) -> dict[str, tuple[T, Cost]]:
    """The last result of every call and its median cost; calls take turns.

    Parameters
    ----------
    patience
        Seconds after which a call is not repeated any more.
    """
    checks.number("repeats", repeats, low=1, integer=True)
    checks.number("patience", patience, above=0)
    results, costs = {}, {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            if sum(cost.wall for cost in costs[name]) <= patience:
                results[name], cost = timed(call)
                costs[name].append(cost)
    return {name: (results[name], typical(costs[name])) for name in calls}


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for torch and for the linear algebra of NumPy, SciPy and scikit-learn."""
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    try:
        with threadpool_limits(1):
            torch.set_num_threads(1)
            yield
    finally:
        torch.set_num_threads(before)


def gemm_rate(dtype: torch.dtype, device: torch.device | str = "cpu", repeats: int = 3) -> float:
    """Floating-point operations per second of a large square matrix product, the best of some."""
    n = 8192 if torch.device(device).type == "cuda" else 1024
    a = torch.ones(n, n, dtype=dtype, device=device)
    return 2 * n**3 / min(timed(lambda: a @ a, device)[1].wall for _ in range(repeats + 1))
