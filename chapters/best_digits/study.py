"""One library of atoms, or one rival, and what it draws of composed digits with k coefficients."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from benchmarks.confirm.frozen import frozen
from benchmarks.images.autoencoders import draw_of, search_rate, searched
from benchmarks.images.controls import cosines, principal_axes
from benchmarks.images.networks import ImageAutoencoder, largest
from benchmarks.images.pictures import Images
from benchmarks.images.samples import composed_digits, training_digits
from chapters.best_digits import coding, libraries
from chapters.best_digits.libraries import Library
from data_gen import digits
from vnlib.book.chapter import Axes, Chapter, Settings

INK2 = "ink^2"
WAYS = ("own", "searched", *coding.INFERENCES)
CHOOSERS = 100  # validation images that choose the rate of a search
VARIABLES = {
    "set": ("set of test images", ""),
    "way": ("how k coefficients are found, and what is drawn from them", ""),
    "k": ("coefficients of an image", "1"),
    "mse": ("mean squared error of the drawings", INK2),
    "validation": ("mean squared error on validation images, 24 coefficients", INK2),
    "mse_few": ("mean squared error of the drawings of the first few images", INK2),
    "zero_baseline": ("mean squared error of the zero image: the power of the images", INK2),
    "image_time": ("processor time of an image", "s"),
    "learning_time": ("processor time of learning", "s"),
    "theta": ("hard threshold of the layer below", "ink"),
    "atoms": ("atoms that an index chooses from", "1"),
    "truth": ("first image of the set", "ink"),
    "drawn": ("drawing of the first image of the set", "ink"),
    "picture_set": ("set of test images", ""),
    "fallback": ("whether scikit-learn's digits stand in for MNIST", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All models, each over its own seeds; NaN where a model has fewer, or draws in other ways."""
    for name, model in chapter.models.items():
        seeds = chapter.first_seeds(model["seeds"])
        if seeds:
            axes = {"model": [name], "seed": seeds}
            chapter.grid(run, axes, settings, variables=VARIABLES)
    found = chapter.held()
    return found.sel(set=list(digits.SETS), way=[way for way in WAYS if way in found["way"].values])


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """What a run depends on besides its axes, and the hash of what was fixed before."""
    s, model = chapter.settings, chapter.models[axes["model"]]
    most, least = s.get("most", math.inf), 2
    learning = {
        key: model.get(key, s.get(key))
        for key in ("family", "atoms", "lr", "sparsity", "batch", "swaps", "forgetting")
    }
    if "atoms" in s:  # of a small profile
        learning["atoms"] = s["atoms"]
    if model["family"] in ("ksparse", "scikit_learn"):
        learning["batch"] = {"ksparse": 256, "scikit_learn": 64}[model["family"]]
    learning["learned"] = {
        k: max(least, round(s["share"] * count)) if count else 0
        for k, count in model["learned"].items()
        if int(k) <= most
    }
    plan = {way: [k for k in ks if k <= most] for way, ks in model["plan"].items()}
    names = ("n_train", "n_val", "n_test", "few", "test_seed", "rounds", "thetas", "n_choose")
    return {
        "frozen": frozen(chapter.spec.sidecar),
        "data": {name: s[name] for name in (*names, "search_steps", "picture_k", "picture_sets")},
        "learning": learning,
        "plan": {way: ks for way, ks in plan.items() if ks},
        "pictures": axes["seed"] == 0,
    }


@dataclass(frozen=True)
class Subject:
    """What draws images: libraries by the number of coefficients that they were learned for, and
    what a rival does on its own.
    """

    libraries: Mapping[int, Library]
    own: Callable[[str, Images, int], Images] | None = None

    def nearest(self, k: int) -> Library:
        """The library of the nearest number of coefficients, by ratio."""
        return self.libraries[min(self.libraries, key=lambda one: abs(math.log(one / k)))]


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A model learned, with an order and a start of its own, and measured on test sets of its own."""
    s, seed, real = settings["data"], axes["seed"], chapter.profile == "paper"
    train, held, fallback = training_digits(s["n_train"], s["n_val"], real=real)
    began = time.process_time()
    subject = learned(settings["learning"], train, held, s["search_steps"], seed, workdir)
    took = time.process_time() - began
    sets = composed_digits(digits.SETS, s["n_test"], seed=s["test_seed"] + seed, real=real)
    found = measured(subject, settings, held, sets)
    return found.assign(learning_time=took, fallback=fallback)


def learned(
    how: Mapping[str, Any],
    train: Images,
    held: Images,
    search_steps: int,
    seed: int,
    workdir: Path,
) -> Subject:
    """A subject of one family, learned for all its numbers of coefficients."""
    family, zero = how["family"], train.new_zeros(train.shape[1])
    if family in ("pca", "pca_largest", "dct"):
        return Subject({}, partial(projected, family, *axes_of(family, train)))
    if family == "all_exemplars":
        return Subject({24: Library(libraries.unit_columns(train.T.contiguous()), zero)})
    if family == "ksparse":
        models = {
            int(k): libraries.ksparse(
                train,
                held,
                latent=how["atoms"],
                k=int(k),
                steps=steps,
                evaluations=8,
                seed=seed,
                workdir=workdir,
                lr=how["lr"],
                batch_size=how["batch"],
            )
            for k, steps in how["learned"].items()
        }
        own = partial(autoencoded, models, held[:CHOOSERS], search_steps)
        return Subject({k: libraries.decoder(model) for k, model in models.items()}, own)
    V, found = libraries.exemplars(train, how["atoms"], seed), {}
    for k, count in how["learned"].items():
        more = {"k": int(k), "batches": count, "swaps": how["swaps"], "seed": seed}
        more["batch_size"] = how["batch"]
        if family == "statistics":
            V = libraries.by_statistics(train, V, forgetting=how["forgetting"], **more)
        elif family == "hebb":
            V = libraries.by_hebb(train, V, lr=how["lr"], **more)
        elif family == "scikit_learn":
            sizes = {"steps": count, "batch_size": how["batch"], "seed": seed}
            V = libraries.by_scikit_learn(train, V, sparsity=how["sparsity"], **sizes)
        found[int(k)] = Library(V, zero)
    return Subject(found)


def axes_of(family: str, train: Images) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean and the orthonormal axes of PCA, or zero and the cosines."""
    if family == "dct":
        return train.new_zeros(train.shape[1]), cosines(train.shape[1]).to(train)
    return principal_axes(train)


def projected(
    family: str, mean: torch.Tensor, axes: torch.Tensor, way: str, x: Images, k: int
) -> Images:
    """Images drawn with the first k axes, or with the k of largest coefficients."""
    if family == "pca":
        axes = axes[:, :k]
        return mean + (x - mean) @ axes @ axes.T
    return mean + largest((x - mean) @ axes, k) @ axes.T


def autoencoded(
    models: Mapping[int, ImageAutoencoder],
    choosers: Images,
    steps: int,
    way: str,
    x: Images,
    k: int,
) -> Images:
    """Images drawn by the autoencoder of k units, by its own code or by one that is searched."""
    if way == "own":
        return draw_of(models[k])(x)
    rate = search_rate(models[k], choosers, steps)
    return searched(models[k], x, steps=steps, lr=rate)


def measured(
    subject: Subject, settings: Settings, held: Images, sets: Mapping[str, Images]
) -> xr.Dataset:
    """Errors, times and drawings of all that a model is planned to draw."""
    s, plan = settings["data"], settings["plan"]
    ways, ks = list(plan), sorted({k for each in plan.values() for k in each})
    x, n = torch.cat(list(sets.values())), s["n_test"]
    shape = (len(ways), len(ks))
    mse, few = (np.full((*shape, len(sets)), np.nan) for _ in range(2))
    took, theta, atoms = (np.full(shape, np.nan) for _ in range(3))
    drawings = np.full((len(ways), len(s["picture_sets"]), *_size(x)), np.nan, np.float32)
    names, checked = list(sets), np.full(len(ways), np.nan)
    for i, way in enumerate(ways):
        for k in plan[way]:
            at = (i, ks.index(k))
            draw, theta[at], atoms[at] = drawer(subject, way, k, held, s)
            some = x.view(len(sets), n, -1)
            if len(subject.libraries) and _many(subject, k):
                some = some[:, : s["few"]]
            began = time.process_time()
            drawn = draw(some.flatten(0, 1)).view_as(some)
            took[at] = (time.process_time() - began) / (some.shape[0] * some.shape[1])
            errors = (drawn.double() - some.double()).square().mean(2)
            few[at] = errors[:, : s["few"]].mean(1)
            if some.shape[1] == n:
                mse[at] = errors.mean(1)
            if k == s["picture_k"] and way in ("own", "swaps"):
                some = held[:CHOOSERS]
                checked[i] = float((draw(some) - some).square().mean())
            if k == s["picture_k"] and settings["pictures"]:
                drawings[i] = [
                    drawn[names.index(name), 0].view(*_size(x)) for name in s["picture_sets"]
                ]
    truth = [sets[name][0].view(*_size(x)).numpy() for name in s["picture_sets"]]
    return xr.Dataset(
        {
            "mse": (("way", "k", "set"), mse),
            "mse_few": (("way", "k", "set"), few),
            "zero_baseline": ("set", [float(y.double().square().mean()) for y in sets.values()]),
            "validation": ("way", checked),
            "image_time": (("way", "k"), took),
            "theta": (("way", "k"), theta),
            "atoms": (("way", "k"), atoms),
            "truth": (("picture_set", "y", "x"), np.array(truth)),
            "drawn": (("way", "picture_set", "y", "x"), drawings),
        },
        {"way": ways, "k": ks, "set": names, "picture_set": s["picture_sets"]},
    )


def drawer(
    subject: Subject, way: str, k: int, held: Images, s: Mapping[str, Any]
) -> tuple[Callable[[Images], Images], float, float]:
    """How images are drawn, the threshold if there is one, and the number of atoms."""
    if subject.own is not None and way in ("own", "searched"):
        return partial(subject.own, way, k=k), math.nan, math.nan
    library, rounds = subject.nearest(k), s["rounds"]
    if _many(subject, k):
        return lambda x: coding.from_all(library.V, x, k)[-1], math.nan, library.V.shape[1]
    how = {"inference": way, "k": k, "rounds": rounds}
    theta = math.nan
    if way.startswith("two_layer"):
        theta = coding.chosen_theta(library, held[: s["n_choose"]], s["thetas"], **how)
    draw = partial(coding.drawn, library, theta=theta, **how)
    return draw, theta, coding.extended(library.V, way).shape[1]


MANY = 10_000  # atoms that have no Gram matrix


def _many(subject: Subject, k: int) -> bool:
    return subject.nearest(k).V.shape[1] > MANY


def _size(x: Images) -> tuple[int, int]:
    side = math.isqrt(x.shape[1])
    return side, side
