"""Appendix D: one seed trains networks of one, two and three layers and measures their learning."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr
from torch import Tensor

from benchmarks.images.samples import mnist_rows
from chapters.D_learning import interface, measure
from chapters.D_learning.interference import interference
from vnlib.book.chapter import Chapter
from vnlib.learning.learner import LocalLearner
from vnlib.network import VNConfig
from vnlib.settle import SettleConfig

QUANTILES = (0.05, 0.5, 0.95)
VARIABLES = {
    "data_source": ("where the images come from", ""),
    "quantile": ("quantile over active atoms", "1"),
    "shared_residual": ("cosine of an atom's update with the one it would make alone", "1"),
    # Locality.
    "optimiser": ("how a step is taken", ""),
    "batch_size": ("samples per update", "1"),
    "local_idle": ("share of atoms that no sample of a batch uses", "1"),
    "local_idle_direction": ("largest entry of the update of idle atoms", "ink^2"),
    "local_idle_change": ("mean change of an idle atom", "1"),
    "local_active_change": ("mean change of an active atom", "1"),
    "local_idle_moved": ("share of idle atoms that changed", "1"),
    # Interference.
    "stepped": ("model that takes a step", ""),
    "meet_pair_overlap": ("Jaccard overlap of the supports of two samples", "1"),
    "meet_pair_cosine": ("cosine of the updates of two samples", "1"),
    "meet_residual_cosine": ("absolute cosine of two residuals, median over pairs", "1"),
    "meet_code_cosine": ("absolute cosine of two codes, median over pairs", "1"),
    "meet_active_share": ("share of active atoms", "1"),
    "meet_mse": ("mean squared error per pixel", "ink^2"),
    "meet_same_label": ("whether two samples show the same digit", "1"),
    "passed_on": ("relative fall of another's loss per relative fall of the own", "1"),
    "passed_overlap": ("Jaccard overlap of the supports of these two", "1"),
    # Upkeep.
    "upkeep_sparsity": ("l1 weight", "ink"),
    "start": ("what the atoms start as", ""),
    "variant": ("option of the learner", ""),
    "upkeep_mse": ("mean squared error per pixel on test digits", "ink^2"),
    "upkeep_active": ("active atoms per digit", "1"),
    "upkeep_dead": ("share of atoms that no test digit uses", "1"),
    "upkeep_idle": ("share of atoms idle in an update, mean over training", "1"),
    "upkeep_revived": ("atoms re-drawn in training", "1"),
    "upkeep_coherence": ("largest absolute cosine of two atoms", "1"),
    "upkeep_overlap": ("root mean square cosine of two atoms", "1"),
    "upkeep_dc": ("largest absolute mean of an atom", "1"),
    # The interface.
    "rule": ("rule by which U learns", ""),
    "stage": ("updates so far", "1"),
    "mse_zero": ("mean squared error per pixel of the zero image", "ink^2"),
    "interface_mse": ("mean squared error per pixel, read from V a", "ink^2"),
    "interface_mse_from_top": ("mean squared error per pixel, from the top code down", "ink^2"),
    "interface_energy": ("settled energy F per digit", "ink^2"),
    "interface_readback": ("C, what of the code cannot be read back, per digit", "ink^2"),
    "interface_rank": ("effective rank of U", "1"),
    "interface_captured": ("share of the code's power in the row space of U", "1"),
    "interface_explained_above": ("share of the message that layer 2 explains", "1"),
    "interface_message": ("root mean square length of the message", "ink"),
    "interface_active": ("active atoms of layer 1 per digit", "1"),
    "interface_active_above": ("active atoms of layer 2 per digit", "1"),
    "interface_agreement": ("cosine of the literal and the subspace update of U", "1"),
    "moved": ("dictionary that learns, the others rest", ""),
    "objective": ("objective that is watched", ""),
    "objective_change": ("relative change of the objective", "1"),
    # Units of sparsity.
    "sparsity_in": ("units of the sparsity weight", ""),
    "contrast": ("factor of the images", "1"),
    "layer": ("layer, the lowest first", "1"),
    "units_active": ("active atoms per digit", "1"),
    "units_scale": ("root mean square norm of a layer's input over the contrast", "ink"),
}


def run(
    axes: Mapping[str, Any],
    settings: Mapping[str, Any],
    workdir: Path,
    *,
    device: torch.device | str,
    allow_fallback: bool,
) -> xr.Dataset:
    """All measurements of one seed.

    Parameters
    ----------
    axes
        seed.
    settings
        Those of `settings`.
    workdir
        Not used: training is short and keeps no checkpoint.
    allow_fallback
        Whether the small digits of scikit-learn will do where MNIST is not at hand.
    """
    s, seed = settings, axes["seed"]
    (train, _, source), (test, labels, _) = (
        mnist_rows(part, s[f"n_{part}"], seed=s["data_seed"], allow_fallback=allow_fallback)
        for part in ("train", "test")
    )
    train, test = train.to(device), test.to(device)
    settle = SettleConfig.training(max_sweeps=s["train_sweeps"])
    parts = (
        one_layer(s, train, test, settle, seed),
        meeting(s, train, test, labels, settle, seed),
        more_layers(s, train, test[:200], settle, seed),
    )
    found = xr.merge(parts, join="exact", combine_attrs="drop")
    return found.assign(data_source=source)


def one_layer(
    s: Mapping[str, Any], train: Tensor, test: Tensor, settle: SettleConfig, seed: int
) -> xr.Dataset:
    """How local an update is, what the residual is shared for, and what upkeep is worth."""
    config = VNConfig(n_inputs=784, atoms=(s["n_atoms"],), sparsity=(s["main_sparsity"],))
    network = measure.start(config, train, seed=seed)
    learner = LocalLearner(network, lr=s["lr"], settle=settle)
    measure.practise(learner, train, steps=s["steps"], batch_size=s["batch_size"], seed=seed)
    local = measure.locality(network, train, settle=settle, seed=seed, **s["local"])
    shared = measure.shared_residual(network, test).double().cpu()
    quantiles = shared.quantile(torch.tensor(QUANTILES).double())
    kept = measure.upkeep(
        config,
        train,
        test,
        {name: {"lr": s["lr"]} | options for name, options in s["variants"].items()},
        sparsities=s["upkeep_sparsities"],
        settle=settle,
        seed=seed,
        **s["upkeep"],
    )
    return local.merge(kept).assign(shared_residual=("quantile", quantiles.numpy()))


def meeting(
    s: Mapping[str, Any],
    train: Tensor,
    test: Tensor,
    labels: np.ndarray,
    settle: SettleConfig,
    seed: int,
) -> xr.Dataset:
    """How the updates of two samples meet, in networks and in dense autoencoders."""
    n = s["meeting"]["samples"]
    alike = {"atoms": s["n_atoms"], "batch_size": s["batch_size"]}
    return interference(
        train,
        test[:n],
        labels[:n],
        sparsities=s["sparsities"],
        main=s["main_sparsity"],
        sources=s["meeting"]["sources"],
        fall=s["fall"],
        sparse=alike | {"steps": s["steps"], "lr": s["lr"], "settle": settle},
        dense=alike | {"steps": s["meeting"]["dense_steps"], "lr": s["dense_lr"]},
        seed=seed,
    )


def more_layers(
    s: Mapping[str, Any], train: Tensor, test: Tensor, settle: SettleConfig, seed: int
) -> xr.Dataset:
    """How the interface learns, what its rules lower, and in what units sparsity is."""
    K, m, beta = s["n_atoms"], s["interface"], s["feedback"]
    common = {
        "lr": s["lr"],
        "interface_lr": s["interface_lr"],
        "batch_size": s["batch_size"],
        "settle": settle,
        "seed": seed,
    }
    two = VNConfig(
        n_inputs=784,
        atoms=(K, K // 2),
        interface=(m,),
        feedback=beta,
        sparsity=tuple(s["two_layer_sparsity"]),
        top_k=min(s["top_k"], K // 2),
    )
    three = VNConfig(
        n_inputs=784,
        atoms=(K, 3 * K // 4, K // 2),
        interface=(m, 3 * m // 4),
        sparsity=(1.0, 1.0, 1.0),
        feedback=beta,
    )
    return xr.merge(
        [
            interface.interfaces(two, train, test, stages=s["stages"], **common),
            interface.two_objectives(two, train, **s["objectives"], **common),
            interface.units_of_sparsity(
                three,
                train,
                test,
                sparsity={kind: s[kind] for kind in ("absolute", "relative")},
                contrasts=s["contrasts"],
                steps=s["units_steps"],
                **common,
            ),
        ],
        join="exact",
    )


def settings(chapter: Chapter) -> dict[str, Any]:
    """The settings of every run; a message is at most half as wide as its code."""
    s = {key: value for key, value in chapter.settings.items() if key != "seeds"}
    return s | {"interface": min(s["interface"], s["n_atoms"] // 2)}


def results(chapter: Chapter) -> xr.Dataset:
    """All seeds of the chapter; computed where they are not stored."""
    one = partial(run, device=chapter.device, allow_fallback=chapter.profile != "paper")
    return chapter.grid(
        one, {"seed": chapter.seeds}, lambda _: settings(chapter), variables=VARIABLES
    )
