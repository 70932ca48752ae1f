"""The codes of one trained model on a grid of combinations, measured (see
`chapters.beyond_representation.measure`).
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from chapters.beyond_representation.coded import Coded
from chapters.beyond_representation.grids import Grid
from chapters.beyond_representation.measure import cosines, drawable, measures

SECOND = 100  # number of the second factor's first value among the effects
VARIABLES = {
    "layer": ("layer of a model", ""),
    "effect": ("main effect: a value of the first factor, or 100 + one of the second", "1"),
    "other": ("main effect: a value of the first factor, or 100 + one of the second", "1"),
    "linearity": ("share of the code's variance that main effects explain", "1"),
    "first": ("share of the code's variance that the first factor explains", "1"),
    "second": ("share of the code's variance that the second factor explains", "1"),
    "shared": ("share of the code's variance of effects that all contexts share", "1"),
    "transfer": ("explained deviation of unseen codes, by effects of seen ones", "1"),
    "overlap": ("mean squared cosine of the principal angles between the factors", "1"),
    "overlap_random": ("overlap of random subspaces of the same dimensions", "1"),
    "dim_first": ("dimensions of the first factor", "1"),
    "dim_second": ("dimensions of the second factor", "1"),
    "cosine": ("mean squared cosine of single effects of the two factors", "1"),
    "cosine_random": ("one over the participation ratio of the code", "1"),
    "read_first": ("share of unseen combinations whose first factor is read right", "1"),
    "read_second": ("share of unseen combinations whose second factor is read right", "1"),
    "units": ("units that vary over the grid", "1"),
    "active": ("share of their entries that are not 0", "1"),
    "error_linear": ("squared error of the best linear drawing, new combinations", "1"),
    "order": ("place of the layer in the pass", "1"),
    "is_code": ("1 for the layer that counts as the model's code", "1"),
    "error_seen": ("squared error over power, where nothing is new", "1"),
    "error_unseen": ("squared error over power, new combinations", "1"),
    "cosines": ("cosine between two main effects of the code", "1"),
    "fact_parameters": ("parameters of the model", "1"),
    "fact_validation": ("squared error on validation data", "1"),
}


def gridded(z: Tensor, shape: tuple[int, int, int]) -> Float[Tensor, "context first second units"]:
    """Codes (cells, units) or (cells, body, units) as a grid; every body of a state is a
    context.
    """
    z = z.unflatten(0, shape)
    return z if z.ndim == 4 else z.permute(0, 3, 1, 2, 4).flatten(0, 1)


def measured(model: Coded, grid: Grid, *, details: bool = False) -> xr.Dataset:
    """All measures of every layer, and the model's errors; `VARIABLES` says what.

    Errors are sums of squares over those of the truth, so that 1 is the zero baseline;
    `error_seen` leaves out cells where there is nothing to draw.

    Parameters
    ----------
    details
        `cosines` between the effects of the model's code, too.
    """
    raw, shape, seen = model.layers(grid.x), grid.shape, grid.seen
    # Images are flattened; accelerations of bodies stay apart, as the codes of bodies do.
    truth = grid.truth if raw[model.code].ndim == 3 else grid.truth.flatten(1)
    wanted = gridded(truth, shape).double()
    layers = {name: gridded(z, shape) for name, z in raw.items()}
    found = {
        name: measures(z, seen) | {"error_linear": drawable(z.double(), wanted, seen)}
        for name, z in layers.items()
    }
    names = found[model.code]
    data = {name: ("layer", [one[name] for one in found.values()]) for name in names}
    data["order"] = ("layer", np.arange(len(found), dtype=float))
    data["is_code"] = ("layer", [float(name == model.code) for name in found])
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    drawn = errors(model.draw(grid.x), grid.truth, seen.expand(shape))
    result = xr.Dataset(data | drawn | facts, {"layer": list(found)})
    if details:
        values = [*range(shape[1]), *(SECOND + k for k in range(shape[2]))]
        table = cosines(layers[model.code].double()).numpy()
        table = np.round(table * 256).astype(np.float32) / 256
        axes = {"effect": values, "other": values}
        result["cosines"] = xr.DataArray(table, axes, tuple(axes))
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
    given = seen.flatten().to(power.device)
    parts = {"error_seen": given & (power > 0), "error_unseen": ~given}
    return {name: float(missed[rows].sum() / power[rows].sum()) for name, rows in parts.items()}
