"""The runs of a learned start: a network learns its atoms, then starts are learned and compared."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch
import xarray as xr

from benchmarks.images.samples import composed_digits, training_digits
from benchmarks.images.vector_networks import train_network
from benchmarks.starts import measure
from data_gen import signals
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import Training

SUPPORT = "of the support at rest"
VARIABLES = {
    "start": ("where a settle starts", ""),
    "solver": ("how it goes on", ""),
    "timed_solver": ("how the timed settle goes on", ""),
    "set": ("set of inputs", ""),
    "level": ("height of F above its minimum, relative", "1"),
    "layer": ("layer", "1"),
    "image": ("number of the input", "1"),
    "sweep": ("sweeps made", "1"),
    "needed": ("sweeps until F is below a level", "1"),
    "sweeps": ("sweeps until F is below a level, median over inputs", "1"),
    "height": ("F above its minimum after some sweeps, relative", "1"),
    "start_height": ("F of the start above its minimum, relative", "1"),
    "start_distance": ("distance of the start's codes from those at rest, relative", "1"),
    "overlap": (f"Jaccard overlap {SUPPORT} and the start's", "1"),
    "recall": (f"share {SUPPORT} that the start has", "1"),
    "precision": ("share of the start's support that is active at rest", "1"),
    "end_distance": ("largest distance of codes at rest from the cold start's, relative", "1"),
    "end_height": ("largest difference of F at rest from the cold start's, relative", "1"),
    "end_differs": ("share of inputs with another support at rest", "1"),
    "end_lower": ("share of inputs with a lower F at rest", "1"),
    "end_gap": ("largest duality gap at rest, relative", "1"),
    "time_ratio": ("processor time of start and settle over that of the cold settle", "1"),
    "time_cold": ("processor time of the cold settle per input", "ms"),
    "cost": ("multiply-adds of the start, in sweeps", "1"),
    "train_time": ("processor time of learning a start", "s"),
    "rate": ("learning rate chosen", "1"),
    "excess": ("F of the guess above that of settled codes, validation, relative", "1"),
    "excess_untrained": ("the same before training", "1"),
    "sweep_cost": ("multiply-adds of a sweep per input", "multiply-adds"),
    "codes_time": ("processor time of the settled codes to learn from", "s"),
    "saved": ("share of the cold settle's sweeps that a start saves", "1"),
    "saved_paid": ("the same with the start's cost taken off", "1"),
    "fallback": ("whether the digits are scikit-learn's instead of MNIST", "1"),
}

Inputs = tuple[torch.Tensor, torch.Tensor, list[torch.Tensor], int]


def images(n_train: int, n_val: int, n_test: int, seed: int, real: bool) -> Inputs:
    """Digits: single ones, sums of two, partly covered."""
    train, held, fallback = training_digits(n_train, n_val, real=real)
    tests = composed_digits(("id", "add2", "occlude0"), n_test, seed=seed, real=real)
    return train, held, list(tests.values()), fallback


@cache
def functions(n_train: int, n_val: int, n_test: int, seed: int, real: bool) -> Inputs:
    """Signals: primitive functions, their sums (easy) and other compositions (hard)."""
    config = signals.SignalConfig(n_train=n_train, n_val=n_val, n_test=n_test, seed=seed)
    made = signals.make(config)
    train, held, *tests = (
        torch.from_numpy(signals.subset(made, name)["value"].values)
        for name in ("train", "val", "id", "easy", "hard")
    )
    return train, held, tests, 0


BENCHMARKS = {"digits": images, "signals": functions}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train one network on the device, then learn and compare starts on the CPU."""
    train, held, tests, fallback = BENCHMARKS[settings["benchmark"]](**settings["data"])
    learning = Training(seed=axes["seed"], workdir=workdir, **settings["learning"])
    train_on, held_on = (x.to(chapter.device) for x in (train, held))
    network, _ = train_network(train_on, held_on, learning, **settings["network"])
    found = measure.study(
        network.cpu(),
        train[: settings["n_train"]],
        held,
        dict(zip(measure.KINDS, tests, strict=True)),
        seed=axes["seed"],
        **{name: settings[name] for name in ("training", "rates", "targets", "sizes")},
        **settings["study"],
    )
    return found.assign(fallback=fallback)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run; a capped network is settled until F rests, from fewer starts."""
    s, model = chapter.settings, chapter.model(axes["model"])
    atoms, network, targets, sizes = s["atoms"][axes["model"]], {}, {}, {}
    if model.get("capped"):
        network, targets = {"top_k": atoms[-1] // s["cap"]}, {"tol": s["capped_tol"]}
        sizes = {"settled": s["n_test"], "end": s["capped_end"]}
    return {
        "benchmark": model["benchmark"],
        "data": {
            "n_train": s["network"]["n_train"],
            "n_val": s["n_val"],
            "n_test": s["n_test"],
            "seed": s["data_seed"],
            "real": chapter.profile == "paper",
        },
        "network": network
        | {
            "atoms": atoms,
            "interface": [K // 2 for K in atoms[:-1]],
            "sparsity": model["sparsity"],
            "feedback": s["feedback"],
            "evaluations": 1,
        },
        "learning": {k: s["network"][k] for k in ("lr", "steps", "batch_size")},
        "n_train": s["n_train"],
        "training": s["initialiser"],
        "rates": s["rates"],
        "study": {
            "unrolled": s["unrolled"],
            "hidden": s["hidden"],
            "starts": model.get("starts", list(measure.STARTS)),
        },
        "targets": s["targets"] | targets,
        "sizes": s["sizes"] | sizes,
    }


def results(chapter: Chapter) -> xr.Dataset:
    """All runs of the chapter."""
    return chapter.grid(run, settings=settings, variables=VARIABLES)
