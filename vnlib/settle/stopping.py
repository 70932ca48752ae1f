"""When inference stops: sibling rules, asked at every look who has arrived.

A rule checks its tolerance when it is made. `settled(look)` says which samples have arrived, and
`reason` is what is said of those; who never arrives stops with the budget (`Stop.MAX_SWEEPS`).

One loop repeats a rule from here, because numba keeps compiled code without asking what it was made
from in other files: `vnlib.settle.working_set` ends at 0.999 of the tolerance of `DualityGap`,
which holds then whatever the rounding, or where rounding lets it come no nearer.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vnlib import checks
from vnlib.layer import Layer


class SettleWarning(UserWarning):
    """Samples of a batch have not settled."""


class Stop(Enum):
    """Why the settle of a sample ended, and what to do where that is not what was wanted."""

    CONVERGED = "the relative energy improvement of a sweep fell below tol"
    GAP = "the relative duality gap fell below tol"
    ROUNDING = "settled as far as rounding allows; a smaller gap takes float64 or a larger tol"
    MAX_SWEEPS = "max_sweeps was reached; raise it, or raise tol, if a settled code is needed"


@dataclass(frozen=True)
class Look:
    """What is known of the samples that are still settling.

    Parameters
    ----------
    sweep, since
        Sweeps so far, and those since the last look.
    energy, before
        F now and at the last look.
    moved
        Which samples the last step moved.
    gap
        Computes the duality gaps; they cost about as much as a sweep.
    """

    sweep: int
    since: int
    energy: Float[Tensor, "... live"]
    before: Float[Tensor, "... live"]
    moved: Bool[Tensor, "... live"] | bool
    gap: Callable[[], Tensor]


@dataclass(frozen=True)
class EnergyStall:
    """F improves per sweep by at most `tol`, relatively.

    It is silent until a hard cap, which may cost energy, has been in force for a sweep (`cap_from`:
    the sweeps before it sets in).
    """

    tol: float
    cap_from: int = 0
    reason: ClassVar[Stop] = Stop.CONVERGED

    def __post_init__(self) -> None:
        checks.number("tol", self.tol, low=0)

    def settled(self, look: Look) -> Bool[Tensor, "... live"]:
        if look.sweep <= self.cap_from + 1:
            return torch.zeros_like(look.energy, dtype=torch.bool)
        change = (look.before - look.energy).abs()
        return (change <= self.tol * look.since * look.before.abs()) & look.moved

    @staticmethod
    def check(layers: Sequence[Layer], has_energy: bool) -> None:
        """It fits all layers."""


@dataclass(frozen=True)
class DualityGap:
    """What is left to gain is at most `tol` of F."""

    tol: float
    reason: ClassVar[Stop] = Stop.GAP

    def __post_init__(self) -> None:
        checks.number("tol", self.tol, low=0)

    def settled(self, look: Look) -> Bool[Tensor, "... live"]:
        return self.closed(look.gap(), look.energy)

    def closed(self, gap: Tensor, energy: Tensor) -> Tensor:
        """Which gaps are small enough."""
        return gap <= self.tol * energy

    @staticmethod
    def check(layers: Sequence[Layer], has_energy: bool) -> None:
        """Raise ValueError for layers whose gap is not known."""
        if not has_energy:
            raise ValueError(
                "criterion 'gap' needs identity messages and tied dictionaries; use 'energy'"
            )
        for number, layer in enumerate(layers, 1):
            if not layer.penalty.convex:
                raise ValueError(
                    f"criterion 'gap' needs convex penalties; layer {number} has {layer.penalty}"
                )


@dataclass(frozen=True)
class Sweeps:
    """As many sweeps as there may be: nobody arrives before."""

    reason: ClassVar[Stop] = Stop.MAX_SWEEPS

    def settled(self, look: Look) -> Bool[Tensor, "... live"]:
        return torch.zeros_like(look.energy, dtype=torch.bool)


StoppingRule = EnergyStall | DualityGap | Sweeps
CRITERIA: dict[str, type[EnergyStall] | type[DualityGap]] = {
    "energy": EnergyStall,
    "gap": DualityGap,
}


def rule(criterion: str, tol: float, cap_from: int = 0) -> StoppingRule:
    """The rule by the name of its criterion; a tolerance of 0 asks for all sweeps. ValueError for
    an unknown name, and a tolerance that is negative or no number.
    """
    checks.choice("criterion", criterion, CRITERIA)
    made = EnergyStall(tol, cap_from) if criterion == "energy" else CRITERIA[criterion](tol)
    return made if tol else Sweeps()


def reasons(
    criterion: str,
    converged: Bool[Tensor, "... batch"],
    rounded: Bool[Tensor, "... batch"] | None = None,
) -> list[Stop]:
    """Why each sample of a settle stopped."""
    arrived = CRITERIA[criterion].reason
    found = [arrived if done else Stop.MAX_SWEEPS for done in converged.tolist()]
    rounded = torch.zeros_like(converged) if rounded is None else rounded
    return [Stop.ROUNDING if r else stop for r, stop in zip(rounded.tolist(), found, strict=True)]


def warn(converged: Bool[Tensor, "... batch"], tol: float, max_sweeps: int) -> None:
    """A `SettleWarning` where samples that were to settle (tol > 0) have not."""
    missed = int((~converged).sum()) if tol else 0
    if missed:
        warnings.warn(
            f"{missed} of {converged.numel()} samples have not settled to tol={tol:g} in max_sweeps="
            f"{max_sweeps}: raise max_sweeps, or tol; tol=0 asks for no more than the sweeps",
            SettleWarning,
            stacklevel=4,
        )
