"""Appendix B: one small layer of each kind learns the same digits, and what adapts is compared."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.samples import mnist_rows
from chapters.B_attention.baselines import PatchPredictor
from chapters.B_attention.measure import checkerboard, compare, to_patches
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.evaluate import reconstruction_error
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

DECIDING = (
    *("zero_share", "gap", "effective_share", "rank", "rank_limit", "rank_excess", "bound"),
    *("gate_correlation", "idle_moved", "untouched", "kept_explained", "kept_rest"),
)
NOT_SHARED = ("seeds", "models", "twin_seeds")
# "Weights": the entries of an adaptive variable, coefficients of a code or rows of attention.
VARIABLES = {
    "batch": ("digits in a batch", "1"),
    "similarity": ("cosine of an added item and the one it is like", "1"),
    "iteration": ("sweep of the settle, or attention step", "1"),
    "image": ("what is shown of a digit", ""),
    "matrix": ("matrix whose singular values are shown", ""),
    "data_source": ("where the images come from", ""),
    "entries": ("entries of the adaptive variable, per row", "1"),
    "heads": ("attention heads", "1"),
    "zero_share": ("share of weights that are exactly zero", "1"),
    "effective_number": ("exponential of the entropy of a row of weights", "1"),
    "effective_share": ("effective number over the number of entries", "1"),
    "fixed_share": ("power of the mean of the weights over digits, over mean power", "1"),
    "profile": ("weights in falling order, as shares of their sum", "1"),
    "gap": ("distance to the minimum of the energy, relative", "1"),
    "error": ("mean squared error of the reconstruction, per pixel", "ink^2"),
    "restored": ("mean squared error of hidden pixels", "ink^2"),
    "rank": ("rank of the operator, or of the attention matrix", "1"),
    "rank_effective": ("effective number of singular values of the same", "1"),
    "rank_limit": ("largest possible rank of the same", "1"),
    "rank_excess": ("largest rank, of operator or scores, above its bound", "1"),
    "bound": ("bound of the rank: active atoms, or width of a head", "1"),
    "score_rank": ("largest rank of the scores of a head", "1"),
    "map_rank": ("rank of the linear map on all states", "1"),
    "map_limit": ("largest possible rank of that map", "1"),
    "gate_correlation": ("correlation of weight and length of its update", "1"),
    "update_share": ("effective share of the parameters that one digit moves", "1"),
    "untouched": ("share of atoms or parameters that a batch leaves as they are", "1"),
    "untouched_row": ("share of atoms that one row of input leaves as they are", "1"),
    "idle_moved": ("atoms not in use that a step of the learner moves", "1"),
    "added_share": ("share of an added similar item in the weight of the pair", "1"),
    "pair_total": ("weight of the pair over that of the item before", "1"),
    "duplicate_shift": ("change of the output by an exact copy, relative", "1"),
    "kept_explained": ("share of weight kept by the half whose sum is added", "1"),
    "kept_rest": ("share of weight kept by the other half", "1"),
    "settle_left": ("share of the fall of the energy still to come, settle", "1"),
    "hopfield_left": ("share of the fall of the Hopfield energy still to come", "1"),
    "shown": ("one digit: input, visible, restored, reconstructed", "ink"),
    "shown_code": ("code of that digit", "1"),
    "shown_update": ("length of each atom's update by that digit", "1"),
    "shown_weights": ("attention weights of that digit", "1"),
    "shown_received": ("weight that a token gets from the hidden rows", "1"),
    "shown_part": ("length of a token's part in the gradient of the value matrix", "1"),
    "shown_spectrum": ("singular values over the largest, of that digit", "1"),
}


def train_network(
    config: VNConfig, train: Tensor, validation: Tensor, s: Settings, *, seed: int, checkpoint: Path
) -> VectorNetwork:
    """A layer of atoms, started from samples and trained by Atomic-Hebb."""
    network = VectorNetwork(config, seed=seed).to(train.device)
    network.start_from_samples(train, seed=seed)
    steps, size = s["steps"], s["batch_size"]
    fit(
        LocalLearner(network, lr=s["lr"]),
        (train,),
        FitConfig(steps=steps, batch_size=size, lr_floor=0.05, eval_every=max(1, steps // 4)),
        seed=seed,
        checkpoint=checkpoint,
        validate=lambda: reconstruction_error(network, validation),
    )
    return network


def train_predictor(
    options: Settings,
    train: Tensor,
    validation: Tensor,
    s: Settings,
    *,
    seed: int,
    checkpoint: Path,
) -> PatchPredictor:
    """One attention layer, trained by back-propagation to restore hidden patches."""
    _, tokens, width = train.shape
    model = PatchPredictor(n_tokens=tokens, d_token=width, seed=seed, **options).to(train.device)
    hidden = checkerboard(tokens).to(train.device)[None]
    steps, size = s["steps"], s["batch_size"]
    fit(
        GradientLearner(model, lr=s["lr"], weight_decay=0),
        (train,),
        FitConfig(steps=steps, batch_size=size, eval_every=max(1, steps // 8)),
        seed=seed,
        checkpoint=checkpoint,
        validate=torch.no_grad()(lambda: float(model.error(validation, hidden))),
    )
    return model


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One seed: both dictionaries and all attention layers are trained and compared."""
    s, seed = settings, axes["seed"]
    load = partial(mnist_rows, seed=s["data_seed"], real=chapter.profile == "paper")
    pixels, _, source = load("train", s["n_train"] + s["n_val"])
    validation, train = pixels.to(chapter.device).tensor_split([s["n_val"]])
    tokens, held_out = (to_patches(x, s["side"]) for x in (train, validation))
    patches = tokens.flatten(0, 1)
    patches = patches[patches.norm(dim=1) > 0]  # blank ones teach nothing

    def kept(name: str) -> dict[str, Any]:
        return {"seed": seed, "checkpoint": workdir / f"{name}.safetensors"}

    def dictionary(name: str, x: Tensor, val: Tensor, atoms: int, sparsity: float) -> VectorNetwork:
        layer = {"atoms": (atoms,), "interface": (atoms,), "sparsity": (sparsity,)}
        config = VNConfig(n_inputs=x.shape[1], settle=SettleConfig(**s["settle"]), **layer)
        return train_network(config, x, val, s[name], **kept(name))

    shared = {"d_model": s["d_model"], "heads": s["n_heads"]}
    size, penalty = s["n_patch_atoms"], s["patch_sparsity"]
    found = compare(
        dictionary("network", train, validation, s["n_atoms"], s["sparsity"]),
        dictionary("patches", patches, held_out.flatten(0, 1), size, penalty),
        {
            name: train_predictor(shared | own, tokens, held_out, s["attention"], **kept(name))
            for name, own in s["predictors"].items()
        },
        load("test", s["n_test"])[0].to(chapter.device),
        side=s["side"],
        seed=seed,
        **s["measures"],
    )
    return found.assign(data_source=source)


def results(chapter: Chapter) -> xr.Dataset:
    """All seeds of the chapter, and what decides of those with twice the updates; computed where they
    are not stored.
    """
    own = {key: value for key, value in chapter.settings.items() if key not in NOT_SHARED}
    found = chapter.grid(run, settings=own, variables=VARIABLES)
    return with_longer(chapter, found, run, DECIDING, own, twice, variables=VARIABLES)


def twice(settings: Settings) -> Settings:
    """The settings of a run whose models make twice the updates."""
    longer = {name: settings[name] for name in ("network", "patches", "attention")}
    return dict(settings) | {
        name: own | {"steps": 2 * own["steps"]} for name, own in longer.items()
    }
