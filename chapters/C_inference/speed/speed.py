"""One layer: what the solvers cost to reach the same gap on the same dictionary, each with the same
threads.

`one_layer` makes one case, a size and a gap, as a dataset; `python -m
chapters.C_inference.speed.speed` makes all cases of a profile.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
import xarray as xr

from chapters.C_inference.speed.clock import Cost, gemm_rate, limited, timed
from chapters.C_inference.speed.peers import SOLVERS, Found, Solved, Solver, reached
from chapters.C_inference.speed.problems import Problem, Workloads, relative_gap
from vnlib import checks

T = TypeVar("T")

SIZES = ("784x512x256", "784x1024x1024", "512x256x1024", "22x256x4096", "784x4096x512")
GAPS = (1e-3, 1e-6)
PROFILES = {
    "smoke": {
        "sizes": ("22x48x64",),
        "gaps": (1e-3,),
        "repeats": 1,
        "patience": 0.3,
        "images": (1200, 300),
    },
    "fast": {
        "sizes": SIZES[:4],
        "gaps": (1e-3,),
        "repeats": 3,
        "patience": 0.5,
        "images": (4000, 4096),
    },
    "paper": {"sizes": SIZES, "gaps": GAPS, "repeats": 5, "patience": 2.0, "images": (8000, 4096)},
}
SMALLEST = 1 / 64  # the share of the work that a solver is first tried on
NEVER = Cost(np.inf, np.inf)

TEXTS = {
    "wall": ("s", "time by the clock for the whole batch, setup included"),
    "cpu": ("s", "time of all threads for the whole batch, setup included"),
    "setup_wall": ("s", "time by the clock before the samples are known"),
    "setup_cpu": ("s", "time of all threads before the samples are known"),
    "share": ("1", "share of the work that was timed, from which the time of the whole follows"),
    "gemm_share": (
        "1",
        "operations in matrix products per second, as a share of the machine's best",
    ),
    "gap_max": ("1", "relative duality gap of the worst sample"),
    "gap_q95": ("1", "relative duality gap that 95 % of the samples are below"),
    "reached": ("1", "1 where gap_q95 is at most the gap asked for"),
    "active": ("1", "active atoms per sample"),
    "iterations": ("1", "iterations, sweeps or passes per sample"),
    "setting": (
        "1",
        "the gap asked for, the tolerance or the number of iterations with which the gap "
        "is reached",
    ),
    "gemm_rate": ("1/s", "floating-point operations per second in a large matrix product"),
    "sparsity": ("1", "lambda"),
    "lipschitz": ("1", "largest eigenvalue of V'V"),
    "coherence": ("1", "largest product of two atoms"),
}


@dataclass
class _Entry:
    """A solver at work on a problem: which share of the work is timed, its least costs, and its
    last result.
    """

    solver: Solver
    problem: Problem
    found: Found
    threads: int
    patience: float
    share: float = SMALLEST
    setup: Cost = NEVER
    cost: Cost = NEVER  # of the share
    spent: float = 0.0
    solved: Solved | None = None

    def try_out(self) -> None:
        """Double the share until it is the whole or takes half of the patience."""
        prepared, self.setup = self._timed(
            lambda: self.solver.prepare(self.problem, self.found.setting)
        )
        self._solve(prepared)  # warms up what must be
        while True:
            self.cost = NEVER
            self._solve(prepared)
            if self.share == 1 or 2 * self.cost.wall > self.patience:
                break
            self.share *= 2

    def run(self) -> None:
        """Once more, setup and solution."""
        prepared, setup = self._timed(lambda: self.solver.prepare(self.problem, self.found.setting))
        self.setup = self.setup.least(setup)
        self._solve(prepared)

    def _solve(self, prepared: object) -> None:
        part, setting = self.part
        self.solved, cost = self._timed(
            lambda: self.solver.solve(prepared, part, setting, self.threads)
        )
        self.cost = self.cost.least(cost)

    def _timed(self, call: Callable[[], T]) -> tuple[T, Cost]:
        result, cost = timed(call, self.problem.V.device)
        self.spent += cost.wall
        return result, cost

    @property
    def part(self) -> tuple[Problem, float]:
        return self.solver.part(self.problem, self.found.setting, self.share)

    def numbers(self, gap: float, rate: float) -> dict[str, float]:
        """What is known after the last run, by the names in `TEXTS`."""
        part, setting = self.part
        share = len(part.x) / len(self.problem.x) * setting / self.found.setting
        # else the codes are halfway, and the search has seen the whole way
        finished = setting == self.found.setting
        codes = self.solved.dense.to(part.V)
        gaps = relative_gap(part, codes) if finished else self.found.gaps
        total = self.setup + self.cost.times(1 / share)
        work = len(part.x) * self.solved.iterations * self.solver.operations(part)
        return {
            "wall": total.wall,
            "cpu": nan if self.solver.processes and self.threads > 1 else total.cpu,
            "setup_wall": self.setup.wall,
            "setup_cpu": self.setup.cpu,
            "share": share,
            "gemm_share": work / self.cost.wall / rate,
            "gap_max": float(gaps.max()),
            "gap_q95": float(gaps.quantile(0.95)),
            "reached": float(reached(gaps, gap)),
            "active": float((codes != 0).sum(1).double().mean()) if finished else nan,
            "iterations": self.solved.iterations * self.found.setting / setting,
            "setting": self.found.setting,
        }


def one_layer(
    problem: Problem,
    *,
    gap: float,
    threads: Sequence[int] = (1,),
    solvers: Sequence[str] = tuple(SOLVERS),
    repeats: int = 5,
    patience: float = 2.0,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """What each solver costs to solve `problem` to a relative duality gap, over (solver, threads).

    All work in float32 where gap >= 1e-4, else in float64. A solver has reached the gap if 95 % of
    the samples have, by the same measure for all. Times are the least of some repeats, in which the
    solvers take turns; setup counts. Solvers that cannot run here have nan, and a `note` says why.

    Parameters
    ----------
    patience
        Seconds per solver and number of threads after which it is not repeated any more; a solver
        that takes longer is timed on a share of the samples or iterations, which takes at least
        half of it.

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
    problem = problem.to(torch.float32 if gap >= 1e-4 else torch.float64).to(device)
    dims = ("solver", "threads")
    table = {name: np.full((len(solvers), len(threads)), nan) for name in list(TEXTS)[:12]}
    rates, notes = np.empty(len(threads)), [""] * len(solvers)
    found: dict[str, Found] = {}
    for column, count in enumerate(threads):
        with limited(count):
            rates[column] = rate = gemm_rate(problem.V.dtype, device)
            entries = {}
            for row, name in enumerate(solvers):
                solver = SOLVERS[name]()
                if torch.device(device).type != "cpu" and not solver.gpu:
                    notes[row] = "runs on the CPU only"
                    continue
                try:
                    found[name] = found.get(name) or solver.search(problem, gap)
                    entries[row] = _Entry(solver, problem, found[name], count, patience)
                    entries[row].try_out()
                except ImportError as error:
                    entries.pop(row, None)
                    notes[row] = f"not installed: {error.name}"
            for _ in range(repeats):
                for entry in entries.values():
                    if entry.spent < patience:
                        entry.run()
            for row, entry in entries.items():
                for name, value in entry.numbers(gap, rate).items():
                    table[name][row, column] = value
    variables = {name: (dims, values) for name, values in table.items()}
    variables |= {
        "gemm_rate": ("threads", rates),
        "note": ("solver", np.array(notes, dtype=object)),
    }
    gram = (problem.V.T @ problem.V).double()
    apart = gram - torch.diag(gram.diagonal())
    single = {"sparsity": problem.sparsity, "lipschitz": float(torch.linalg.eigvalsh(gram)[-1])}
    variables |= {
        name: ((), value)
        for name, value in (single | {"coherence": float(apart.abs().max())}).items()
    }
    ds = xr.Dataset(variables, {"solver": list(solvers), "threads": list(threads)})
    for name, (units, text) in TEXTS.items():
        ds[name].attrs = {"units": units, "long_name": text}
    return ds


def images(train: int, test: int, *, fallback: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of MNIST as rows, for dictionaries and for samples."""
    from data_gen import mnist

    parts = (("train", train), ("test", test))
    sets = [
        mnist.load(part, n=n, seed=0, allow_fallback=fallback)["image"].values for part, n in parts
    ]
    return tuple(torch.from_numpy(values.reshape(len(values), -1)) for values in sets)


def main() -> None:
    """Run the cases of a profile; those that are stored already are kept."""
    from vnlib.book import store

    parser = argparse.ArgumentParser(
        prog="python -m chapters.C_inference.speed.speed", description=main.__doc__
    )
    parser.add_argument("--profile", choices=list(PROFILES), default="fast")
    parser.add_argument("--out", type=Path, required=True, help="NetCDF file")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1], help="numbers of threads to measure with"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    given = parser.parse_args()
    profile = PROFILES[given.profile]
    options = {name: profile[name] for name in ("repeats", "patience")} | {"threads": given.threads}
    workloads = Workloads(*images(*profile["images"], fallback=given.profile != "paper"))
    result = store.grid(
        lambda axes, settings, _: one_layer(
            workloads.problem(axes["size"]), gap=axes["gap"], device=given.device, **settings
        ),
        {"size": profile["sizes"], "gap": profile["gaps"]},
        path=given.out,
        settings=lambda axes: options,
        title="Speed of one layer",
        device=given.device,
    ).dataset
    for size in profile["sizes"]:
        for gap in profile["gaps"]:
            case = result.sel(size=size, gap=gap)
            print(f"\n{size}, gap {gap:g}, lambda {float(case.sparsity):.3g}")
            print(
                case[["wall", "cpu", "setup_wall", "gap_max", "reached", "share"]]
                .to_dataframe()
                .round(6)
                .to_string()
            )


if __name__ == "__main__":
    main()
