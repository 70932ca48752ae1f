"""What local learning does (VN App. D): how local an update is, and what the upkeep of a dictionary
is worth.

Samples are rows, (samples, d). All networks here have one layer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from vnlib import seeding
from vnlib.learning.learner import LocalLearner, directions
from vnlib.network import VectorNetwork, VNConfig

# The step on the atoms: what it is called, and how a learner is told.
OPTIMISERS = {
    "masked Adam": {},
    "Adam": {"masked": False},
    "SGD": {"optimizer": "sgd"},
}


def dataset(values: Mapping[str, tuple], coords: Mapping[str, Sequence]) -> xr.Dataset:
    """Arrays with their dimensions."""
    return xr.Dataset({name: (dims, np.asarray(v)) for name, (dims, v) in values.items()}, coords)


def start(config: VNConfig, x: Tensor, *, seed: int, from_samples: bool = True) -> VectorNetwork:
    """A network that starts from samples, or by chance."""
    network = VectorNetwork(config, seed=seed).to(x.device)
    if from_samples:
        network.start_from_samples(x, seed=seed)
    return network


def practise(
    learner: LocalLearner,
    x: Float[Tensor, "samples d"],
    *,
    steps: int,
    batch_size: int,
    seed: int,
    after: Callable[[int], None] = lambda step: None,
) -> LocalLearner:
    """Plain training: batches by chance, learning rate on a cosine down to 5 %.

    `after(step)` is called each time.
    """
    for step in range(steps):
        rng = seeding.generator(seed, "batch", step)
        rows = torch.randperm(len(x), generator=rng)[:batch_size].to(x.device)
        scale = 0.05 + 0.95 * 0.5 * (1 + np.cos(np.pi * step / steps))
        learner.step((x[rows],), scale=scale, generator=rng)
        after(step + 1)
    return learner


def trained(
    config: VNConfig,
    x: Float[Tensor, "samples d"],
    *,
    steps: int,
    batch_size: int,
    seed: int,
    **options: Any,
) -> VectorNetwork:
    """A network that starts from samples and has practised, with these options of the learner."""
    network = start(config, x, seed=seed)
    learner = LocalLearner(network, **options)
    practise(learner, x, steps=steps, batch_size=batch_size, seed=seed)
    return network


# --- how local an update is ---


def locality(
    network: VectorNetwork,
    x: Float[Tensor, "samples d"],
    *,
    batch_sizes: Sequence[int],
    updates: int,
    warm_up: int,
    lr: Mapping[str, float],
    seed: int,
) -> xr.Dataset:
    """Idle atoms, and how far they and the others move, for each optimiser and each size of the
    batch.

    Every cell starts from the same trained network, with `warm_up` updates on batches of the
    largest size, which give Adam a momentum. `idle_direction` is the largest entry of dV in an idle
    column, `idle_change` and `active_change` the mean length of a column's change, `idle_moved` the
    share of idle columns that changed at all.

    Parameters
    ----------
    lr
        Learning rate by optimizer.
    """
    sizes = (len(OPTIMISERS), len(batch_sizes), updates)
    found = {
        n: np.full(sizes, np.nan)
        for n in ("idle", "idle_direction", "idle_change", "active_change", "idle_moved")
    }
    for i, options in enumerate(OPTIMISERS.values()):
        rate = lr[options.get("optimizer", "adam")]
        for j, size in enumerate(batch_sizes):
            net = deepcopy(network)
            learner = LocalLearner(net, lr=rate, **options)
            practise(learner, x, steps=warm_up, batch_size=max(batch_sizes), seed=seed)
            for update in range(updates):
                rng = seeding.generator(seed, "locality", size, update)
                rows = torch.randperm(len(x), generator=rng)[:size].to(x.device)
                settled, before = net.settle(x[rows]), net.V[0].clone()
                idle = (settled.codes[0] == 0).all(0)
                learner.update(settled)
                change = (net.V[0] - before).norm(dim=0)
                found["idle"][i, j, update] = idle.float().mean()
                found["active_change"][i, j, update] = change[~idle].mean()
                if idle.any():
                    told = directions(net, settled)[0]["V"][:, idle]
                    found["idle_direction"][i, j, update] = told.abs().max()
                    found["idle_change"][i, j, update] = change[idle].mean()
                    found["idle_moved"][i, j, update] = (change[idle] > 0).float().mean()
    dims = ("optimiser", "batch_size", "update")
    return dataset(
        {f"local_{name}": (dims, value) for name, value in found.items()},
        {"optimiser": list(OPTIMISERS), "batch_size": list(batch_sizes)},
    )


@torch.no_grad()
def shared_residual(
    network: VectorNetwork, x: Float[Tensor, "samples d"]
) -> Float[Tensor, " active"]:
    """Cosine between an active atom's update (x - V a) a_k and the one that it would make alone,
    (x - v_k a_k) a_k.

    One entry per active atom of each sample (VN Eqs. 28, 29).
    """
    code, V = network.settle(x).codes[0], network.V[0]
    residual = x - code @ V.T
    drive = x @ V
    inner = (residual * x).sum(1, keepdim=True) - code * (residual @ V)
    alone = (
        (x.square().sum(1, keepdim=True) - 2 * code * drive + code.square()).clamp_min(1e-12).sqrt()
    )
    cosine = inner / (alone * residual.norm(dim=1, keepdim=True).clamp_min(1e-12))
    return cosine[code != 0]


# --- what the upkeep is worth ---


@torch.no_grad()
def upkeep(
    config: VNConfig,
    train: Float[Tensor, "samples d"],
    test: Float[Tensor, "digits d"],
    variants: Mapping[str, Mapping[str, Any]],
    *,
    sparsities: Sequence[float],
    steps: int,
    batch_size: int,
    seed: int,
) -> xr.Dataset:
    """One network per sparsity, start and variant, and what became of its dictionary.

    A variant holds options of `LocalLearner`; `centred: True` also takes its mean off every sample,
    in training and in the test. `dead`: share of atoms that no test sample uses. `idle`: share of
    atoms that an update finds idle, on average. `overlap`: root mean square cosine of two atoms;
    `coherence`: the largest. `dc`: the largest mean.
    """
    starts = {"samples": True, "chance": False}
    dims = ("upkeep_sparsity", "start", "variant")
    found: dict[str, np.ndarray] = {}
    for i, sparsity in enumerate(sparsities):
        for j, from_samples in enumerate(starts.values()):
            for k, options in enumerate(variants.values()):
                options = dict(options)
                seen = [
                    x - x.mean(1, keepdim=True) if options.get("centred") else x
                    for x in (train, test)
                ]
                options.pop("centred", None)
                network = start(
                    replace(config, sparsity=(sparsity,)),
                    seen[0],
                    seed=seed,
                    from_samples=from_samples,
                )
                values = _kept(network, *seen, options, steps, batch_size, seed)
                for name, value in values.items():
                    shape = (len(sparsities), len(starts), len(variants))
                    found.setdefault(f"upkeep_{name}", np.zeros(shape))[i, j, k] = value
    coords = {"upkeep_sparsity": list(sparsities), "start": list(starts), "variant": list(variants)}
    return dataset({name: (dims, values) for name, values in found.items()}, coords)


def _kept(
    network: VectorNetwork,
    train: Tensor,
    test: Tensor,
    options: Mapping[str, Any],
    steps: int,
    batch_size: int,
    seed: int,
) -> dict[str, float]:
    """Train one network, and describe its dictionary."""
    learner, idle = LocalLearner(network, **options), []
    K = network.V[0].shape[1]
    practise(
        learner,
        train,
        steps=steps,
        batch_size=batch_size,
        seed=seed,
        after=lambda step: idle.append(1 - int((learner.unused[0] == 0).sum()) / K),
    )
    settled, V = network.settle(test), network.V[0]
    support, gram = settled.codes[0] != 0, (V.T @ V).fill_diagonal_(0)
    return {
        "mse": float((network.reconstruct(settled) - test).square().mean()),
        "active": float(support.float().sum(1).mean()),
        "dead": float(1 - support.any(0).float().mean()),
        "idle": float(np.mean(idle)),
        "revived": int(learner.revived[0]),
        "coherence": float(gram.abs().max()),
        "overlap": float((gram.square().sum() / (K * (K - 1))).sqrt()),
        "dc": float(V.mean(0).abs().max()),
    }
