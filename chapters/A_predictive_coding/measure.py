"""What a model of appendix A infers for samples, and what one sample or a batch would change."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.A_predictive_coding.baselines import LocalUpdate
from chapters.A_predictive_coding.models import Model
from vnlib import metrics, seeding

BATCHES = (1, 2, 4, 8, 16, 32, 64)
STEPS_SHOWN = 60
SAMPLES_SHOWN = 32


def variability(gain: Float[Tensor, "batch units"], gram: Float[Tensor, "units units"]) -> float:
    """Share of the power of the maps sum_k gain_k A_k that is not in their mean: 0 for one map.

    Parameters
    ----------
    gram
        The inner products <A_i, A_j>.
    """
    mean = gain.mean(0)
    power = float(((gain @ gram) * gain).sum(1).mean())
    return max(0.0, 1 - float(mean @ gram @ mean) / power) if power > 0 else 0.0


def power_share(values: Float[Tensor, "batch n"], *, part: float = 0.9) -> Float[Tensor, " batch"]:
    """The smallest share of entries that holds `part` of a row's sum of squares; 0 for zeros."""
    power = values.double().square().sort(dim=1, descending=True).values.cumsum(1)
    total = power[:, -1:]
    needed = (power < part * total).sum(1) + 1
    return torch.where(total[:, 0] > 0, needed / values.shape[1], torch.zeros_like(power[:, 0]))


def per_sample(updates: Sequence[LocalUpdate]) -> Float[Tensor, "batch weights"]:
    """The update that each sample asks for, all matrices in one row."""
    return torch.cat(
        [torch.einsum("bi,bj->bij", u.error, u.activity).flatten(1) for u in updates], 1
    )


def cosine(a: Float[Tensor, "batch n"], b: Float[Tensor, "batch n"]) -> Float[Tensor, " batch"]:
    """`|cosine|` of the rows of a and b, 0 where one of them is zero."""
    return (a * b).sum(1).abs() / (a.norm(dim=1) * b.norm(dim=1)).clamp_min(1e-30)


def errors(model: Model, x: Float[Tensor, "batch d"]) -> tuple[float, float]:
    """Squared error of the reading of the first level and of the top one, over the image power."""
    first, top = (float((x - read).square().sum() / x.square().sum()) for read in model.read(x))
    return first, top


def moved(model: Model, x: Float[Tensor, "batch d"], *, lr: float) -> tuple[float, int]:
    """What one real step on one sample moves.

    A unit is idle where its gain for the sample is exactly zero. Every sample starts from the same
    weights, and is inferred for as long as at test, since the rule asks for what has converged.

    Returns
    -------
    tuple
        The mean share of all weights that moved, and the most idle units that moved.
    """
    shares, idle_moved = [], 0
    for one in x.split(1):
        trial = copy.deepcopy(model)
        trial.train_as_tested()
        before = [p.clone() for p in trial.model.parameters()]
        columns = [c.clone() for c in trial.columns()]
        trial.learner(lr).step((one,), scale=1.0, generator=seeding.generator(0, "moved"))
        weights = zip(trial.model.parameters(), before, strict=True)
        changed = torch.cat([(p != old).flatten() for p, old in weights])
        shares.append(float(changed.float().mean()))
        units = zip(trial.columns(), columns, strict=True)
        unit = torch.stack([(c != old).any(0) for c, old in units]).any(0)
        idle = model.infer(one).gain[0] == 0
        idle_moved = max(idle_moved, int((unit & idle).sum()))
    return float(np.mean(shares)), idle_moved


def portrait(
    model: Model, x: Float[Tensor, "batch d"], other: Float[Tensor, "batch d"]
) -> xr.Dataset:
    """What is inferred for samples x of one task, and what these and `other`'s would change.

    Means over samples. Of three descriptions of the map it is measured how much differs from input
    to input: `map_variability`, as VN Eqs. 10-15 name it (the weight matrix, or the VN's operator);
    `gated_variability`, the dictionary with its columns weighted by what was inferred, for every
    model; `slope_variability`, the derivative of the reconstruction by the inferred states.
    """
    inferred, there = model.infer(x), model.infer(other)
    dictionary = model.columns()[0]
    lengths = dictionary.square().sum(0).diag()
    own, others = per_sample(inferred.updates), per_sample(there.updates)
    half = len(x) // 2
    operators, varies = dictionary[None], 0.0
    if model.composes:
        V, U = model.columns()
        operators = torch.einsum("mk,bk,dk->bmd", U, inferred.gain[:SAMPLES_SHOWN], V)
        varies = variability(inferred.gain, (V.T @ V) * (U.T @ U))
    scalars = {
        "active_share": (inferred.code != 0).float().mean(),
        "code_power_share": power_share(inferred.code).mean(),
        "map_variability": varies,
        "gated_variability": variability(inferred.gain, lengths),
        "slope_variability": variability(inferred.slope, lengths),
        "rank": metrics.operator_rank(operators).float().mean(),
        "rank_limit": min(operators.shape[1:]),
        "power_share": power_share(own).mean(),
        "overlap": cosine(own, others).mean(),
        "overlap_within": cosine(own[:half], own[half : 2 * half]).mean(),
        "n_weights": sum(p.numel() for p in model.model.parameters()),
    }
    changed = own != 0
    groups = [[g.any(0).float().mean() for g in changed.split(n) if len(g) == n] for n in BATCHES]
    touched = [float(torch.stack(shares).mean()) if shares else np.nan for shares in groups]
    found = xr.Dataset({name: ((), float(value)) for name, value in scalars.items()})
    return found.assign(touched=("batch", touched)).assign_coords(batch=list(BATCHES))


def shown(model: Model, x: Float[Tensor, "batch d"]) -> xr.Dataset:
    """What figures draw: codes of some samples, the energy of their inference, one update.

    `energy` is relative to that of a network whose states are all zero. `down_*` are error and
    activity of the first sample's update of the dictionary, `up_*` of the weights that read the
    data, NaN where there are none.
    """
    x = x[:SAMPLES_SHOWN]
    inferred = model.infer(x, trace=True)
    silent = 0.5 * x.square().sum(1)
    energy = np.full(STEPS_SHOWN + 1, np.nan)
    curve = [float((e / silent).mean()) for e in inferred.energy[: STEPS_SHOWN + 1]]
    energy[: len(curve)] = curve
    data = {"energy": ("step", energy), "code": (("sample", "unit"), inferred.code.cpu().numpy())}
    none = LocalUpdate(torch.full_like(inferred.code, torch.nan), torch.full_like(x, torch.nan))
    up = [u for u in inferred.updates if u.activity.shape[1] == x.shape[1]]
    for name, update in (("down", inferred.updates[0]), ("up", (up or [none])[0])):
        rows, columns = ("pixel", "unit") if name == "down" else ("unit", "pixel")
        data[f"{name}_error"] = (rows, update.error[0].cpu().numpy())
        data[f"{name}_activity"] = (columns, update.activity[0].cpu().numpy())
    return xr.Dataset(data).assign_coords(step=np.arange(STEPS_SHOWN + 1))
