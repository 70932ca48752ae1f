"""Orthogonal matching pursuit to k atoms: ours, SPAMS and scikit-learn on the same samples.

Ours also goes on by exchanges of atoms. SPAMS takes the atom that lowers the error most when all are fitted again, the others the one that
correlates best with the residual.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import xarray as xr
from sklearn.decomposition import sparse_encode

from chapters.C_inference.exchanges import swap_atoms
from chapters.C_inference.speed.clock import in_turns, one_thread
from chapters.C_inference.speed.problems import Problem
from vnlib import checks
from vnlib.greedy import orthogonal_matching_pursuit


def ours(problem: Problem, k: int) -> Callable[[], np.ndarray]:
    return lambda: orthogonal_matching_pursuit(problem.V, problem.x, k=k).numpy()


def spams_omp(problem: Problem, k: int) -> Callable[[], np.ndarray]:
    import spams

    x, V = np.asfortranarray(problem.x.numpy().T), np.asfortranarray(problem.V.numpy())
    return lambda: spams.omp(x, V, L=k, eps=0.0, numThreads=1).toarray().T


def sklearn_omp(problem: Problem, k: int) -> Callable[[], np.ndarray]:
    x, atoms = problem.x.numpy(), np.ascontiguousarray(problem.V.numpy().T)
    return lambda: sparse_encode(x, atoms, algorithm="omp", n_nonzero_coefs=k)


def with_exchanges(problem: Problem, k: int) -> Callable[[], np.ndarray]:
    V, x = problem.V, problem.x
    return lambda: swap_atoms(V, x, orthogonal_matching_pursuit(V, x, k=k)).numpy()


SOLVERS = {
    "vn_omp": ours,
    "vn_swaps": with_exchanges,
    "spams_omp": spams_omp,
    "sklearn_omp": sklearn_omp,
}


def pursuit(problem: Problem, *, k: int, repeats: int = 5, patience: float = 2.0) -> xr.Dataset:
    """What each solver costs to pick k atoms for every sample of `problem`, setup included, and
    what is left unexplained.

    Times are medians of some repeats in turns, with one thread. Solvers that are not installed have
    nan.

    Parameters
    ----------
    patience
        Seconds after which a solver is not repeated any more.
    """
    checks.number("k", k, low=1, high=min(problem.V.shape), integer=True)
    names = ("wall", "cpu", "error", "active")
    table = {name: np.full(len(SOLVERS), np.nan) for name in names}
    calls = {}
    with one_thread():
        for name, prepared in SOLVERS.items():
            try:
                prepared(problem.first(1), k)()  # loads and compiles what is needed
                calls[name] = prepared(problem, k)
            except ImportError:
                continue
        found = in_turns(calls, repeats=repeats, patience=patience)
    x, V = problem.x.double(), problem.V.double()
    for name, (codes, cost) in found.items():
        row, a = list(SOLVERS).index(name), torch.from_numpy(codes).double()
        error = (x - a @ V.T).square().sum(1) / x.square().sum(1)
        measured = (
            cost.wall,
            cost.cpu,
            float(error.mean()),
            float((a != 0).sum(1).double().mean()),
        )
        for column, value in zip(names, measured, strict=True):
            table[column][row] = value
    variables = {name: ("solver", values) for name, values in table.items()}
    return xr.Dataset(variables, {"solver": list(SOLVERS)}).assign(n_samples=len(x))
