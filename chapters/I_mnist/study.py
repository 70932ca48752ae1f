"""One network trained on single digits, and which atoms its codes use, and when (VN App. I)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import xarray as xr

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.samples import training_digits
from benchmarks.images.vector_networks import train_network
from chapters.I_mnist.measure import measure
from data_gen import digits, mnist
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import Training

HELD = 1000  # of the training part, the last, which are never trained on
SINGLE = "vn_1"  # of which no claim speaks
ATLAS = "vn_3"  # the network whose atoms are drawn, of the first seed
INK2 = "ink^2"
DECIDING = (
    *("used", "effective", "atoms", "active_share", "flips", "nonzero", "locked", "locked_mean"),
    *("told", "told_shuffled", "told_shuffled_most"),
)
VARIABLES = {
    "set": ("set of test images", ""),
    "reading": ("way to draw an image", ""),
    "layer": ("layer, from 1", "1"),
    "atom": ("place of an atom, by use or by selectivity", "1"),
    "solver": ("way to settle", ""),
    "sweep": ("sweeps of the settle", "sweeps"),
    "threshold": ("overlap of supports that counts as locked", "1"),
    "quantile": ("quantile of images", "1"),
    "state": ("what counts as an atom's activity", ""),
    "band": ("use of the atoms shown", ""),
    "digit": ("digit", "1"),
    "used": ("share of atoms that any image uses", "1"),
    "effective": ("effective number of atoms", "1"),
    "active": ("active atoms per image", "1"),
    "active_share": ("share of atoms that are active, per image", "1"),
    "carrying": ("atoms that carry 90 % of the magnitudes of a code", "1"),
    "hoyer": ("Hoyer's sparsity", "1"),
    "atoms": ("atoms of a layer", "1"),
    "usage": ("share of images that use an atom", "1"),
    "mse": ("mean squared error of the drawings", INK2),
    "zero_baseline": ("mean squared error of the zero image: the power of the images", INK2),
    "converged": ("share of settles that came to rest", "1"),
    "overlap": ("overlap of the support with that at rest", "1"),
    "weighted_overlap": ("overlap of the magnitudes with those at rest", "1"),
    "nonzero": ("active atoms after a sweep", "1"),
    "flips": ("atoms that enter or leave the support with a sweep", "1"),
    "reversals": ("coefficients that change sign with a sweep", "1"),
    "energy": ("joint energy F", INK2),
    "summed_energy": ("sum of the layers' energies", INK2),
    "energy_rises": ("sweeps in which the joint energy rises, per image", "sweeps"),
    "summed_energy_rises": ("sweeps in which the sum of energies rises, per image", "sweeps"),
    "error": ("mean squared error of the drawings after a sweep", INK2),
    "locked": ("sweep from which on the support of an image stays locked", "sweeps"),
    "locked_mean": ("sweep from which on the mean overlap stays locked", "sweeps"),
    "error_locked": ("mean squared error of the drawings when all layers have locked", INK2),
    "error_end": ("mean squared error of the drawings at rest", INK2),
    "energy_end": ("joint energy F at rest", INK2),
    "summed_energy_end": ("sum of the layers' energies at rest", INK2),
    "gap_end": ("relative duality gap at rest", "1"),
    "end_certain": ("overlap of the supports half way to rest and at rest", "1"),
    "end_agreement": ("overlap of the supports at rest with those of line search", "1"),
    "told": ("share of what atoms do that the label tells", "1"),
    "told_shuffled": ("the same of shuffled labels, mean over shuffles", "1"),
    "told_shuffled_most": ("the same of shuffled labels, largest of all shuffles", "1"),
    "told_atom": ("share of what an atom does that the label tells, above chance", "1"),
    "criterion": ("mean squared error on validation images", INK2),
    "curve": ("mean squared error on validation images during training", INK2),
    "scale": ("r.m.s. norm of the input of a layer", "1"),
    "fallback": ("whether scikit-learn's digits stand in for MNIST", "1"),
    "fact_parameters": ("learned parameters", "1"),
    "fact_converged": ("share of settles of validation images that came to rest", "1"),
    "fact_used_*": ("atoms of layer {} that any validation image uses", "1"),
    "fact_active_*": ("active atoms of layer {} per validation image", "1"),
    "fact_explained_*": ("share of the power of the input of layer {} that is drawn", "1"),
    "fact_carried_*": ("share of the power of the code of layer {} that its message carries", "1"),
    "atlas_atom": ("number of the atom", "1"),
    "atlas_use": ("share of images that use the atom", "1"),
    "atlas_size": ("mean magnitude of the atom where it is used, with its sign", "1"),
    "atlas_profile": ("share of the images of a digit that use the atom", "1"),
    "atlas_drawing": ("what the atom draws, over its largest magnitude", "1"),
    "atlas_examples": ("images with the largest coefficients", "ink"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All networks over seeds, and what decides of those with twice the updates."""
    found = chapter.grid(run, settings=settings, variables=VARIABLES)
    models = [name for name in chapter.models if name != SINGLE]
    return with_longer(
        chapter, found, run, DECIDING, settings, twice, variables=VARIABLES, model=models
    )


def twice(settings: Settings) -> Settings:
    """The settings of a network with twice the updates, without an atlas."""
    training = settings["training"] | {"steps": 2 * settings["training"]["steps"]}
    return dict(settings) | {"training": training, "study": settings["study"] | {"atoms": 0}}


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The atlas is made of one network and seed only."""
    s, model = chapter.settings, chapter.models[axes["model"]]
    real = chapter.profile == "paper"
    with_atlas = axes == {"model": ATLAS, "seed": chapter.seeds[0]}
    return {
        "data": {"n_train": s["n_train"], "n_val": s["n_val"], "real": real},
        "test": {"n": s["n_test"], "seed": s["data_seed"], "real": real},
        "training": {name: s[name] for name in ("lr", "steps", "batch_size")},
        "network": model["options"] | s["sizes"][model["size"]] | {"feedback": s["feedback"]},
        "study": {name: s[name] for name in ("sweeps", "end", "watched", "shuffles")}
        | {"atoms": s["atlas_atoms"] if with_atlas else 0, "seed": s["data_seed"]},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A network trained and measured (see `measure`)."""
    data = settings["data"]
    train, held, fallback = training_digits(data["n_train"], HELD, real=data["real"])
    train, held = train.to(chapter.device), held[: data["n_val"]].to(chapter.device)
    training = Training(seed=axes["seed"], workdir=workdir, **settings["training"])
    network, curve = train_network(train, held, training, **settings["network"])
    tests = labelled_sets(**settings["test"])
    return measure(network, tests, held, curve=curve, **settings["study"]).assign(fallback=fallback)


@cache
def labelled_sets(n: int, seed: int, real: bool) -> xr.Dataset:
    """Test digits with their labels, and sums of two."""
    singles = mnist.load("test", allow_fallback=not real)
    n = min(n, singles.sizes["sample"])
    data = digits.make(singles["image"].values, n=n, seed=seed, sets=("id", "add2"))
    first = data["parts"].sel(set="id").isel(part=0).values
    return data.assign(label=("sample", singles["label"].values[first]))
