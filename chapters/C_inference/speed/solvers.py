"""Solvers of the sparse coding problem: siblings that prepare a dictionary and then solve a batch.

`search` finds, outside all timing, the setting with which a solver reaches a gap: the gap itself
where it can stop on it, else the loosest tolerance or the least number of iterations. `prepare` is
what can be done before the samples are known; its cost is reported apart and belongs to the total.
`solve` returns the codes, sparse if the solver wants it so, and its iterations per sample where it
counts them.

Here are ours and plain FISTA; `peers` has those of others, and all by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil, nan
from typing import Any

import torch
from torch import Tensor

from chapters.C_inference.speed.problems import Problem, relative_gap
from vnlib.layer import Layer
from vnlib.prox import L1, soft_threshold
from vnlib.settle import SettleConfig, Settler
from vnlib.settle.coordinate import MANY, coordinate_descent, gram_matrix

SEARCH = 64  # samples on which settings are looked for; a quarter for numbers of iterations
MOST = 20_000  # sweeps or passes at most
LONGEST = 3000  # iterations of plain FISTA at most


@dataclass(frozen=True)
class Solved:
    """Codes (batch, atoms), or a sparse matrix of that transposed; and mean iterations per
    sample.
    """

    codes: Any
    iterations: float = nan

    @property
    def dense(self) -> Tensor:
        """The codes as a tensor; no part of what is timed."""
        codes = self.codes
        if isinstance(codes, Tensor):
            return codes
        return torch.from_numpy(codes.toarray().T if hasattr(codes, "toarray") else codes)


@dataclass(frozen=True)
class Found:
    """A setting, and the relative gaps of the first samples with it where it had to be looked
    for.
    """

    setting: float
    gaps: Tensor | None = None


class Solver:
    """What the siblings share."""

    gpu = False  # whether it runs there
    whole, masks = True, True  # whether it is for inputs that are seen whole, or in part
    single = False  # whether it is called for every sample anew
    fragile = False  # whether it may take the process down, so that a copy tries it first

    def search(self, problem: Problem, gap: float) -> Found:
        """What to tell the solver so that it reaches a relative gap."""
        return Found(gap)

    def prepare(self, problem: Problem, setting: float) -> Any:
        """What depends on the dictionary only."""

    def solve(self, prepared: Any, problem: Problem, setting: float) -> Solved:
        raise NotImplementedError

    def part(self, problem: Problem, setting: float, share: float) -> tuple[Problem, float]:
        """A share of the work, whose cost is that share of the whole: some of the samples, or of
        the iterations.
        """
        return problem.first(ceil(share * len(problem.x))), setting

    def operations(self, problem: Problem) -> float:
        """Floating-point operations in matrix products, per sample and iteration; nan where there
        are none.
        """
        return nan


class CoordinateDescent(Solver):
    """Ours: working sets, coordinate descent and Newton steps (`vnlib.settle.coordinate`)."""

    def prepare(self, problem: Problem, setting: float) -> Tensor | None:
        formed = problem.mask is None and problem.V.shape[1] <= MANY
        return gram_matrix(problem.V) if formed else None

    def solve(self, prepared: Tensor | None, problem: Problem, setting: float) -> Solved:
        codes, _, passes = coordinate_descent(
            problem.V,
            problem.x,
            sparsity=problem.sparsity,
            tol=setting,
            max_passes=MOST,
            gram=prepared,
            mask=problem.mask,
        )
        return Solved(codes, float(passes.double().mean()))


@dataclass(frozen=True)
class Settle(Solver):
    """Ours: a network's settle as it stands ("auto"), or by proximal steps on whole batches, whose
    looks at the gap every ten sweeps are part of the cost.
    """

    method: str

    @property
    def gpu(self) -> bool:
        return self.method != "auto"  # which computes on the CPU

    def prepare(self, problem: Problem, setting: float) -> Settler:
        config = SettleConfig(
            method=self.method, criterion="gap", tol=setting, check_every=10, max_sweeps=MOST
        )
        settler = Settler([Layer(problem.V, None, L1(sparsity=problem.sparsity))], config=config)
        if settler.lassos:
            if problem.mask is None and problem.V.shape[1] <= MANY:
                _ = settler.lassos[0].gram
            return settler
        quadratic = settler.quadratics[0]
        # forms H where that pays
        quadratic.times(problem.V.new_zeros(1, problem.V.shape[1]), False)
        if self.method != "line_search":
            quadratic.lipschitz()
        return settler

    def solve(self, prepared: Settler, problem: Problem, setting: float) -> Solved:
        settled = prepared(problem.x, mask=problem.mask)
        return Solved(settled.codes[0], float(settled.sweeps.double().mean()))

    def operations(self, problem: Problem) -> float:
        d, K = problem.V.shape
        return nan if self.method == "auto" else min(2 * K * K, 4 * d * K)


class PlainFista(Solver):
    """FISTA as most papers write it: residuals, steps of 1/L, no restart, as many steps for all
    samples.

    It knows the number of iterations in advance, so it is not charged for looking at the gap.
    """

    gpu = True
    masks = False

    def search(self, problem: Problem, gap: float) -> Found:
        """The iterations, a multiple of ten, after which all of the first samples have the gap."""
        some = problem.first(SEARCH // 4)
        for count, codes in enumerate(fista(some, self.prepare(some, gap)), 1):
            if count % 10 == 0:
                gaps = relative_gap(some, codes)
                if bool((gaps <= gap).all()) or count >= LONGEST:
                    return Found(count, gaps)
        raise AssertionError("fista never ends")

    def prepare(self, problem: Problem, setting: float) -> float:
        V = problem.V
        return float(torch.linalg.eigvalsh(V.T @ V if V.shape[0] > V.shape[1] else V @ V.T)[-1])

    def solve(self, prepared: float, problem: Problem, setting: float) -> Solved:
        return Solved(next(islice(fista(problem, prepared), int(setting) - 1, None)), setting)

    def part(self, problem: Problem, setting: float, share: float) -> tuple[Problem, float]:
        return problem, ceil(share * setting)

    def operations(self, problem: Problem) -> float:
        return 4 * problem.V.numel()


def fista(problem: Problem, L: float) -> Iterator[Tensor]:
    """The iterates of Beck and Teboulle (2009) from zero, without end."""
    V, x, step = problem.V, problem.x, 1 / L
    code = ahead = x.new_zeros(len(x), V.shape[1])
    t = 1.0
    while True:
        new = soft_threshold(ahead - step * ((ahead @ V.T - x) @ V), step * problem.sparsity)
        t_next = 0.5 * (1 + (1 + 4 * t * t) ** 0.5)
        ahead = new + ((t - 1) / t_next) * (new - code)
        code, t = new, t_next
        yield code
