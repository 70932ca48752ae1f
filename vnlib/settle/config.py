"""How to settle, and what a settle returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.settle.steps import METHODS, State

SCHEDULES = ("sweep", "staggered", "recurrent")
CRITERIA = ("energy", "gap")


class Stop(Enum):
    """Why the settle of a sample ended."""

    CONVERGED = "the relative energy improvement of a sweep fell below tol"
    GAP = "the relative duality gap fell below tol"
    MAX_SWEEPS = "max_sweeps was reached; raise it, or raise tol, if a settled code is needed"


@dataclass(frozen=True, kw_only=True)
class SettleConfig:
    """How to settle (VN Sec. 3.3, App. C).

    Parameters
    ----------
    method
        "ista" (plain proximal steps), "fista" (momentum), "restart" (momentum, restarted per sample
        where it points uphill), "line_search" (the same with a step per sample, found on the way);
        for layers that are settled alone also "admm" and "cd" (coordinate descent, on the CPU).
    schedule
        "sweep" (each layer once up, once down), "staggered" (lower layers go on stepping while the
        upper ones are started) or "recurrent" (after one pass upward all layers step at the same
        time).
    max_sweeps
        Sweeps at most.
    tol, criterion
        A sample stops when its energy improves per sweep by less than `tol`, relatively ("energy"),
        or when its duality gap is below `tol` times its energy ("gap", which bounds what is left to
        gain; convex penalties and tied identity messages only). tol 0 runs all sweeps.
    check_every
        Sweeps between two looks at the criterion.
    steps
        Proximal steps per layer and pass.
    monotone
        Take back a sweep that raises the energy of a sample.
    cap_from
        Sweeps before the hard cap of a top-k layer sets in; it then cuts a nearly settled code
        instead of the first, noisy ones.
    mix
        Share of its code that a layer keeps in each downward step (damping; the paper names a mix
        and gives no formula).
    """

    method: str = "restart"
    schedule: str = "sweep"
    max_sweeps: int = 300
    tol: float = 1e-5
    criterion: str = "energy"
    check_every: int = 1
    steps: int = 1
    monotone: bool = False
    cap_from: int = 0
    mix: float = 0.0

    def __post_init__(self) -> None:
        checks.choice("method", self.method, (*METHODS, "cd"))
        checks.choice("schedule", self.schedule, SCHEDULES)
        checks.choice("criterion", self.criterion, CRITERIA)
        for name in ("max_sweeps", "check_every", "steps"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("tol", self.tol, low=0)
        checks.number("cap_from", self.cap_from, low=0, high=self.max_sweeps - 1, integer=True)
        checks.number("mix", self.mix, low=0, high=1)
        if self.method == "cd" and self.criterion != "gap":
            raise ValueError("method 'cd' stops on the duality gap: set criterion='gap'")
        if self.monotone and self.check_every > 1:
            raise ValueError(
                f"monotone looks at every sweep: check_every must be 1, got {self.check_every}"
            )


@dataclass
class Trace:
    """What happened, one row per look.

    Entries of samples that had stopped repeat their last value.

    Parameters
    ----------
    sweep
        The sweep of each row.
    energy
        F (rows, batch).
    active
        Nonzero coefficients (rows, layers, batch).
    """

    sweep: list[int] = field(default_factory=list)
    energy: list[Float[Tensor, " batch"]] = field(default_factory=list)
    active: list[Int[Tensor, "layers batch"]] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """Codes and inputs per layer, and how the settle of each sample went.

    `states` lets a settle be resumed.
    """

    codes: tuple[Float[Tensor, "batch _atoms"], ...]
    inputs: tuple[Float[Tensor, "batch _d"], ...]
    energy: Float[Tensor, " batch"]
    sweeps: Int[Tensor, " batch"]
    converged: Bool[Tensor, " batch"]
    criterion: str = "energy"
    trace: Trace | None = None
    states: tuple[State, ...] = ()

    @property
    def reasons(self) -> list[Stop]:
        """Why each sample stopped."""
        met = Stop.GAP if self.criterion == "gap" else Stop.CONVERGED
        return [met if c else Stop.MAX_SWEEPS for c in self.converged.tolist()]
