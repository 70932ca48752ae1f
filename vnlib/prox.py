"""Penalties on a code and their proximal steps (VN Eqs. 5 and 6).

A penalty is a small frozen object with the same members as its siblings. `value(code)` is the
penalty g per sample. `prox(z, step)` solves argmin_a 1/(2 step) `|a - z|^2` + g(a); the step is a
number, or one per sample, (batch, 1). `accelerable` says whether momentum may be used, `convex`
whether g is convex, and `soft` is the penalty without its hard cap (itself, where there is none). A
convex one also knows its conjugate g*(c) = sup_a c.a - g(a), from which a duality gap is made:
`feasible_scale(c)` is the largest s in [0, 1] for which g*(s c) is finite, and `conjugate(c)` is
g*(c) per sample for such a c.

`sparsity` (lambda) has units. For `L1`, `NonNegativeL1`, `ElasticNet` and `MCP` they are those of
`|v_k . x|`, the correlation of a unit atom with the input, which lambda is compared with. For `L0`
and `CEL0` they are those of an energy, 1/2 `|x|^2`: an atom must lower the energy by lambda to pay
for itself, and one with `|v_k . x|` = sqrt(2 lambda) just does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks

Code = Float[Tensor, "... batch atoms"]
Values = Float[Tensor, "... batch"]  # one per sample
Step = float | Float[Tensor, "... #batch 1"]
Threshold = float | Float[Tensor, "... #batch #atoms"]


def soft_threshold(z: Code, tau: Threshold) -> Code:
    """S_tau(z) = sign(z) `max(|z| - tau, 0)`, elementwise (VN Eq. 5)."""
    # The overloads of torch ask for two numbers or two tensors; these are either.
    return z - z.clamp(-tau, tau)  # pyright: ignore[reportCallIssue, reportArgumentType]


def hard_threshold(z: Code, tau: Step) -> Code:
    """z where `|z|` > tau and zero elsewhere, elementwise."""
    return torch.where(z.abs() > tau, z, 0)


def keep_top_k(z: Code, k: int) -> Code:
    """T_k(z): the k largest magnitudes of each row, the rest set to zero (VN Eq. 6)."""
    if k >= z.shape[-1]:
        return z
    keep = z.abs().topk(k, dim=-1).indices
    return torch.zeros_like(z).scatter(-1, keep, z.gather(-1, keep))


@runtime_checkable
class Penalty(Protocol):
    """What the settle asks of a penalty."""

    accelerable: ClassVar[bool]
    convex: ClassVar[bool]

    @property
    def soft(self) -> Penalty: ...

    def value(self, code: Code) -> Values: ...

    def prox(self, z: Code, step: Step) -> Code: ...


@runtime_checkable
class Conjugate(Penalty, Protocol):
    """What a duality gap asks of a convex penalty: its conjugate, and where that is finite."""

    def feasible_scale(self, c: Code) -> Values: ...

    def conjugate(self, c: Code) -> Values: ...


@dataclass(frozen=True, kw_only=True)
class _Elementwise(Penalty):
    """A sum over the coefficients, each weighted by `sparsity`."""

    sparsity: float | Tensor
    accelerable: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.sparsity, Tensor):  # (replica, 1, 1) or per sample, (..., batch, 1)
            checks.number("sparsity", self.sparsity, low=0)

    @property
    def each(self) -> float | Tensor:
        """`sparsity` as it multiplies numbers (..., batch) of samples."""
        return self.sparsity[..., 0] if isinstance(self.sparsity, Tensor) else self.sparsity

    @property
    def soft(self) -> _Elementwise:
        return self


@dataclass(frozen=True, kw_only=True)
class L1(_Elementwise):
    """g(a) = sparsity * `|a|_1` (VN Eq. 5); g* is 0 where every `|c_k|` <= sparsity."""

    accelerable: ClassVar[bool] = True
    convex: ClassVar[bool] = True

    def value(self, code: Code) -> Values:
        return self.each * code.abs().sum(-1)

    def prox(self, z: Code, step: Step) -> Code:
        return soft_threshold(z, self.sparsity * step)

    def feasible_scale(self, c: Code) -> Values:
        return self._scale_down(c.abs().amax(-1))

    def conjugate(self, c: Code) -> Values:
        return torch.zeros_like(c[..., 0])

    def _scale_down(self, peak: Values) -> Values:
        return torch.where(peak <= self.each, 1, self.each / peak)


@dataclass(frozen=True, kw_only=True)
class NonNegativeL1(L1):
    """g(a) = sparsity * sum_k a_k on a >= 0; g* is 0 where every c_k <= sparsity.

    `value` leaves the sign to the proximal step, which gives no negative coefficient.
    """

    def prox(self, z: Code, step: Step) -> Code:
        return (z - self.sparsity * step).clamp_min(0)

    def feasible_scale(self, c: Code) -> Values:
        return self._scale_down(c.amax(-1))


@dataclass(frozen=True, kw_only=True, eq=False)
class WeightedL1(L1):
    """g(a) = sparsity * sum_k weights_k `|a_k|`: a lambda per atom; weights (atoms,) > 0."""

    weights: Float[Tensor, " atoms"]

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.finite("weights", self.weights)
        if self.weights.ndim != 1 or not bool((self.weights > 0).all()):
            raise ValueError(f"weights must be (atoms,), all > 0, got {self.weights}")

    def value(self, code: Code) -> Values:
        return self.each * (self.weights * code.abs()).sum(-1)

    def prox(self, z: Code, step: Step) -> Code:
        return soft_threshold(z, self.sparsity * step * self.weights[None])

    def feasible_scale(self, c: Code) -> Values:
        return self._scale_down((c.abs() / self.weights).amax(-1))


@dataclass(frozen=True, kw_only=True)
class ElasticNet(_Elementwise):
    """g(a) = sparsity `|a|_1` + ridge/2 `|a|^2` (Zou and Hastie 2005).

    g*(c) = sum_k `max(|c_k| - sparsity, 0)^2` / (2 ridge), finite everywhere. `ridge` > 0 is a pure
    number, measured against the 1 of a unit atom's curvature.
    """

    ridge: float
    accelerable: ClassVar[bool] = True
    convex: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.number("ridge", self.ridge, above=0)

    def value(self, code: Code) -> Values:
        return self.each * code.abs().sum(-1) + 0.5 * self.ridge * code.square().sum(-1)

    def prox(self, z: Code, step: Step) -> Code:
        return soft_threshold(z, self.sparsity * step) / (1 + self.ridge * step)

    def feasible_scale(self, c: Code) -> Values:
        return torch.ones_like(c[..., 0])

    def conjugate(self, c: Code) -> Values:
        return soft_threshold(c, self.sparsity).square().sum(-1) / (2 * self.ridge)


@dataclass(frozen=True, kw_only=True)
class L0(_Elementwise):
    """g(a) = sparsity * `|a|_0`, the number of active atoms; a hard threshold (not convex).

    Rentzeperis et al. (2023) find such codes nearer to V1 than soft-thresholded ones.
    """

    def value(self, code: Code) -> Values:
        return self.each * (code != 0).sum(-1).to(code.dtype)

    def prox(self, z: Code, step: Step) -> Code:
        return hard_threshold(z, (2 * self.sparsity * step) ** 0.5)

    def firm(self, curvature: float) -> MCP:
        """The MCP that has the same proximal steps, where none is shorter than 1 / curvature."""
        return MCP(sparsity=2 * math.sqrt(self.sparsity * curvature), gamma=0.5 / curvature)


@dataclass(frozen=True, kw_only=True)
class MCP(_Elementwise):
    """The minimax concave penalty (Zhang 2010), which does not shrink large coefficients.

    g(a) = sum_k sparsity `|a_k|` - a_k^2 / (2 gamma) up to `|a_k|` = gamma sparsity, constant
    beyond. `gamma` > 0 is a pure number: the inverse of the concavity at zero. A step below gamma
    is a firm threshold, a longer one a hard one at sparsity sqrt(gamma step). Not convex.
    """

    gamma: float

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.number("gamma", self.gamma, above=0)

    def value(self, code: Code) -> Values:
        size = code.abs().clamp_max(self.gamma * self.sparsity)
        return (self.sparsity * size - size.square() / (2 * self.gamma)).sum(-1)

    def prox(self, z: Code, step: Step) -> Code:
        step = torch.as_tensor(step, dtype=z.dtype, device=z.device)
        unshrunk = self.sparsity * (self.gamma * step.clamp_min(self.gamma)).sqrt()
        firm = soft_threshold(z, self.sparsity * step) / (1 - step / self.gamma)
        return torch.where(
            (step >= self.gamma) | (z.abs() > unshrunk), hard_threshold(z, unshrunk), firm
        )

    def firm(self, curvature: float) -> MCP:
        return self


@dataclass(frozen=True, kw_only=True)
class CEL0(_Elementwise):
    """The continuous exact l0 of unit atoms (Soubies, Blanc-Feraud and Aubert 2015).

    `MCP` with the threshold sqrt(2 sparsity) and gamma = 1, the inverse curvature of a unit atom.
    With 1/2 `|x - V a|^2` it has the global minimisers of `L0` and fewer local ones; feedback adds
    curvature, and exactness is not claimed there. Not convex.
    """

    def value(self, code: Code) -> Values:
        return self.firm(1.0).value(code)

    def prox(self, z: Code, step: Step) -> Code:
        return self.firm(1.0).prox(z, step)

    def firm(self, curvature: float) -> MCP:
        return MCP(sparsity=math.sqrt(2 * self.sparsity), gamma=1.0)


Firm = L0 | MCP | CEL0  # all of them an MCP by coordinates


@dataclass(frozen=True, kw_only=True)
class TopK:
    """`penalty`, an elementwise one, with at most k nonzero coefficients (VN Eq. 6).

    The largest of the uncapped prox gain most, so the cap follows it. Not convex, so momentum is
    left out.
    """

    penalty: Penalty
    k: int
    accelerable: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.penalty.soft is not self.penalty:
            raise ValueError(f"penalty must be without a cap of its own, got {self.penalty!r}")
        checks.number("top_k", self.k, low=1, integer=True)

    @property
    def soft(self) -> Penalty:
        return self.penalty

    def value(self, code: Code) -> Values:
        return self.penalty.value(code)

    def prox(self, z: Code, step: Step) -> Code:
        return keep_top_k(self.penalty.prox(z, step), self.k)


def scaled(penalty: Penalty, scale: Values) -> Penalty:
    """The penalty with `scale` times its sparsity, which gives every sample its own lambda."""
    own: Any = penalty
    if isinstance(own, TopK):
        return replace(own, penalty=scaled(own.penalty, scale))
    if isinstance(own, CEL0):
        own, scale = own.firm(1.0), scale.sqrt()
    return replace(own, sparsity=own.sparsity * scale[..., None])


PENALTIES = {"l1": L1, "elastic_net": ElasticNet, "l0": L0, "mcp": MCP, "cel0": CEL0}


def make_penalty(
    kind: str = "l1",
    *,
    sparsity: float,
    nonnegative: bool = False,
    top_k: int | None = None,
    **options: float,
) -> Penalty:
    """One of `PENALTIES`, with a hard cap where `top_k` is given; only "l1" may be nonnegative.
    ValueError for an unknown kind, for missing or unknown options and for values out of range.

    Parameters
    ----------
    **options
        "elastic_net" takes `ridge`, "mcp" takes `gamma`.
    """
    checks.choice("kind", kind, PENALTIES)
    if nonnegative and kind != "l1":
        raise ValueError(
            f"nonnegative must be False for kind {kind!r}; only 'l1' has a nonnegative form"
        )
    family = NonNegativeL1 if nonnegative else PENALTIES[kind]
    wanted = {field.name for field in fields(family)} - {"sparsity"}
    if set(options) != wanted:
        needs, got = (", ".join(sorted(names)) or "none" for names in (wanted, options))
        raise ValueError(f"options of kind {kind!r} must be {needs}, got {got}")
    soft = family(sparsity=sparsity, **options)
    return soft if top_k is None else TopK(penalty=soft, k=top_k)
