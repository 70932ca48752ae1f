"""The codes of one trained model on a grid of combinations, measured (see
`chapters.beyond_representation.measure`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.nbody.bodies import LAWS, Bodies
from chapters.beyond_representation.measure import cosines, drawable, measures
from chapters.beyond_representation.models import Coded

SECOND = 100  # number of the second factor's first value among the effects


def sums(
    first: Float[Tensor, "first d"], second: Float[Tensor, "second d"]
) -> tuple[Float[Tensor, "cells d"], tuple[int, int, int], Bool[Tensor, "rows columns"]]:
    """All sums of a part of each kind and of none: inputs, the shape of their grid, and which are
    single parts.

    Value 0 of each factor is "none"; row by row, (first + 1) * (second + 1) inputs.
    """
    a, b = (torch.cat([torch.zeros_like(part[:1]), part]) for part in (first, second))
    x = (a[:, None] + b[None]).flatten(0, 1)
    return x, (1, len(a), len(b)), singles(len(a), len(b))


def singles(first: int, second: int) -> Bool[Tensor, "first second"]:
    """The combinations in which at most one factor differs from its value 0."""
    return (torch.arange(first)[:, None] == 0) | (torch.arange(second)[None] == 0)


def forces(
    bodies: Bodies,
    first: tuple[str, ...] = ("gravity", "spring"),
    second: tuple[str, ...] = ("drag", "lorentz"),
) -> tuple[Bodies, tuple[int, int, int], Bool[Tensor, "rows columns"]]:
    """Every state under none or one of the first laws, and none or one of the second, whatever
    acted in it.

    Returns bodies (state, first, second in this order of rows), the grid's shape, and which sets
    are single laws.
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


def gridded(z: Tensor, shape: tuple[int, int, int]) -> Float[Tensor, "context first second units"]:
    """Codes (cells, units) or (cells, body, units) as a grid; every body of a state is a
    context.
    """
    z = z.unflatten(0, shape)
    return z if z.ndim == 4 else z.permute(0, 3, 1, 2, 4).flatten(0, 1)


def study(
    model: Coded,
    x: Any,
    shape: tuple[int, int, int],
    seen: Bool[Tensor, "first second"],
    truth: Float[Tensor, "cells ..."],
    *,
    details: bool = False,
) -> xr.Dataset:
    """All measures of every layer, and the model's errors where nothing is new and at new
    combinations.

    Errors are sums of squares over those of the truth, so that 1 is what drawing nothing gives;
    `error_seen` leaves out cells where there is nothing to draw.

    Variables over layer, in the order of `order`, with `error_linear`, the error at new
    combinations of the best linear drawing from that layer (see `drawable`); `is_code` is 1 for the
    layer that counts as the model's code.

    Parameters
    ----------
    x, shape
        The inputs of a grid, row by row.
    seen
        What training has.
    truth
        What is to be drawn.
    details
        `cosines` between the effects of the model's code, too.
    """
    raw = model.layers(x)
    # Images are flattened; accelerations of bodies stay apart, as the codes of bodies do.
    wanted = gridded(truth if raw[model.code].ndim == 3 else truth.flatten(1), shape).double()
    layers = {name: gridded(z, shape) for name, z in raw.items()}
    found = {
        name: measures(z, seen) | {"error_linear": drawable(z.double(), wanted, seen)}
        for name, z in layers.items()
    }
    names = list(found[model.code])
    data = {
        name: ("layer", [one[name] for one in found.values()], {"units": "1"}) for name in names
    }
    data["order"] = ("layer", np.arange(len(found), dtype=float))
    data["is_code"] = ("layer", [float(name == model.code) for name in found])
    result = xr.Dataset(data, {"layer": list(found)})
    result = result.assign(errors(model.draw(x), truth, seen.expand(shape)))
    result = result.assign({f"fact_{name}": value for name, value in model.facts.items()})
    if details:
        values = [*range(shape[1]), *(SECOND + k for k in range(shape[2]))]
        table = (
            np.round(cosines(layers[model.code].double()).numpy() * 256).astype(np.float32) / 256
        )
        result["cosines"] = xr.DataArray(
            table, {"effect": values, "other": values}, ("effect", "other")
        )
    return result


def errors(
    drawn: Float[Tensor, "cells ..."],
    truth: Float[Tensor, "cells ..."],
    seen: Bool[Tensor, "c first second"],
) -> dict[str, float]:
    """`error_seen` and `error_unseen`: squared errors over the power of the truth."""
    if drawn.shape != truth.shape:
        raise ValueError(
            f"truth must have the shape of what is drawn, {tuple(drawn.shape)}, got "
            f"{tuple(truth.shape)}"
        )
    missed, power = ((t.double().flatten(1) ** 2).sum(1) for t in (drawn - truth, truth))
    known = seen.flatten().to(power.device)
    parts = {"error_seen": known & (power > 0), "error_unseen": ~known}
    return {name: float(missed[rows].sum() / power[rows].sum()) for name, rows in parts.items()}
