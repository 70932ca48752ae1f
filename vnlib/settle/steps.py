"""One step on the code of one layer: siblings with `begin` (what a method remembers) and `step`.

A step minimises 1/2 a'Ha - drive.a + penalty(a), where the drive is V'x + feedback B't. All memory
has one row per sample, so samples can stop one by one, and a settle can be resumed. `slack` >= 1
makes room for layers that step at the same time. A step asks for no number that is not there yet,
since a device would be waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from vnlib.checks import given
from vnlib.prox import Penalty
from vnlib.settle.quadratic import Quadratic


@dataclass
class State:
    """A code (batch, atoms) on its way, and what its method remembers of the way.

    Tensors are replaced, not changed.
    """

    code: Tensor
    memory: dict[str, Tensor]

    @property
    def moved(self) -> Tensor | bool:
        """Which samples the last step moved; one that was taken back is no sign of rest."""
        return self.memory["moved"].squeeze(-1) > 0 if "moved" in self.memory else True

    def rows(self, keep: Tensor) -> State:
        return State(self.code[keep], {name: t[keep] for name, t in self.memory.items()})

    def write(self, rows: Tensor, other: State) -> None:
        """Put another state's rows into these ones (in place)."""
        self.code[rows] = other.code
        for name, t in other.memory.items():
            self.memory[name][rows] = t

    def put(self, where: Tensor, other: State) -> None:
        """Take another state's rows where asked."""
        self.code = torch.where(where[..., None], other.code, self.code)
        for name, t in other.memory.items():
            self.memory[name] = torch.where(where[..., None], t, self.memory[name])

    def clone(self) -> State:
        return State(self.code.clone(), {name: t.clone() for name, t in self.memory.items()})

    def blend(self, before: State, share: float, linear: tuple[str, ...]) -> None:
        """Keep a share of `before`, in the code and in all that depends on it linearly."""
        self.code = torch.lerp(self.code, before.code, share)
        for name in linear:
            self.memory[name] = torch.lerp(self.memory[name], before.memory[name], share)


@dataclass(frozen=True)
class Problem:
    """What a step needs to know of its layer, for the samples at hand.

    `fresh` says that products with H may not be known yet, for which a device would be waited for.
    """

    quadratic: Quadratic
    penalty: Penalty
    coupled: bool
    mask: Tensor | None = None
    slack: tuple[float, float] = (1.0, 1.0)
    fresh: bool = True

    def times(self, code: Tensor) -> Tensor:
        return self.quadratic.times(code, self.coupled, self.mask)

    @property
    def lipschitz(self) -> float | Tensor:
        """Of the coupled problem throughout: one eigenvalue per layer, a shorter first sweep."""
        return self.quadratic.lipschitz(self.slack)


class Ista:
    """Plain proximal steps of size 1/L (VN Eqs. 5 and 6): the energy never rises."""

    linear: tuple[str, ...] = ()

    def begin(self, code: Tensor, quadratic: Quadratic) -> State:
        return State(code, {})

    def step(self, state: State, drive: Tensor, problem: Problem) -> None:
        lip = problem.lipschitz
        gradient = problem.times(state.code) - drive
        state.code = problem.penalty.prox(state.code - gradient / lip, 1 / lip)


class Fista:
    """Steps with momentum (Beck and Teboulle 2009).

    Penalties that are not convex get plain steps.
    """

    linear = ("ahead",)

    def __init__(self, restart: bool = False) -> None:
        self.restart = restart

    def begin(self, code: Tensor, quadratic: Quadratic) -> State:
        return State(code, {"ahead": code, "t": code.new_ones(*code.shape[:-1], 1)})

    def step(self, state: State, drive: Tensor, problem: Problem) -> None:
        lip, momentum = problem.lipschitz, problem.penalty.accelerable
        start = state.memory["ahead"] if momentum else state.code
        new = problem.penalty.prox(start - (problem.times(start) - drive) / lip, 1 / lip)
        if momentum:
            t = state.memory["t"]
            if self.restart:
                t = torch.where(uphill(start, new, state.code), torch.ones_like(t), t)
            t_next = 0.5 * (1 + (1 + 4 * t.square()).sqrt())
            state.memory = {"ahead": new + ((t - 1) / t_next) * (new - state.code), "t": t_next}
        state.code = new


class LineSearch:
    """Restarted momentum with a step per sample: it starts at 4/L, grows, and shrinks if too long.

    A step from y to a was short enough if (a-y)'H(a-y) <= l `|a-y|^2`. Ha is needed for the next
    gradient in any case and Hy follows from it linearly, so looking costs nothing: one product with
    H per step. Where the step was too long the sample stays and tries again with the curvature that
    it met.
    """

    linear = ("ahead", "h_code", "h_ahead")
    shrink, grow, margin = 0.95, 1.5, 1.05

    def begin(self, code: Tensor, quadratic: Quadratic) -> State:
        rough = quadratic.rough_lipschitz(False) / 4
        # -1: the products with H are still to come.
        one = code.new_ones(*code.shape[:-1], 1)
        products = {"h_code": code, "h_ahead": code, "known": -one}
        return State(code, {"ahead": code, "t": one, "lip": rough * one, "moved": one, **products})

    def step(self, state: State, drive: Tensor, problem: Problem) -> None:
        m, slack = state.memory, max(problem.slack)
        if problem.fresh:
            state.memory = m = self._products(state, problem)
        momentum = problem.penalty.accelerable
        start, h_start = (m["ahead"], m["h_ahead"]) if momentum else (state.code, m["h_code"])
        lip = m["lip"]
        new = problem.penalty.prox(start - (h_start - drive) / lip, 1 / lip)
        h_new, move = problem.times(new), new - start
        size = move.square().sum(-1, keepdim=True)
        met = slack * (move * (h_new - h_start)).sum(-1, keepdim=True)
        # What rounding can add to `met` must not lengthen a search that is at its end.
        noise = (
            16 * torch.finfo(size.dtype).eps * (size * new.square().sum(-1, keepdim=True)).sqrt()
        )
        fits = met <= lip * (size + noise)
        t = m["t"]
        if momentum:
            t = torch.where(uphill(start, new, state.code), torch.ones_like(t), t)
        t_next = 0.5 * (1 + (1 + 4 * t.square()).sqrt())
        beta = (t - 1) / t_next if momentum else torch.zeros_like(t)
        curvature = self.margin * met / size.clamp_min(torch.finfo(size.dtype).tiny)
        shorter = torch.maximum(curvature, self.grow * lip)
        done = {
            "t": t_next,
            "ahead": new + beta * (new - state.code),
            "h_ahead": h_new + beta * (h_new - m["h_code"]),
            "h_code": h_new,
            "lip": self.shrink * lip,
        }
        keep = m | {"lip": shorter}
        state.memory = {name: torch.where(fits, done[name], keep[name]) for name in done}
        state.memory |= {"moved": fits.to(lip.dtype), "known": m["known"]}
        state.code = torch.where(fits, new, state.code)

    def _products(self, state: State, problem: Problem) -> dict[str, Tensor]:
        """H a and H y where they are not known: at the start, and when the target comes in."""
        m = state.memory
        known = m["known"] == float(problem.coupled)
        h_code = torch.where(known, m["h_code"], problem.times(state.code))
        h_ahead = torch.where(known, m["h_ahead"], problem.times(m["ahead"]))
        return m | {
            "h_code": h_code,
            "h_ahead": h_ahead,
            "known": torch.full_like(m["known"], float(problem.coupled)),
        }


class Admm:
    """Alternating directions (Boyd et al. 2011), for a layer alone; H + r I is factored once."""

    linear: tuple[str, ...] = ()

    def __init__(self) -> None:
        self._factor: tuple[Tensor, float] | None = None

    def begin(self, code: Tensor, quadratic: Quadratic) -> State:
        if self._factor is None:
            H = quadratic.gram(False)
            # Between the smallest and the largest curvature; any positive number converges.
            rho = float(H.diagonal().mean()) * 0.5
            eye = torch.eye(len(H), dtype=H.dtype, device=H.device)
            self._factor = (torch.linalg.cholesky(H + rho * eye), rho)
        return State(code, {"dual": torch.zeros_like(code)})

    def step(self, state: State, drive: Tensor, problem: Problem) -> None:
        factor, rho = given("the factor of H + r I, which begin makes", self._factor)
        dual = state.memory["dual"]
        dense = torch.cholesky_solve((drive + rho * (state.code - dual)).T, factor).T
        state.code = problem.penalty.prox(dense + dual, 1 / rho)
        state.memory = {"dual": dual + dense - state.code}


def uphill(start: Tensor, new: Tensor, code: Tensor) -> Tensor:
    """Where the last step points against its momentum (O'Donoghue and Candes 2015)."""
    return ((start - new) * (new - code)).sum(-1, keepdim=True) > 0


Rule = Ista | Fista | LineSearch | Admm
METHODS: dict[str, Callable[[], Rule]] = {
    "ista": Ista,
    "fista": Fista,
    "restart": lambda: Fista(restart=True),
    "line_search": LineSearch,
    "admm": Admm,
}
ALONE = ("admm",)
FIXED = ("ista", "fista", "restart")  # with steps of the size 1/L
