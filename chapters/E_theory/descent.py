"""What steps of the settle gain, how fast it converges, and which energy descends (VN Thm. 3).

All of it in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.E_theory.gradient import random_stack
from vnlib import checks
from vnlib.layer import Layer, energy, hessian, lipschitz, reconstruct
from vnlib.prox import L1, TopK
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settler, joint_energy
from vnlib.settle.energy import summed_energy


@dataclass(frozen=True)
class Path:
    """The way of a proximal gradient method: the energies, and the squared length of every step."""

    energy: Float[Tensor, "points batch"]
    moved: Float[Tensor, "steps batch"]
    code: Float[Tensor, "batch atoms"]


def proximal_path(
    layer: Layer,
    x: Float[Tensor, "batch d"],
    *,
    factor: float,
    steps: int,
    momentum: bool = False,
    reject: bool = False,
) -> Path:
    """Steps of size factor / L from a = 0, as ISTA or with the momentum of FISTA (VN Thm. 3).

    The settle chooses its step itself; this one takes any.

    Parameters
    ----------
    reject
        Take back the steps of the samples whose energy they raise, and forget their momentum (the
        accept/reject of VN Sec. 3.3).
    """
    checks.number("factor", factor, above=0)
    eta = factor / lipschitz(hessian(layer))
    code = ahead = x.new_zeros(len(x), layer.V.shape[1])
    t = x.new_ones(len(x), 1)
    energies, moved = [energy(layer, code, x)], []
    for _ in range(steps):
        gradient = (reconstruct(layer, ahead) - x) @ layer.V
        new = layer.penalty.prox(ahead - eta * gradient, eta)
        value = energy(layer, new, x)
        t_next = 0.5 * (1 + (1 + 4 * t.square()).sqrt()) if momentum else t
        if reject:
            rises = (value > energies[-1])[:, None]
            new = torch.where(rises, code, new)
            t, t_next = torch.where(rises, 1.0, t), torch.where(rises, 1.0, t_next)
            value = torch.where(rises[:, 0], energies[-1], value)
        moved.append((new - code).square().sum(1))
        energies.append(value)
        ahead = new + (t - 1) / t_next * (new - code)
        code, t = new, t_next
    return Path(torch.stack(energies), torch.stack(moved), code)


def lowest_energy(layer: Layer, x: Float[Tensor, "batch d"]) -> tuple[Tensor, Tensor]:
    """The settled code and its energy, to a relative duality gap of 1e-13 where that can be
    reached.
    """
    config = SettleConfig.exact(method="restart", max_sweeps=100_000, tol=1e-13, check_every=10)
    settled = Settler([layer], config=config)(x)
    return settled.codes[0], settled.energy


def descent(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    sparsity: float,
    top_k: int,
    factors: Sequence[float],
    steps: int,
) -> xr.Dataset:
    """What single steps of size factor / L gain (VN Eq. 37), for l1 alone ("soft") and with a hard
    top-k ("hard").

    Per penalty and factor: `smallest_gain`, the smallest eta (E_n - E_{n+1}) / `|a_{n+1} - a_n|^2`
    of all steps and samples, to be compared with 1/2 (the theorem), 1 - eta L / 2 (sharper, l1) and
    (1 - eta L) / 2 (with top-k); `rises`, the share of steps that raise the energy. Steps that
    change the energy by rounding only do not count. `end_gap` (factor, safeguard): the relative
    height of the energy after all steps, with and without accept/reject.
    """
    soft = Layer(V, None, L1(sparsity=sparsity))
    layers = {"soft": soft, "hard": Layer(V, None, TopK(penalty=L1(sparsity=sparsity), k=top_k))}
    lowest = lowest_energy(soft, x)[1]
    gains, rises, ends = (
        np.empty((2, len(factors))),
        np.empty((2, len(factors))),
        np.empty((len(factors), 2)),
    )
    for column, factor in enumerate(factors):
        for row, layer in enumerate(layers.values()):
            path = proximal_path(layer, x, factor=factor, steps=steps)
            drop = path.energy[:-1] - path.energy[1:]
            counts = path.moved > 1e-9 * path.energy[0]
            eta = factor / lipschitz(hessian(layer))
            gains[row, column] = float((eta * drop / path.moved)[counts].min())
            rises[row, column] = float(((drop < 0) & counts).sum() / counts.sum())
            if row == 0:
                ends[column, 0] = float((path.energy[-1] / lowest - 1).mean())
        safe = proximal_path(soft, x, factor=factor, steps=steps, reject=True)
        ends[column, 1] = float((safe.energy[-1] / lowest - 1).mean())
    return xr.Dataset(
        {
            "smallest_gain": (("penalty", "factor"), gains),
            "rises": (("penalty", "factor"), rises),
            "end_gap": (("factor", "safeguard"), ends),
        },
        {"penalty": list(layers), "factor": list(factors), "safeguard": ["none", "reject"]},
    )


def rates(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    sparsity: float,
    steps: int,
    kept: int = 40,
) -> xr.Dataset:
    """The height of the energy above its minimum against the bounds of VN Thm. 3, at step 1/L from
    a = 0.

    Algorithms: "ista", "fista", "fista, reject". `height` (algorithm, step) is the mean over
    samples in units of L `|a*|^2` / 2, in which the bounds are 1/n and 4/(n+1)^2; `worst_to_bound`
    (algorithm) is the largest ratio to the algorithm's bound over all steps and samples;
    `rising_steps` the share of steps that raise the energy. `tail_rate`, `tail_predicted` (rated):
    by what factor ISTA's height falls per step in the end, and (1 - m/L)^2, where m is the smallest
    eigenvalue of V'V on the settled support; NaN where the steps end earlier.
    """
    layer = Layer(V, None, L1(sparsity=sparsity))
    L = lipschitz(hessian(layer))
    best, lowest = lowest_energy(layer, x)
    unit = 0.5 * L * best.square().sum(1)
    n = torch.arange(1, steps + 1, dtype=x.dtype)[:, None]
    methods = {
        "ista": (proximal_path(layer, x, factor=1, steps=steps), 1 / n),
        "fista": (
            proximal_path(layer, x, factor=1, steps=steps, momentum=True),
            4 / (n + 1).square(),
        ),
        "fista, reject": (
            proximal_path(layer, x, factor=1, steps=steps, momentum=True, reject=True),
            None,
        ),
    }
    lowest = torch.stack([lowest, *(path.energy.amin(0) for path, _ in methods.values())]).amin(0)
    heights = {name: (path.energy[1:] - lowest) / unit for name, (path, _) in methods.items()}
    shown = np.unique(np.geomspace(1, steps, kept).astype(int))
    rounding = 1e-13 * lowest
    rising = [
        float((path.energy.diff(dim=0) > rounding).double().mean()) for path, _ in methods.values()
    ]
    worst = [
        np.nan if limit is None else float((heights[name] / limit).max())
        for name, (_, limit) in methods.items()
    ]
    tails = _tails(V, best, heights["ista"] * unit / lowest, L)
    return xr.Dataset(
        {
            "height": (
                ("algorithm", "step"),
                torch.stack([h[shown - 1].mean(1) for h in heights.values()]).numpy(),
            ),
            "worst_to_bound": ("algorithm", worst),
            "rising_steps": ("algorithm", rising),
            "tail_rate": ("rated", tails[0]),
            "tail_predicted": ("rated", tails[1]),
        },
        {"algorithm": list(methods), "step": shown},
    )


def _tails(V: Tensor, best: Tensor, height: Tensor, L: float) -> tuple[np.ndarray, np.ndarray]:
    """Per sample: the factor per step while the relative height falls from 1e-7 to 1e-10, and the
    predicted one.
    """
    measured, predicted = np.full(len(best), np.nan), np.empty(len(best))
    for row, code in enumerate(best):
        atoms = V[:, code != 0]
        predicted[row] = (1 - float(torch.linalg.eigvalsh(atoms.T @ atoms)[0]) / L) ** 2
        first, last = (int((height[:, row] > level).sum()) for level in (1e-7, 1e-10))
        if first + 1 < last < len(height):
            measured[row] = float(
                (height[last - 1, row] / height[first, row]) ** (1 / (last - 1 - first))
            )
    return measured, predicted


def sweep_energies(
    d: int,
    K: int,
    *,
    batch: int,
    feedback: float,
    sparsity: float,
    top_k: int,
    sweeps: int,
    seed: int,
) -> xr.Dataset:
    """Which energy descends over the ISTA sweeps of three layers: F, or the summed layer energies
    of VN Eq. 3.

    Per penalty of the top layer ("soft", "hard") and energy ("joint", "summed"): `sweep_rises`, the
    share of sweeps and samples in which it rises by more than rounding, and `sweep_energy`, its
    mean per sweep (from the second on: the first is bottom-up).
    """
    share, curves = np.empty((2, 2)), np.empty((2, 2, sweeps))
    x = torch.randn(batch, d, generator=generator(seed, "sweeps"), dtype=torch.float64)
    for row, cap in enumerate((None, top_k)):
        layers = random_stack(d, K, 3, sparsity=sparsity, seed=seed, top_k=cap)
        settler = Settler(
            layers, feedback=feedback, config=SettleConfig(method="ista", max_sweeps=1, tol=0)
        )
        codes, values = None, ([], [])
        for _ in range(sweeps):
            codes = settler(x, codes).codes
            values[0].append(joint_energy(layers, codes, x, feedback))
            values[1].append(summed_energy(layers, codes, x, feedback))
        for column, series in enumerate(map(torch.stack, values)):
            share[row, column] = float(
                (series.diff(dim=0) > 1e-13 * series[1:].abs()).double().mean()
            )
            curves[row, column] = series.mean(1).numpy()
    return xr.Dataset(
        {
            "sweep_rises": (("penalty", "counted"), share),
            "sweep_energy": (("penalty", "counted", "sweep_number"), curves),
        },
        {
            "penalty": ["soft", "hard"],
            "counted": ["joint", "summed"],
            "sweep_number": np.arange(1, sweeps + 1),
        },
    )
