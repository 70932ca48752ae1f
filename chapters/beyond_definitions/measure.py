"""What FR App. A.1 to A.3 define, as numbers: the complexity of a target, the factorisation of a
layer, and whether it can be undone.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.spatial import geometry

EXACT = 1e-10  # of the largest singular value: below it a term counts as none
Plane = Float[Tensor, "y x"]


def ranks(images: Float[Tensor, "y x pixels"], share: float = 0.99) -> tuple[int, int]:
    """Compositional complexity of a target (FR Eqs. 15-17): the least number of products
    f(x) g(y) whose sum it is, pixel by pixel, at the pixel that needs most; exactly, and for this
    share of the energy of every pixel.

    With two factors the least sum is the singular value decomposition.
    """
    values = torch.linalg.svdvals(images.double().movedim(2, 0))  # pixel, term
    exact = (values > EXACT * values.max()).sum(1)
    energy = values.square().cumsum(1) / values.square().sum(1, keepdim=True).clamp_min(1e-300)
    near = (energy < share).sum(1) + 1
    return int(exact.max()), int(near.max())


def mixture(density: Plane) -> tuple[int, float]:
    """Complexity of a distribution of positions (FR Eqs. 18-20): how many product distributions it
    mixes, and how far, in total variation, it is from the product of its marginals.

    The rank of the matrix, which is the number of product distributions where it is at most two.

    Raises
    ------
    ValueError
        For a rank above two, from where on the two numbers may differ.
    """
    p = density.double() / density.double().sum()
    rank = int(torch.linalg.matrix_rank(p))
    if rank > 2:
        raise ValueError(f"density must have a rank of at most 2, got {rank}")
    product = p.sum(1, keepdim=True) * p.sum(0, keepdim=True)
    return rank, float(0.5 * (p - product).abs().sum())


def layer(z: Float[Tensor, "positions units"], *, folds: int, seed: int) -> dict[str, float]:
    """What is left of x and of y in a layer; positions are all of a square grid, x running fastest.

    `of_x`, `of_y`, `of_both`: shares of its variance in blocks that depend on x only, on y only,
    and on both, which no linear map separates (FR Eqs. 24 and 28). `linear`, `curved`: R^2 at
    positions left out of the lesser of x and y, read by a ridge regression on the units, and by one
    on Gaussians of their distances. `apart`: the least distance of two positions over the median
    one; 0 where two fall together, which nothing undoes. `silent`: share of units that are constant.
    """
    side = round(len(z) ** 0.5)
    z = z.double()
    shares = geometry.anova(geometry.on_grid(z, side))
    place = torch.arange(side**2)
    positions = torch.stack([place % side, place // side], 1).double()
    kernel = geometry.gram(z, centred=True)
    distance = torch.cdist(z, z)
    other = distance[~torch.eye(len(z), dtype=torch.bool)]
    width = other.median().clamp_min(1e-30)
    curved = torch.exp(-0.5 * (distance / width) ** 2)
    read = {"linear": kernel, "curved": curved}
    found = {f"of_{name}": value for name, value in shares.items()}
    found |= {
        name: float(geometry.probe(one, positions, folds=folds, seed=seed).min())
        for name, one in read.items()
    }
    silent = (z.std(0) <= EXACT * z.std(0).max()).double().mean()
    return found | {"apart": float(other.min() / width), "silent": float(silent)}


@torch.no_grad()
def layers(model: nn.Module, codes: Float[Tensor, "positions d"]) -> dict[str, Tensor]:
    """The code, what every ReLU of a decoder is given ("before 1") and gives out ("after 1"), in
    the order of the pass, and the images, each (positions, units).

    ReLUs that work side by side, on one axis each, are one layer.
    """
    pairs: list[tuple[Tensor, Tensor]] = []

    def keep(_: nn.Module, given: tuple[Tensor], out: Tensor) -> None:
        pairs.append((given[0].flatten(1).clone(), out.flatten(1).clone()))

    relus = [one for one in model.modules() if isinstance(one, nn.ReLU)]
    handles = [one.register_forward_hook(keep) for one in relus]
    try:
        output = model(codes).flatten(1)
    finally:
        for handle in handles:
            handle.remove()
    if hasattr(model, "streams"):
        pairs = [tuple(torch.cat(both, 1) for both in zip(*pairs, strict=True))]
    found = {"code": codes}
    for number, (before, after) in enumerate(pairs, 1):
        found |= {f"before {number}": before, f"after {number}": after}
    return found | {"images": output}
