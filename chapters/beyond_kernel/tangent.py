"""The linearisation of a decoder at its start: f0 + J d, where J is the Jacobian of its images in
its weights and d a change of them (Jacot et al. 2018).

J is never written down: it is applied to changes of weights and, transposed, to images.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, cg
from torch import Tensor, nn

Weights = Float[Tensor, " weights"]
Images = Float[Tensor, "positions y x"]


@dataclass(frozen=True)
class Tangent:
    """A decoder near its weights, at some codes.

    Parameters
    ----------
    start
        Its images there.
    push
        A change of weights to that of the images, J d.
    pull
        Images to weights, J' u.
    n_weights
        How many weights there are.
    """

    start: Images
    push: Callable[[Weights], Images]
    pull: Callable[[Images], Weights]
    n_weights: int


def tangent(model: nn.Module, codes: Float[Tensor, "positions d"]) -> Tangent:
    """The linearisation of a decoder at the weights that it has, in double precision: conjugate
    gradients lose their way in single.
    """
    named = {name: one.detach().double() for name, one in model.named_parameters()}
    flat = torch.cat([one.flatten() for one in named.values()])
    sizes = [one.numel() for one in named.values()]

    def drawn(weights: Weights) -> Images:
        parts = zip(named.items(), weights.split(sizes), strict=True)
        given = {name: part.view_as(one) for (name, one), part in parts}
        return torch.func.functional_call(model, given, (codes.double(),))

    with warnings.catch_warnings():  # of how torch.fx keeps its constants
        warnings.simplefilter("ignore", UserWarning)
        start, push = torch.func.linearize(drawn, flat)
    _, pull = torch.func.vjp(drawn, flat)
    return Tangent(start, push, lambda images: pull(images)[0], len(flat))


def least_norm_path(
    near: Tangent, images: Images, iterations: Sequence[int]
) -> list[Float[Tensor, " weights"]]:
    """Changes of weights after so many steps of conjugate gradients on `|f0 + J d - images|^2`.

    They begin at 0 and stay in the range of J', so that they go to the solution of least norm,
    which is where gradient flow from the start ends (Bjoerck 1996, Sec. 7.4). Steps that come after
    convergence give the last one again.

    Raises
    ------
    ValueError
        Unless the iterations rise from 1 or more.
    """
    if list(iterations) != sorted({*iterations}) or min(iterations, default=0) < 1:
        raise ValueError(f"iterations must rise from 1 or more, got {list(iterations)}")

    def normal(d: np.ndarray) -> np.ndarray:
        return near.pull(near.push(torch.from_numpy(d))).numpy()

    path: list[Tensor] = []
    steps = 0

    def keep(d: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if steps in iterations:
            path.append(torch.from_numpy(d.copy()))

    gram = LinearOperator((near.n_weights,) * 2, matvec=normal, dtype=np.float64)
    wanted = near.pull(images.double() - near.start).numpy()
    last, _ = cg(gram, wanted, rtol=1e-12, maxiter=iterations[-1], callback=keep)
    return path + [torch.from_numpy(last)] * (len(iterations) - len(path))


def tangent_kernel(
    near: Tangent, probes: int, generator: torch.Generator
) -> Float[Tensor, "positions positions"]:
    """K(z, z'), the trace over pixels of J(z) J(z')', from images J w of so many random changes of
    weights w, whose products have it as their mean.
    """
    found = torch.zeros(len(near.start), len(near.start), dtype=torch.float64)
    for _ in range(probes):
        w = torch.randn(near.n_weights, generator=generator, dtype=torch.float64)
        image = near.push(w).flatten(1)
        found += image @ image.T
    return found / probes
