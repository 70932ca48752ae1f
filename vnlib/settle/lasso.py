"""Layers that are settled together, as one lasso in all their codes.

With w_l = feedback^(l-1), the residuals of the joint energy F are those of the input (x, 0, ..., 0)
under the `dictionary` whose rows of layer l are sqrt(w_l) [V_l at the codes of l, -U_{l-1} at those
of l - 1]. Its Hessian has the blocks w_l H_l on the diagonal (`vnlib.settle.quadratic`) and
-w_l U_{l-1}'V_l beside it. Its penalties are w_l lambda_l, which counting the code of layer l in
units of lambda_1 / (w_l lambda_l) makes all equal, as dividing an atom by its weight does where it
has one. The ridge of an elastic net is one more row per atom, sqrt(ridge) with the input 0, so that
its Hessian has the ridge on the diagonal. One layer may have a penalty that is not convex, which is
an MCP by coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor

from vnlib import checks
from vnlib.checks import given
from vnlib.layer import Layer, message, scaled
from vnlib.prox import CEL0, L0, L1, MCP, ElasticNet, Firm, NonNegativeL1, WeightedL1
from vnlib.settle.config import SettleConfig, Settled, Trace
from vnlib.settle.energy import joint_energy
from vnlib.settle.steps import State
from vnlib.settle.stopping import DualityGap


def dictionary(layers: Sequence[Layer], feedback: float) -> Tensor:
    """That of all layers, as a function of theirs."""
    rows = []
    for index, layer in enumerate(layers):
        blocks = [layer.V.new_zeros(len(layer.V), other.V.shape[1]) for other in layers]
        blocks[index] = layer.V
        if index:
            blocks[index - 1] = -given("U", layers[index - 1].U)
        rows.append((feedback**index) ** 0.5 * torch.cat(blocks, 1))
    return torch.cat(rows)


def _unweighted(layer: Layer) -> Layer:
    """The layer whose coefficients are counted in units of their weights."""
    if not isinstance(layer.penalty, WeightedL1):
        return layer
    weights = layer.penalty.weights
    checks.matrix("weights", weights[None], layer.V.shape[1], "one per atom")
    V, U = (None if one is None else one / weights for one in (layer.V, layer.U))
    return replace(layer, V=V, U=U)


class JointLasso:
    """One lasso, whose Hessian is computed once, where it is first needed."""

    def __init__(self, layers: Sequence[Layer], feedback: float) -> None:
        self.layers, self.feedback = tuple(layers), feedback
        self.scaled = [_unweighted(layer) for layer in layers]
        self.sizes = [layer.V.shape[1] for layer in layers]
        self.weights = [feedback**index for index in range(len(layers))]
        penalties = [x.penalty for x in layers if isinstance(x.penalty, L1 | ElasticNet)]
        if isinstance(alone := layers[0].penalty, Firm):
            penalties = [alone.firm(float(layers[0].V.square().sum(0).max()))]
        self.gamma = penalties[0].gamma if isinstance(penalties[0], MCP) else None
        lambdas = [w * p.sparsity for w, p in zip(self.weights, penalties, strict=True)]
        self.sparsity, self.nonnegative = lambdas[0], isinstance(penalties[0], NonNegativeL1)
        self.ridges = [p.ridge if isinstance(p, ElasticNet) else 0.0 for p in penalties]
        self.units = [1.0, *(lambdas[0] / other for other in lambdas[1:])]
        weights = [getattr(layer.penalty, "weights", 1.0) for layer in layers]
        self.sized = [unit / weight for unit, weight in zip(self.units, weights, strict=True)]

    @cached_property
    def V(self) -> Tensor:
        return self.scaled[0].V.detach().cpu()

    @cached_property
    def gram(self) -> Tensor:
        """The whole Hessian, in these units."""
        if self.rest is None:
            return self.V.T @ self.V
        from vnlib.settle.coordinate import hessian

        return hessian(self.V, self.rest)

    @cached_property
    def rest(self) -> Tensor | None:
        """The Hessian without V'V of the first layer, which alone a mask changes."""
        if len(self.layers) == 1 and not self.ridges[0]:
            return None
        H = self.V.new_zeros(sum(self.sizes), sum(self.sizes))
        blocks = [list(row.split(self.sizes, 1)) for row in H.split(self.sizes)]
        for index, layer in enumerate(self.scaled):
            scale = self.weights[index] * self.units[index] ** 2
            blocks[index][index].diagonal().add_(scale * self.ridges[index])
            if index:
                V, U = layer.V.detach().cpu(), given("U", self.scaled[index - 1].U).detach().cpu()
                below = self.weights[index] * self.units[index - 1]
                blocks[index][index] += scale * V.T @ V
                blocks[index - 1][index - 1] += below * self.units[index - 1] * U.T @ U
                blocks[index - 1][index] -= below * self.units[index] * U.T @ V
                blocks[index][index - 1].copy_(blocks[index - 1][index].T)
        return H

    def settle(
        self,
        x: Tensor,
        codes: Sequence[Tensor],
        config: SettleConfig,
        *,
        trace: bool,
        mask: Tensor | None,
        scale: Tensor | None = None,
    ) -> Settled:
        """The codes of the minimum, from these; a trace has one row, the end."""
        # here, since numba takes a second to load
        from vnlib.settle.coordinate import MANY, coordinate_descent

        whole = mask is None and sum(self.sizes) <= MANY
        layers, lambdas = scaled(self.layers, scale), self.sparsity
        if scale is not None:  # l0 and CEL0 have that of an energy
            squared = isinstance(self.layers[0].penalty, L0 | CEL0)
            lambdas = lambdas * (scale.sqrt() if squared else scale).cpu()
        start = [(code / unit).cpu() for code, unit in zip(codes, self.sized, strict=True)]
        found, gap, passes = coordinate_descent(
            self.V,
            x.cpu(),
            sparsity=lambdas,
            tol=config.tol,
            max_passes=config.max_sweeps,
            nonnegative=self.nonnegative,
            start=torch.cat(start, 1),
            gram=self.gram if whole else None,
            rest=None if whole else self.rest,
            mask=None if mask is None else mask.cpu(),
            gamma=self.gamma,
        )
        parts = zip(found.to(x.device).split(self.sizes, 1), self.sized, strict=True)
        ended = tuple(unit * part for part, unit in parts)
        energy = joint_energy(layers, ended, x, self.feedback, mask=mask)
        gap, passes = gap.to(x.device), passes.to(x.device)
        closed = DualityGap(config.tol).closed(gap, energy)
        rounded = ~closed & (passes < config.max_sweeps)
        done, rounded = closed | rounded, rounded if self.gamma is None else None
        sent = zip(self.layers[:-1], ended[:-1], strict=True)
        inputs = (x, *(message(layer, code) for layer, code in sent))
        log = None
        if trace and len(x):
            active = torch.stack([(code != 0).sum(1) for code in ended])
            log = Trace([int(passes.max())], [energy], [active])
        states = tuple(State(code, {}) for code in ended)
        return Settled(ended, inputs, energy, passes, done, config.criterion, log, states, rounded)
