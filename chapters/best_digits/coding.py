"""Drawings of images with k coefficients, by all ways that are compared."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.baselines.subset import best_subset
from benchmarks.images.controls import cosines
from benchmarks.images.pictures import Images
from chapters.best_digits.libraries import Atoms, Library
from vnlib.greedy import orthogonal_matching_pursuit

SWAPS = 20
INFERENCES = ("omp", "ols", "swaps", "pixels", "complete", "two_layer", "two_layer_complete")


def drawn(
    library: Library, x: Images, *, inference: str, k: int, theta: float, rounds: int
) -> Images:
    """Images drawn with k coefficients.

    "omp", "ols" (without swaps) and "swaps" differ in how the atoms are chosen; "pixels" is "swaps"
    with every pixel as an atom beside the library's, "complete" with every cosine too; "two_layer"
    has the pixels in a layer below, with a hard threshold `theta` (see `two_layers`).
    """
    V = extended(library.V, inference)
    x = x - library.mean
    if inference == "omp":
        return orthogonal_matching_pursuit(V, x, k=k) @ V.T + library.mean
    if inference.startswith("two_layer"):
        return two_layers(V, x, library.mean, k=k, theta=theta, rounds=rounds)
    code = best_subset(V, x, k=k, swaps=0 if inference == "ols" else SWAPS)
    return code @ V.T + library.mean


def extended(V: Atoms, inference: str) -> Atoms:
    """The library with the atoms that an inference adds to it."""
    pixels = len(V)
    if inference == "pixels":
        return torch.cat([V, torch.eye(pixels)], 1)
    if inference.endswith("complete"):
        return torch.cat([V, torch.eye(pixels), cosines(pixels).to(V)], 1)
    return V


def two_layers(
    V: Atoms,
    x: Images,
    mean: Float[Tensor, " pixels"],
    *,
    k: int,
    theta: float,
    rounds: int,
) -> Images:
    """The drawing H(V a) of a code a of k atoms, H setting what is below `theta` in size to zero.

    Below lie the pixels as atoms, with an l0 penalty. Where the image is below theta / 2 in size a
    message below theta costs nothing; elsewhere it must be the image. So a is fitted again, with
    swaps, to the message that is nearest to its own among those that cost nothing; of `rounds` such
    fits each image keeps the best drawing. Images come and are worked on without `mean`.
    """
    image, target, code = x + mean, x, None
    best, least = torch.zeros_like(x), torch.full((len(x),), torch.inf)
    for _ in range(rounds + 1):
        code = best_subset(V, target, k=k, swaps=SWAPS, start=code)
        message = code @ V.T + mean
        drawing = torch.where(message.abs() < theta, 0, message)
        error = (drawing - image).square().sum(1)
        better = error < least
        best, least = torch.where(better[:, None], drawing, best), torch.minimum(error, least)
        free = image.abs() < theta / 2
        target = torch.where(free, message.clamp(-theta, theta), image) - mean
    return best


def chosen_theta(
    library: Library, x: Images, thetas: list[float], *, inference: str, k: int, rounds: int
) -> float:
    """The threshold with the least error on validation images."""
    how = {"inference": inference, "k": k, "rounds": rounds}
    return min(
        thetas, key=lambda theta: float((drawn(library, x, theta=theta, **how) - x).square().mean())
    )


def from_all(train: Atoms, x: Images, k: int) -> list[Images]:
    """Drawings by orthogonal matching pursuit over so many atoms that they have no Gram matrix,
    with 1 to k coefficients.
    """
    chosen, found = torch.zeros(len(x), 0, dtype=torch.long), []
    left = x
    for _ in range(k):
        score = (left @ train).abs()
        score.scatter_(1, chosen, -1.0)
        chosen = torch.cat([chosen, score.argmax(1, keepdim=True)], 1)
        atoms = train[:, chosen].movedim(1, 0).double()
        code = torch.linalg.lstsq(atoms, x.double()[..., None]).solution
        drawing = (atoms @ code)[..., 0].to(x)
        left = x - drawing
        found.append(drawing)
    return found
