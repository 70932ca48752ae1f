"""One model of single digits or single motions, and what it draws of all test sets (VN Fig. 5)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import xarray as xr

from benchmarks.images.models import train_images
from benchmarks.images.pictures import Images
from benchmarks.images.samples import training_digits
from chapters.fig5_mnist.measure import measure, pixels
from data_gen import digits, mnist, motions
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import compared, training

MAKERS = {"digits": digits, "motions": motions}
INK2 = "ink^2"
VARIABLES = {
    "set": ("set of test images", ""),
    "reading": ("way to draw an image", ""),
    "layer": ("layer, from 1", "1"),
    "evaluation": ("share of the evaluations made in training", "1"),
    "stage": ("stage of training", "1"),
    "benchmark": ("images that the model is trained on: digits or motions", ""),
    "criterion": ("mean squared error on validation images", INK2),
    "curve": ("mean squared error on validation images during training", INK2),
    "mse": ("mean squared error of the drawings", INK2),
    "zero_baseline": ("mean squared error of the zero image: the power of the images", INK2),
    "case": ("mean squared error of each drawing", INK2),
    "active": ("nonzero units per image", "1"),
    "path_error": ("mean squared error on validation images, by stage of training", INK2),
    "path_mse": ("mean squared error of the drawings, by stage of training", INK2),
    "truth": ("image of median power", "ink"),
    "drawn": ("drawing of the image of median power", "ink"),
    "fallback": ("whether scikit-learn's digits stand in for MNIST", "1"),
    "n_train": ("training images", "1"),
    "fact_parameters": ("learned parameters", "1"),
    "fact_steps": ("training steps of the stage that is kept", "1"),
    "fact_best": ("least mean squared error on validation images of all stages", INK2),
    "fact_matched": ("validation error of the stage that is kept over its target", "1"),
    "fact_used": ("units of the code that any validation image uses", "1"),
    "fact_search_rate": ("learning rate of the search of codes", "1"),
    "fact_sparsity": ("lambda over the r.m.s. norm of training images", "1"),
    "fact_converged": ("share of settles that came to rest", "1"),
    "fact_used_*": ("atoms of layer {} that any validation image uses", "1"),
    "fact_active_*": ("nonzero units of layer {} per validation image", "1"),
    "fact_explained_*": ("share of the power of the input of layer {} that is drawn", "1"),
    "fact_carried_*": ("share of the power of the code of layer {} that its message carries", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds, sets in the order of the book, and the candidates that were tried."""
    found, selection = compared(chapter, run, settings, VARIABLES)
    # Merged runs of different sets have them by the alphabet.
    names = [name for name in (*digits.SETS, *motions.SETS) if name in found["set"].values]
    return found.sel(set=names), selection


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """A selecting run sees no tests."""
    s, model = chapter.settings, chapter.model(axes["model"])
    how = training(chapter, axes["model"], candidate, selecting)
    if selecting:  # chosen by the least error, not by how near it is to another's
        how["options"].pop("target", None)
    data = {name: s[name] for name in ("n_train", "n_val", "motion_seed")}
    return {
        "data": data | {"benchmark": model["benchmark"]},
        "tests": {} if selecting else {name: s[name] for name in ("n_test", "test_seed")},
        "few": s["few"],
        "training": how,
        "details": not selecting and axes["seed"] == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A model trained and measured (see `measure`)."""
    device, real = chapter.device, chapter.profile == "paper"
    train, held, fallback = training_images(**settings["data"], real=real)
    train, held = train.to(device), held.to(device)
    model = train_images(train, held, seed=axes["seed"], workdir=workdir, **settings["training"])
    tests, more = None, {name: settings[name] for name in ("few", "details")}
    if settings["tests"]:
        tests = composed_sets(settings["data"]["benchmark"], **settings["tests"], real=real)
    found = measure(held, model, tests=tests, device=device, **more)
    return found.assign(fallback=fallback, n_train=len(train))


@cache
def training_images(
    benchmark: str, n_train: int, n_val: int, motion_seed: int, *, real: bool
) -> tuple[Images, Images, int]:
    """Images or motions to train on and to validate with, and whether scikit-learn's digits stand
    in for MNIST.
    """
    train, held, fallback = training_digits(n_train, n_val, real=real)
    if benchmark == "motions":
        train, held = (
            pixels(motions.train(part.view(-1, 28, 28).numpy(), seed=motion_seed + number))
            for number, part in enumerate((train, held))
        )
    return train, held, fallback


@cache
def composed_sets(benchmark: str, n_test: int, test_seed: int, *, real: bool) -> xr.Dataset:
    """All sets of a benchmark, composed of test images."""
    images = mnist.load("test", allow_fallback=not real)["image"].values
    return MAKERS[benchmark].make(images, n=n_test, seed=test_seed)[["image"]]


def examples(benchmark: str, samples: int) -> xr.Dataset:
    """A few samples of all sets, for the figures that explain them."""
    images = mnist.load("test", n=40, allow_fallback=True)["image"].values
    return MAKERS[benchmark].make(images, n=samples, seed=3)
