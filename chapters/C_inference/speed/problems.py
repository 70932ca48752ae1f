"""Sparse coding problems with dictionaries from images, and how well a solution solves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import torch
from jaxtyping import Float
from sklearn.datasets import load_sample_images
from sklearn.feature_extraction.image import extract_patches_2d
from torch import Tensor

from vnlib import checks
from vnlib.layer import Layer
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.seeding import generator
from vnlib.settle import SettleConfig

# lambda of a problem, as a share of the mean of max|V'x|
SPARSITY = {"learned": 0.1, "dense": 0.01, "exemplars": 0.1, "patches": 0.1, "masked": 0.1}
# lambda per layer while learning, as a share of the r.m.s. norm of the layer's input
RELATIVE = (0.05, 0.03, 0.03)


@dataclass(frozen=True)
class Problem:
    """min_a 1/2 `|m * (x - V a)|^2` + sparsity `|a|_1` for every row of x (batch, d).

    m is the row of `mask`, 1 where x is observed (None: everywhere); x is 0 where it is not.
    """

    V: Float[Tensor, "d atoms"]
    x: Float[Tensor, "batch d"]
    sparsity: float
    mask: Float[Tensor, "batch d"] | None = None

    def to(self, target: torch.dtype | torch.device | str) -> Problem:
        """The same problem in another number type or on another device."""
        mask = None if self.mask is None else self.mask.to(target)
        return replace(self, V=self.V.to(target), x=self.x.to(target), mask=mask)

    def first(self, n: int) -> Problem:
        """The same problem for the first n samples."""
        return replace(self, x=self.x[:n], mask=None if self.mask is None else self.mask[:n])


def precision(gap: float) -> torch.dtype:
    """The number type in which a relative duality gap can be reached."""
    return torch.float32 if gap >= 1e-4 else torch.float64


def relative_gap(problem: Problem, codes: Float[Tensor, "batch atoms"]) -> Float[Tensor, " batch"]:
    """(P(a) - D) / P(a) per sample in float64: an upper bound of how far a code's energy is above
    the lowest.

    D is the dual value of the residual r, scaled as is best among the s r with `|V'(s
    r)|` <= sparsity. The same measure for every solver, whatever its own criterion is.
    """
    V, x, codes = problem.V.double(), problem.x.double(), codes.double()
    r = x - codes @ V.T
    if problem.mask is not None:
        r = r * problem.mask
    size, along = r.square().sum(1), (r * x).sum(1)
    primal = 0.5 * size + problem.sparsity * codes.abs().sum(1)
    largest = (r @ V).abs().amax(1)
    feasible = torch.where(largest > problem.sparsity, problem.sparsity / largest, 1.0)
    s = torch.minimum(along / size.clamp_min(torch.finfo(size.dtype).tiny), feasible).clamp_min(0)
    dual = s * along - 0.5 * s.square() * size
    return torch.where(primal > 0, (primal - dual) / primal, 0.0)


def size_of(name: str) -> tuple[str, int, int, int]:
    """Kind, d, K and B of "784x512x256 dense"; without a kind it is "learned".

    Raises
    ------
    ValueError
        For anything else.
    """
    size, _, kind = name.partition(" ")
    parts = size.split("x")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"size must be dxKxB, such as '784x512x256', got {name!r}")
    checks.choice("kind of size", kind or "learned", tuple(SPARSITY))
    d, K, B = map(int, parts)
    return kind or "learned", d, K, B


@cache
def patches(d: int, number: int, *, part: int, seed: int) -> Float[Tensor, "number d"]:
    """Square patches of d pixels from scikit-learn's two sample photographs, in grey, each of mean
    0 and scaled by its contrast (Coates, Lee and Ng 2011).

    Part 0 is from the left halves, part 1 from the right ones.
    """
    side, found = round(d**0.5), []
    checks.number("d of size", d, low=side**2, high=side**2)
    for image in load_sample_images().images:
        grey = np.array_split(image.mean(2), 2, axis=1)[part]
        options = {"max_patches": number // 2 + 1, "random_state": seed}
        found.append(extract_patches_2d(grey, (side, side), **options).reshape(-1, d))
    x = torch.from_numpy(np.stack(found, 1).reshape(-1, d)[:number])
    x = x - x.mean(1, keepdim=True)
    return (x / (x.var(1, keepdim=True) + 10).sqrt()).float()


@dataclass(frozen=True)
class Workloads:
    """Problems made from images, rows of `train` for the dictionaries and of `test` for the
    samples.

    Dictionaries start from samples and learn `steps` steps of Atomic-Hebb with batches of 256.
    Where d is not the number of pixels, images are first reduced to d numbers: their first
    principal components where d < 100, else a random projection. All follows from the images and
    `seed`; what was made is kept.

    Kinds of problems: "learned"; "dense", with a tenth of lambda; "masked", with half of the inputs
    of every sample hidden; "exemplars", images of `train` as atoms; "patches" of photographs
    instead of the images.
    """

    train: Float[Tensor, "train pixels"]
    test: Float[Tensor, "test pixels"]
    seed: int = 0
    steps: int = 10
    _made: dict = field(default_factory=dict, compare=False, repr=False)

    def problem(self, size: str) -> Problem:
        """The problem of a size "dxKxB KIND", in float32.

        Raises
        ------
        ValueError
            If there are too few images for it.
        """
        kind, d, K, B = size_of(size)
        checks.number("B of size", B, high=len(self.test))
        source, mask = "patches" if kind == "patches" else "images", None
        train, x = self.rows(d, source)
        x = x[:B]
        if kind == "exemplars":
            checks.number("K of size", K, high=len(train))
            V = torch.nn.functional.normalize(train[:K], dim=1).T.contiguous()
        else:
            V = self.network(d, atoms=(K,), source=source).V[0].detach()
        if kind == "masked":
            ranks = torch.rand(x.shape, generator=generator(self.seed, "mask")).argsort(1)
            mask = (ranks >= d // 2).to(x)
            x = x * mask
        return Problem(V, x, SPARSITY[kind] * float((x @ V).abs().amax(1).mean()), mask)

    def stack(self, atoms: Sequence[int], interface: Sequence[int]) -> tuple[Layer, ...]:
        """The layers of a network that has learned from the images, with top-down weight 0.1."""
        pixels = self.train.shape[1]
        return self.network(pixels, atoms=tuple(atoms), interface=tuple(interface)).layers

    def rows(self, d: int, source: str = "images") -> tuple[Tensor, Tensor]:
        """Rows of d numbers for dictionaries and for samples."""
        if source == "patches":
            made = partial(patches, d, seed=self.seed)
            return made(len(self.train), part=0), made(len(self.test), part=1)
        return self.reduced(self.train, d), self.reduced(self.test, d)

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
        self,
        d: int,
        *,
        atoms: tuple[int, ...],
        interface: tuple[int, ...] = (),
        source: str = "images",
    ) -> VectorNetwork:
        """A network that has learned from such rows."""
        key = (d, atoms, interface, source)
        if key not in self._made:
            x, _ = self.rows(d, source)
            config = VNConfig(
                n_inputs=d,
                atoms=atoms,
                interface=interface,
                sparsity=RELATIVE[: len(atoms)],
                relative_sparsity=True,
                settle=SettleConfig(tol=1e-2),  # fast, and near enough for learning
            )
            self._made[key] = network = VectorNetwork(config, seed=self.seed)
            network.start_from_samples(x, seed=self.seed)
            learner, rng = LocalLearner(network, lr=5e-3), generator(self.seed, "batches")
            for _ in range(self.steps):
                learner.step(
                    (x[torch.randint(len(x), (256,), generator=rng)],), scale=1.0, generator=rng
                )
        return self._made[key]
