"""An atlas of atoms by use: what each one draws, and the digits that use it (VN App. I)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.images.pictures import Images
from vnlib import checks
from vnlib.network import VectorNetwork

BANDS = ("most", "middle", "least")
EXAMPLES = 2  # images with the largest coefficients
CLASSES = 10


def atlas(
    network: VectorNetwork,
    codes: Sequence[Float[Tensor, "batch _atoms"]],
    x: Images,
    labels: Int[Tensor, " batch"],
    *,
    count: int,
) -> xr.Dataset:
    """`count` atoms of each band of every layer, in the order of their use in the codes of images x
    with these labels.

    Bands: the atoms that most images use, those in the middle, and those that fewest use (atoms
    that none uses among them), always in falling order. A coefficient may have either sign; an atom
    is drawn, and its examples are chosen, with the sign that it has more often.

    Over (layer, band, place): `atlas_atom`, the number of the atom; `atlas_use`, the share of
    images that use it; `atlas_profile` (.., digit), the same for the images of each digit, NaN
    where there are none; `atlas_size`, its mean magnitude where used, with its sign;
    `atlas_drawing` (.., y, x), what a code of this atom alone stands for (see `draw`), of unit
    maximum magnitude; `atlas_examples` (.., example, y, x), the images with the largest
    coefficients, blank where fewer use it. Pictures are kept as whole hundredths. The atom is drawn
    with a coefficient that draws an input of typical norm: a single atom of its usual size is too
    faint to be read back from the messages below.

    Raises
    ------
    ValueError
        Where a layer has fewer than three times `count` atoms.
    """
    checks.number(
        "count", count, low=1, high=min(code.shape[1] for code in codes) // 3, integer=True
    )
    parts = [
        _layer(network, layer, code, x, labels.to(x.device), count)
        for layer, code in enumerate(codes)
    ]
    ds = xr.concat(parts, "layer")
    return ds.assign_coords(
        layer=np.arange(1, len(parts) + 1), band=list(BANDS), digit=np.arange(CLASSES)
    )


def draw(network: VectorNetwork, layer: int, code: Float[Tensor, "batch atoms"]) -> Images:
    """The inputs that codes of one layer (counted from 0) stand for: as `VectorNetwork.decode` of
    the top layer.

    Raises
    ------
    ValueError
        For a layer that is not there.
    """
    checks.number("layer", layer, low=0, high=len(network.V) - 1, integer=True)
    return _lower(network, layer + 1).decode(code)


def _lower(network: VectorNetwork, depth: int) -> VectorNetwork:
    """The network of the lowest layers alone, with the same dictionaries."""
    c = network.config
    config = replace(
        c,
        atoms=c.atoms[:depth],
        interface=c.interface[: depth - 1],
        sparsity=c.sparsity[:depth],
        top_k=None,
    )
    lower = VectorNetwork(config, seed=0).to(network.V[0])
    state, wanted = network.state_dict(), lower.state_dict()
    lower.load_state_dict(
        {name: state[name][: len(t)] if t.ndim == 1 else state[name] for name, t in wanted.items()}
    )
    return lower


def _layer(
    network: VectorNetwork, layer: int, code: Tensor, x: Images, labels: Tensor, count: int
) -> xr.Dataset:
    active = code != 0
    use = active.double().mean(0)
    order = use.argsort(descending=True, stable=True)
    middle = (len(order) - count) // 2
    chosen = torch.cat([order[:count], order[middle : middle + count], order[-count:]])

    some, used = code[:, chosen], active[:, chosen]
    sign = torch.sign(torch.sign(some).sum(0) + 0.5)  # the more frequent one, + in a draw
    size = some.abs().sum(0) / used.sum(0).clamp_min(1)
    whole = float(network.input_scale[layer]) if network.config.relative_sparsity else 1.0
    one_hot = torch.zeros(len(chosen), code.shape[1]).to(code)
    one_hot[torch.arange(len(chosen)), chosen] = sign * whole
    drawn = draw(network, layer, one_hot)
    drawn = drawn / drawn.abs().amax(1, keepdim=True).clamp_min(1e-12)

    score = torch.where(some * sign > 0, some * sign, 0.0)  # (image, place)
    best = score.topk(EXAMPLES, dim=0)
    examples = x[best.indices.T] * (best.values.T > 0)[..., None]
    digits = [active[labels == digit][:, chosen].double() for digit in range(CLASSES)]
    profile = torch.stack([one.mean(0) for one in digits], 1)

    shape, side = (len(BANDS), count), int(x.shape[1] ** 0.5)
    place, picture = ("band", "place"), ("y", "x")
    values = {
        "atlas_atom": (place, chosen.reshape(shape)),
        "atlas_use": (place, use[chosen].reshape(shape)),
        "atlas_size": (place, (sign * size).reshape(shape)),
        "atlas_profile": ((*place, "digit"), profile.reshape(*shape, CLASSES)),
        "atlas_drawing": ((*place, *picture), _hundredths(drawn).reshape(*shape, side, side)),
        "atlas_examples": (
            (*place, "example", *picture),
            _hundredths(examples).reshape(*shape, EXAMPLES, side, side),
        ),
    }
    return xr.Dataset(
        {name: (dims, t.cpu().numpy().astype(np.float32)) for name, (dims, t) in values.items()}
    )


def _hundredths(image: Tensor) -> Tensor:
    """Enough for a picture, and small when it is stored."""
    return (100 * image).round() / 100
