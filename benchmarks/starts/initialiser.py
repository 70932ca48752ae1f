"""Guesses of settled codes in one go, to start a settle from (VN Sec. 5).

`Lista` and `StepSizes` are sweeps of plain ISTA written out as a network of so many layers (Gregor
and LeCun 2010; step sizes alone: Ablin et al. 2019). Untrained they *are* these sweeps; training
changes their matrices and thresholds, or their step sizes. `Dense` knows nothing of the settle.
`benchmarks.starts.training` has how they learn.

A guess moves the start of a settle and nothing else, so a convex energy is minimised at the same
codes as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks, seeding
from vnlib.layer import Layer
from vnlib.prox import L1, NonNegativeL1, TopK, keep_top_k
from vnlib.settle.energy import joint_energy
from vnlib.settle.quadratic import Quadratic

Code = Float[Tensor, "batch atoms"] | None
Codes = tuple[Float[Tensor, "batch _atoms"], ...]


@dataclass(frozen=True)
class Stack:
    """What is settled: layers with l1 penalties, with a hard cap or without, and identity messages
    between them.

    Raises
    ------
    ValueError
        For other penalties, lambda = 0, a feedback dictionary, or layers that nothing couples.
    """

    layers: tuple[Layer, ...]
    feedback: float

    def __post_init__(self) -> None:
        for number, layer in enumerate(self.layers, 1):
            if not isinstance(layer.penalty.soft, L1) or layer.B is not None:
                own = " and a feedback dictionary B" if layer.B is not None else ""
                raise ValueError(
                    f"layers must have l1 penalties and tied dictionaries, layer {number} "
                    f"has {layer.penalty}{own}"
                )
            checks.number(f"sparsity of layer {number}", layer.penalty.soft.sparsity, above=0)
        if len(self.layers) > 1:
            checks.number("feedback", self.feedback, above=0)

    def curvature(self, index: int) -> Quadratic:
        """The Hessian of one layer; the top one has no target."""
        return Quadratic(self.layers[index], self.feedback if index + 1 < len(self.layers) else 0.0)

    def cross(self, index: int) -> Float[Tensor, "lower upper"]:
        """U_l'V_{l+1}, which carries codes to the drive of the layer above, and back."""
        return self.layers[index].U.T @ self.layers[index + 1].V

    def energy(
        self, codes: Sequence[Tensor], x: Float[Tensor, "batch d"]
    ) -> Float[Tensor, " batch"]:
        """F of these codes (see `vnlib.settle.energy`)."""
        return joint_energy(self.layers, codes, x, self.feedback)


def schedule(depth: int, sweeps: int) -> list[tuple[int, bool]]:
    """The steps of the settle's schedule "sweep" from a cold start: (layer, whether it listens to
    the one above).
    """
    found = []
    for sweep in range(sweeps):
        found += [(layer, sweep > 0 and layer + 1 < depth) for layer in range(depth)]
        found += [(layer, True) for layer in reversed(range(depth - 1))]
    return found


def multiply_adds(stack: Stack) -> int:
    """Per sample and sweep of the settle, from its second sweep on: products with Hessians and with
    couplings.

    Every product is counted in the cheaper of its two forms, on codes or through the dense space.
    What has one operation per coefficient, such as thresholds and momentum, is left out.
    """
    total, top = 0, len(stack.layers) - 1
    for index, layer in enumerate(stack.layers):
        d, K = layer.V.shape
        rows = d + (len(layer.U) if index < top else 0)
        total += (2 if index < top else 1) * K * min(K, 2 * rows)
        if index < top:
            m, above = len(layer.U), stack.layers[index + 1].V.shape[1]
            total += 3 * min(K * above, m * (K + above))  # up once, down twice
    return total


class Unrolled(nn.Module):
    """So many sweeps of ISTA over a stack as a network; what a step is, its subclasses say."""

    def __init__(self, stack: Stack, *, sweeps: int) -> None:
        super().__init__()
        checks.number("sweeps", sweeps, low=1, integer=True)
        self.stack, self.sweeps = stack, sweeps
        self.steps = schedule(len(stack.layers), sweeps)

    def drive(self, x: Float[Tensor, "batch d"]) -> Float[Tensor, "batch atoms"]:
        """What layer 1 reads of the input, once for all sweeps."""
        raise NotImplementedError

    def step(self, number: int, drive: Tensor, below: Code, own: Code, above: Code) -> Tensor:
        """The new code of the layer that step `number` is of; None where there is no such code, or
        not yet.
        """
        raise NotImplementedError

    def forward(self, x: Float[Tensor, "batch d"]) -> Codes:
        """Codes of all layers.

        Raises
        ------
        ValueError
            For a wrong shape or NaN.
        """
        checks.matrix("x", x, self.stack.layers[0].V.shape[0], "one row per sample")
        codes: list[Code] = [None] * len(self.stack.layers)
        drive = self.drive(x)
        for number, (layer, coupled) in enumerate(self.steps):
            below, above = (
                codes[layer - 1] if layer else None,
                codes[layer + 1] if coupled else None,
            )
            codes[layer] = self.step(number, drive, below, codes[layer], above)
        return tuple(codes)

    def multiply_adds(self) -> int:
        """Per sample.

        The first step of a layer starts from zero and needs no product with its Hessian.
        """
        layers, total, seen = self.stack.layers, self.stack.layers[0].V.numel(), set()
        for layer, coupled in self.steps:
            K = layers[layer].V.shape[1]
            total += K * K if layer in seen else 0
            total += K * layers[layer - 1].V.shape[1] if layer else 0
            total += K * layers[layer + 1].V.shape[1] if coupled else 0
            seen.add(layer)
        return total


class Lista(Unrolled):
    """ISTA with every matrix learned: a <- S_theta(W below + S a + T above), each step with
    matrices of its own.

    They start as S = I - H/L, W = U_below'V/L, T = feedback V_above'U/L and theta = lambda/L (a
    threshold per atom). The input is read once, by a matrix that starts as V_1, and each step of
    layer 1 has a gain per atom for it, 1/L.
    """

    def __init__(self, stack: Stack, *, sweeps: int) -> None:
        super().__init__(stack, sweeps=sweeps)
        self.reader = nn.Parameter(stack.layers[0].V.clone())
        self.weights = nn.ModuleList()
        curvatures, seen = [stack.curvature(i) for i in range(len(stack.layers))], set()
        for layer, coupled in self.steps:
            V, lip = stack.layers[layer].V, curvatures[layer].lipschitz()
            one = V.new_ones(V.shape[1])
            own = {"theta": stack.layers[layer].penalty.soft.sparsity / lip * one}
            own |= {"W": stack.cross(layer - 1) / lip} if layer else {"gain": one / lip}
            if layer in seen:
                own["S"] = torch.diag(one) - curvatures[layer].gram(coupled) / lip
            if coupled:
                own["T"] = stack.feedback / lip * stack.cross(layer).T
            self.weights.append(
                nn.ParameterDict({name: nn.Parameter(t.clone()) for name, t in own.items()})
            )
            seen.add(layer)

    def drive(self, x: Tensor) -> Tensor:
        return x @ self.reader

    def step(self, number: int, drive: Tensor, below: Code, own: Code, above: Code) -> Tensor:
        w = self.weights[number]
        z = drive * w["gain"] if below is None else below @ w["W"]
        if own is not None:
            z = z + own @ w["S"]
        if above is not None:
            z = z + above @ w["T"]
        return _shrink(z, w["theta"].clamp_min(0), self.stack.layers[self.steps[number][0]].penalty)


class StepSizes(Unrolled):
    """ISTA with one number learned per step, its size, which starts at 1/L. A step of any size is
    one on F.
    """

    def __init__(self, stack: Stack, *, sweeps: int) -> None:
        super().__init__(stack, sweeps=sweeps)
        self.curvatures = [stack.curvature(i) for i in range(len(stack.layers))]
        self.crosses = [stack.cross(i) for i in range(len(stack.layers) - 1)]
        start = [1 / self.curvatures[layer].lipschitz() for layer, _ in self.steps]
        self.log_sizes = nn.Parameter(stack.layers[0].V.new_tensor(start).log())

    def drive(self, x: Tensor) -> Tensor:
        return x @ self.stack.layers[0].V

    def step(self, number: int, drive: Tensor, below: Code, own: Code, above: Code) -> Tensor:
        layer = self.steps[number][0]
        size, penalty = self.log_sizes[number].exp(), self.stack.layers[layer].penalty
        downhill = drive if below is None else below @ self.crosses[layer - 1]
        if own is not None:
            downhill = downhill - own @ self.curvatures[layer].gram(above is not None)
        if above is not None:
            downhill = downhill + self.stack.feedback * (above @ self.crosses[layer].T)
        z = size * downhill if own is None else own + size * downhill
        return _shrink(z, penalty.soft.sparsity * size, penalty)


class Dense(nn.Module):
    """A perceptron from the input to all codes, with a threshold per atom at its end; linear
    without hidden layers.

    Thresholds start at `threshold`, weights by `seed`.

    Parameters
    ----------
    hidden
        Units of the hidden layers (ReLU).
    """

    def __init__(
        self, stack: Stack, *, hidden: Sequence[int] = (), threshold: float = 1e-2, seed: int
    ) -> None:
        super().__init__()
        checks.number("threshold", threshold, low=0)
        for units in hidden:
            checks.number("each of hidden", units, low=1, integer=True)
        self.stack = stack
        self.atoms = [layer.V.shape[1] for layer in stack.layers]
        V, rng = stack.layers[0].V, seeding.generator(seed, "dense initialiser")
        sizes = [len(V), *hidden, sum(self.atoms)]
        self.maps = nn.ModuleList()
        for d, m in pairwise(sizes):
            one = nn.Linear(d, m, device=V.device, dtype=V.dtype)
            with torch.no_grad():
                one.weight.copy_(torch.randn(m, d, generator=rng) / d**0.5)
                one.bias.zero_()
            self.maps.append(one)
        self.theta = nn.Parameter(V.new_full((sum(self.atoms),), threshold))

    def forward(self, x: Float[Tensor, "batch d"]) -> Codes:
        """Codes of all layers.

        Raises
        ------
        ValueError
            For a wrong shape or NaN.
        """
        checks.matrix("x", x, self.stack.layers[0].V.shape[0], "one row per sample")
        for one in self.maps[:-1]:
            x = torch.relu(one(x))
        parts = zip(
            self.maps[-1](x).split(self.atoms, 1),
            self.theta.clamp_min(0).split(self.atoms),
            self.stack.layers,
            strict=True,
        )
        return tuple(_shrink(z, theta, layer.penalty) for z, theta, layer in parts)

    def multiply_adds(self) -> int:
        """Per sample."""
        return sum(one.weight.numel() for one in self.maps)


Initialiser = Unrolled | Dense


def _shrink(z: Tensor, threshold: Tensor, penalty: L1 | TopK) -> Tensor:
    """The proximal step of a penalty with thresholds that can be learned."""
    a = torch.relu(z - threshold)
    a = a if isinstance(penalty.soft, NonNegativeL1) else a - torch.relu(-z - threshold)
    return keep_top_k(a, penalty.k) if isinstance(penalty, TopK) else a
