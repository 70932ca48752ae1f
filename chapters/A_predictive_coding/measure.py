"""Predictive coding and the Vector Network side by side (VN App. A).

What is inferred, what one sample changes, and what learning a second task costs the first:
`compare` measures all three on one model of `contestants`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from chapters.A_predictive_coding.baselines import LocalUpdate
from chapters.A_predictive_coding.contestants import Contestant, Sizes, build
from vnlib import checks, metrics, seeding
from vnlib.fit import FitConfig, fit

PAIRS = ("digits", "permuted", "halves")
STAGES = ("before", "first", "second", "stayed")
BATCHES = (1, 2, 4, 8, 16, 32, 64)
STEPS_SHOWN = 60
SAMPLES_SHOWN = 32
SAMPLES_MOVED = 8


# --- Tasks ----------------------------------------------------------------------------------------


def tasks(
    pair: str, images: Float[Tensor, "batch y x"], labels: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, "half d"], Float[Tensor, "half d"]]:
    """Two tasks of equal size, from other images each.

    "digits": 0-4 and 5-9. "permuted": some images, and others with all their pixels permuted in one
    way. "halves": the left halves of some images, the right halves of others; they share no pixel.
    """
    checks.choice("pair", pair, PAIRS)
    if pair == "digits":
        first, second = images[labels < 5], images[labels >= 5]
    else:
        first, second = images[0::2], images[1::2]
    if pair == "halves":
        left = torch.arange(images.shape[2]) < images.shape[2] // 2
        first, second = first * left, second * ~left
    n = min(len(first), len(second))
    first, second = first[:n].flatten(1), second[:n].flatten(1)
    if pair == "permuted":
        second = second[
            :, torch.randperm(second.shape[1], generator=torch.Generator().manual_seed(0))
        ]
    return first, second


# --- Measures -------------------------------------------------------------------------------------


def variability(gain: Float[Tensor, "batch units"], gram: Float[Tensor, "units units"]) -> float:
    """Share of the power of the maps sum_k gain_k A_k that is not in their mean: 0 for one map, at
    most 1.

    Parameters
    ----------
    gram
        The inner products <A_i, A_j>.
    """
    mean = gain.mean(0)
    power = float(((gain @ gram) * gain).sum(1).mean())
    return max(0.0, 1 - float(mean @ gram @ mean) / power) if power > 0 else 0.0


def power_share(values: Float[Tensor, "batch n"], *, part: float = 0.9) -> Float[Tensor, " batch"]:
    """The smallest share of entries that holds `part` of the sum of squares, per row; 0 for a row
    of zeros.
    """
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


def moved(contestant: Contestant, x: Float[Tensor, "batch d"], *, lr: float) -> tuple[float, int]:
    """What one real step on one sample moves: the mean share of all weights, and the most idle
    units that moved.

    A unit is idle where its gain for the sample is exactly zero. Every sample starts from the same
    weights, and is inferred for as long as at test, since the rule asks for what has converged.
    """
    shares, idle_moved = [], 0
    for one in x.split(1):
        trial = copy.deepcopy(contestant)
        trial.train_as_tested()
        before, columns = (
            [p.clone() for p in trial.model.parameters()],
            [c.clone() for c in trial.columns()],
        )
        trial.learner(lr).step((one,), scale=1.0, generator=seeding.generator(0, "moved"))
        changed = [
            (p != old).flatten() for p, old in zip(trial.model.parameters(), before, strict=True)
        ]
        shares.append(float(torch.cat(changed).float().mean()))
        unit = torch.stack(
            [(c != old).any(0) for c, old in zip(trial.columns(), columns, strict=True)]
        ).any(0)
        idle = contestant.look(one).gain[0] == 0
        idle_moved = max(idle_moved, int((unit & idle).sum()))
    return float(np.mean(shares)), idle_moved


def portrait(
    contestant: Contestant, x: Float[Tensor, "batch d"], other: Float[Tensor, "batch d"]
) -> xr.Dataset:
    """What is inferred for samples x of one task, what they would change, and how alike that is to
    `other`'s samples.

    Means over samples. `map_variability` is that of the map as VN Eqs. 10-15 name it: the weight
    matrix, or the VN's operator. `gated_variability` is that of the dictionary with its columns
    weighted by what was inferred, for every model; `slope_variability` that of the derivative of
    the reconstruction by the inferred states.
    """
    look, there, (dictionary, *_) = contestant.look(x), contestant.look(other), contestant.columns()
    lengths = dictionary.square().sum(0).diag()
    mine, theirs, half = per_sample(look.updates), per_sample(there.updates), len(x) // 2
    operators, spread = dictionary[None], 0.0
    if contestant.composes:
        V, U = contestant.columns()
        operators = torch.einsum("mk,bk,dk->bmd", U, look.gain[:SAMPLES_SHOWN], V)
        spread = variability(look.gain, (V.T @ V) * (U.T @ U))
    scalars = {
        "active_share": (look.code != 0).float().mean(),
        "code_power_share": power_share(look.code).mean(),
        "map_variability": spread,
        "gated_variability": variability(look.gain, lengths),
        "slope_variability": variability(look.slope, lengths),
        "rank": metrics.operator_rank(operators).float().mean(),
        "rank_limit": min(operators.shape[1:]),
        "power_share": power_share(mine).mean(),
        "overlap": cosine(mine, theirs).mean(),
        "overlap_within": cosine(mine[:half], mine[half : 2 * half]).mean(),
        "n_weights": sum(p.numel() for p in contestant.model.parameters()),
    }
    changed = mine != 0
    groups = [[g.any(0).float().mean() for g in changed.split(n) if len(g) == n] for n in BATCHES]
    touched = [float(torch.stack(shares).mean()) if shares else np.nan for shares in groups]
    result = xr.Dataset({name: ((), float(value)) for name, value in scalars.items()})
    return result.assign(touched=("batch", touched))


def shown(contestant: Contestant, x: Float[Tensor, "batch d"]) -> xr.Dataset:
    """What figures draw: codes of some samples, the energy of their inference, and the first one's
    update.

    `energy` is relative to that of a network whose states are all zero. `down_*` are error and
    activity of the update of the dictionary, `up_*` of the weights that read the data, NaN where
    there are none.
    """
    look = contestant.look(x[:SAMPLES_SHOWN], trace=True)
    silent = 0.5 * x[:SAMPLES_SHOWN].square().sum(1)
    energy = np.full(STEPS_SHOWN + 1, np.nan)
    curve = [float((e / silent).mean()) for e in look.energy[: STEPS_SHOWN + 1]]
    energy[: len(curve)] = curve
    data = {"energy": ("step", energy), "code": (("sample", "unit"), look.code.cpu().numpy())}
    nothing = LocalUpdate(
        torch.full_like(look.code, torch.nan), torch.full_like(x[:SAMPLES_SHOWN], torch.nan)
    )
    up = [u for u in look.updates if u.activity.shape[1] == x.shape[1]]
    for name, update in (("down", look.updates[0]), ("up", (up or [nothing])[0])):
        rows, columns = ("pixel", "unit") if name == "down" else ("unit", "pixel")
        data[f"{name}_error"] = (rows, update.error[0].cpu().numpy())
        data[f"{name}_activity"] = (columns, update.activity[0].cpu().numpy())
    return xr.Dataset(data)


# --- Two tasks in sequence ------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Samples of one task to learn from, to choose the learning rate on, and to report on."""

    train: Float[Tensor, "train d"]
    validation: Float[Tensor, "validation d"]
    test: Float[Tensor, "test d"]


def errors(contestant: Contestant, x: Float[Tensor, "batch d"]) -> tuple[float, float]:
    """Mean squared error of the reconstruction from the first level and of that from the top,
    relative to a blank.
    """
    first, top = (
        float((x - seen).square().sum() / x.square().sum()) for seen in contestant.read(x)
    )
    return first, top


def compare(
    name: str,
    sizes: Sizes,
    pair: tuple[Task, Task],
    *,
    lrs: Sequence[float],
    config: FitConfig,
    seed: int,
) -> xr.Dataset:
    """Everything about one model: learn the first task, look at it, then learn the second, or the
    first again.

    The learning rate is the one of `lrs` with the lowest validation error on the first task, after
    learning that one; nothing else is chosen. Every block gets the updates that `config` says, with
    fresh momentum. `mse` (stage, task) are errors on test samples, read from the first level,
    `mse_from_top` from the top level alone, in units of a blank image's error. Stages: before
    learning, after the first task, after the second, and after the first task twice.

    `forgetting` is what the second task adds to the first one's error, relative to that error;
    `interference` and `rise` compare with the model that stayed with the first task, relatively and
    absolutely, since a model that is still learning may profit from any task.
    """

    def learn(contestant: Contestant, lr: float, task: Task, block: str) -> float:
        """Learn a task in place; returns the validation error."""
        return fit(
            contestant.learner(lr),
            (task.train,),
            config,
            seed=seeding.derive(seed, block),
            validate=lambda: errors(contestant, task.validation)[0],
        ).best_value

    before = build(name, sizes, pair[0].train, seed=seed)
    first, second, stayed, lr, validation = (
        before,
        before,
        before,
        np.nan,
        np.full(len(lrs), np.nan),
    )
    if before.learns:
        trials = [copy.deepcopy(before) for _ in lrs]
        validation = np.array(
            [learn(trial, rate, pair[0], "first") for trial, rate in zip(trials, lrs, strict=True)]
        )
        first, lr = trials[validation.argmin()], lrs[validation.argmin()]
        second, stayed = copy.deepcopy(first), copy.deepcopy(first)
        learn(second, lr, pair[1], "second")
        learn(stayed, lr, pair[0], "second")
    result = portrait(first, *(task.test[: max(BATCHES)] for task in pair)).merge(
        shown(first, pair[0].test)
    )
    mse, from_top = np.moveaxis(
        [[errors(model, task.test) for task in pair] for model in (before, first, second, stayed)],
        -1,
        0,
    )
    share, idle = (
        moved(first, pair[0].test[:SAMPLES_MOVED], lr=lr) if before.learns else (np.nan, np.nan)
    )
    ended, would_be = mse[2, 0], mse[3, 0]
    scalars = {
        "moved": share,
        "idle_moved": idle,
        "lr": lr,
        "final_error": mse[2].mean(),
        "forgetting": ended / mse[1, 0] - 1,
        "interference": ended / would_be - 1,
        "rise": ended - would_be,
    }
    result = result.assign({key: ((), float(value)) for key, value in scalars.items()}).assign(
        mse=(("stage", "task"), mse),
        mse_from_top=(("stage", "task"), from_top),
        validation=("trial", validation),
    )
    coords = {
        "stage": list(STAGES),
        "task": [1, 2],
        "batch": list(BATCHES),
        "step": np.arange(STEPS_SHOWN + 1),
    }
    for variable in result.data_vars.values():
        variable.attrs["units"] = "1"
    return result.assign_coords(coords)
