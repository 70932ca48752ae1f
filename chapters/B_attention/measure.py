"""Attention and the Vector Network side by side on the same images (VN App. B).

Attention reads an image as patches and restores the hidden ones; one layer of atoms codes the image
as a whole, another each patch by itself. `adaptive` and `atom_competition` hold the measures.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from chapters.B_attention import adaptive, atom_competition
from chapters.B_attention.adaptive import BATCHES, Found, idle_moved, scalars
from chapters.B_attention.baselines import PatchPredictor
from vnlib import seeding
from vnlib.layer import operator
from vnlib.learning.rules import atomic_hebb
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

ITERATIONS = 60
SHOWN = 32  # images whose energies are followed


def to_patches(x: Float[Tensor, "batch pixels"], side: int) -> Float[Tensor, "batch tokens d"]:
    """Square images as rows of square patches of side x side pixels, in reading order."""
    width = round(x.shape[1] ** 0.5)
    if width * width != x.shape[1] or width % side:
        raise ValueError(
            f"side must divide the width of square images, got {side} for {x.shape[1]} pixels"
        )
    n, g = len(x), width // side
    return x.reshape(n, g, side, g, side).transpose(2, 3).reshape(n, g * g, side * side)


def from_patches(
    tokens: Float[Tensor, "batch tokens d"], side: int
) -> Float[Tensor, "batch pixels"]:
    """The images of `to_patches`."""
    n, g = len(tokens), round(tokens.shape[1] ** 0.5)
    return tokens.reshape(n, g, g, side, side).transpose(2, 3).reshape(n, -1)


def checkerboard(tokens: int) -> Bool[Tensor, " tokens"]:
    """Every second patch of a square grid: the ones that are hidden when models are measured."""
    index, width = torch.arange(tokens), round(tokens**0.5)
    return (index // width + index % width) % 2 == 1


@torch.no_grad()
def descent(
    network: VectorNetwork,
    x: Float[Tensor, "samples pixels"],
    model: PatchPredictor,
    tokens: Float[Tensor, "batch tokens d"],
    hidden: Bool[Tensor, " tokens"],
) -> Found:
    """Share of an energy's fall that is still to come after each iteration, medians.

    settle_left: sweeps of momentum from a = 0. hopfield_left: queries of the hidden rows, each
    replaced again and again by the mean of the keys under its own softmax weights; iteration 1 is
    one attention step.
    """
    trace = network.settle(x, config=SettleConfig.training(max_sweeps=ITERATIONS), trace=True).trace
    energy = torch.stack([0.5 * x.square().sum(1), *trace.energy])
    lowest = network.settle(x, config=SettleConfig.exact(tol=0)).energy
    q, keys, _ = model.attention.project(model.embed(tokens, hidden[None]))
    beta, keys = model.attention.d_head**-0.5, keys[:, :, None].double()
    state, fall = q[:, :, hidden].double(), []
    for _ in range(20 * ITERATIONS):
        fall.append(adaptive.hopfield_energy(state, keys, beta).flatten())
        state = ((beta * keys @ state[..., None]).mT.softmax(-1) @ keys)[..., 0, :]
    left = {"settle_left": (energy, lowest), "hopfield_left": (torch.stack(fall), fall[-1])}
    left = {name: ((e - end) / (e[0] - end))[: ITERATIONS + 1] for name, (e, end) in left.items()}
    return {
        name: (("iteration",), part.nanmedian(1).values.cpu().numpy())
        for name, part in left.items()
    }


def portrait(
    network: VectorNetwork,
    x: Float[Tensor, " pixels"],
    model: PatchPredictor,
    hidden: Bool[Tensor, " tokens"],
    side: int,
) -> Found:
    """One image in both models: its code and weights, their spectra, and what it tells atoms and
    tokens to change.

    shown_spectrum (matrix, index): singular values over the largest one, of the scores and the
    weights of the first head and of the operator. shown_received, shown_part: as in
    `adaptive.gated_tokens`.
    """
    tokens, width = to_patches(x[None], side), round(x.shape[0] ** 0.5)
    code = atom_competition.settled_code(network, x[None])
    seen = code @ network.V[0].T
    with torch.no_grad():
        exact = copy.deepcopy(model).double()
        q, k, _ = exact.attention.project(exact.embed(tokens.double(), hidden[None]))
        scores = exact.attention.scores(q, k)[0]
        weights = exact.attention.normalise(scores)
        restored = torch.where(hidden[:, None], model(tokens, hidden[None])[0], tokens[0])
    matrices = (scores[0], weights[0], operator(network.layers[0], code)[0].double())
    spectra = torch.full((len(matrices), network.V[0].shape[1]), torch.nan)
    for row, matrix in zip(spectra, matrices, strict=True):
        singular = torch.linalg.svdvals(matrix)[: len(row)]
        row[: len(singular)] = singular / singular[0]
    covered = torch.where(hidden[:, None], torch.nan, tokens[0])
    pixels = torch.cat([x[None], from_patches(torch.stack([covered, restored]), side), seen])
    received, part = adaptive.gated_tokens(model, tokens, hidden)
    arrays = {
        "shown": (("image", "y", "x"), pixels.unflatten(1, (width, width))),
        "shown_code": (("atom",), code[0]),
        "shown_update": (("atom",), atomic_hebb(x[None] - seen, code).norm(dim=0)),
        "shown_weights": (("head", "query", "key"), weights),
        "shown_received": (("head_token",), received[0]),
        "shown_part": (("head_token",), part[0]),
        "shown_spectrum": (("matrix", "index"), spectra),
    }
    return {name: (dims, value.detach().cpu().numpy()) for name, (dims, value) in arrays.items()}


@torch.no_grad()
def restored_error(
    network: VectorNetwork,
    x: Float[Tensor, "batch pixels"],
    hidden: Bool[Tensor, " tokens"],
    side: int,
) -> float:
    """Mean squared error of hidden patches that a network restores, settled on the visible pixels
    only.
    """
    seen = from_patches((~hidden).to(x)[None, :, None].expand_as(to_patches(x, side)), side)
    settled = network.settle(x * seen, mask=seen)
    return float((network.reconstruct(settled) - x)[seen == 0].square().mean())


def compare(
    image_network: VectorNetwork,
    patch_network: VectorNetwork,
    predictors: Mapping[str, PatchPredictor],
    x: Float[Tensor, "batch pixels"],
    *,
    side: int,
    n_ranks: int,
    n_maps: int,
    n_similar: int,
    n_half_sums: int,
    seed: int,
) -> xr.Dataset:
    """All measures on test images x, along `model`; what a model has not is NaN.

    Models: vn_image; vn_patches; feed_forward, the control with the atoms of vn_image and no
    inference; the predictors, of which the first is shown and takes part in `descent`. n_ranks
    images are looked at one by one, n_maps of them for the map on all states; to n_similar atoms a
    similar one is added, to n_half_sums images the sum of half of their atoms.
    """
    tokens, main = to_patches(x, side), next(iter(predictors.values()))
    hidden, settled = checkerboard(tokens.shape[1]).to(x.device), atom_competition.settled_code
    common = {"n_ranks": n_ranks, "order": image_network.config.atoms[0], "seed": seed}
    code = settled(image_network, x)
    threshold = atom_competition.matched_threshold(image_network, x, code)
    one_pass = partial(atom_competition.feed_forward, threshold=threshold)
    scaled = adaptive.at_best_gain(image_network, one_pass(image_network, x), x)
    patches = tokens.flatten(0, 1)

    def atoms(code: Tensor, infer: atom_competition.Infer) -> Found:
        rng = seeding.generator(seed, "rivalry")
        found = adaptive.network_report(image_network, x, code, rows=1, **common)
        found |= atom_competition.similar_atom(
            image_network, x[:64], infer, n_items=n_similar, generator=rng
        )
        return found | atom_competition.half_sum_atom(
            image_network, x[:n_half_sums], infer, generator=rng
        )

    def mixing(model: PatchPredictor) -> Found:
        rng = seeding.generator(seed, "rivalry")
        z, rows = model.embed(tokens, hidden[None]).detach(), hidden.nonzero()[:, 0]
        found = atom_competition.similar_key(model.attention, z, rows, generator=rng)
        return found | atom_competition.half_sum_key(model.attention, z, rows, generator=rng)

    reports = {
        "vn_image": atoms(code, settled)
        | scalars(
            restored=restored_error(image_network, x, hidden, side),
            idle_moved=idle_moved(image_network, x[:1]),
        ),
        "vn_patches": adaptive.network_report(
            patch_network, patches, settled(patch_network, patches), rows=tokens.shape[1], **common
        ),
        "feed_forward": atoms(scaled, one_pass),
    }
    for name, model in predictors.items():
        reports[name] = adaptive.attention_report(
            model, tokens, hidden, n_maps=n_maps, **common
        ) | mixing(model)
    dataset = _along_models(reports)
    dataset = dataset.assign(descent(image_network, x[:SHOWN], main, tokens[:SHOWN], hidden))
    dataset = dataset.assign(portrait(image_network, x[0], main, hidden, side))
    coordinates = {"batch": list(BATCHES), "similarity": list(atom_competition.SIMILARITIES)}
    coordinates |= {
        "iteration": np.arange(ITERATIONS + 1),
        "matrix": ["scores", "weights", "operator"],
    }
    return dataset.assign_coords(
        coordinates | {"image": ["input", "visible", "restored", "reconstructed"]}
    )


def _along_models(reports: Mapping[str, Found]) -> xr.Dataset:
    """One dataset with a dimension `model`; NaN where a report lacks a variable."""
    like = {name: found for report in reports.values() for name, found in report.items()}
    stacked = {}
    for name, (dims, values) in like.items():
        rows = [
            r[name][1] if name in r else np.full(values.shape, np.nan) for r in reports.values()
        ]
        stacked[name] = (("model", *dims), np.stack(rows).astype(float))
    return xr.Dataset(stacked, {"model": list(reports)})
