"""One layer: what the solvers cost to reach the same gap on the same dictionary, with one thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import nan
from multiprocessing import get_context
from typing import TypeVar

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.C_inference.speed.clock import Cost, gemm_rate, one_thread, timed, typical
from chapters.C_inference.speed.peers import SOLVERS
from chapters.C_inference.speed.problems import Problem, precision, relative_gap
from chapters.C_inference.speed.solvers import Found, Solved, Solver
from vnlib import checks
from vnlib.settle.coordinate import MANY

T = TypeVar("T")

SMALLEST = 1 / 64  # the share of the work that a solver is first tried on
MEASURED = (
    "wall",
    "cpu",
    "setup_wall",
    "setup_cpu",
    "overhead",
    "share",
    "gemm_share",
    "gap_max",
    "gap_q95",
    "reached",
    "active",
    "iterations",
    "setting",
)


@dataclass
class _Entry:
    """A solver at work on a problem: which share of the work is timed, what it cost, and its last
    result.
    """

    solver: Solver
    problem: Problem
    found: Found
    patience: float
    share: float = SMALLEST
    setups: list[Cost] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)  # of the share
    spent: float = 0.0
    solved: Solved | None = None

    def try_out(self) -> None:
        """Double the share until it is the whole or takes half of the patience."""
        prepared = self._prepared()
        self._solve(prepared)  # warms up what must be
        while True:
            self.costs.clear()
            self._solve(prepared)
            if self.share == 1 or 2 * self.costs[0].wall > self.patience:
                break
            self.share *= 2

    def run(self) -> None:
        """Once more, setup and solution."""
        self._solve(self._prepared())

    def _prepared(self) -> object:
        prepared, cost = self._timed(lambda: self.solver.prepare(self.problem, self.found.setting))
        self.setups.append(cost)
        return prepared

    def _solve(self, prepared: object) -> None:
        part, setting = self.part
        self.solved, cost = self._timed(lambda: self.solver.solve(prepared, part, setting))
        self.costs.append(cost)

    def _timed(self, call: Callable[[], T]) -> tuple[T, Cost]:
        result, cost = timed(call, self.problem.V.device)
        self.spent += cost.wall
        return result, cost

    @property
    def part(self) -> tuple[Problem, float]:
        return self.solver.part(self.problem, self.found.setting, self.share)

    def numbers(self, gap: float, rate: float) -> dict[str, float]:
        """What is known after the last run, by the names in `MEASURED`."""
        part, setting = self.part
        share = len(part.x) / len(self.problem.x) * setting / self.found.setting
        # else the codes are halfway, and the search has seen the whole way
        finished = setting == self.found.setting
        codes = self.solved.dense.to(part.V)
        gaps = relative_gap(part, codes) if finished else self.found.gaps
        setup, cost = typical(self.setups), typical(self.costs)
        total = setup + cost.times(1 / share)
        work = len(part.x) * self.solved.iterations * self.solver.operations(part)
        return {
            "wall": total.wall,
            "cpu": total.cpu,
            "setup_wall": setup.wall,
            "setup_cpu": setup.cpu,
            "overhead": overhead(self.solver, part.V.dtype) if self.solver.single else nan,
            "share": share,
            "gemm_share": work / cost.wall / rate,
            "gap_max": float(gaps.max()),
            "gap_q95": float(gaps.quantile(0.95)),
            "reached": float(gaps.quantile(0.95) <= gap),
            "active": float((codes != 0).sum(1).double().mean()) if finished else nan,
            "iterations": self.solved.iterations * self.found.setting / setting,
            "setting": self.found.setting,
        }


def overhead(solver: Solver, dtype: torch.dtype, calls: int = 100) -> float:
    """Seconds of the processor for a sample of two numbers under two atoms: of the call itself."""
    trivial = Problem(torch.eye(2, dtype=dtype), torch.ones(calls, 2, dtype=dtype), 0.5)
    prepared = solver.prepare(trivial, 0.1)
    return typical(
        [timed(lambda: solver.solve(prepared, trivial, 0.1))[1] for _ in range(3)]
    ).cpu / (calls)


def one_layer(
    problem: Problem,
    *,
    gap: float,
    solvers: Sequence[str] = tuple(SOLVERS),
    repeats: int = 5,
    patience: float = 2.0,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """What each solver costs to solve `problem` to a relative duality gap.

    All work in the same `precision`. A solver has reached the gap if 95 % of the samples have, by
    the same measure for all. Times are medians of some repeats, in which the solvers take turns;
    setup counts. Solvers that cannot run here have nan, and a `note` says why.

    Parameters
    ----------
    patience
        Seconds after which a solver is not repeated any more; one that takes longer is timed on a
        share of the samples or iterations, which takes at least half of it.

    Raises
    ------
    ValueError
        For unknown solvers.
    """
    checks.number("gap", gap, above=0)
    checks.number("repeats", repeats, low=1, integer=True)
    checks.number("patience", patience, above=0)
    for name in solvers:
        checks.choice("solver", name, SOLVERS)
    problem = problem.to(precision(gap)).to(device)
    table = {name: np.full(len(solvers), nan) for name in MEASURED}
    notes, entries = [""] * len(solvers), {}
    with one_thread():
        rate = gemm_rate(problem.V.dtype, device)
        for row, name in enumerate(solvers):
            solver = SOLVERS[name]()
            try:
                notes[row] = _unfit(solver, problem)
                if not notes[row]:
                    found = solver.search(problem, gap)
                    entry = _Entry(solver, problem, found, patience)
                    entry.try_out()
                    entries[row] = entry
            except ImportError as error:
                notes[row] = f"not installed: {error.name}"
        for _ in range(repeats):
            for entry in entries.values():
                if entry.spent < patience:
                    entry.run()
        for row, entry in entries.items():
            for name, value in entry.numbers(gap, rate).items():
                table[name][row] = value
    single = {"gemm_rate": rate, "sparsity": problem.sparsity, "n_samples": len(problem.x)}
    variables = {name: ("solver", values) for name, values in table.items()}
    variables["note"] = ("solver", np.array(notes, dtype=object))
    return xr.Dataset(variables, {"solver": list(solvers)}).assign(single | overlaps(problem.V))


def overlaps(V: Float[Tensor, "d atoms"]) -> dict[str, float]:
    """The largest eigenvalue of V'V, and the largest product of two atoms; by strips where V'V
    would not fit.
    """
    if V.shape[1] > MANY:
        wide = (V @ V.T).double()
        largest = 0.0
        for first in range(0, V.shape[1], 512):
            strip = (V[:, first : first + 512].T @ V).abs()
            strip.diagonal(first).zero_()
            largest = max(largest, float(strip.max()))
        return {"lipschitz": float(torch.linalg.eigvalsh(wide)[-1]), "coherence": largest}
    gram = (V.T @ V).double()
    apart = gram - torch.diag(gram.diagonal())
    return {
        "lipschitz": float(torch.linalg.eigvalsh(gram)[-1]),
        "coherence": float(apart.abs().max()),
    }


def _unfit(solver: Solver, problem: Problem) -> str:
    """Why a solver is not tried, "" where it is."""
    if problem.V.device.type != "cpu" and not solver.gpu:
        return "runs on the CPU only"
    if not (solver.whole if problem.mask is None else solver.masks):
        return "takes no mask" if solver.whole else "stands in where inputs are hidden"
    if solver.fragile:
        prepared = solver.prepare(problem, nan)
        if not survives(lambda: solver.solve(prepared, problem, nan)):
            return "ends the program by a fault of its own"
    return ""


def survives(call: Callable[[], object]) -> bool:
    """Whether a copy of this process lives through a call."""
    copy = get_context("fork").Process(target=call)
    copy.start()
    copy.join()
    return copy.exitcode is not None and copy.exitcode >= 0  # a signal counts downward
