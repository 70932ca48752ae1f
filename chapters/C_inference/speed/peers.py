"""The solvers of others, and all solvers by name.

celer and skglm solve one sample at a time, and so does scikit-learn's coordinate descent where
inputs are hidden: what a call costs by itself is part of their times. All three work in float64,
since in float32 their own rules need not be met.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import sparse_encode
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from chapters.C_inference.speed.problems import Problem, relative_gap
from chapters.C_inference.speed.solvers import (
    SEARCH,
    CoordinateDescent,
    Found,
    PlainFista,
    Settle,
    Solved,
    Solver,
)

EPOCHS = 5000  # passes of others at most; where so many do not help, rounding hinders


class Searched(Solver):
    """A solver that stops on a measure of its own."""

    step = 2.0  # of the search

    def loosest(self, gap: float) -> float:
        """The tolerance that the search begins with."""
        return gap

    def search(self, problem: Problem, gap: float) -> Found:
        """The loosest of the tolerances t, t / step, t / step^2, ... with which the first samples
        have the gap.
        """
        some, tol = problem.first(SEARCH), self.loosest(gap)
        prepared = self.prepare(some, tol)
        while True:
            gaps = relative_gap(some, self.solve(prepared, some, tol).dense)
            if bool((gaps <= gap).all()) or tol < 1e-5 * self.loosest(gap):
                return Found(tol, gaps)
            tol /= self.step


class OneByOne(Searched):
    """A solver of single samples: hidden inputs are left out of sample and dictionary."""

    single = True
    step = 4.0

    def prepare(self, problem: Problem, setting: float) -> np.ndarray:
        self.loaded()
        return np.asfortranarray(problem.V.double().numpy())

    def solve(self, prepared: np.ndarray, problem: Problem, setting: float) -> Solved:
        V, samples, codes = prepared, problem.x.double().numpy(), []
        shown = [...] * len(samples) if problem.mask is None else problem.mask.bool().numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for x, rows in zip(samples, shown, strict=True):
                own = V if problem.mask is None else np.asfortranarray(V[rows])
                codes.append(self.one(own, x[rows], problem.sparsity / own.shape[0], setting))
        return Solved(np.stack(codes))

    def loaded(self) -> None:
        """Complain where it is not installed."""

    def one(self, V: np.ndarray, x: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """The code of one sample; alpha is lambda over the number of inputs."""
        raise NotImplementedError


class Celer(OneByOne):
    """celer: coordinate descent on working sets, with dual extrapolation (Massias et al. 2018)."""

    def loaded(self) -> None:
        import celer  # noqa: F401

    def loosest(self, gap: float) -> float:
        return gap / 64

    def one(self, V: np.ndarray, x: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        from celer import celer_path

        return celer_path(V, x, "lasso", alphas=[alpha], tol=tol, max_epochs=EPOCHS)[1][:, 0]


class Skglm(OneByOne):
    """skglm: coordinate descent on working sets, with Anderson acceleration (Bertrand et al. 2022).

    Its tolerance is the violation of optimality, here in units of lambda.
    """

    def loaded(self) -> None:
        import skglm  # noqa: F401

    def loosest(self, gap: float) -> float:
        return gap**0.5

    def one(self, V: np.ndarray, x: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        from skglm.datafits import Quadratic
        from skglm.penalties import L1
        from skglm.solvers import AndersonCD

        zero = np.zeros(V.shape[1], V.dtype), np.zeros(len(V), V.dtype)
        solver = AndersonCD(tol=tol * alpha, max_epochs=EPOCHS, fit_intercept=False)
        return solver.solve(V, x, Quadratic(), L1(alpha), *zero)[0]


class SklearnLars(Solver):
    """scikit-learn's `sparse_encode(algorithm="lasso_lars")`: the exact path down to lambda."""

    masks = False

    def prepare(self, problem: Problem, setting: float) -> tuple[np.ndarray, np.ndarray]:
        atoms = np.ascontiguousarray(problem.V.numpy().T)
        return atoms, atoms @ atoms.T

    def solve(self, prepared: tuple, problem: Problem, setting: float) -> Solved:
        atoms, gram = prepared
        options = {"gram": gram, "alpha": problem.sparsity, "n_jobs": 1}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return Solved(
                sparse_encode(problem.x.numpy(), atoms, algorithm="lasso_lars", **options)
            )


class SklearnDescent(Searched):
    """scikit-learn's coordinate descent as `sparse_encode(algorithm="lasso_cd")` calls it, which
    fixes tol at 1e-8.
    """

    masks = False

    def prepare(self, problem: Problem, setting: float) -> tuple[np.ndarray, np.ndarray]:
        atoms = np.ascontiguousarray(problem.V.double().numpy().T)
        return atoms, atoms @ atoms.T

    def solve(self, prepared: tuple, problem: Problem, setting: float) -> Solved:
        atoms, gram = prepared
        alpha = problem.sparsity / atoms.shape[1]
        lasso = sklearn_lasso(alpha, setting, precompute=gram, warm_start=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            lasso.fit(atoms.T, problem.x.double().numpy().T, check_input=False)
        return Solved(np.atleast_2d(lasso.coef_))


class SklearnOne(OneByOne):
    """The same for single samples."""

    whole = False

    def one(self, V: np.ndarray, x: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        return sklearn_lasso(alpha, tol).fit(V, x, check_input=False).coef_


def sklearn_lasso(alpha: float, tol: float, **options: Any) -> Lasso:
    return Lasso(alpha=alpha, fit_intercept=False, tol=tol, max_iter=EPOCHS, **options)


@dataclass(frozen=True)
class SpamsLars(Solver):
    """SPAMS `lasso` and `lassoMask`, LARS in C++; with its default or by Cholesky factors, which
    are slower and more reliable.
    """

    cholesky: bool

    @property
    def masks(self) -> bool:
        return not self.cholesky

    @property
    def fragile(self) -> bool:
        return self.cholesky

    def prepare(self, problem: Problem, setting: float) -> np.ndarray:
        import spams  # noqa: F401

        return np.asfortranarray(problem.V.numpy())

    def part(self, problem: Problem, setting: float, share: float) -> tuple[Problem, float]:
        """The whole, since each call forms the Gram matrix, whatever the number of samples."""
        return problem, setting

    def solve(self, prepared: np.ndarray, problem: Problem, setting: float) -> Solved:
        import spams

        x, options = np.asfortranarray(problem.x.numpy().T), {"mode": 2, "numThreads": 1}
        if problem.mask is not None:
            mask = np.asfortranarray(problem.mask.bool().numpy().T)
            # it counts lambda in units of the share of inputs that a sample shows
            scaled = problem.sparsity / mask[:, 0].mean()
            return Solved(spams.lassoMask(x, prepared, mask, lambda1=scaled, **options))
        options |= {"lambda1": problem.sparsity, "cholesky": self.cholesky}
        return Solved(spams.lasso(x, D=prepared, **options))


SOLVERS: dict[str, Callable[[], Solver]] = {
    "vn_auto": lambda: Settle("auto"),
    "vn_cd": CoordinateDescent,
    "vn_line_search": lambda: Settle("line_search"),
    "vn_restart": lambda: Settle("restart"),
    "fista": PlainFista,
    "sklearn_cd": SklearnDescent,
    "sklearn_lars": SklearnLars,
    "sklearn_one": SklearnOne,
    "celer": Celer,
    "skglm": Skglm,
    "spams_lars": lambda: SpamsLars(cholesky=False),
    "spams_lars_cholesky": lambda: SpamsLars(cholesky=True),
}
