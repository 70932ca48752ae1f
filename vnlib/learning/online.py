"""Online dictionary learning (Mairal, Bach, Ponce and Sapiro 2010): a sibling of Atomic-Hebb for
one layer, which solves for the atoms in closed form and has no learning rate.

Two sums stand for all codes so far, A of a a' and B of a x'. Given them, the squared error is
minimised atom by atom: v_k goes to b_k - sum_{j != k} A_kj v_j, brought to unit norm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from vnlib import checks
from vnlib.compilation import Array, compiled
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import Settled

BLOCK = 64  # atoms that are solved for between two matrix products, which do most of the work


class OnlineDictionaryLearner(LocalLearner):
    """Settle a batch, add its codes to the statistics, and solve for the atoms once around.

    Parameters
    ----------
    forgetting
        Update t keeps (1 - 1/t)^forgetting of the statistics: 0 all; more gives early codes, of
        worse atoms, less weight.
    **options
        `settle`, `remove_dc`, `revive_after` and `remember` as in `LocalLearner`.

    Raises
    ------
    ValueError
        For more than one layer.
    """

    def __init__(self, network: VectorNetwork, *, forgetting: float = 20.0, **options: Any) -> None:
        if len(network.V) != 1:
            raise ValueError(
                f"network must have one layer, got {len(network.V)}; LocalLearner takes several"
            )
        checks.number("forgetting", forgetting, low=0)
        super().__init__(network, **options)
        self.forgetting, self.statistics = forgetting, Statistics(network.V[0])
        self.steps[0]["V"] = self.statistics

    @torch.no_grad()
    def update(
        self, settled: Settled, *, scale: float = 1.0, generator: torch.Generator | None = None
    ) -> None:
        """Change the atoms that codes have used so far; `scale` and lambda's unit change nothing.

        Arguments and errors as for `LocalLearner`.
        """
        (code,), (x,), V = settled.codes, settled.inputs, self.network.V[0]
        self.statistics.add(code, x, self.forgetting)
        atoms, A, B = (t.cpu().contiguous() for t in (V.T, self.statistics.A, self.statistics.B))
        for first in range(0, len(A), BLOCK):
            block = slice(first, first + BLOCK)
            parts = atoms[block], A[block, block].contiguous(), B[block] - A[block] @ atoms
            _around(*(t.numpy() for t in parts), self.network.config.nonnegative)
        V.copy_(atoms.T)
        if self.remove_dc:
            V.copy_(self._as_pixels(V))
        self.unused[0].add_(1).masked_fill_((code != 0).any(0), 0)
        if self.revive_after is not None:
            self.revive(settled, self.revive_after, checks.given("generator", generator))


@compiled
def _around(atoms: Array, A: Array, left: Array, nonnegative: bool) -> None:
    """Each of the `atoms` (block, d) that codes have used goes to its minimum, in turn; `left` is
    B - A atoms as they were.
    """
    moved = np.zeros_like(atoms)
    for k in range(len(atoms)):
        if A[k, k] > 0:
            new = left[k] + A[k, k] * atoms[k]
            for j in range(k):
                for i in range(len(new)):
                    new[i] -= A[k, j] * moved[j, i]
            if nonnegative:
                new = np.maximum(new, 0)
            norm = np.sqrt((new * new).sum())
            if norm > 0:
                moved[k] = new / norm - atoms[k]
                atoms[k] = new / norm


class Statistics:
    """A (atoms, atoms) and B (atoms, d), averages over the updates."""

    def __init__(self, V: Float[Tensor, "d atoms"]) -> None:
        self.A, self.B = V.new_zeros(V.shape[1], V.shape[1]), V.new_zeros(V.shape[1], len(V))
        self.updates = torch.zeros((), dtype=torch.int64)

    def add(
        self, code: Float[Tensor, "batch atoms"], x: Float[Tensor, "batch d"], forgetting: float
    ) -> None:
        self.updates += 1
        keep = (1 - 1 / int(self.updates)) ** forgetting
        self.A.addmm_(code.T, code, beta=keep, alpha=1 / len(x))
        self.B.addmm_(code.T, x, beta=keep, alpha=1 / len(x))

    def forget(self, columns: Int[Tensor, " some"]) -> None:
        self.A[columns], self.A[:, columns], self.B[columns] = 0, 0, 0

    def state(self) -> dict[str, Tensor]:
        return {"A": self.A, "B": self.B, "updates": self.updates}
