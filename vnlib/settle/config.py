"""How to settle, and what a settle returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.settle import stopping
from vnlib.settle.steps import METHODS, State

SCHEDULES = ("sweep", "staggered", "recurrent")


@dataclass(frozen=True, kw_only=True)
class SettleConfig:
    """How to settle (VN Sec. 3.3, App. C); as it stands, the fastest way that fits the layers.

    Parameters
    ----------
    method
        "auto" is "cd" where that fits and no option of the sweeps is set, else "line_search", on
        every device (see `vnlib.settle.choice`). "cd" is coordinate descent, for l1 penalties and
        elastic nets, each layer alone or all at once under identity messages and tied dictionaries,
        and for l0, MCP and CEL0 in layers that are settled alone, from the l1 codes on. It computes on the CPU, takes masks, and counts its passes as sweeps. The others go in
        sweeps: "ista" (plain proximal steps), "fista" (momentum), "restart" (momentum, restarted
        per sample where it points uphill), "line_search" (the same with a step per sample, found on
        the way), and for layers that are settled alone "admm".
    schedule
        "sweep" (each layer once up, once down), "staggered" (lower layers go on stepping while the
        upper ones are started) or "recurrent" (after one pass upward all step at the same time).
    tol, criterion
        A sample stops when its energy improves per sweep by less than `tol`, relatively ("energy"),
        or when its duality gap is below `tol` times its energy ("gap", which bounds what is left to
        gain; convex penalties and tied identity messages only). "auto" is "gap" where there is one.
        tol 0 runs all sweeps, or to rounding by coordinates. For what is not convex "cd" stops by
        "energy", counted per round of passes, or at a minimum in every coefficient alone.
    check_every
        Sweeps between two looks at the criterion.
    steps
        Proximal steps per layer and pass.
    monotone
        Take back a sweep that raises the energy of a sample.
    cap_from
        Sweeps before the hard cap of a top-k layer sets in, which then cuts a nearly settled code.
    mix
        Share of its code that a layer keeps in each downward step (the paper gives no formula).
    """

    method: str = "auto"
    schedule: str = "sweep"
    max_sweeps: int = 300
    tol: float = 1e-4
    criterion: str = "auto"
    check_every: int = 1
    steps: int = 1
    monotone: bool = False
    cap_from: int = 0
    mix: float = 0.0

    def __post_init__(self) -> None:
        checks.choice("method", self.method, ("auto", *METHODS, "cd"))
        checks.choice("schedule", self.schedule, SCHEDULES)
        checks.choice("criterion", self.criterion, ("auto", *stopping.CRITERIA))
        checks.number("tol", self.tol, low=0)
        for name in ("max_sweeps", "check_every", "steps"):
            checks.number(name, getattr(self, name), low=1, integer=True)
        checks.number("cap_from", self.cap_from, low=0, high=self.max_sweeps - 1, integer=True)
        checks.number("mix", self.mix, low=0, high=1)
        if self.monotone and self.check_every > 1:
            raise ValueError(
                f"monotone looks at every sweep: check_every must be 1, got {self.check_every}"
            )

    @classmethod
    def exact(cls, **changes: Any) -> SettleConfig:
        """To the minimum, but for a thousandth of the energy, by coordinate descent.

        `changes` are settings that are to be others.
        """
        return cls(**{"method": "cd", "criterion": "gap", "tol": 1e-3} | changes)

    @classmethod
    def momentum(cls, **changes: Any) -> SettleConfig:
        """Restarted momentum until F hardly falls, to follow its sweeps. `changes` as in `exact`."""
        return cls(**{"method": "restart", "criterion": "energy", "tol": 1e-5} | changes)

    @classmethod
    def deep(cls, **changes: Any) -> SettleConfig:
        """Until F hardly falls: what coupled layers are read by. `changes` as in `exact`."""
        given: dict[str, Any] = {"method": "line_search", "criterion": "energy"}
        return cls(**given | dict[str, Any](tol=1e-4, check_every=5) | changes)

    @classmethod
    def training(cls, **changes: Any) -> SettleConfig:
        """A few sweeps per step of learning, whatever comes of them. `changes` as in `exact`."""
        return cls.momentum(**{"tol": 0, "max_sweeps": 20} | changes)

    @property
    def rule(self) -> stopping.StoppingRule:
        """When a sample has settled."""
        return stopping.rule(self.criterion, self.tol, self.cap_from)

    def looks_after(self, sweep: int) -> bool:
        """Whether a look at the criterion follows this sweep."""
        return sweep % self.check_every == 0 or sweep == self.max_sweeps


@dataclass
class Trace:
    """What happened, a row per look: its sweep, F, and how many coefficients are not zero.

    Entries of samples that had stopped repeat their last value. By coordinates a row per settle.
    """

    sweep: list[int] = field(default_factory=list)
    energy: list[Float[Tensor, "... batch"]] = field(default_factory=list)
    active: list[Int[Tensor, "layers *many batch"]] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """Codes and inputs per layer, and how each sample went; `states` let a settle be resumed.

    By coordinates `sweeps` are passes, `states` hold the codes, and `rounded` marks the samples
    that came as near to the minimum as rounding allows, which is not as near as `tol` (None: none).
    """

    codes: tuple[Float[Tensor, "... batch _atoms"], ...]
    inputs: tuple[Float[Tensor, "... batch _d"], ...]
    energy: Float[Tensor, "... batch"]
    sweeps: Int[Tensor, "... batch"]
    converged: Bool[Tensor, "... batch"]
    criterion: str = "energy"
    trace: Trace | None = None
    states: tuple[State, ...] = ()
    rounded: Bool[Tensor, "... batch"] | None = None

    @property
    def reasons(self) -> list[stopping.Stop]:
        """Why each sample stopped."""
        return stopping.reasons(self.criterion, self.converged, self.rounded)


def mapped(function: Callable[..., Tensor], *parts: Settled) -> Settled:
    """The settle whose tensors are a function of those of others, such as one of replicas."""
    found: dict[str, Any] = {}
    for name in ("codes", "inputs", "energy", "sweeps", "converged", "rounded"):
        each = [getattr(part, name) for part in parts]
        if isinstance(each[0], tuple):
            found[name] = tuple(function(*layer) for layer in zip(*each, strict=True))
        else:
            found[name] = None if each[0] is None else function(*each)
    return replace(parts[0], **found, states=())


def to_csr(code: Float[Tensor, "batch atoms"]) -> Any:
    """A code as a `scipy.sparse.csr_array`, on the CPU: a row per sample, what is not zero kept."""
    from scipy.sparse import csr_array

    return csr_array(code.detach().cpu().numpy())
