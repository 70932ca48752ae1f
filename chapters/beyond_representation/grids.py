"""Four benchmarks as grids of all combinations of two factors, with the data to learn from.

Value 0 of a factor is "none" where the combinations are sums: of signals, of digits, of forces.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.images.samples import training_digits
from benchmarks.nbody.bodies import LAWS, Bodies
from benchmarks.nbody.measure import samples
from data_gen import bumps, mnist, nbody, signals


class Grid(NamedTuple):
    """Data of one benchmark.

    Parameters
    ----------
    train, validation
        What a model learns from, and what it is chosen by.
    x
        The inputs of all combinations, row by row.
    shape
        Of the grid: contexts, values of the first factor, values of the second.
    seen
        The combinations that training has.
    truth
        What is to be drawn.
    """

    train: Any
    validation: Any
    x: Any
    shape: tuple[int, int, int]
    seen: Bool[Tensor, "first second"]
    truth: Float[Tensor, "cells ..."]


@cache
def spatial(grid: int, seed: int) -> Grid:
    """All positions of a bump, x as first factor; training has those outside a square."""
    data = bumps.make(bumps.BumpConfig(grid=grid, split_seed=seed))
    pairs = [
        tuple(
            torch.from_numpy(bumps.subset(data, split)[name].values) for name in ("code", "image")
        )
        for split in ("train", "val")
    ]
    x, truth = (
        torch.from_numpy(data[name].values).unflatten(0, (grid, grid)).transpose(0, 1).flatten(0, 1)
        for name in ("code", "image")
    )
    seen = torch.from_numpy(data["split"].values != "ood").unflatten(0, (grid, grid)).T
    return Grid(*pairs, x.contiguous(), (1, grid, grid), seen.contiguous(), truth.contiguous())


@cache
def functions(length: int, n_train: int, n_val: int, n_values: int, seed: int) -> Grid:
    """All sums of a sine or cubic and an exponential or bump; training has single signals."""
    config = signals.SignalConfig(length=length, n_train=n_train, n_val=n_val, n_test=1, seed=seed)
    data = signals.make(config)
    single = [
        torch.from_numpy(signals.subset(data, part)["value"].values) for part in ("train", "val")
    ]
    parts = []
    for number, kinds in enumerate((("sin", "poly"), ("exp", "gauss"))):
        chosen = {kind: signals.PRIMITIVES[kind] for kind in kinds}
        key = (signals.SignalConfig().test_seed, seed, number)
        drawn, _ = signals.draw(chosen, n_values, length=length, seed=key)
        parts.append(torch.from_numpy((drawn / data.attrs["scale"]).astype(np.float32)))
    x, shape, seen = sums(*parts)
    return Grid(*single, x, shape, seen, x)


@cache
def digits(n_train: int, n_val: int, n_values: int, seed: int, real: bool) -> Grid:
    """All sums of one of 0 to 4 and one of 5 to 9, each a certain image of the test part; training
    has single digits.
    """
    *single, _ = training_digits(n_train, n_val, real=real)
    test = mnist.load("test", allow_fallback=not real)
    order = np.random.default_rng(seed).permutation(test.sizes["sample"])
    labels, images = test["label"].values[order], test["image"].values[order].reshape(-1, 784)
    parts = []
    for low in (0, 5):
        rows = [np.flatnonzero(labels == one)[: -(-n_values // 5)] for one in range(low, low + 5)]
        parts.append(torch.from_numpy(images[np.stack(rows, 1).ravel()[:n_values]]))
    x, shape, seen = sums(*parts)
    return Grid(*single, x, shape, seen, x)


@cache
def forces(n_train: int, n_val: int, n_states: int, seed: int) -> Grid:
    """States under none or one of two laws of pairs, and of two laws of single bodies; training has
    single laws.
    """
    config = nbody.NBodyConfig(
        n_train=n_train, n_val=n_val, n_test=n_states, bodies=(5,), seed=seed
    )
    data = nbody.make(config)
    single = [samples(nbody.subset(data, part)) for part in ("train", "val")]
    fresh = nbody.subset(data, "test", forces=nbody.LAWS)
    rows = np.linspace(0, fresh.sizes["state"] - 1, n_states).round().astype(int)
    x, shape, seen = under_laws(samples(fresh.isel(state=rows)).bodies)
    truth = np.zeros(x.position.shape)
    for acting in torch.unique(x.forces, dim=0):
        laws = [law for law, on in zip(nbody.LAWS, acting, strict=True) if on]
        rows = (x.forces == acting).all(1).numpy()
        p, v = (part.numpy()[rows].astype(float) for part in (x.position, x.velocity))
        truth[rows] = nbody.acceleration(p, v, laws, nbody.Physics())
    return Grid(*single, x, shape, seen, torch.from_numpy(truth.astype(np.float32)))


def sums(
    first: Float[Tensor, "first d"], second: Float[Tensor, "second d"]
) -> tuple[Float[Tensor, "cells d"], tuple[int, int, int], Bool[Tensor, "rows columns"]]:
    """All sums of a part of each kind and of none: inputs, the shape of their grid, and which are
    single parts; row by row, (first + 1) * (second + 1) inputs.
    """
    a, b = (torch.cat([torch.zeros_like(part[:1]), part]) for part in (first, second))
    x = (a[:, None] + b[None]).flatten(0, 1)
    return x, (1, len(a), len(b)), singles(len(a), len(b))


def singles(first: int, second: int) -> Bool[Tensor, "first second"]:
    """The combinations in which at most one factor differs from its value 0."""
    return (torch.arange(first)[:, None] == 0) | (torch.arange(second)[None] == 0)


def under_laws(
    bodies: Bodies,
    first: tuple[str, ...] = ("gravity", "spring"),
    second: tuple[str, ...] = ("drag", "lorentz"),
) -> tuple[Bodies, tuple[int, int, int], Bool[Tensor, "rows columns"]]:
    """Every state under none or one of the first laws, and none or one of the second, whatever
    acted in it.

    Returns
    -------
    tuple
        Bodies (state, first, second in this order of rows), the grid's shape, and which sets are
        single laws.
    """
    shape = (len(bodies.position), len(first) + 1, len(second) + 1)
    act = torch.zeros(*shape[1:], len(LAWS))
    for number, law in enumerate(first, 1):
        act[number, :, LAWS.index(law)] = 1
    for number, law in enumerate(second, 1):
        act[:, number, LAWS.index(law)] = 1
    cells = shape[1] * shape[2]
    position, velocity, present = (part.repeat_interleave(cells, 0) for part in bodies[:3])
    acts = act.flatten(0, 1).repeat(len(bodies.position), 1)
    return Bodies(position, velocity, present, acts), shape, singles(*shape[1:])
