"""Models of the first seed of Fig. 3, trained as in `study`, kept whole: so a page can fill in whatever interval
its reader hides.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import cast

import numpy as np
import torch
import xarray as xr
from torch import Tensor, nn

from benchmarks.functions.completion import interpolate, zero_baseline
from benchmarks.functions.imputer import Fill, Imputer
from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.samples import by_set, dataset, observed
from chapters.fig3_functions import measure, study
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.network import VectorNetwork

PART = "live"
MODELS = ("vn_1", "fourier", "gaussian", "deep_ae")
PARTS = 8  # begins and ends of the intervals for which something is chosen
PER_KIND = 2  # test signals
AXES = 48  # of the covariance, at most: what is left has a variance below 1e-10
SHARE = 1e-7  # of its spread along the first axis that an axis must have
STEP = 1 / 16  # of weights, relative to the standard deviation of their row
POWER = study.POWER
VARIABLES = study.VARIABLES | {
    "hidden": ("mean squared error on the last quarter, hidden, as in the study", POWER),
    "begin": ("where a hidden interval begins", "1"),
    "end": ("where it ends", "1"),
    "filler": ("model that fills in what is hidden", ""),
    "chosen": (
        "lambda of a dictionary, or noise of the Gaussian, chosen on validation signals",
        "1",
    ),
    "error": ("mean squared error of a signal on a hidden interval", POWER),
    "signal": ("test signal", "r.m.s. of training signals"),
    "signal_set": ("set of a test signal", ""),
    "atom": ("atom of VN-1L, of unit norm", "1"),
    "mean": ("mean training signal", "r.m.s. of training signals"),
    "axis": ("principal axis of training signals, of unit norm", "1"),
    "spread": ("variance along a principal axis", POWER),
    "weight_*": ("weights of map {} of DeepAE3, in whole steps", "1"),
    "step_*": ("step of the weights of map {} of DeepAE3, for each row", "1"),
    "bias_*": ("what map {} of DeepAE3 adds", "1"),
}


def results(chapter: Chapter, found: xr.Dataset, selection: xr.Dataset | None) -> xr.Dataset | None:
    """What the run of the first seed keeps; None where VN-1L was not asked for.

    Parameters
    ----------
    found, selection
        The results of `study`: their settings and choices are taken over.
    """
    if "vn_1" not in found["model"]:
        return None

    def settings(chapter: Chapter, axes: Axes) -> Settings:
        return {
            **{k: v for k, v in study.settings(chapter, axes | {"model": "vn_1"}, 0, False).items()
               if k in ("data", "mask_seeds")},
            "training": {name: trained(chapter, axes, name, selection) for name in MODELS},
            "kept": {"parts": PARTS, "per_kind": PER_KIND, "axes": AXES, "step": STEP},
        }  # fmt: skip

    axes = {"seed": chapter.seeds[:1]}
    return chapter.grid(run, axes, settings, variables=VARIABLES, part=PART)


def trained(chapter: Chapter, axes: Axes, name: str, selection: xr.Dataset | None) -> Settings:
    """How `study` trains a model, with its choice among candidates."""
    best = 0
    if selection is not None and name in selection["model"]:
        best = int(selection["criterion"].sel(model=name).idxmin("candidate"))
    return study.settings(chapter, axes | {"model": name}, best, False)["training"]


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train all of `MODELS`, choose for each interval what they choose, and keep all of it."""
    data, kept = dataset(**settings["data"]), settings["kept"]
    x = by_set(data, device=chapter.device)
    models = {
        name: fit_imputer(x["train"], x["val"], seed=axes["seed"], workdir=workdir, **how)
        for name, how in settings["training"].items()
    }
    shown = examples(data, kept["per_kind"])
    return xr.merge(
        [
            errors(x, models, settings["mask_seeds"]),
            shown,
            filled(
                x["val"],
                torch.from_numpy(shown["signal"].values).to(x["val"]),
                models,
                kept["parts"],
            ),
            dictionary(models["vn_1"]),
            axes_of(x["train"], kept["axes"]),
            maps(cast(nn.Module, models["deep_ae"].reconstruct), kept["axes"], kept["step"]),
        ]
    )


def errors(x: dict, models: dict[str, Imputer], seeds: dict[str, int]) -> xr.Dataset:
    """Errors (model, set) on the last quarter, which are those of `study` to the last bit."""
    seen = observed(x, [measure.TAIL], seeds)[measure.TAIL]
    values = np.empty((len(models), len(measure.SETS)))
    for row, model in zip(values, models.values(), strict=True):
        fill = model.mask_aware(x["val"], seen["val"]) if model.mask_aware else model.zero_filled
        for place, name in enumerate(measure.SETS):
            with torch.no_grad():
                drawn = cast(Fill, fill)(x[name], seen[name])
            row[place] = float(measure.square_error(drawn, x[name], ~seen[name]).mean())
    coords = {"model": list(models), "set": list(measure.SETS)}
    return xr.Dataset({"hidden": (("model", "set"), values)}, coords)


def intervals(parts: int) -> list[tuple[float, float]]:
    """Begin and end of each interval between two of `parts` + 1 places, but for the whole."""
    return [(a / parts, b / parts) for a, b in combinations(range(parts + 1), 2) if b - a < parts]


def filled(val: Tensor, signals: Tensor, models: dict[str, Imputer], parts: int) -> xr.Dataset:
    """What each model chooses on validation signals for an interval, of all those of `intervals`,
    and its errors on these signals with the interval hidden, zero's and interpolation's beside them.
    """
    at, length = intervals(parts), val.shape[1]
    told: dict[str, Callable] = {
        "vn_1": lambda fill: fill.args[0].layers[0].penalty.sparsity,
        "fourier": lambda fill: fill.args[0].layers[0].penalty.sparsity,
        "gaussian": lambda fill: fill.keywords["noise"],
    }
    rules = {"linear": interpolate, "zero_baseline": zero_baseline}
    names, place = [*models, *rules], torch.arange(length, device=val.device)
    error = np.empty((len(names), len(at), len(signals)))
    choice = np.full((len(names), len(at)), np.nan)
    for i, (begin, end) in enumerate(at):
        seen = (place < begin * length) | (place >= end * length)
        for m, name in enumerate(names):
            fill = rules.get(name) or models[name].zero_filled
            if name in told:
                fill = cast(Callable, models[name].mask_aware)(val, seen.expand(val.shape))
                choice[m, i] = told[name](fill)
            with torch.no_grad():
                drawn = cast(Fill, fill)(signals, seen.expand(signals.shape))
            error[m, i] = measure.square_error(drawn, signals, ~seen.expand(signals.shape)).cpu()
    begins, ends = zip(*at, strict=True)
    found = {"error": (("filler", "interval", "example"), error)}
    found |= {"chosen": (("filler", "interval"), choice)}
    found |= {"begin": ("interval", np.array(begins)), "end": ("interval", np.array(ends))}
    return xr.Dataset(found, {"filler": names})


def examples(data: xr.Dataset, per_kind: int) -> xr.Dataset:
    """The first test signals of every kind; `example` is the kind and the number in its set."""
    rows, names = [], []
    where, kind = (data[name].values.astype(str) for name in ("set", "kind"))
    for name in measure.SETS:
        kinds = kind[where == name]
        for one in dict.fromkeys(kinds):
            numbers = np.flatnonzero(kinds == one)[:per_kind]
            rows += np.flatnonzero(where == name)[numbers].tolist()
            names += [f"{one} {number}" for number in numbers]
    return xr.Dataset(
        {
            "signal": (("example", "time"), data["value"].values[rows]),
            "signal_set": ("example", where[rows]),
        },
        {"example": names, "time": data["time"].values},
    )


def dictionary(model: Imputer) -> xr.Dataset:
    """The atoms of a Vector Network of one layer."""
    network: VectorNetwork = model.reconstruct.args[0]  # type: ignore[union-attr]
    return xr.Dataset({"atom": (("unit", "time"), network.V[0].detach().T.cpu().numpy())})


def axes_of(train: Tensor, count: int) -> xr.Dataset:
    """Mean and principal axes of training signals, whose sum of squares is their covariance."""
    signals = train.double().cpu()
    mean = signals.mean(0)
    _, spread, axes = torch.linalg.svd(signals - mean, full_matrices=False)
    kept = spread[:count] > SHARE * spread[0]
    variance = spread[:count][kept].square() / (len(signals) - 1)
    found = {
        "mean": ("time", mean),
        "axis": (("component", "time"), axes[:count][kept]),
        "spread": ("component", variance),
    }
    return xr.Dataset({name: (dims, one.numpy()) for name, (dims, one) in found.items()})


def maps(model: nn.Module, rank: int, step: float) -> xr.Dataset:
    """The linear maps of an autoencoder, ReLU between two, in whole steps; the first as two of this
    rank without a ReLU between them: weight decay has left nothing else of it.
    """
    layers = [one for one in model.modules() if isinstance(one, nn.Linear)]
    U, S, W = torch.linalg.svd(layers[0].weight.detach().cpu(), full_matrices=False)
    weights = [W[:rank], U[:, :rank] * S[:rank]]
    weights += [one.weight.detach().cpu() for one in layers[1:]]
    found = {}
    for n, one in enumerate(weights):
        size = (step * one.std(1)).clamp_min(1e-12)
        levels = (one / size[:, None]).round().clamp(-127, 127).to(torch.int8)
        found[f"weight_{n}"] = ((f"unit_{n + 1}", f"unit_{n}"), levels.numpy())
        found[f"step_{n}"] = (f"unit_{n + 1}", size.numpy())
    for n, one in enumerate(layers, 1):
        found[f"bias_{n}"] = (f"unit_{n + 1}", one.bias.detach().cpu().numpy())
    return xr.Dataset(found)
