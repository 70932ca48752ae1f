"""Residual times code against finite differences of the settled energy (VN Thm. 2, Danskin).

All of it in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from vnlib.layer import Layer, message, reconstruct
from vnlib.learning.rules import unit_columns
from vnlib.prox import L1, TopK
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settler, duality_gap, joint_energy
from vnlib.settle.energy import summed_energy

Codes = Sequence[Float[Tensor, "batch _atoms"]]


def random_stack(
    d: int, K: int, depth: int, *, sparsity: float, seed: int, top_k: int | None = None
) -> tuple[Layer, ...]:
    """Layers with random unit atoms (float64); every message has d numbers."""
    rng = generator(seed, "stack")
    layers = []
    for index in range(depth):
        V, U = (
            unit_columns(torch.randn(d, K, generator=rng, dtype=torch.float64)) for _ in range(2)
        )
        top = index + 1 == depth
        # The message shrinks with depth, and so must lambda.
        penalty = L1(sparsity=sparsity * 0.5**index)
        layers.append(
            Layer(
                V, None if top else U, TopK(penalty=penalty, k=top_k) if top and top_k else penalty
            )
        )
    return tuple(layers)


# --- Thm. 2 ---


@dataclass(frozen=True, kw_only=True)
class Case:
    """One setting in which residual times code is compared with the gradient of a settled energy.

    Parameters
    ----------
    depth
        Layers.
    top_k
        Hard cap of the top layer.
    activation
        Of the messages.
    summed
        The energy is that of VN Eq. 3, added over layers, and not F.
    """

    depth: int = 3
    top_k: int | None = None
    activation: str = "identity"
    summed: bool = False


CASES = {
    "one layer": Case(depth=1),
    "three layers": Case(),
    "top-k": Case(top_k=4),
    "ReLU": Case(activation="relu"),
    "summed": Case(summed=True),
}


@dataclass(frozen=True)
class _Problem:
    case: Case
    x: Tensor
    feedback: float

    def settle(self, layers: Sequence[Layer], start: Codes | None, sweeps: int) -> Codes:
        config = SettleConfig(
            method="ista" if self.case.activation == "relu" else "restart", max_sweeps=sweeps, tol=0
        )
        settler = Settler(
            layers, feedback=self.feedback, activation=self.case.activation, config=config
        )
        return settler(self.x, start).codes

    def energy(self, layers: Sequence[Layer], codes: Codes) -> float:
        if self.case.summed:
            return float(summed_energy(layers, codes, self.x, self.feedback).mean())
        return float(
            joint_energy(layers, codes, self.x, self.feedback, self.case.activation).mean()
        )

    def rule(self, layers: Sequence[Layer], codes: Codes) -> dict[str, list[Tensor]]:
        """Minus residual times code of all V and all U, weighted as in the energy at hand."""
        x, found = self.x, {"V": [], "U": []}
        for index, (layer, code) in enumerate(zip(layers, codes, strict=True)):
            weight = 1.0 if self.case.summed else self.feedback**index
            found["V"].append(-weight * (x - reconstruct(layer, code)).T @ code / len(x))
            if index + 1 < len(layers):
                missed = reconstruct(layers[index + 1], codes[index + 1]) - code @ layer.U.T
                found["U"].append(-weight * self.feedback * missed.T @ code / len(x))
                x = message(layer, code, self.case.activation)
        return found

    def along(
        self, layers: Sequence[Layer], codes: Codes, kind: str, lines: Sequence[Sequence[Tensor]]
    ) -> Tensor:
        """What the rule says of the slope of the energy along each direction."""
        rule = self.rule(layers, codes)[kind]
        return torch.stack(
            [sum((W * D).sum() for W, D in zip(rule, line, strict=True)) for line in lines]
        )

    def slope(
        self,
        layers: Sequence[Layer],
        start: Codes,
        kind: str,
        line: Sequence[Tensor],
        step: float,
        sweeps: int,
    ) -> float:
        """The same by central differences, settling anew from `start` on both sides."""
        ends = []
        for by in (step, -step):
            moved = [
                replace(a, **{kind: getattr(a, kind) + by * D})
                for a, D in zip(layers, line, strict=False)
            ]
            moved += layers[len(moved) :]
            ends.append(self.energy(moved, self.settle(moved, start, sweeps)))
        return (ends[0] - ends[1]) / (2 * step)


def danskin(
    case: Case,
    *,
    d: int,
    K: int,
    batch: int,
    feedback: float,
    sparsity: float,
    sweeps: int,
    directions: int,
    early: Sequence[int],
    seed: int,
    step: float = 1e-5,
) -> xr.Dataset:
    """Residual times code against central differences of the settled energy E*, along random
    directions of V or U.

    The settle runs `sweeps` sweeps, and as many again, from the settled codes, for each displaced
    dictionary. Per kind ("V", "U"; NaN for the U that a single layer lacks): `gradient_error`, the
    norm of the difference of the two lists of directional derivatives relative to that of E*, and
    `gradient_cosine`. `early_error` (kind, early): the same error for codes of a settle that was
    stopped after so many sweeps; `early_gap`, its duality gap relative to the energy (NaN where
    none is known: with top-k or ReLU).
    """
    layers = random_stack(d, K, case.depth, sparsity=sparsity, seed=seed, top_k=case.top_k)
    rng = generator(seed, "danskin")
    problem = _Problem(case, torch.randn(batch, d, generator=rng, dtype=torch.float64), feedback)
    settled = problem.settle(layers, None, sweeps)
    stopped = [problem.settle(layers, None, n) for n in early]
    errors, cosines = np.full(2, np.nan), np.full(2, np.nan)
    early_errors, gaps = np.full((2, len(early)), np.nan), np.full(len(early), np.nan)
    for row, kind in enumerate(("V", "U")):
        shapes = [W.shape for W in problem.rule(layers, settled)[kind]]
        if not shapes:
            continue
        lines = [
            [torch.randn(size, generator=rng, dtype=torch.float64) for size in shapes]
            for _ in range(directions)
        ]
        slopes = [problem.slope(layers, settled, kind, line, step, sweeps) for line in lines]
        true = torch.tensor(slopes, dtype=torch.float64)
        said = [problem.along(layers, codes, kind, lines) for codes in (settled, *stopped)]
        distances = [float((one - true).norm() / true.norm()) for one in said]
        errors[row], early_errors[row] = distances[0], distances[1:]
        cosines[row] = float(torch.cosine_similarity(said[0], true, dim=0))
    if case.top_k is None and case.activation == "identity":
        gaps = np.array([_relative_gap(layers, codes, problem.x, feedback) for codes in stopped])
    return xr.Dataset(
        {
            "gradient_error": ("kind", errors),
            "gradient_cosine": ("kind", cosines),
            "early_error": (("kind", "early"), early_errors),
            "early_gap": ("early", gaps),
        },
        {"kind": ["V", "U"], "early": list(early)},
    )


def danskin_cases(**settings: float) -> xr.Dataset:
    """`danskin` for all `CASES`, along a dimension of their names."""
    return xr.concat([danskin(case, **settings) for case in CASES.values()], "case").assign_coords(
        case=list(CASES)
    )


def _relative_gap(layers: Sequence[Layer], codes: Codes, x: Tensor, feedback: float) -> float:
    gap = duality_gap(layers, codes, x, feedback)
    return float((gap / joint_energy(layers, codes, x, feedback)).mean())
