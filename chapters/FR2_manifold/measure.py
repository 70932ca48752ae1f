"""Layer by layer, how a decoder bends the plane of positions (FR Sec. 3.4, App. A and B).

`layers` collects what each layer of a decoder makes of every position, `report` measures it.
Positions are those of a square grid, x running fastest; data is a dataset of `code` (position,
code), `image` (position, y, x), `position_x`, `position_y` and `split` (position), "ood" in the
hold-out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial import geometry, registry
from benchmarks.spatial.decoders import build_vn
from benchmarks.spatial.vector_networks import SpatialVN
from vnlib import checks

# Every decoder has some of these; "factors" are the row and the column profile of a product
# readout.
LAYERS = ("input", *[f"layer{n}" for n in range(1, 12)], "factors", "output")
REFERENCES = ("perfect", "crosses", "table")
TERMS = 8  # largest terms of a kernel that are kept
TINY = 1e-12  # added to a volume before its logarithm

Layers = dict[str, Float[Tensor, "positions _units"]]


@torch.no_grad()
def layers(model: nn.Module, x: Float[Tensor, "positions d"]) -> Layers:
    """All layers of a decoder, flattened, from "input" to "output".

    A ReLU network gives its ReLUs, a Vector Network the settled codes of its layers (those of both
    streams side by side where there are two) and the factors of a product readout.

    Raises
    ------
    ValueError
        For a network without either.
    """
    if not isinstance(model, SpatialVN):
        return geometry.activations(model, x)
    settled = model.settle(x)
    codes = [torch.cat(same, 1) for same in zip(*[s.codes for s in settled], strict=True)]
    tops = model.readout_codes(settled)
    named = {f"layer{n}": code for n, code in enumerate(codes, 1)}
    if model.readout == "product":
        named["factors"] = torch.cat(
            [code @ R.T for code, R in zip(tops, model.readouts, strict=True)], 1
        )
    return {"input": x, **named, "output": model.render(tops).flatten(1)}


def untrained(
    *,
    family: str,
    options: Mapping[str, Any],
    n_inputs: int,
    image_shape: tuple[int, int],
    seed: int,
) -> nn.Module:
    """The network that `train_decoder` starts from: same family, options and seed, random
    weights.
    """
    build = build_vn if family == "vn" else partial(registry.build, family)
    return build(n_inputs=n_inputs, image_shape=image_shape, seed=seed, **options)


def reference(name: str, data: xr.Dataset) -> Layers:
    """Input and output of a decoder that nobody trained, for dark bumps coded by bumps of the same
    width.

    "perfect": the images themselves. "crosses": a column plus a row, the sum of what each factor
    says. "table": one unit per position, which shares nothing between any two.
    """
    checks.choice("name", name, REFERENCES)
    code = torch.from_numpy(data["code"].values)
    of_x, of_y = code.chunk(2, dim=1)
    drawn = {
        "perfect": torch.from_numpy(data["image"].values),
        "crosses": 1 - of_x[:, None, :] - of_y[:, :, None],
        "table": 1 - torch.eye(len(code)),
    }
    return {"input": code, "output": drawn[name].flatten(1)}


def report(
    found: Layers,
    data: xr.Dataset,
    *,
    margin: int,
    folds: int,
    seed: int,
    samples: Sequence[int],
    maps: bool,
    plane: bool = False,
) -> xr.Dataset:
    """All measures of all layers, and the error of the output.

    Variables per layer, NaN for those that a decoder lacks: `units`; `F`, `F_in`, `F_out` (FR
    Eq. 7) over the grid, in the hold-out and around it; `volume_in`, `volume_out`, mean log10 of
    the volume element, and their standard deviations `spread_in`, `spread_out`; `probe`,
    `probe_ood`, R^2 of linear probes for x and y (mean), cross- validated over the grid and fitted
    to all positions outside the hold-out and read inside; `one_factor`, share of the variance in
    terms of x alone and of y alone; `terms`, number of separable terms of the centred kernel, and
    the share of weight of the largest ones (`term_share`); `map_terms`, those of the map itself.
    "Around" are positions outside the hold-out and at least `margin` px from the edge, where the
    image cuts bumps off.

    Errors: `mse_train`, `mse_val`, `mse_id`, `mse_ood`. What is not kept is NaN.

    Parameters
    ----------
    samples
        Positions whose image is kept.
    maps
        Keep `log_volume` (layer, position) and `sample_image`.
    plane
        Keep `plane` (stage, position, component), the first two principal components of the input,
        of the first and the last layer in between, and of the output.
    """
    side = math.isqrt(data.sizes["position"])
    device = found["output"].device
    x, y = (
        torch.from_numpy(data[name].values.astype(float)).to(device)
        for name in ("position_x", "position_y")
    )
    held_out = torch.from_numpy((data["split"] == "ood").values).to(device)
    checks.number("margin", margin, low=0, high=side // 2 - 1, integer=True)
    near = (torch.stack([x, y]).min(0).values >= margin) & (
        torch.stack([x, y]).max(0).values < side - margin
    )
    regions = {"in": held_out, "out": ~held_out & near}
    rows = {
        name: _layer(z, torch.stack([x, y], 1), regions, side, folds, seed)
        for name, z in found.items()
    }
    measured = xr.concat(
        [rows[name] for name in rows], xr.DataArray(list(rows), dims="layer", name="layer")
    )
    drawn = found["output"].cpu().numpy().reshape(-1, side, side)
    measured["sample_image"] = (("sample", "y", "x"), drawn[list(samples)])
    stages = [name for name in found if name not in ("input", "factors", "output")]
    shown = (
        ("input", stages[0], stages[-1], "output")
        if stages
        else ("input", "input", "output", "output")
    )
    measured["plane"] = (
        ("stage", "position", "component"),
        np.stack([_plane(found[name]) for name in shown]),
    )
    dropped = (() if maps else ("log_volume", "sample_image")) + (() if plane else ("plane",))
    measured = measured.assign({name: measured[name].where(False) for name in dropped})
    measured = measured.reindex(layer=list(LAYERS)).assign(_errors(drawn, data))
    return measured.assign_coords(
        stage=["input", "first layer", "last layer", "output"], sample=list(samples)
    )


def with_untrained(trained: xr.Dataset, untrained: xr.Dataset | None) -> xr.Dataset:
    """Both reports along a dimension `weights`; without the second one, NaN in its place."""
    other = trained.where(False) if untrained is None else untrained
    # A map of random weights would only be kept to be ignored.
    other = other.assign(
        {name: other[name].where(False) for name in ("log_volume", "sample_image", "plane")}
    )
    return xr.concat(
        [trained, other], xr.DataArray(["trained", "untrained"], dims="weights", name="weights")
    )


def _layer(
    z: Tensor, positions: Tensor, regions: Mapping[str, Tensor], side: int, folds: int, seed: int
) -> xr.Dataset:
    """All measures of one layer."""
    units = z.shape[1]
    kernel = geometry.gram(z, centred=True)
    z = geometry.coordinates(kernel) if units > len(z) else z.double()
    on_grid = geometry.on_grid(z, side)
    g = geometry.metric_tensor(on_grid)
    log_volume = torch.log10(geometry.volume(g) + TINY).flatten()
    values = {"units": units, "F": geometry.factorisation(g)}
    for name, where in regions.items():
        values[f"F_{name}"] = geometry.factorisation(g, where.view(side, side))
        values[f"volume_{name}"] = float(log_volume[where].mean())
        values[f"spread_{name}"] = float(log_volume[where].std())
    values["probe"] = float(geometry.probe(kernel, positions, folds=folds, seed=seed).mean())
    held_out = regions["in"]
    values["probe_ood"] = float(
        geometry.probe_across(kernel, positions, ~held_out, held_out).mean()
    )
    values["one_factor"] = 1 - geometry.anova(on_grid)["both"]
    terms = geometry.separable_spectrum(kernel, side)
    values["terms"] = geometry.participation(terms)
    values["map_terms"] = geometry.participation(geometry.map_spectrum(on_grid - z.mean(0)))
    share = (terms.square() / terms.square().sum())[:TERMS]
    measured = xr.Dataset({name: ((), float(value)) for name, value in values.items()})
    measured["term_share"] = ("term", share.cpu().numpy().astype(np.float32))
    measured["log_volume"] = ("position", log_volume.cpu().numpy().astype(np.float32))
    return measured


def _plane(z: Tensor) -> np.ndarray:
    """The first two principal components of a layer, each with its largest entry positive, in units
    of the first's.
    """
    values, vectors = torch.linalg.eigh(geometry.gram(z.double(), centred=True))
    two = vectors[:, -2:].flip(1) * values[-2:].flip(0).clamp_min(0).sqrt()
    largest = two.gather(0, two.abs().argmax(0, keepdim=True))
    scale = two[:, 0].std().clamp_min(1e-30)
    return (two * torch.where(largest < 0, -1.0, 1.0) / scale).cpu().numpy().astype(np.float32)


def _errors(drawn: np.ndarray, data: xr.Dataset) -> dict[str, tuple]:
    """Mean squared error per pixel on each split."""
    error = ((drawn.astype(np.float64) - data["image"].values) ** 2).mean((1, 2))
    splits = {"train": "train", "val": "val", "id": "id_test", "ood": "ood"}
    return {f"mse_{n}": ((), error[(data["split"] == s).values].mean()) for n, s in splits.items()}
