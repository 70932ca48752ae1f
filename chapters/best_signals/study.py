"""Signals of each run's own, filled in by a Vector Network whose supports are sampled, and by rivals."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from benchmarks.confirm.frozen import frozen
from benchmarks.functions import processes, slots
from benchmarks.functions.dictionaries import fourier_and_bumps
from benchmarks.functions.imputer import Imputer, Signals
from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.samples import by_set, dataset, observed
from vnlib import seeding
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import training
from vnlib.compilation import Array
from vnlib.fit import Training, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

POWER = "ID power"  # the mean power of training signals, which the task makes 1
SETS = ("id", "easy", "hard")
RUNS = ("forecast_25", "forecast_50", "block_128")  # masks that hide samples in one run
STEPS = ("drawn", "carried")
FACTS = ("atoms", "log_variance", "scale")
SHOWN = {"id": 2, "easy": 3, "hard": 6}  # the first test signals, which are drawn
VARIABLES = {
    "mask": ("which samples are hidden", ""),
    "set": ("set of signals", ""),
    "step": ("as a model draws, or with its residual where observed carried to the rest", ""),
    "case": ("number of a test signal", "1"),
    "evaluation": ("share of the updates made", "1"),
    "example": ("set and number of a test signal", ""),
    "time": ("time", "s"),
    "picture_mask": ("which samples are hidden", ""),
    "hidden": ("mean squared error on the hidden samples of a signal", POWER),
    "power": ("mean square of the hidden samples of a signal", POWER),
    "kind": ("formula of a test signal", ""),
    "curve": ("validation error in training", POWER),
    "learning_time": ("processor time of learning", "s"),
    "signal_time": ("processor time of a signal", "s"),
    "fact_atoms": ("atoms of a signal, mean over sampled supports", "1"),
    "fact_log_variance": ("decimal logarithm of the fine layer's variance in ID power", "1"),
    "fact_scale": ("scale of the fine layer", "s"),
    "truth": ("signal", "r.m.s. of training signals"),
    "seen": ("whether a sample is observed", "1"),
    "filled": ("drawing of a signal", "r.m.s. of training signals"),
}
Filled = tuple[Signals, Mapping[str, Signals]]  # drawings, and facts by name


def results(chapter: Chapter) -> xr.Dataset:
    """All models, each over its own seeds; NaN where a model has fewer, or fewer signals."""
    for name, model in chapter.models.items():
        seeds = chapter.first_seeds(model["seeds"])
        if seeds:
            chapter.grid(run, {"model": [name], "seed": seeds}, settings, variables=VARIABLES)
    return chapter.held()


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes, and the hash of what was fixed before."""
    s, model, seed = chapter.settings, chapter.model(axes["model"]), axes["seed"]
    data = {name: s[name] for name in ("length", "n_train", "n_val", "n_test")}
    few = model.get("few", False)
    return {
        "frozen": frozen(chapter.spec.sidecar),
        "data": data | {"seed": s["data_seed"] + seed, "test_seed": s["test_seed"] + seed},
        "mask_seed": s["mask_seed"] + 10 * seed,
        "masks": [one for one in s["masks"] if not few or one in RUNS],
        "few": min(s["few"], s["n_test"]) if few else s["n_test"],
        "training": training(chapter, axes["model"], 0, False),
        "picture_masks": s["picture_masks"] if seed == 0 and not few else [],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A model learned from single families, and measured on signals of its own."""
    data = dataset(**settings["data"])
    x = by_set(data)
    seeds = {name: settings["mask_seed"] + i for i, name in enumerate(("val", *SETS))}
    seen = observed(x, settings["masks"], seeds)
    began = time.process_time()
    fill, curve = learned(x["train"], x["val"], axes["seed"], workdir, settings["training"])
    took = time.process_time() - began
    return measured(data, x, seen, fill, settings).assign(
        learning_time=took, curve=("evaluation", tenths(curve)), evaluation=np.arange(1, 11) / 10
    )


def tenths(curve: Any) -> Array:
    """A curve of training at ten shares of its updates, the last value so far; NaN without one."""
    if not len(curve):
        return np.full(10, np.nan)
    return np.asarray(curve)[np.ceil(np.arange(1, 11) * len(curve) / 10).astype(int) - 1]


def learned(
    train: Signals, validation: Signals, seed: int, workdir: Path, how: Mapping[str, Any]
) -> tuple[Callable[[Signals, Signals, Signals, Signals], Filled], Any]:
    """A model as a function that fills in signals, given validation signals under the same mask (x,
    observed of both), and the validation errors of its training.
    """
    options = dict(how["options"])
    if how["family"] == "slots":
        atoms = library(train, seed, workdir, how, options)
        fine = tuple((kernel, scale) for kernel, scale in options.pop("fine", slots.FINE))
        model = slots.Slots(atoms, fine=fine, **options)
        return lambda xv, ov, x, o: model.complete(x, o, seed=seed), ()
    if how["family"] == "process":
        return lambda xv, ov, x, o: (processes.complete(x, o, **options), {}), ()
    trained = fit_imputer(train, validation, seed=seed, workdir=workdir, **how)
    return partial(filled_by, trained), trained.curve


@torch.no_grad()
def filled_by(model: Imputer, xv: Signals, ov: Signals, x: Signals, o: Signals) -> Filled:
    """What an imputer that knows the mask draws; it chooses on the validation signals."""
    if model.mask_aware is None:
        raise ValueError("model must have mask-aware inference")
    return model.mask_aware(xv, ov)(x, o), {}


def library(
    train: Signals, seed: int, workdir: Path, how: Mapping[str, Any], options: dict[str, Any]
) -> Array:
    """The atoms (atoms, time) that options ask for, which it takes out of them: training signals as
    they are, or learned or fixed ones of unit norm times the r.m.s. norm of training signals.
    """
    count, source = options.pop("atoms"), options.pop("source", "exemplars")
    sparsity, norm = options.pop("sparsity", 0.0), float(train.norm(dim=1).square().mean().sqrt())
    if source == "exemplars":
        order = torch.randperm(len(train), generator=seeding.generator(seed, "slots"))
        return train[order[:count]].double().numpy()
    if source == "fixed":
        return norm * fourier_and_bumps(train.shape[1]).T.double().numpy()
    network = VectorNetwork.for_data(
        train, atoms=(count,), sparsity=(sparsity,), settle=SettleConfig.exact(), seed=seed
    )
    learner = LocalLearner(network, lr=how["lr"], settle=SettleConfig.exact(), revive_after=64)
    plan = Training(how["lr"], how["steps"], how["batch_size"], seed, workdir)
    fit(learner, (train,), plan.config(10, keep="last"), seed=seed, validate=lambda: 0.0)
    return norm * network.V[0].detach().T.double().numpy()


def measured(
    data: xr.Dataset, x: Mapping[str, Signals], seen: Any, fill: Any, settings: Settings
) -> xr.Dataset:
    """Errors of single signals, times, facts and drawings."""
    masks, n, few = settings["masks"], settings["data"]["n_test"], settings["few"]
    shape = (len(masks), len(SETS))
    hidden = np.full((*shape, len(STEPS), n), np.nan)
    power, took = np.full((*shape, n), np.nan), np.zeros(len(masks))
    facts = {name: np.full(shape, np.nan) for name in FACTS}
    examples = {name: min(count, few) for name, count in SHOWN.items()}
    pictures: list[xr.Dataset] = []
    for m, mask in enumerate(masks):
        by = seen[mask]
        for s, name in enumerate(SETS):
            signals, shown = x[name][:few], by[name][:few]
            began = time.process_time()
            drawn, found = fill(x["val"], by["val"], signals, shown)
            took[m] += (time.process_time() - began) / (few * len(SETS))
            carried = processes.carried(drawn, signals, shown, *slots.LAST)
            for step, filled in enumerate((drawn, carried)):
                hidden[m, s, step, :few] = over_hidden(filled.double() - signals, shown)
            power[m, s, :few] = over_hidden(signals.double(), shown)
            for fact, values in found.items():
                facts[fact][m, s] = float(values.mean())
            if mask in settings["picture_masks"]:
                rows = slice(examples[name])
                parts = (signals, shown, drawn, carried)
                pictures.append(picture(mask, name, *(one[rows] for one in parts)))
    where = data["set"].values.astype(str)
    kinds = [data["kind"].values.astype(str)[where == name] for name in SETS]
    found = xr.Dataset(
        {
            "hidden": (("mask", "set", "step", "case"), hidden),
            "power": (("mask", "set", "case"), power),
            "kind": (("set", "case"), kinds),
            "signal_time": ("mask", took),
        }
        | {f"fact_{name}": (("mask", "set"), values) for name, values in facts.items()},
        {"mask": masks, "set": list(SETS), "step": list(STEPS), "case": np.arange(n)},
    )
    if not pictures:
        return found
    by_example = [
        xr.concat([one for one in pictures if one.attrs["mask"] == mask], "example")
        for mask in settings["picture_masks"]
    ]
    shown = xr.concat(by_example, xr.Variable("picture_mask", settings["picture_masks"]))
    return found.merge(shown.drop_attrs())


def over_hidden(values: Signals, shown: Signals) -> Array:
    """The mean square of each signal's hidden samples."""
    return (torch.where(shown, 0.0, values.square()).sum(1) / (~shown).sum(1)).numpy()


def picture(
    mask: str, name: str, x: Signals, shown: Signals, drawn: Signals, carried: Signals
) -> xr.Dataset:
    """Every second sample of signals, of what is observed and of the drawings."""
    both = torch.stack([drawn, carried], 1)[..., ::2].float().numpy()
    return xr.Dataset(
        {
            "truth": (("example", "time"), x[:, ::2].numpy()),
            "seen": (("example", "time"), shown[:, ::2].numpy().astype(np.int8)),
            "filled": (("example", "step", "time"), both),
        },
        {
            "example": [f"{name} {i}" for i in range(len(x))],
            "step": list(STEPS),
            "time": np.linspace(0, 1, x.shape[1])[::2],
        },
        {"mask": mask},
    )
