"""Predictive coding (PC) and its bidirectional form (bPC): dense states inferred under fixed
weights.

The network is a chain of states x_0 (the data), x_1, ..., x_L. Generative weights G_l predict each
state from the one above, discriminative weights D_l from the one below (Oliviers et al. 2025,
Eq. 4)::

    E = alpha_G/2 sum_l |x_l - G_l f(x_{l+1})|^2 + alpha_D/2 sum_l |x_{l+1} - D_l f(x_l)|^2
        + rho sum_l |x_{l+1}|_1,

summed over l = 0, ..., L - 1. alpha_D = 0 is the generative network of Rao & Ballard (1999),
alpha_G = 0 the discriminative one of Whittington & Bogacz (2017). Inference descends E in the
states, learning descends it in the weights; both are local. The last term, absent unless asked for,
is a sparse prior on the states, which Rao & Ballard also allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vnlib import checks
from vnlib.fit import GradientLearner

# Name -> f and its derivative; f(0) = 0, so that a silent unit changes no weight.
ACTIVATIONS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "identity": (lambda x: x, torch.ones_like),
    "tanh": (torch.tanh, lambda x: 1 - torch.tanh(x).square()),
}


@dataclass(frozen=True, kw_only=True)
class PCConfig:
    """Sizes and settings.

    Parameters
    ----------
    sizes
        Units of x_0 (the data), x_1, ..., x_L.
    generative, discriminative
        Weights alpha_G and alpha_D of the two kinds of errors; at 0 there are no such weights.
    sparsity
        Weight rho of the sparse prior.
    steps
        Steps of inference.
    step_size
        The first one; it then grows by a fifth, and is halved where the energy would have risen.
    """

    sizes: tuple[int, ...]
    generative: float = 1.0
    discriminative: float = 0.0
    activation: str = "tanh"
    sparsity: float = 0.0
    steps: int = 20
    step_size: float = 0.02

    def __post_init__(self) -> None:
        if not isinstance(self.sizes, (tuple, list)) or len(self.sizes) < 2:
            raise ValueError(
                f"sizes must be a tuple of the units of at least two levels, got {self.sizes!r}"
            )
        for size in self.sizes:
            checks.number("each of sizes", size, low=1, integer=True)
        for name in ("generative", "discriminative", "sparsity"):
            checks.number(name, getattr(self, name), low=0)
        if not (self.generative or self.discriminative):
            raise ValueError(
                "generative and discriminative must not both be 0: nothing would be predicted"
            )
        checks.choice("activation", self.activation, ACTIVATIONS)
        checks.number("steps", self.steps, low=0, integer=True)
        checks.number("step_size", self.step_size, above=0)


@dataclass(frozen=True)
class Inferred:
    """States of all levels, x_0 first; the energy of each sample; and, if asked for, its energy at
    every step.
    """

    states: tuple[Float[Tensor, "batch _units"], ...]
    energy: Float[Tensor, " batch"]
    trace: tuple[Float[Tensor, " batch"], ...] = ()


@dataclass(frozen=True)
class LocalUpdate:
    """The update error activity' that one sample asks of one weight matrix (Whittington & Bogacz
    2017, Eq. 2.19).
    """

    error: Float[Tensor, "batch rows"]
    activity: Float[Tensor, "batch columns"]

    @property
    def mean(self) -> Float[Tensor, "rows columns"]:
        """The update of the batch: minus the gradient of its mean energy."""
        return self.error.T @ self.activity / len(self.error)


class PredictiveCoding(nn.Module):
    """A predictive coding network.

    `generative[l]` is G_l (n_l, n_{l+1}), `discriminative[l]` is D_l (n_{l+1}, n_l).
    """

    def __init__(self, config: PCConfig, *, seed: int) -> None:
        super().__init__()
        self.config = config
        self.f, self.slope = ACTIVATIONS[config.activation]
        rng = torch.Generator().manual_seed(seed)

        def weights(rows: int, columns: int) -> nn.Parameter:
            return nn.Parameter((2 * torch.rand(rows, columns, generator=rng) - 1) / columns**0.5)

        pairs = list(pairwise(config.sizes))
        self.generative = nn.ParameterList(
            [weights(low, high) for low, high in pairs if config.generative]
        )
        self.discriminative = nn.ParameterList(
            [weights(high, low) for low, high in pairs if config.discriminative]
        )

    def errors(
        self, states: Sequence[Float[Tensor, "batch _units"]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """x_l - G_l f(x_{l+1}) for every l < L, and x_{l+1} - D_l f(x_l) for every l < L."""
        active = [self.f(x) for x in states]
        down = [x - a @ G.T for x, a, G in zip(states, active[1:], self.generative, strict=False)]
        up = [x - a @ D.T for x, a, D in zip(states[1:], active, self.discriminative, strict=False)]
        return down, up

    def energy(self, states: Sequence[Float[Tensor, "batch _units"]]) -> Float[Tensor, " batch"]:
        """E of each sample (module docstring)."""
        return self._energy(states, *self.errors(states))

    def state_gradients(
        self, states: Sequence[Float[Tensor, "batch _units"]]
    ) -> list[Float[Tensor, "batch _units"]]:
        """dE/dx_1, ..., dE/dx_L without the sparse prior (Oliviers et al. 2025, Eq. 5)."""
        return self._state_gradients(states, *self.errors(states))

    @torch.no_grad()
    def infer(
        self,
        x: Float[Tensor, "batch d"],
        *,
        top: Float[Tensor, "batch units"] | None = None,
        steps: int | None = None,
        trace: bool = False,
    ) -> Inferred:
        """Descend the energy in the states above the data, and below `top` where that is clamped (a
        label).

        It starts from the sweep upward through D, or from zeros where there is no D. Every sample
        has a step size of its own, so its result does not depend on its batch, and its energy never
        rises.

        Raises
        ------
        ValueError
            For wrong shapes or NaN.
        """
        c = self.config
        checks.matrix("x", x, c.sizes[0], "one row per sample")
        states = list(self.start(x))
        if top is not None:
            checks.matrix("top", top, c.sizes[-1], "one row per sample")
            states[-1] = top
        free = range(1, len(states) if top is None else len(states) - 1)
        errors = self.errors(states)
        energy = self._energy(states, *errors)
        step = torch.full((len(x), 1), c.step_size, dtype=x.dtype, device=x.device)
        log = [energy]
        for _ in range(c.steps if steps is None else steps):
            gradients, trial = self._state_gradients(states, *errors), list(states)
            for level in free:
                trial[level] = states[level] - step * gradients[level - 1]
                if c.sparsity:
                    trial[level] = trial[level] - torch.clamp(
                        trial[level], -c.sparsity * step, c.sparsity * step
                    )
            new_errors = self.errors(trial)
            new = self._energy(trial, *new_errors)
            keep = (new <= energy)[:, None]
            states = [torch.where(keep, n, o) for n, o in zip(trial, states, strict=True)]
            errors = tuple(
                [torch.where(keep, n, o) for n, o in zip(*pair, strict=True)]
                for pair in zip(new_errors, errors, strict=True)
            )
            energy = torch.minimum(new, energy)
            step = torch.where(keep, 1.2 * step, 0.5 * step)
            log.append(energy)
        return Inferred(tuple(states), energy, tuple(log) if trace else ())

    @torch.no_grad()
    def start(self, x: Float[Tensor, "batch d"]) -> tuple[Float[Tensor, "batch _units"], ...]:
        """The states before inference, the data among them."""
        states = [x]
        for level, units in enumerate(self.config.sizes[1:]):
            if self.discriminative:
                states.append(self.f(states[-1]) @ self.discriminative[level].T)
            else:
                states.append(x.new_zeros(len(x), units))
        return tuple(states)

    def reconstruct(self, states: Sequence[Tensor], *, level: int = 1) -> Float[Tensor, "batch d"]:
        """What x_level alone says of the data: G_0 f(... G_{level-1} f(x_level)).

        Raises
        ------
        ValueError
            Without G.
        """
        checks.number("level", level, low=1, high=len(self.config.sizes) - 1, integer=True)
        if not self.generative:
            raise ValueError("a network with generative=0 has no weights to reconstruct with")
        x = states[level]
        for G in list(self.generative[:level])[::-1]:
            x = self.f(x) @ G.T
        return x

    def updates(
        self, states: Sequence[Float[Tensor, "batch _units"]]
    ) -> tuple[list[LocalUpdate], list[LocalUpdate]]:
        """What every sample asks of G_0, G_1, ... and of D_0, D_1, ...: error times activity
        (Eq. 7).
        """
        (down, up), active = self.errors(states), [self.f(x) for x in states]
        return (
            [
                LocalUpdate(self.config.generative * e, a)
                for e, a in zip(down, active[1:], strict=False)
            ],
            [
                LocalUpdate(self.config.discriminative * e, a)
                for e, a in zip(up, active, strict=False)
            ],
        )

    def loss(
        self,
        x: Float[Tensor, "batch d"],
        top: Float[Tensor, "batch units"] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, ""]:
        """The mean energy of a batch after inference; its gradient by the weights is minus the mean
        of `updates`.

        Nothing is differentiated through the inference, and nothing is random.
        """
        return self.energy(self.infer(x, top=top).states).mean()

    def _energy(
        self, states: Sequence[Tensor], down: Sequence[Tensor], up: Sequence[Tensor]
    ) -> Tensor:
        c = self.config
        total = sum(
            (0.5 * c.generative * e.square().sum(1) for e in down),
            states[0].new_zeros(len(states[0])),
        )
        total = sum((0.5 * c.discriminative * e.square().sum(1) for e in up), total)
        return (
            sum((c.sparsity * x.abs().sum(1) for x in states[1:]), total) if c.sparsity else total
        )

    def _state_gradients(
        self, states: Sequence[Tensor], down: Sequence[Tensor], up: Sequence[Tensor]
    ) -> list[Tensor]:
        c, top, gradients = self.config, len(states) - 1, []
        for level in range(1, top + 1):
            own, sent = torch.zeros_like(states[level]), torch.zeros_like(states[level])
            if down:
                sent = sent + c.generative * down[level - 1] @ self.generative[level - 1]
                own = own + c.generative * down[level] if level < top else own
            if up:
                own = own + c.discriminative * up[level - 1]
                sent = (
                    sent + c.discriminative * up[level] @ self.discriminative[level]
                    if level < top
                    else sent
                )
            gradients.append(own - self.slope(states[level]) * sent)
        return gradients


class PCLearner(GradientLearner):
    """Local learning: inference on a batch, then a step of Adam along `updates`.

    Under a sparse prior the columns of G are kept in the unit ball; else large weights would make
    small states cheap.
    """

    def __init__(self, model: PredictiveCoding, *, lr: float) -> None:
        super().__init__(model, lr=lr, weight_decay=0.0)

    def step(
        self, batch: tuple[Tensor, ...], *, scale: float, generator: torch.Generator
    ) -> Tensor:
        energy = super().step(batch, scale=scale, generator=generator)
        if self.model.config.sparsity:
            with torch.no_grad():
                for G in self.model.generative:
                    G /= G.norm(dim=0).clamp_min(1)
        return energy
