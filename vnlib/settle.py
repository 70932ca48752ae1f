"""The settle: fast inference of the sparse codes of all layers (VN Sec. 3.3, Eqs. 4-7, App. C).

One sweep goes up (a proximal step on each code, then its message becomes the input of the layer above) and down
(each layer gets the target t_l = V_{l+1} a_{l+1} and steps again with both residuals). With identity messages every
step descends the joint energy

    F = sum_l feedback^(l-1) [ 1/2 |x_l - V_l a_l|^2 + penalty_l(a_l) ],    x_{l+1} = U_l a_l,

whose partial gradients are those of VN Eq. 4. F is jointly convex for l1 penalties, so stopping and rejection are
decided on it. The sum of the layer energies of Eq. 3 counts each coupling twice and may rise; it is not used.
Every sample stops by itself: its result does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.layer import ACTIVATIONS, Layer, energy, hessian, lipschitz, message, reconstruct


class Stop(Enum):
    """Why the settle of a sample ended."""

    CONVERGED = "the relative energy improvement of a sweep fell below tol"
    MAX_SWEEPS = "max_sweeps was reached; raise it, or raise tol, if a settled code is needed"


@dataclass(frozen=True, kw_only=True)
class SettleConfig:
    """How to settle.

    method: "ista" (plain proximal steps) or "fista" (momentum per layer, restarted per sample when it points uphill).
    max_sweeps: sweeps at most. tol: relative energy improvement below which a sample stops; 0 runs all sweeps.
    steps: proximal steps per layer and pass. monotone: take back a sweep that raises the energy of a sample.
    cap_from: sweeps before the hard cap of a top-k layer sets in; it then cuts a nearly settled code instead of the
    first, noisy ones.
    """

    method: str = "fista"
    max_sweeps: int = 300
    tol: float = 1e-5
    steps: int = 1
    monotone: bool = False
    cap_from: int = 0

    def __post_init__(self) -> None:
        checks.choice("method", self.method, ("ista", "fista"))
        checks.number("max_sweeps", self.max_sweeps, low=1, integer=True)
        checks.number("tol", self.tol, low=0)
        checks.number("steps", self.steps, low=1, integer=True)
        checks.number("cap_from", self.cap_from, low=0, high=self.max_sweeps - 1, integer=True)


@dataclass
class Trace:
    """What happened, sweep by sweep. Entries of samples that had stopped repeat their last value.

    energy: F per sweep and sample (sweeps, batch). active: nonzero coefficients (sweeps, layers, batch).
    """

    energy: list[Float[Tensor, " batch"]] = field(default_factory=list)
    active: list[Int[Tensor, "layers batch"]] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """Codes and inputs per layer, and how the settle of each sample went."""

    codes: tuple[Float[Tensor, "batch _atoms"], ...]
    inputs: tuple[Float[Tensor, "batch _d"], ...]
    energy: Float[Tensor, " batch"]
    sweeps: Int[Tensor, " batch"]
    converged: Bool[Tensor, " batch"]
    trace: Trace | None = None

    @property
    def reasons(self) -> list[Stop]:
        """Why each sample stopped."""
        return [Stop.CONVERGED if c else Stop.MAX_SWEEPS for c in self.converged.tolist()]


def joint_energy(
    layers: Sequence[Layer],
    codes: Sequence[Float[Tensor, "batch _atoms"]],
    x: Float[Tensor, "batch d"],
    feedback: float = 0.0,
    activation: str = "identity",
) -> Float[Tensor, " batch"]:
    """F per sample (module docstring). For one layer this is VN Eq. 3 without a target."""
    total, weight = torch.zeros(len(x), dtype=x.dtype, device=x.device), 1.0
    for number, (layer, code) in enumerate(zip(layers, codes, strict=True), 1):
        total = total + weight * energy(layer, code, x)
        if number < len(layers):
            x, weight = message(layer, code, activation), weight * feedback
    return total


class _LayerSolver:
    """Proximal steps on the code of one layer, in Gram form: the gradient is H a - V'x - feedback U't."""

    def __init__(self, layer: Layer, feedback: float, momentum: bool) -> None:
        self.layer, self.feedback = layer, feedback
        self.bottom_up, self.coupled = hessian(layer), hessian(layer, feedback)
        self.lip_bottom_up, self.lip_coupled = lipschitz(self.bottom_up), lipschitz(self.coupled)
        self.momentum = momentum

    def step(self, state: _Code, x: Tensor, target: Tensor | None, capped: bool) -> None:
        penalty = self.layer.penalty if capped else self.layer.penalty.soft
        momentum = self.momentum and penalty.accelerable
        drive = x @ self.layer.V
        curvature, lip = self.bottom_up, self.lip_bottom_up
        if target is not None:
            drive = drive + self.feedback * (target @ self.layer.U)
            curvature, lip = self.coupled, self.lip_coupled
        start = state.ahead if momentum else state.code
        new = penalty.prox(start - (start @ curvature - drive) / lip, 1 / lip)
        if momentum:
            state.extrapolate(start, new)
        state.code = new


@dataclass
class _Code:
    """A code on its way: the last iterate, the extrapolated point, and the momentum counter per sample."""

    code: Tensor
    ahead: Tensor
    t: Tensor

    @classmethod
    def at(cls, code: Tensor) -> _Code:
        return cls(code, code, torch.ones(len(code), 1, dtype=code.dtype, device=code.device))

    def extrapolate(self, start: Tensor, new: Tensor) -> None:
        """Beck and Teboulle's momentum, restarted where the last step points against it."""
        uphill = ((start - new) * (new - self.code)).sum(1, keepdim=True) > 0
        t = torch.where(uphill, torch.ones_like(self.t), self.t)
        t_next = 0.5 * (1 + (1 + 4 * t.square()).sqrt())
        self.ahead = new + ((t - 1) / t_next) * (new - self.code)
        self.t = t_next

    def rows(self, keep: Tensor) -> _Code:
        return _Code(self.code[keep], self.ahead[keep], self.t[keep])

    def take_back(self, before: Tensor, rejected: Tensor) -> None:
        """Return the rejected rows to `before` and forget their momentum; the next step is a plain one."""
        self.code = torch.where(rejected[:, None], before, self.code)
        self.ahead = torch.where(rejected[:, None], before, self.ahead)
        self.t = torch.where(rejected[:, None], torch.ones_like(self.t), self.t)


class Settler:
    """A stack of layers made ready for many settles: Hessians and step sizes are computed once.

    Raises ValueError if layers do not fit together.
    """

    def __init__(
        self,
        layers: Sequence[Layer],
        *,
        feedback: float = 0.0,
        activation: str = "identity",
        config: SettleConfig | None = None,
    ) -> None:
        checks.number("feedback", feedback, low=0)
        checks.choice("activation", activation, ACTIVATIONS)
        for number, (below, above) in enumerate(pairwise(layers), 1):
            if below.U is None or below.U.shape[0] != above.V.shape[0]:
                sent = None if below.U is None else below.U.shape[0]
                raise ValueError(
                    f"layer {number} sends {sent} numbers upward, layer {number + 1} reads {above.V.shape[0]}"
                )
        self.layers, self.feedback, self.activation = tuple(layers), feedback, activation
        self.config = config or SettleConfig()
        self.solvers = [_LayerSolver(layer, feedback, self.config.method == "fista") for layer in self.layers]

    def __call__(
        self, x: Float[Tensor, "batch d"], start: Sequence[Tensor] | None = None, *, trace: bool = False
    ) -> Settled:
        """Settle a batch from a = 0, or from the codes `start` (which are not changed).

        Without feedback a layer knows nothing of those above it, so the layers are settled one after the other.
        Raises ValueError for inputs of the wrong shape or with NaN.
        """
        checks.matrix("x", x, self.layers[0].V.shape[0], "one row per sample")
        if x.dtype != self.layers[0].V.dtype:
            raise ValueError(f"x must have the type of the dictionaries, {self.layers[0].V.dtype}, got {x.dtype}")
        if start is not None:
            sizes = [len(code) for code in start]
            if sizes != [len(x)] * len(self.layers):
                raise ValueError(
                    f"start must hold one code of {len(x)} rows for each of {len(self.layers)} layer(s), got {sizes}"
                )
            for number, (code, layer) in enumerate(zip(start, self.layers, strict=True), 1):
                checks.matrix(f"start code {number}", code, layer.V.shape[1], "one row per sample")
        if self.feedback or len(self.layers) == 1:
            return self._settle(0, len(self.layers), x, start, trace)
        parts, inputs = [], x
        for index, layer in enumerate(self.layers):
            parts.append(self._settle(index, index + 1, inputs, start and start[index : index + 1], trace))
            if index + 1 < len(self.layers):
                inputs = message(layer, parts[-1].codes[0], self.activation)
        return _one_after_the_other(parts)

    @torch.no_grad()
    def _settle(self, first: int, last: int, x: Tensor, start: Sequence[Tensor] | None, trace: bool) -> Settled:
        layers, solvers, config = self.layers[first:last], self.solvers[first:last], self.config
        coupled_start = start is not None
        if start is None:
            start = [x.new_zeros(len(x), layer.V.shape[1]) for layer in layers]
        # With ReLU messages the printed coupling has no energy, so nothing can be rejected on it.
        monotone = config.monotone and self.activation == "identity"
        watch = bool(config.tol) or monotone or trace
        log = Trace() if trace else None

        final = [code.clone() for code in start]
        final_energy = joint_energy(layers, final, x, self.feedback, self.activation)
        sweeps = torch.full((len(x),), config.max_sweeps, device=x.device)
        converged = torch.zeros(len(x), dtype=torch.bool, device=x.device)
        live, live_x, states = torch.arange(len(x), device=x.device), x, [_Code.at(code) for code in final]
        before = final_energy
        for sweep in range(1, config.max_sweeps + 1):
            old = [state.code for state in states]
            capped = sweep > config.cap_from
            self._sweep(solvers, states, live_x, with_targets=coupled_start or sweep > 1, capped=capped)
            if not watch:
                continue
            now = joint_energy(layers, [s.code for s in states], live_x, self.feedback, self.activation)
            accepted = torch.ones_like(now, dtype=torch.bool)
            # The first sweep has no targets yet, and the cap may cost energy when it sets in.
            if monotone and (coupled_start or sweep > 1) and sweep != config.cap_from + 1:
                accepted = now <= before
                for state, code in zip(states, old, strict=True):
                    state.take_back(code, ~accepted)
                now = torch.where(accepted, now, before)
            change = (before - now).abs()
            done = accepted & (change <= config.tol * before.abs()) & (config.tol > 0) & (sweep > config.cap_from + 1)
            before = now
            if log is not None:
                self._record(log, live, now, states, final_energy, final)
            if done.any():
                for code, state in zip(final, states, strict=True):
                    code[live[done]] = state.code[done]
                final_energy[live[done]], sweeps[live[done]], converged[live[done]] = now[done], sweep, True
                keep = ~done
                live, live_x, before = live[keep], live_x[keep], before[keep]
                states = [state.rows(keep) for state in states]
                if not len(live):
                    break
        for code, state in zip(final, states, strict=True):
            code[live] = state.code
        if len(live):
            remaining = [code[live] for code in final]
            final_energy[live] = joint_energy(layers, remaining, live_x, self.feedback, self.activation)
        inputs = [x]
        for layer, code in zip(layers[:-1], final[:-1], strict=True):
            inputs.append(message(layer, code, self.activation))
        return Settled(tuple(final), tuple(inputs), final_energy, sweeps, converged, log)

    def _sweep(
        self, solvers: list[_LayerSolver], states: list[_Code], x: Tensor, with_targets: bool, capped: bool
    ) -> None:
        """One sweep up and down (VN Eq. 7). Before the first targets exist the steps are bottom-up only."""
        top = len(solvers) - 1
        inputs = [x]
        for index, (solver, state) in enumerate(zip(solvers, states, strict=True)):
            target = None
            if with_targets and index < top:
                target = reconstruct(solvers[index + 1].layer, states[index + 1].code)
            for _ in range(self.config.steps):
                solver.step(state, inputs[index], target, capped)
            if index < top:
                inputs.append(message(solver.layer, state.code, self.activation))
        for index in range(top - 1, -1, -1):
            target = reconstruct(solvers[index + 1].layer, states[index + 1].code)
            for _ in range(self.config.steps):
                solvers[index].step(states[index], inputs[index], target, capped)
            # The inputs of the layers above are refreshed by the next pass upward.

    @staticmethod
    def _record(
        log: Trace, live: Tensor, now: Tensor, states: list[_Code], energies: Tensor, codes: list[Tensor]
    ) -> None:
        energy_row = log.energy[-1].clone() if log.energy else energies.clone()
        energy_row[live] = now
        active = torch.stack([(code != 0).sum(1) for code in codes])
        active[:, live] = torch.stack([(state.code != 0).sum(1) for state in states])
        log.energy.append(energy_row)
        log.active.append(active)


def _one_after_the_other(parts: Sequence[Settled]) -> Settled:
    """One result for layers that were settled separately; their traces follow each other."""
    log = None
    if parts[0].trace is not None:
        log, zero = Trace(), torch.zeros_like(parts[0].sweeps)
        for number, part in enumerate(parts):
            below = [(p.codes[0] != 0).sum(1) for p in parts[:number]]
            above = [zero for _ in parts[number + 1 :]]
            spent = sum((p.energy for p in parts[:number]), torch.zeros_like(part.energy))
            log.energy += [spent + e for e in part.trace.energy]
            log.active += [torch.stack([*below, a[0], *above]) for a in part.trace.active]
    return Settled(
        tuple(p.codes[0] for p in parts),
        tuple(p.inputs[0] for p in parts),
        sum(p.energy for p in parts),
        sum(p.sweeps for p in parts),
        torch.stack([p.converged for p in parts]).all(0),
        log,
    )
