"""Accelerations in closed form: ridge regression on what the other models read, and the mean (VN
Sec. 4.3, App. H).

Controls that are linear in their weights: what they reach, the features have given. Only "Random"
is in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.nbody.baseline import Dynamics
from benchmarks.nbody.bodies import (
    LAWS,
    Accelerations,
    Bodies,
    Samples,
    Scales,
    gated,
    literal,
    tokens,
)
from benchmarks.nbody.tokens import SPACE, acting
from vnlib import checks, seeding

PENALTIES = tuple(10.0**k for k in range(-13, 2, 2))
BATCH = 500
TOKENS = 512  # at a time: their kernels then fit a cache
WIDTHS = {"constant": 1, "literal": 23, "gated": 88, "tokens": SPACE}

Criterion = Callable[[Callable[[Bodies], Accelerations]], float]


class Linear(nn.Module):
    """Features of bodies by name: "constant" 1; "literal", 22 numbers and a constant; "gated", 88;
    "tokens", 28: the sum of a body's tokens, each in the block of its force. All are 0 for absent
    bodies.
    """

    def __init__(
        self, name: str, scales: Scales, *, relative_velocity: float = 0.0, presence: float = 0.7
    ) -> None:
        super().__init__()
        checks.choice("features", name, WIDTHS)
        self.name, self.scales, self.width = name, scales, WIDTHS[name]
        self.weighing = {"relative_velocity": relative_velocity, "presence": presence}

    def forward(self, bodies: Bodies) -> Float[Tensor, "batch body feature"]:
        constant = bodies.present[..., None].to(bodies.position)
        if self.name == "constant":
            return constant
        if self.name == "literal":
            return torch.cat([literal(bodies, self.scales), constant], -1)
        if self.name == "gated":
            return gated(bodies, self.scales)
        return tokens(bodies, self.scales, **self.weighing).sum(3).flatten(2)

    def read(self, bodies: Bodies, weights: Float[Tensor, "feature 2"]) -> Accelerations:
        return self(bodies) @ weights


class Kernels(nn.Module):
    """The tokens of a body, 28 numbers, and Gaussian kernels `exp(-|t - c|^2 / (2 bandwidth^2))` of
    tokens t at centres c of the same force, both summed over its tokens; those that are all zero
    add nothing.

    Without the tokens themselves, wide kernels are needed for linear forces and narrow ones for
    springs.

    Parameters
    ----------
    centres
        (law, centre, 7).
    """

    def __init__(
        self,
        centres: Float[Tensor, "law centre 7"],
        bandwidth: float,
        scales: Scales,
        *,
        relative_velocity: float = 0.0,
        presence: float = 0.7,
    ) -> None:
        super().__init__()
        checks.number("bandwidth", bandwidth, above=0)
        self.scales, self.bandwidth = scales, bandwidth
        self.weighing = {"relative_velocity": relative_velocity, "presence": presence}
        self.register_buffer("centres", centres / bandwidth)
        self.width = centres.shape[0] * centres.shape[1] + SPACE

    def forward(self, bodies: Bodies) -> Float[Tensor, "batch body feature"]:
        read = tokens(bodies, self.scales, **self.weighing)
        total = read.new_zeros(bodies.present.numel(), *self.centres.shape[:2])
        for law, owner, kernels in self._kernels(read):
            total[:, law].index_add_(0, owner, kernels)
        kernels = total.flatten(1).unflatten(0, bodies.present.shape)
        return torch.cat([read.sum(3).flatten(2), kernels], -1)

    def read(self, bodies: Bodies, weights: Float[Tensor, "feature 2"]) -> Accelerations:
        read = tokens(bodies, self.scales, **self.weighing)
        total = read.sum(3).flatten(2) @ weights[:SPACE]
        by_law = weights[SPACE:].unflatten(0, self.centres.shape[:2])
        # Summing two numbers per token is much less work than summing all its kernels.
        for law, owner, kernels in self._kernels(read):
            total.view(-1, 2).index_add_(0, owner, kernels @ by_law[law])
        return total

    def _kernels(
        self, read: Float[Tensor, "batch body law token 7"]
    ) -> Iterator[tuple[int, Tensor, Tensor]]:
        """For parts of all tokens: their law, the body of each, the kernels (token, centre)."""
        found, owner, law = acting(read / self.bandwidth)
        for number in range(len(LAWS)):
            here = law == number
            centres = self.centres[number].to(found)
            for one, body in zip(found[here].split(TOKENS), owner[here].split(TOKENS), strict=True):
                exponent = torch.addmm(-0.5 * centres.square().sum(1), one, centres.T)
                exponent -= 0.5 * one.square().sum(1, keepdim=True)
                yield number, body, exponent.exp_()


class Ridge(Dynamics):
    """Accelerations linear in features of bodies.

    Parameters
    ----------
    features
        `Linear` or `Kernels`.
    weights
        (feature, 2), float64.
    penalty
        For the record.

    Raises
    ------
    ValueError
        For weights of another shape than the features ask for.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        features: Linear | Kernels,
        weights: Float[Tensor, "feature 2"],
        penalty: float = 0.0,
    ) -> None:
        super().__init__(scales=scales)
        if tuple(weights.shape) != (features.width, 2):
            raise ValueError(
                f"weights must have the shape {(features.width, 2)}, got {tuple(weights.shape)}"
            )
        self.features, self.penalty = features, penalty
        self.register_buffer("weights", weights)

    def respond(self, bodies: Bodies) -> Accelerations:
        return self.features.read(bodies, self.weights.to(bodies.position))


def ridge(
    samples: Samples,
    *,
    scales: Scales,
    criterion: Criterion,
    seed: int,
    features: str = "literal",
    penalties: Sequence[float] = PENALTIES,
    centres: int = 256,
    bandwidths: Sequence[float] = (0.2, 0.3, 0.45, 0.7),
    relative_velocity: float = 0.0,
    presence: float = 0.7,
) -> Ridge:
    """The ridge regression whose penalty, and bandwidth for "tokens_rbf", has the least criterion.

    Parameters
    ----------
    criterion
        `criterion(predict)`: the error on validation samples.
    features
        One of `WIDTHS`, or "tokens_rbf": `Kernels` at `centres` training tokens per force, drawn by
        `seed`.
    penalties
        Relative to the mean square of the features; they hold for the constant too.

    Raises
    ------
    ValueError
        For unknown features, for penalties or bandwidths that are not > 0, and where a force has
        fewer training tokens than centres.
    """
    checks.choice("features", features, (*WIDTHS, "tokens_rbf"))
    for name, values in (("penalties", penalties), ("bandwidths", bandwidths)):
        if not values:
            raise ValueError(f"{name} must hold at least one number, got {values!r}")
        for value in values:
            checks.number(f"each of {name}", value, above=0)
    weighing = {"relative_velocity": relative_velocity, "presence": presence}
    for name, value in weighing.items():
        checks.number(name, value, low=0)
    if features == "tokens_rbf":
        drawn = drawn_centres(tokens(samples.bodies, scales, **weighing), centres, seed=seed)
        choices = [Kernels(drawn, width, scales, **weighing) for width in bandwidths]
    else:
        choices = [Linear(features, scales, **weighing)]
    best, least = None, float("inf")
    for choice in choices:
        for penalty, weights in solutions(choice, samples, penalties):
            model = Ridge(scales=scales, features=choice, weights=weights, penalty=penalty)
            value = criterion(model)
            if best is None or value < least:
                best, least = model, value
    return best


def drawn_centres(
    read: Float[Tensor, "batch body law token 7"], centres: int, *, seed: int
) -> Float[Tensor, "law centre 7"]:
    """For every law, `centres` of its tokens that are not all zero.

    Raises
    ------
    ValueError
        Where it has fewer.
    """
    found, _, law = acting(read)
    parts = []
    for number, name in enumerate(LAWS):
        own = found[law == number]
        checks.number(f"centres of {name}", centres, low=1, high=len(own), integer=True)
        rows = torch.randperm(len(own), generator=seeding.generator(seed, "centres", name))[
            :centres
        ]
        parts.append(own[rows.to(own.device)])
    return torch.stack(parts)


@torch.no_grad()
def solutions(
    features: Linear | Kernels, samples: Samples, penalties: Sequence[float]
) -> list[tuple[float, Float[Tensor, "feature 2"]]]:
    """The weights for every penalty, from one decomposition of the normal equations in float64."""
    square = torch.zeros(
        features.width, features.width, dtype=torch.float64, device=samples.position.device
    )
    moment, rows = square.new_zeros(features.width, 2), 0
    for part in zip(*(tensor.split(BATCH) for tensor in samples), strict=True):
        some = Samples(*(one.double() if one.is_floating_point() else one for one in part))
        x, y = (
            features(some.bodies)[some.present],
            some.acceleration[some.present] / features.scales.acceleration,
        )
        used = x.any(0).nonzero()[:, 0]  # where one force acts, the features of the others are 0
        x = x[:, used]
        square[used[:, None], used] += x.T @ x
        moment[used] += x.T @ y
        rows += len(x)
    values, vectors = torch.linalg.eigh(square)
    along, mean = vectors.T @ moment, values.clamp_min(0).mean()
    return [(p, vectors @ (along / (values.clamp_min(0) + p * mean)[:, None])) for p in penalties]


class MeanPrediction(Dynamics):
    """The mean acceleration of training bodies, whatever the bodies are: "Random" of the paper,
    read as its "ceiling" of predicting the mean (VN App. H.2).

    Raises
    ------
    ValueError
        Where no body is present.
    """

    def __init__(self, samples: Samples, *, scales: Scales) -> None:
        super().__init__(scales=scales)
        if not bool(samples.present.any()):
            raise ValueError("samples must hold bodies that are present, got none")
        mean = samples.acceleration[samples.present].double().mean(0)
        self.register_buffer("mean", mean / scales.acceleration)

    def respond(self, bodies: Bodies) -> Accelerations:
        return self.mean.to(bodies.position).expand_as(bodies.position)
