"""Sparse coding problems with dictionaries learned from images, and how well a solution solves
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks
from vnlib.layer import Layer
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.seeding import generator
from vnlib.settle import SettleConfig

SPARSITY = 0.1  # lambda of a problem, as a share of the mean of max|V'x|
# lambda per layer while learning, as a share of the r.m.s. norm of the layer's input
RELATIVE = (0.05, 0.03, 0.03)


@dataclass(frozen=True)
class Problem:
    """min_a 1/2 `|x - V a|^2` + sparsity `|a|_1` for every row of x (batch, d)."""

    V: Float[Tensor, "d atoms"]
    x: Float[Tensor, "batch d"]
    sparsity: float

    def to(self, target: torch.dtype | torch.device | str) -> Problem:
        """The same problem in another number type or on another device."""
        return replace(self, V=self.V.to(target), x=self.x.to(target))

    def first(self, n: int) -> Problem:
        """The same problem for the first n samples."""
        return replace(self, x=self.x[:n])


def relative_gap(problem: Problem, codes: Float[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]:
    """(P(a) - D) / P(a) per sample in float64: an upper bound of how far a code's energy is above
    the lowest.

    D is the dual value of the residual r, scaled as is best among the s r with `|V'(s
    r)|` <= sparsity. The same measure for every solver, whatever its own criterion is.
    """
    V, x, codes = problem.V.double(), problem.x.double(), codes.double()
    r = x - codes @ V.T
    size, along = r.square().sum(1), (r * x).sum(1)
    primal = 0.5 * size + problem.sparsity * codes.abs().sum(1)
    largest = (r @ V).abs().amax(1)
    feasible = torch.where(largest > problem.sparsity, problem.sparsity / largest, 1.0)
    s = torch.minimum(along / size.clamp_min(torch.finfo(size.dtype).tiny), feasible).clamp_min(0)
    dual = s * along - 0.5 * s.square() * size
    return torch.where(primal > 0, (primal - dual) / primal, 0.0)


def size_of(name: str) -> tuple[int, int, int]:
    """(d, K, B) of "784x512x256".

    Raises
    ------
    ValueError
        For anything else.
    """
    parts = name.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"size must be dxKxB, such as '784x512x256', got {name!r}")
    return tuple(map(int, parts))


@dataclass(frozen=True)
class Workloads:
    """Problems made from images, rows of `train` for the dictionaries and of `test` for the
    samples.

    Dictionaries start from samples and learn `steps` steps of Atomic-Hebb with batches of 256.
    Where d is not the number of pixels, images are first reduced to d numbers: their first
    principal components where d < 100, else a random projection. All follows from the images and
    `seed`; what was made is kept.
    """

    train: Float[Tensor, "train pixels"]
    test: Float[Tensor, "test pixels"]
    seed: int = 0
    steps: int = 10
    _made: dict = field(default_factory=dict, compare=False, repr=False)

    def problem(self, size: str) -> Problem:
        """The problem of a size "dxKxB", in float32.

        Raises
        ------
        ValueError
            If there are too few images for it.
        """
        d, K, B = size_of(size)
        checks.number("B of size", B, high=len(self.test))
        V, x = self.network(d, atoms=(K,)).V[0].detach(), self.reduced(self.test[:B], d)
        return Problem(V, x, SPARSITY * float((x @ V).abs().amax(1).mean()))

    def stack(self, atoms: Sequence[int], interface: Sequence[int]) -> tuple[Layer, ...]:
        """The layers of a network that has learned from the images, with top-down weight 0.1."""
        return self.network(
            self.train.shape[1], atoms=tuple(atoms), interface=tuple(interface)
        ).layers

    def reduced(self, images: Float[Tensor, "batch pixels"], d: int) -> Float[Tensor, "batch d"]:
        """Images as d numbers each."""
        pixels = self.train.shape[1]
        checks.number("d of size", d, low=1, high=pixels)
        if d == pixels:
            return images
        if d not in self._made:
            if d < 100:
                centred = self.train - self.train.mean(0)
                self._made[d] = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -d:].flip(1)
            else:
                self._made[d] = (
                    torch.randn(pixels, d, generator=generator(self.seed, "projection")) / d**0.5
                )
        return (images @ self._made[d]).contiguous()

    def network(
        self, d: int, *, atoms: tuple[int, ...], interface: tuple[int, ...] = ()
    ) -> VectorNetwork:
        """A network that has learned from the images, reduced to d numbers."""
        key = (d, atoms, interface)
        if key not in self._made:
            x = self.reduced(self.train, d)
            # Fast enough, and near enough for learning; only layers without feedback can go by
            # coordinates.
            method = "cd" if len(atoms) == 1 else "line_search"
            config = VNConfig(
                n_inputs=d,
                atoms=atoms,
                interface=interface,
                sparsity=RELATIVE[: len(atoms)],
                relative_sparsity=True,
                settle=SettleConfig.exact(method=method, tol=1e-2),
            )
            self._made[key] = network = VectorNetwork(config, seed=self.seed)
            network.start_from_samples(x, seed=self.seed)
            learner, rng = LocalLearner(network, lr=5e-3), generator(self.seed, "batches")
            for _ in range(self.steps):
                learner.step(
                    (x[torch.randint(len(x), (256,), generator=rng)],), scale=1.0, generator=rng
                )
        return self._made[key]
