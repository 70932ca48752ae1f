"""Solvers of the sparse coding problem: siblings that prepare a dictionary and then solve a batch.

`search` finds, outside all timing, the setting with which a solver reaches a gap: the gap itself
where it can stop on it, else the loosest tolerance or the least number of iterations. `prepare` is
what can be done before the samples are known; its cost is reported apart and belongs to the total.
`solve` returns the codes, sparse if the solver wants it so, and its iterations per sample where it
counts them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import ceil, nan
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso
from sklearn.utils import gen_even_slices
from torch import Tensor

from chapters.C_inference.speed.problems import Problem, relative_gap
from vnlib.layer import Layer
from vnlib.prox import L1, soft_threshold
from vnlib.settle import SettleConfig, Settler
from vnlib.settle.coordinate import coordinate_descent, gram_matrix

# samples on which tolerances are looked for; an eighth of them for numbers of iterations
SEARCH = 128
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

    # whether several threads mean several processes, whose CPU time is not seen here
    processes = False
    gpu = False  # whether it runs there

    def search(self, problem: Problem, gap: float) -> Found:
        """What to tell the solver so that it reaches a relative gap."""
        return Found(gap)

    def prepare(self, problem: Problem, setting: float) -> Any:
        """What depends on the dictionary only."""

    def solve(self, prepared: Any, problem: Problem, setting: float, threads: int) -> Solved:
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

    def prepare(self, problem: Problem, setting: float) -> Tensor:
        return gram_matrix(problem.V)

    def solve(self, prepared: Tensor, problem: Problem, setting: float, threads: int) -> Solved:
        codes, _, passes = coordinate_descent(
            problem.V,
            problem.x,
            sparsity=problem.sparsity,
            tol=setting,
            max_passes=MOST,
            gram=prepared,
        )
        return Solved(codes, float(passes.double().mean()))


@dataclass(frozen=True)
class Settle(Solver):
    """Ours: proximal steps on whole batches; looking at the gap every ten sweeps is part of the
    cost.
    """

    method: str
    gpu = True

    def prepare(self, problem: Problem, setting: float) -> Settler:
        config = SettleConfig.exact(
            method=self.method, tol=setting, check_every=10, max_sweeps=MOST
        )
        settler = Settler([Layer(problem.V, None, L1(sparsity=problem.sparsity))], config=config)
        quadratic = settler.quadratics[0]
        # forms H where that pays
        quadratic.times(problem.V.new_zeros(1, problem.V.shape[1]), False)
        if self.method != "line_search":
            quadratic.lipschitz()
        return settler

    def solve(self, prepared: Settler, problem: Problem, setting: float, threads: int) -> Solved:
        settled = prepared(problem.x)
        return Solved(settled.codes[0], float(settled.sweeps.double().mean()))

    def operations(self, problem: Problem) -> float:
        d, K = problem.V.shape
        return min(2 * K * K, 4 * d * K)


class PlainFista(Solver):
    """FISTA as most papers write it: residuals, steps of 1/L, no restart, as many steps for all
    samples.

    It knows the number of iterations in advance, so it is not charged for looking at the gap.
    """

    gpu = True

    def search(self, problem: Problem, gap: float) -> Found:
        """The iterations, a multiple of ten, after which all of the first samples have the gap."""
        some = problem.first(SEARCH // 8)
        for count, codes in enumerate(fista(some, self.prepare(some, gap)), 1):
            if count % 10 == 0:
                gaps = relative_gap(some, codes)
                if bool((gaps <= gap).all()) or count >= LONGEST:
                    return Found(count, gaps)
        raise AssertionError("fista never ends")

    def prepare(self, problem: Problem, setting: float) -> float:
        V = problem.V
        return float(torch.linalg.eigvalsh(V.T @ V if V.shape[0] > V.shape[1] else V @ V.T)[-1])

    def solve(self, prepared: float, problem: Problem, setting: float, threads: int) -> Solved:
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


class SklearnLars(Solver):
    """scikit-learn's `sparse_encode(algorithm="lasso_lars")`: the exact path down to lambda."""

    processes = True

    def prepare(self, problem: Problem, setting: float) -> tuple[np.ndarray, np.ndarray]:
        atoms = np.ascontiguousarray(problem.V.numpy().T)
        return atoms, atoms @ atoms.T

    def solve(self, prepared: tuple, problem: Problem, setting: float, threads: int) -> Solved:
        atoms, gram = prepared
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            codes = sparse_encode(
                problem.x.numpy(),
                atoms,
                gram=gram,
                algorithm="lasso_lars",
                alpha=problem.sparsity,
                n_jobs=threads,
            )
        return Solved(codes)


class SklearnDescent(SklearnLars):
    """scikit-learn's coordinate descent as `sparse_encode(algorithm="lasso_cd")` calls it, which
    fixes tol at 1e-8.
    """

    def search(self, problem: Problem, gap: float) -> Found:
        """The loosest of the tolerances gap, gap / 2, gap / 4, ... with which the first samples
        have the gap.
        """
        some, tol = problem.first(SEARCH), gap
        prepared = self.prepare(some, tol)
        while True:
            gaps = relative_gap(some, self.solve(prepared, some, tol, 1).dense)
            if bool((gaps <= gap).all()) or tol < 1e-4 * gap:
                return Found(tol, gaps)
            tol /= 2

    def solve(self, prepared: tuple, problem: Problem, setting: float, threads: int) -> Solved:
        (atoms, gram), x = prepared, problem.x.numpy()
        if threads == 1:
            return Solved(self._fit(atoms, gram, x, problem.sparsity, setting))
        parts = Parallel(n_jobs=threads)(
            delayed(self._fit)(atoms, gram, x[rows], problem.sparsity, setting)
            for rows in gen_even_slices(len(x), threads)
        )
        return Solved(np.concatenate(parts))

    @staticmethod
    def _fit(
        atoms: np.ndarray, gram: np.ndarray, x: np.ndarray, sparsity: float, tol: float
    ) -> np.ndarray:
        lasso = Lasso(
            alpha=sparsity / atoms.shape[1],
            fit_intercept=False,
            precompute=gram,
            tol=tol,
            max_iter=MOST,
            warm_start=True,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.atleast_2d(lasso.fit(atoms.T, x.T, check_input=False).coef_)


@dataclass(frozen=True)
class SpamsLars(Solver):
    """SPAMS `lasso`, LARS in C++; with its default or by Cholesky factors, which are slower and
    more reliable.
    """

    cholesky: bool

    def prepare(self, problem: Problem, setting: float) -> np.ndarray:
        import spams  # noqa: F401

        return np.asfortranarray(problem.V.numpy())

    def solve(self, prepared: np.ndarray, problem: Problem, setting: float, threads: int) -> Solved:
        import spams

        x = np.asfortranarray(problem.x.numpy().T)
        options = {
            "lambda1": problem.sparsity,
            "mode": 2,
            "cholesky": self.cholesky,
            "numThreads": threads,
        }
        return Solved(spams.lasso(x, D=prepared, **options))


def reached(gaps: Tensor, gap: float) -> bool:
    """Whether 95 % of the samples have the gap."""
    return float(gaps.quantile(0.95)) <= gap


SOLVERS: dict[str, Callable[[], Solver]] = {
    "vn_cd": CoordinateDescent,
    "vn_line_search": lambda: Settle("line_search"),
    "vn_restart": lambda: Settle("restart"),
    "fista": PlainFista,
    "sklearn_cd": SklearnDescent,
    "sklearn_lars": SklearnLars,
    "spams_lars": lambda: SpamsLars(cholesky=False),
    "spams_lars_cholesky": lambda: SpamsLars(cholesky=True),
}
