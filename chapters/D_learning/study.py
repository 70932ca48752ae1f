"""Appendix D: one seed trains networks of one, two and three layers and measures their learning."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import torch
import xarray as xr

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.samples import mnist_rows
from chapters.D_learning import interface, measure
from chapters.D_learning.interference import interference
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.network import VNConfig
from vnlib.settle import SettleConfig

DECIDING = (
    *("local_idle", "local_idle_direction", "local_idle_moved", "meet_pair_overlap"),
    *("meet_pair_cosine", "passed_on", "upkeep_mse", "upkeep_dead", "upkeep_coherence"),
    *("upkeep_active", "interface_energy", "interface_mse", "interface_mse_from_top"),
)
QUANTILES = torch.tensor([0.05, 0.5, 0.95]).double()
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


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """All measurements of one seed; training is short and keeps no checkpoint."""
    s, seed = settings, axes["seed"]
    (train, _, source), (test, labels, _) = (
        mnist_rows(part, s[f"n_{part}"], seed=s["data_seed"], real=chapter.profile == "paper")
        for part in ("train", "test")
    )
    train, test = train.to(chapter.device), test.to(chapter.device)
    settle, K, m = SettleConfig(**s["settle"]), s["n_atoms"], s["interface"]
    config = partial(VNConfig, n_inputs=784, settle=settle)
    one = config(atoms=(K,), sparsity=(s["main_sparsity"],))
    two = config(
        atoms=(K, K // 2),
        interface=(m,),
        feedback=s["feedback"],
        sparsity=tuple(s["two_layer_sparsity"]),
        top_k=min(s["top_k"], K // 2),
    )
    three = config(
        atoms=(K, 3 * K // 4, K // 2),
        interface=(m, 3 * m // 4),
        sparsity=(1.0, 1.0, 1.0),
        feedback=s["feedback"],
    )
    alike = {"batch_size": s["batch_size"], "lr": s["lr"], "seed": seed}
    layers = alike | {"interface_lr": s["interface_lr"]}
    network = measure.trained(one, train, steps=s["steps"], **alike)
    shared = measure.shared_residual(network, test).double().cpu().quantile(QUANTILES)
    variants = {name: {"lr": s["lr"]} | options for name, options in s["variants"].items()}
    upkeep, n = s["upkeep"] | {"sparsities": s["upkeep_sparsities"]}, s["meeting"]["samples"]
    parts = [
        measure.locality(network, train, **s["local"], seed=seed),
        measure.upkeep(one, train, test, variants, **upkeep, seed=seed),
        interference(
            *(train, test[:n], labels[:n]),
            sparsities=s["sparsities"],
            main=s["main_sparsity"],
            sources=s["meeting"]["sources"],
            fall=s["fall"],
            sparse={"steps": s["steps"], "lr": s["lr"], "settle": settle},
            dense={"steps": s["meeting"]["dense_steps"], "lr": s["dense_lr"]},
            atoms=K,
            batch_size=s["batch_size"],
            seed=seed,
        ),
        interface.interfaces(two, train, test[:200], stages=s["stages"], **layers),
    ]
    if "objectives" in s:
        parts += [
            interface.two_objectives(two, train, **s["objectives"], **layers),
            interface.units_of_sparsity(
                *(three, train, test[:200]),
                sparsity={kind: s[kind] for kind in ("absolute", "relative")},
                contrasts=s["contrasts"],
                steps=s["units_steps"],
                **layers,
            ),
        ]
    found = xr.merge(parts, join="exact", combine_attrs="drop")
    return found.assign(data_source=source, shared_residual=("quantile", shared.numpy()))


def run_longer(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """The same with twice the updates; its stages have the names of those half as long."""
    found = run(chapter, axes, settings, workdir)
    return found.assign_coords(stage=found["stage"] // 2)


def settings(chapter: Chapter) -> Settings:
    """The settings of every run; a message is at most half as wide as its code."""
    s = {k: v for k, v in chapter.settings.items() if k not in ("seeds", "twin_seeds")}
    return s | {"interface": min(s["interface"], s["n_atoms"] // 2)}


def twice(settings: Settings) -> Settings:
    """The settings of a run with twice the updates, without what no claim speaks of."""
    s, meeting, upkeep = dict(settings), settings["meeting"], settings["upkeep"]
    del s["objectives"], s["units_steps"]
    return s | {
        "steps": 2 * s["steps"],
        "stages": [2 * stage for stage in s["stages"]],
        "meeting": meeting | {"dense_steps": 2 * meeting["dense_steps"]},
        "upkeep": upkeep | {"steps": 2 * upkeep["steps"]},
    }


def results(chapter: Chapter) -> xr.Dataset:
    """All seeds of the chapter, and what decides of those with twice the updates; computed where they
    are not stored.
    """
    own = settings(chapter)
    found = chapter.grid(run, settings=own, variables=VARIABLES)
    return with_longer(chapter, found, run_longer, DECIDING, own, twice, variables=VARIABLES)
