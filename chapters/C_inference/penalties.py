"""Penalties and greedy pursuits on one dictionary, at the same number of active atoms (VN App. C,
Eqs. 5 and 6).
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from time import perf_counter

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from vnlib.greedy import orthogonal_matching_pursuit, polish
from vnlib.layer import Layer
from vnlib.prox import CEL0, L0, L1, MCP, ElasticNet, NonNegativeL1, Penalty, TopK
from vnlib.settle import SettleConfig, Settler

SEARCH = SettleConfig.deep(max_sweeps=300, tol=1e-6)
FINAL = SettleConfig.deep(max_sweeps=1000, tol=1e-7)
# What lambda is compared with: a correlation |v.x|, or an energy, its square over 2.
BY_CORRELATION: dict[str, Callable[[float], Penalty]] = {
    "l1": lambda s: L1(sparsity=s),
    "l1, a >= 0": lambda s: NonNegativeL1(sparsity=s),
    "elastic net": lambda s: ElasticNet(sparsity=s, ridge=0.1),
    "MCP": lambda s: MCP(sparsity=s, gamma=2.0),
    "CEL0": lambda s: CEL0(sparsity=s * s / 2),
    "l0": lambda s: L0(sparsity=s * s / 2),
}


def matching_pursuit(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, k: int
) -> Float[Tensor, "batch atoms"]:
    """Codes after k picks at most, each of the unit atom that correlates best with what is left.

    Coefficients stay as they were found (Mallat and Zhang 1993), and an atom may be picked again,
    so that at most k atoms are active. Costa et al. (2025) unroll it into an autoencoder and find
    features that a flat, one-shot code misses.
    """
    code, residual = x.new_zeros(len(x), V.shape[1]), x.clone()
    rounding = torch.finfo(x.dtype).eps ** 0.75 * x.norm(dim=1, keepdim=True)
    for _ in range(k):
        correlation = residual @ V
        best, atom = correlation.abs().max(1, keepdim=True)
        live = best > rounding
        if not live.any():
            break
        gain = correlation.gather(1, atom) * live
        code.scatter_add_(1, atom, gain)
        residual -= gain * V.T[atom.squeeze(1)]
    return code


GREEDY = {"matching pursuit": matching_pursuit, "orthogonal m. p.": orthogonal_matching_pursuit}


def compare(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], *, atoms: int, sparsity: float
) -> xr.Dataset:
    """Codes of one layer with about `atoms` active atoms per sample, on average, from every
    penalty.

    The weight of a penalty is found by bisection; top-k takes k = atoms, alone and after the l1
    weight `sparsity`; pursuits pick until so many are active (matching pursuit may pick an atom
    again, so its picks are searched for, too). Per penalty: `kept`, the active atoms; `error`,
    `|x - V a|^2` / `|x|^2` (sums over samples); `error_polished`, after a least-squares fit on the
    support; `weight`, the lambda found in units of `|v.x|` (NaN without one); `time` of one settle
    of the batch, in ms per sample; `rest`, the share of samples that met the tolerance.
    """
    makers: dict[str, tuple[Callable[[float], Penalty], float]] = {
        name: (make, _weight(V, x, make, atoms)) for name, make in BY_CORRELATION.items()
    }
    makers["l1, then top-k"] = (lambda s: TopK(penalty=L1(sparsity=s), k=atoms), sparsity)
    makers["top-k"] = (lambda s: TopK(penalty=L1(sparsity=0.0), k=atoms), np.nan)
    rows: dict[str, list[float]] = {}
    for name, (make, weight) in makers.items():
        settler = Settler([Layer(V, None, make(weight))], config=FINAL)
        begin = perf_counter()
        settled = settler(x)
        spent = perf_counter() - begin
        rows[name] = [
            *_errors(V, x, settled.codes[0]),
            weight,
            spent,
            float(settled.converged.double().mean()),
        ]
    for name, pursue in GREEDY.items():
        picks = _picks(V, x, atoms) if pursue is matching_pursuit else atoms
        begin = perf_counter()
        code = pursue(V, x, k=picks)
        rows[name] = [*_errors(V, x, code), np.nan, perf_counter() - begin, 1.0]
    table = np.array(list(rows.values()))
    table[:, 4] *= 1e3 / len(x)
    names = ("kept", "error", "error_polished", "weight", "time", "rest")
    return xr.Dataset(
        {name: ("penalty", column) for name, column in zip(names, table.T, strict=True)},
        {"penalty": list(rows)},
    )


def _errors(V: Tensor, x: Tensor, code: Tensor) -> list[float]:
    power = x.double().square().sum()
    missed = [(x - c @ V.T).double().square().sum() / power for c in (code, polish(V, x, code))]
    return [float((code != 0).sum(1).double().mean()), *map(float, missed)]


def _weight(
    V: Tensor, x: Tensor, make: Callable[[float], Penalty], atoms: int, *, rounds: int = 12
) -> float:
    """The weight at which `atoms` are active on average, to within 2 %, by bisection of its
    logarithm.
    """
    high = float((x @ V).abs().max())
    low = 1e-4 * high
    for _ in range(rounds):
        middle = sqrt(low * high)
        code = Settler([Layer(V, None, make(middle))], config=SEARCH)(x).codes[0]
        active = float((code != 0).sum(1).double().mean())
        if abs(active / atoms - 1) < 0.02:
            break
        low, high = (middle, high) if active > atoms else (low, middle)
    return middle


def _picks(V: Tensor, x: Tensor, atoms: int) -> int:
    """How often matching pursuit must pick until `atoms` are active on average."""
    low, high = atoms - 1, 8 * atoms
    while high - low > 1:
        middle = (low + high) // 2
        active = float((matching_pursuit(V, x, k=middle) != 0).sum(1).double().mean())
        low, high = (low, middle) if active >= atoms else (middle, high)
    return high
