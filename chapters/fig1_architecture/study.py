"""A Vector Network of two layers that learns digits, over seeds."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import xarray as xr

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.samples import mnist_rows
from chapters.fig1_architecture import measure
from vnlib import evaluate
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

VARIABLES = {
    "active": ("active atoms of layer 1, by digit", "1"),
    "active_share": ("share of layer 1's atoms that are active, by digit", "1"),
    "active_top": ("active atoms of the top layer, by digit", "1"),
    "active_mean": ("active atoms of layer 1, mean over digits", "1"),
    "atoms_used": ("share of layer 1's atoms that any digit uses", "1"),
    "coherence": ("largest |cosine| of two atoms of layer 1", "1"),
    "rank": ("rank of W(x), by digit", "1"),
    "rank_limit": ("largest rank that the shape of W(x) allows", "1"),
    "pair_overlap": ("support overlap of two digits (Jaccard)", "1"),
    "sum_overlap": ("overlap of the sum's support with the union of both (Jaccard)", "1"),
    "sum_active": ("active atoms of layer 1 for the sum of two digits", "1"),
    "sum_mse": ("mean squared error per pixel for the sum of two digits", "1"),
    "sum_of_codes_mse": ("mean squared error per pixel of the sum of two codes", "1"),
    "mse": ("mean squared error per pixel of V a", "1"),
    "mse_from_top": ("mean squared error per pixel from the top code down", "1"),
    "zero_baseline": ("mean squared error per pixel of a zero image", "1"),
    "pca_mse": ("mean squared error per pixel of PCA with as many components", "1"),
    "val_mse": ("mean squared error per pixel of V a on validation digits", "1"),
    "untrained_active": ("active atoms of layer 1 before training", "1"),
    "untrained_mse": ("mean squared error per pixel of V a before training", "1"),
    "explained": ("share of the power that the code keeps", "1"),
    "converged": ("share of digits settled to the tolerance", "1"),
    "sweeps": ("sweeps of the settle, median over digits", "1"),
    "atom": ("atom of layer 1 as an image, the most used first", "1"),
    "atom_use": ("share of digits that use an atom", "1"),
    "sweep": ("sweep of the settle", "1"),
    "layer": ("layer, counted from the input", "1"),
    "settle_energy": ("joint energy F after a sweep", "1"),
    "settle_active": ("active atoms after a sweep", "1"),
    "piece_code": ("coefficient of a piece of W(x), the largest first", "1"),
    "piece_v": ("input atom of a piece of W(x), as an image", "1"),
    "piece_u": ("interface atom of a piece of W(x)", "1"),
    "singular_value": ("singular value of W(x)", "1"),
    "which": ("which of the shown inputs", ""),
    "shown": ("shown input, brightness", "1"),
    "shown_seen": ("reconstruction of a shown input, brightness", "1"),
    "shown_code": ("code of layer 1 of a shown input", "1"),
    "data_source": ("where the digits are from", ""),
}


DECIDING = (
    *("active_share", "active", "rank", "pair_overlap", "mse", "explained"),
    *("untrained_active", "untrained_mse", "pca_mse"),
)


def results(chapter: Chapter) -> xr.Dataset:
    """All runs over seeds, and what decides of those with twice the updates."""
    own = settings(chapter)
    found = chapter.grid(run, settings=own, variables=VARIABLES)
    return with_longer(chapter, found, run, DECIDING, own, twice, variables=VARIABLES)


def twice(settings: Settings) -> Settings:
    """The settings of a run with twice the updates."""
    return dict(settings) | {"steps": 2 * settings["steps"]}


def settings(chapter: Chapter) -> Settings:
    """The settings of every run: the profile's, and the network with the chapter's parameters."""
    s, given = chapter.settings, {k: v for k, v in chapter.parameters.items() if v is not None}
    n_atoms, (first, *others) = given.get("n_atoms"), s["sparsity_by_layer"]
    atoms = [n_atoms, n_atoms // 2] if n_atoms else s["atoms"]
    network = {
        "n_inputs": 784,
        "atoms": atoms,
        "interface": [min(s["interface"], atoms[0])],
        "sparsity": [given.get("sparsity", first), *others],
        "feedback": given.get("feedback", s["feedback_weight"]),
        "top_k": min(s["top_k"], atoms[1]),
    }
    kept = {
        k: v
        for k, v in s.items()
        if k not in ("seeds", "twin_seeds", "atoms", "interface", "top_k")
    }
    return kept | {"network": network}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One trained network: its report on test digits, before and after, and its portrait."""
    s, seed, device = settings, axes["seed"], chapter.device
    load = partial(mnist_rows, seed=s["data_seed"], real=chapter.profile == "paper")
    pixels, _, source = load("train", s["n_train"] + s["n_val"])
    validation, train = pixels.to(device).tensor_split([s["n_val"]])
    test, labels, _ = load("test", s["n_test"])
    test = test.to(device)
    network = VectorNetwork(VNConfig(**s["network"], settle=SettleConfig.momentum()), seed=seed).to(
        device
    )
    network.start_from_samples(train, seed=seed)
    untrained = measure.network_report(network, test, n_ranks=1)
    config = FitConfig(
        **{name: s[name] for name in ("steps", "batch_size", "lr_floor")},
        eval_every=max(1, s["steps"] // 8),
        checkpoint_every=50,
    )
    history = fit(
        LocalLearner(
            network, lr=s["lr"], settle=SettleConfig.training(max_sweeps=s["train_sweeps"])
        ),
        (train,),
        config,
        seed=seed,
        validate=lambda: evaluate.reconstruction_error(network, validation),
        checkpoint=workdir / "fit.safetensors",
    )
    report = measure.network_report(network, test, n_ranks=s["n_ranks"])
    first = [test[np.flatnonzero(labels == digit)[0]] for digit in s["shown_digits"]]
    sizes = {name: s[f"shown_{name}"] for name in ("sweeps", "atoms", "pieces")}
    components = max(1, round(float(report["active_mean"])))
    return report.merge(measure.portrait(network, test, *first, **sizes)).assign(
        untrained_active=float(untrained["active_mean"]),
        untrained_mse=float(untrained["mse"]),
        pca_mse=measure.pca_error(train, test, components),
        val_mse=history.best_value,
        data_source=source,
    )
