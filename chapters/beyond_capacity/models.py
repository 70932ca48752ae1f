"""Trained models of signals, digits and bodies: their errors on sets in and out of distribution."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import nan
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.functions.imputer import Fill
from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.names import SETS
from benchmarks.functions.samples import by_set, dataset, observed
from benchmarks.images.models import train_images
from benchmarks.images.pictures import Draw, Images
from benchmarks.images.samples import composed_digits, training_digits
from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from data_gen import digits
from vnlib.book.chapter import Settings

BATCH = 240  # signals that are drawn at once
MASK_SEEDS = {"val": 10, "id": 11, "easy": 12, "hard": 13}
TESTS = (
    1_000_000  # test data of a seed are drawn with this plus the seed; training data with the seed
)


@dataclass(frozen=True)
class Found:
    """What is known of a trained model.

    Parameters
    ----------
    criterion
        Its error on validation data, which are in distribution.
    curve
        That error at the evaluations of training, where it is trained.
    errors
        Mean squared errors over those of the zero baseline, by set.
    searched
        The same with codes that are optimised for the very input, where there are such.
    active
        Nonzero coefficients of an input in distribution, on average; NaN where nothing is coded.
    """

    criterion: float
    curve: Sequence[float] = ()
    errors: Mapping[str, float] = field(default_factory=dict)
    searched: Mapping[str, float] = field(default_factory=dict)
    active: float = nan


def of_signals(s: Settings, seed: int, workdir: Path) -> Found:
    """Whole signals drawn, and hidden samples filled in: by inference that knows the mask, with zeros
    in their place where a model lacks that.
    """
    data = dataset(**s["data"], seed=seed, test_seed=TESTS + seed)
    x = by_set(data)
    model = fit_imputer(x["train"], x["val"], seed=seed, workdir=workdir, **s["training"])
    seen = observed(x, s["masks"], MASK_SEEDS)
    fills: dict[str, Fill] = {}
    if model.reconstruct:
        draw = model.reconstruct
        fills["whole"] = lambda x, observed: draw(x)
    for mask, by in seen.items():
        aware = model.mask_aware and model.mask_aware(x["val"], by["val"])
        if fill := aware or model.zero_filled:
            fills[mask] = fill
    whole = {name: torch.ones_like(one, dtype=torch.bool) for name, one in x.items()}

    def error(task: str, name: str) -> float:
        shown = seen.get(task, whole)[name]
        return _filled(fills[task], x[name], shown, ~shown if task in seen else shown)

    options = s["training"]["options"]
    return Found(
        criterion=sum(error(task, "val") for task in fills) / len(fills),
        curve=model.curve,
        errors={f"{t} {n}": error(t, n) for t in fills for n in SETS} if s["tests"] else {},
        active=model.facts.get("active", options.get(s["coefficients"], nan)),
    )


def of_digits(s: Settings, seed: int, workdir: Path) -> Found:
    """Digits drawn, and images composed of several or corrupted ones."""
    train, held, _ = training_digits(**s["data"], real=s["real"])
    model = train_images(train, held, seed=seed, workdir=workdir, **s["training"])
    own = model.readings["own"]
    found = Found(_drawn(own, held), model.curve)
    if not s["tests"]:
        return found
    sets = composed_digits(digits.SETS, s["n_test"], seed=5 + seed, real=s["real"])
    errors = {name: _drawn(own, x) for name, x in sets.items()}
    searched = {}
    if draw := model.readings.get("searched"):
        searched = {name: _drawn(draw, x[: s["few"]]) for name, x in sets.items()}
    active = float(model.active(sets["id"]).double().mean()) if model.active else nan
    return Found(found.criterion, model.curve, errors, searched, active)


def of_bodies(s: Settings, seed: int, workdir: Path) -> Found:
    """Accelerations of bodies under every set of forces, asked about all of them at once."""
    data = measure.states(**s["data"], seed=seed, test_seed=TESTS + seed)
    model = train_dynamics(data, seed, workdir, **s["training"])
    one = measure.study(data, model, tests=s["tests"])
    errors = {}
    if s["tests"]:
        relative = one["mse"].sel(inference="joint") / one["power"]
        errors = {
            f"{forces}, {bodies} bodies": float(relative.sel(forces=forces, bodies=bodies))
            for forces in relative["forces"].values
            for bodies in relative["bodies"].values
        }
    active = model.facts.get("active", nan)
    return Found(float(one["criterion"]), model.curve, errors, active=active)


OF: dict[str, Callable[[Settings, int, Path], Found]] = {
    "signals": of_signals,
    "digits": of_digits,
    "forces": of_bodies,
}


def grown(grows: Mapping[str, Any], size: int) -> dict[str, Any]:
    """The options of a size: each number of `grows` that many times."""
    return {
        name: [size * part for part in times] if isinstance(times, list) else size * times
        for name, times in grows.items()
    }


@torch.no_grad()
def _filled(fill: Fill, x: Tensor, seen: Tensor, where: Tensor) -> float:
    parts = zip(x.split(BATCH), seen.split(BATCH), strict=True)
    drawn = torch.cat([fill(*part) for part in parts])
    return _over_zero(drawn[where], x[where])


@torch.no_grad()
def _drawn(draw: Draw, x: Images) -> float:
    return _over_zero(draw(x), x)


def _over_zero(drawn: Tensor, x: Tensor) -> float:
    x = x.double()
    return float((drawn.double() - x).square().sum() / x.square().sum())
