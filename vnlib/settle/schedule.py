"""The order in which the layers step, for the samples that are still settling (VN App. C)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from vnlib.checks import given
from vnlib.layer import Layer, scaled
from vnlib.settle.config import SettleConfig
from vnlib.settle.energy import duality_gap, joint_energy
from vnlib.settle.quadratic import Coupling, Quadratic
from vnlib.settle.steps import FIXED, Problem, Rule, State


@dataclass(eq=False)
class Run:
    """Samples on their way through some layers: their inputs, and a state per layer.

    `warm` says that the codes are not at their start.
    """

    layers: Sequence[Layer]
    quadratics: Sequence[Quadratic]
    rules: Sequence[Rule]
    couplings: Sequence[Coupling]
    feedback: float
    activation: str
    config: SettleConfig
    x: Tensor
    states: list[State]
    warm: bool
    mask: Tensor | None
    scale: Tensor | None

    def __post_init__(self) -> None:
        self.plain, self.layers = self.layers, scaled(self.layers, self.scale)
        self.top = len(self.layers) - 1
        self.drive = (self.x if self.mask is None else self.mask * self.x) @ self.layers[0].V
        self.bottom: list[Tensor | None] = [self.drive] + [None] * self.top
        self.known: list[bool | None] = [None] * len(self.layers)  # what `Problem.fresh` goes by
        # Computed here, and kept by the quadratics: a sweep must not wait for an eigenvalue.
        for index in range(len(self.layers) if self.config.method in FIXED else 0):
            self.quadratics[index].lipschitz()
            if self.config.schedule == "recurrent":
                self.quadratics[index].lipschitz(self._slack(index))

    @property
    def codes(self) -> list[Tensor]:
        return [state.code for state in self.states]

    @property
    def moved(self) -> Tensor | bool:
        """Which samples the last step moved, in all layers."""
        moved: Tensor | bool = True
        for state in self.states:
            moved = moved & state.moved
        return moved

    def energy(self) -> Tensor:
        """F as it is."""
        return joint_energy(
            self.layers, self.codes, self.x, self.feedback, self.activation, self.mask
        )

    def gap(self) -> Tensor:
        """The duality gaps as they are."""
        return duality_gap(self.layers, self.codes, self.x, self.feedback, self.mask)

    def keep(self, rows: Tensor) -> None:
        """Go on with some of the samples."""
        self.x, self.drive = self.x[rows], self.drive[rows]
        self.mask = None if self.mask is None else self.mask[rows]
        self.scale = None if self.scale is None else self.scale[rows]
        self.layers = scaled(self.plain, self.scale)
        self.states = [state.rows(rows) for state in self.states]
        self.bottom[0] = self.drive

    def take_back(self, old: list[Tensor], before: Tensor, now: Tensor) -> tuple[Tensor, Tensor]:
        """Take samples whose F rose from `before` to `now` back to `old`; their method begins anew.

        Returns F as it is then, and which samples went on.
        """
        accepted = now <= before
        rejected = (~accepted).nonzero().squeeze(1)
        for index, code in enumerate(old if len(rejected) else ()):
            fresh = self.rules[index].begin(code[rejected], self.quadratics[index])
            self.states[index] = self.states[index].clone()
            self.states[index].write(rejected, fresh)
            self.known[index] = None
        return torch.where(accepted, now, before), accepted

    def sweep(self, capped: bool) -> None:
        """One sweep of the schedule.

        Before the first targets exist the steps are bottom-up only.
        """
        schedule = self.config.schedule
        if not self.warm:
            self.warm = True
            if schedule == "staggered":
                for reached in range(self.top):
                    self._up(capped, last=reached, targets=reached - 1)
            self._up(capped, targets=self.top - 1 if schedule == "staggered" else 0)
            if schedule != "recurrent":
                self._down(capped)
        elif schedule == "recurrent":
            self._together(capped)
        else:
            self._up(capped, targets=self.top)
            self._down(capped)

    def _up(self, capped: bool, *, last: int | None = None, targets: int) -> None:
        """Layers 0..last step; those below `targets` listen to the layer above them."""
        for index in range((self.top if last is None else last) + 1):
            if index:
                self.bottom[index] = self.couplings[index - 1].up(self.states[index - 1].code)
            self._step(index, capped, coupled=index < targets)

    def _down(self, capped: bool) -> None:
        for index in range(self.top - 1, -1, -1):
            before = State(self.states[index].code, self.states[index].memory)
            self._step(index, capped, coupled=True)
            if self.config.mix:
                self.states[index].blend(before, self.config.mix, self.rules[index].linear)

    def _together(self, capped: bool) -> None:
        """All layers step from the same codes: the recurrent schedule."""
        for index in range(1, self.top + 1):
            self.bottom[index] = self.couplings[index - 1].up(self.states[index - 1].code)
        drives = [self._drive(index, index < self.top) for index in range(self.top + 1)]
        for index, drive in enumerate(drives):
            slack = self._slack(index)
            self._step(index, capped, coupled=index < self.top, drive=drive, slack=slack)

    def _slack(self, index: int) -> tuple[float, float]:
        """What layers need that step together: `|p - q|^2` <= 2 `|p|^2` + 2 `|q|^2` bounds each
        coupling by one term per layer.
        """
        return (1.0 if index == 0 else 2.0, 2.0) if self.top else (1.0, 1.0)

    def _drive(self, index: int, coupled: bool) -> Tensor:
        drive = given("the drive from below", self.bottom[index])
        if coupled and index < self.top:
            drive = drive + self.feedback * self.couplings[index].down(self.states[index + 1].code)
        return drive

    def _step(
        self,
        index: int,
        capped: bool,
        *,
        coupled: bool,
        drive: Tensor | None = None,
        slack: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        penalty = self.layers[index].penalty if capped else self.layers[index].penalty.soft
        coupled = coupled and index < self.top
        mask, fresh = self.mask if index == 0 else None, self.known[index] is not coupled
        problem = Problem(self.quadratics[index], penalty, coupled, mask, slack, fresh)
        self.known[index] = coupled
        drive = self._drive(index, coupled) if drive is None else drive
        for _ in range(self.config.steps):
            self.rules[index].step(self.states[index], drive, problem)
