"""The settle: fast inference of the sparse codes of all layers (VN Sec. 3.3, Eqs. 4-7, App. C).

One sweep goes up (a proximal step on each code, then its message becomes the input of the layer
above) and down (each layer gets the target t_l = V_{l+1} a_{l+1} and steps again with both
residuals). Stopping and rejection are decided on the joint energy F (`vnlib.settle.energy`). Every
sample stops by itself: its result does not depend on its batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks, guards
from vnlib.layer import ACTIVATIONS, Layer, message
from vnlib.settle import choice, stopping
from vnlib.settle.config import SettleConfig, Settled, Trace
from vnlib.settle.lasso import JointLasso
from vnlib.settle.quadratic import Coupling, Quadratic
from vnlib.settle.record import Record, ReplicaRecord
from vnlib.settle.schedule import Run
from vnlib.settle.steps import ALONE, METHODS, State
from vnlib.settle.stopping import CRITERIA, Sweeps


class Settler:
    """A stack of layers made ready for many settles: Hessians and step sizes are computed once.

    `config` is the one that is settled by, without "auto".

    Raises
    ------
    ValueError
        If layers do not fit together, or the configuration does not fit the layers.
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
            if below.U is None or below.U.shape[-2] != above.V.shape[-2]:
                sent = None if below.U is None else below.U.shape[-2]
                raise ValueError(
                    f"layer {number} sends {sent} numbers upward, layer {number + 1} reads "
                    f"{above.V.shape[-2]}"
                )
        self.layers, self.feedback, self.activation = tuple(layers), feedback, activation
        about = {"feedback": feedback, "activation": activation}
        self.config = choice.resolved(config or SettleConfig(), self.layers, **about)
        self.alone = choice.alone(self.layers, feedback)
        self.has_energy = choice.has_energy(self.layers, **about)
        if self.config.method in ALONE and not self.alone:
            raise ValueError(
                f"method {self.config.method!r} settles one layer at a time: use feedback=0 or "
                "a single layer"
            )
        CRITERIA[self.config.criterion].check(self.layers, self.has_energy)
        top = len(self.layers) - 1
        self.quadratics = [
            Quadratic(layer, feedback if index < top else 0.0)
            for index, layer in enumerate(self.layers)
        ]
        self.couplings = [
            Coupling(below, above, activation) for below, above in pairwise(self.layers)
        ]
        self.rules, self.lassos = [], []
        if self.config.method == "cd":
            parts = [[layer] for layer in self.layers] if self.alone else [self.layers]
            self.lassos = [JointLasso(part, feedback) for part in parts]
        else:
            self.rules = [METHODS[self.config.method]() for _ in self.layers]

    @torch.no_grad()
    def __call__(
        self,
        x: Float[Tensor, "... batch d"],
        start: Sequence[Tensor] | Settled | None = None,
        *,
        trace: bool = False,
        mask: Float[Tensor, "... batch d"] | None = None,
        scale: Float[Tensor, "... batch"] | None = None,
    ) -> Settled:
        """Settle a batch from a = 0, from codes (which are not changed), or on from a settle.

        Parameters
        ----------
        mask
            1 where the input is observed; hidden entries have no part in the energy (VN Eq. 39).
        scale
            Multiplies the sparsity of all layers (> 0), so that every sample has its own lambda.

        Raises
        ------
        ValueError
            For inputs of the wrong shape or with NaN.
        """
        self._check_input(x, mask)
        scale = None if scale is None else _checked(scale, x)
        if x.ndim > 2 and (trace or self.config.monotone or self.config.method in ALONE):
            raise ValueError("replicas are settled without trace, without monotone and not by admm")
        begun = self._begun(x, start)
        size = 1 if self.alone else len(self.layers)
        parts, inputs = [], x
        for index in range(0, len(self.layers), size):
            part = slice(index, index + size)
            if self.lassos:
                codes = [state.code for state in begun[part]]
                lasso = self.lassos[index]
                options = {"trace": trace, "mask": mask, "scale": scale}
                parts.append(lasso.settle(inputs, codes, self.config, **options))
            else:
                these = self.layers[part], self.quadratics[part], self.rules[part], self.couplings
                about = self.feedback, self.activation, self.config
                run = Run(*these, *about, inputs, begun[part], start is not None, mask, scale)
                parts.append(self._settle(run, trace))
            mask = None
            if index + size < len(self.layers):
                inputs = message(self.layers[index], parts[-1].codes[0], self.activation)
        settled = _one_after_the_other(parts)
        stopping.warn(settled.converged, self.config.tol, self.config.max_sweeps)
        return settled

    def _check_input(self, x: Tensor, mask: Tensor | None) -> None:
        *many, d, _ = self.layers[0].V.shape
        checks.matrix("x", x, d, "one row per sample", many)
        if x.dtype != self.layers[0].V.dtype:
            raise ValueError(
                f"x must have the type of the dictionaries, {self.layers[0].V.dtype}, got {x.dtype}"
            )
        if mask is not None:
            checks.matrix("mask", mask, d, "1 where x is observed, 0 elsewhere", many)
            if mask.shape != x.shape or bool(((mask != 0) & (mask != 1)).any()):
                raise ValueError(
                    f"mask must hold 0 and 1 in the shape of x, {tuple(x.shape)}, got "
                    f"{tuple(mask.shape)}"
                )
            if self.config.method in ALONE:  # its factor is that of all inputs
                raise ValueError(f"method {self.config.method!r} takes no mask; use 'line_search'")

    def _begun(self, x: Tensor, start: Sequence[Tensor] | Settled | None) -> list[State]:
        """The first state of every layer."""
        codes = start.codes if isinstance(start, Settled) else start
        wanted = [(*x.shape[:-1], layer.V.shape[-1]) for layer in self.layers]
        if codes is None:
            codes = [x.new_zeros(shape) for shape in wanted]
        guards.codes("start", codes)
        sizes = [tuple(code.shape) for code in codes]
        if sizes != wanted:
            raise ValueError(f"start must hold codes of the shapes {wanted}, got {sizes}")
        for number, code in enumerate(codes, 1):
            checks.finite(f"start code {number}", code)
        if not self.rules:
            return [State(code, {}) for code in codes]
        fresh = [
            rule.begin(code.clone(), quadratic)
            for rule, code, quadratic in zip(self.rules, codes, self.quadratics, strict=True)
        ]
        states = start.states if isinstance(start, Settled) else ()
        if states and all(one.memory.keys() == fresh[0].memory.keys() for one in states):
            return [state.clone() for state in states]
        return fresh

    def _settle(self, run: Run, trace: bool) -> Settled:
        """The common loop: sweeps over some of the layers, and looks at who has arrived."""
        config, rule = self.config, self.config.rule
        record = (Record if run.x.ndim == 2 else ReplicaRecord)(run, trace=trace)
        monotone = config.monotone and self.has_energy
        watched = trace or monotone or not isinstance(rule, Sweeps)
        for sweep in range(1, config.max_sweeps + 1):
            # The first sweep has no targets yet, and the cap may cost energy when it sets in.
            comparable = run.warm and sweep != config.cap_from + 1
            old = run.codes
            run.sweep(capped=sweep > config.cap_from)
            if not (watched and config.looks_after(sweep)):
                continue
            now, accepted = run.energy(), True
            if monotone and comparable:
                now, accepted = run.take_back(old, record.before, now)
            if record.arrive(rule.settled(record.look(sweep, now)) & accepted):
                break
        return record.close()


def _checked(scale: Tensor, x: Tensor) -> Tensor:
    checks.finite("scale", scale)
    if scale.shape != x.shape[:-1] or not bool((scale > 0).all()):
        wanted = f"{tuple(x.shape[:-1])}, a number > 0 per sample"
        raise ValueError(f"scale must be {wanted}, got {tuple(scale.shape)}: {scale.tolist()}")
    return scale.to(x)


def _one_after_the_other(parts: Sequence[Settled]) -> Settled:
    """One result for layers that were settled separately; their traces follow each other."""
    if len(parts) == 1:
        return parts[0]
    log = None
    traces = [part.trace for part in parts if part.trace is not None]
    if traces:
        log, zero = Trace(), torch.zeros_like(parts[0].sweeps)
        for number, (part, trace) in enumerate(zip(parts, traces, strict=True)):
            below = [(p.codes[0] != 0).sum(-1) for p in parts[:number]]
            above = [zero for _ in parts[number + 1 :]]
            spent = sum((p.energy for p in parts[:number]), torch.zeros_like(part.energy))
            offset = log.sweep[-1] if log.sweep else 0
            log.sweep += [offset + s for s in trace.sweep]
            log.energy += [spent + e for e in trace.energy]
            log.active += [torch.stack([*below, a[0], *above]) for a in trace.active]
    return Settled(
        tuple(p.codes[0] for p in parts),
        tuple(p.inputs[0] for p in parts),
        sum((p.energy for p in parts), torch.zeros_like(parts[0].energy)),
        sum((p.sweeps for p in parts), torch.zeros_like(parts[0].sweeps)),
        torch.stack([p.converged for p in parts]).all(0),
        parts[0].criterion,
        log,
        tuple(p.states[0] for p in parts),
        None
        if parts[0].rounded is None
        else torch.stack([p.rounded for p in parts if p.rounded is not None]).any(0),
    )
