"""The runs of App. G: a Vector Network is trained on whole signals and read in all ways.

Its recipe is another than that of Fig. 3's networks: fixed sparsity, other updates, and the best of
them on validation signals is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import xarray as xr

from benchmarks.functions.imputer import error_of
from benchmarks.functions.samples import BySet, by_set, dataset, observed
from chapters.G_functions import readings
from chapters.G_functions.rounds import SETS
from data_gen import signals
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

POWER = "ID power"  # the mean power of training signals, which the task makes 1
RMS = "r.m.s. of training signals"
VARIABLES = {
    "depth": ("layers of the network", "1"),
    "set": ("set of signals", ""),
    "mask": ("which samples are hidden", ""),
    "layer": ("layer", "1"),
    "reading": ("whether the first or the top code is read", ""),
    "solver": ("rounds of imputation, or the masked problem's minimum", ""),
    "rule": ("rule of thumb", ""),
    "round": ("rounds of imputation", "1"),
    "early": ("rounds of imputation", "1"),
    "factor": ("multiple of lambda in inference", "1"),
    "mse": ("mean squared error of whole signals", POWER),
    "active": ("atoms in use per signal", "1"),
    "explained": ("share of a layer's input that its code explains", "1"),
    "message": ("r.m.s. norm of a layer's input", "1"),
    "unused": ("atoms that no signal uses", "1"),
    "coherence": ("largest inner product of two atoms", "1"),
    "hidden": ("mean squared error on hidden samples", POWER),
    "zero_baseline": ("error of the zero baseline on whole signals", POWER),
    "hidden_rule": ("mean squared error on hidden samples of a rule of thumb", POWER),
    "curve_hidden": ("mean squared error on hidden samples after a round", POWER),
    "curve_rms": ("r.m.s. residual on observed samples after a round", RMS),
    "curve_largest": ("largest residual on observed samples after a round", RMS),
    "curve_step": ("r.m.s. change of the completed signal in a round", RMS),
    "curve_sweeps": ("sweeps to the end of a round", "1"),
    "curve_gap": ("masked objective above its minimum after a round, relative", "1"),
    "curve_gain": ("share of the masked objective that a round won", "1"),
    "limit_hidden": ("mean squared error on hidden samples at the minimum", POWER),
    "limit_rms": ("r.m.s. residual on observed samples at the minimum", RMS),
    "limit_largest": ("largest residual on observed samples at the minimum", RMS),
    "limit_sweeps": ("sweeps to the minimum", "1"),
    "limit_gap": ("masked objective above the lowest met, relative", "1"),
    "cold_hidden": ("error on hidden validation samples, codes from zero each round", POWER),
    "falling_hidden": ("error on hidden validation samples after falling lambdas", POWER),
    "sweep_mse": ("mean squared error of whole signals at a multiple of lambda", POWER),
    "sweep_hidden": ("error on hidden samples at a multiple of lambda", POWER),
    "sweep_active": ("atoms in use at a multiple of lambda", "1"),
    "unchanged": ("whether no weight changed in inference", "1"),
}
# How U learns; an isometry has messages as wide as the code, which need not be learned.
RULES = {"literal": "atomic_hebb", "isometry": "subspace"}


def trained(
    x: BySet,
    *,
    n_atoms: int,
    sparsity: Sequence[float],
    rule: str,
    interface: int,
    feedback: float,
    lr: float,
    interface_lr: float,
    steps: int,
    batch_size: int,
    sweeps: int,
    seed: int,
    checkpoint: Path | None = None,
) -> VectorNetwork:
    """A network whose atoms start as training signals and learn for `steps` updates (0: they stay
    what they are), each settled in `sweeps` sweeps; those with the least reconstruction error on
    "val" are kept.
    """
    depth, width = len(sparsity), n_atoms if rule == "isometry" else interface
    network = VectorNetwork.for_data(
        x["train"],
        atoms=(n_atoms,) * depth,
        interface=(width,) * (depth - 1),
        sparsity=tuple(sparsity),
        feedback=feedback,
        interface_rule=RULES.get(rule, rule),
        seed=seed,
    )
    if not steps:
        return network
    quick, epoch = SettleConfig.training(max_sweeps=sweeps), -(-len(x["train"]) // batch_size)
    rates = {"lr": lr, "interface_lr": interface_lr}
    learner = LocalLearner(network, **rates, settle=quick, revive_after=epoch)
    settle = partial(network.settle, config=SettleConfig.momentum(max_sweeps=60))
    error = partial(error_of, lambda signals: network.reconstruct(settle(signals)), x["val"])
    config = FitConfig(steps=steps, batch_size=batch_size, eval_every=max(1, steps // 5))
    fit(learner, (x["train"],), config, seed=seed, validate=error, checkpoint=checkpoint)
    return network


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train one network and read it, whole and masked."""
    sizes = dict(settings["data"])
    n = sizes.pop("n")
    x = by_set(dataset(**sizes), n, device=chapter.device)
    seen = observed(x, signals.MASKS, {name: seed for seed, name in enumerate(SETS)})
    checkpoint = workdir / "fit.safetensors"
    network = trained(x, seed=axes["seed"], checkpoint=checkpoint, **settings["training"])
    config = SettleConfig(criterion="energy", **settings["settle"])
    return readings.measured(x, seen, network, config=config, **settings["study"])


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run; only some networks are followed round by round, and at other
    lambdas.
    """
    s, model = chapter.settings, chapter.model(axes["model"])
    own = {name: model[name] for name in ("sparsity", "rule", "interface", "sweeps")}
    updates = {"n_atoms": s["n_atoms"], "steps": round(s["scale"] * model["steps"])}
    return {
        "data": {"n": s["n_signals"], **s["data"]},
        "training": s["training"] | updates | own,
        "study": {
            "rounds": s["rounds"],
            "curve": max(s["curve"], s["rounds"]) if model.get("curve") else 0,
            "curve_masks": s["curve_masks"],
            "continuation": s["continuation"],
            "factors": s["factors"] if model.get("sweep") else [],
        },
        "settle": s["settle"],
    }


def results(chapter: Chapter) -> xr.Dataset:
    """All runs of the chapter."""
    return chapter.grid(run, settings=settings, variables=VARIABLES)
