"""Codes of bodies after a few plain sweeps, wherever the minimum is (a reading of VN Sec. 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.nbody.bodies import Bodies
from benchmarks.nbody.codes import Coder, Inputs, Reading
from benchmarks.nbody.homotopy import Followed
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig


class SweptCoder(Coder):
    """As `Coder`, but all layers make so many proximal sweeps from 0, and stop there."""

    def __init__(self, network: VectorNetwork, reading: Reading, sweeps: int) -> None:
        super().__init__(network, reading)
        self.network = network
        self.config = SettleConfig(method="ista", criterion="energy", tol=0, max_sweeps=sweeps)

    def begin(self, kind: Inputs) -> list[Followed]:
        """Nothing is followed: each call starts from 0."""
        return []

    def add(
        self, kind: Inputs, places: Sequence[Followed], owner: np.ndarray, out: np.ndarray
    ) -> None:
        """As in `Coder`."""
        np.add.at(out, owner, self._swept(kind).numpy())

    def active(self, bodies: Bodies) -> list[float]:
        """Mean number of active atoms of an input, per layer."""
        codes = torch.cat([self._swept(kind) for kind in self.reading(bodies)])
        return [float((part != 0).sum(1).float().mean()) for part in codes.split(self.sizes, 1)]

    @torch.no_grad()
    def _swept(self, kind: Inputs) -> Float[Tensor, "rows atoms"]:
        """The codes of all layers side by side."""
        x = kind.x.new_zeros(len(kind.x), self.reading.size)
        x[:, kind.columns] = kind.x
        return torch.cat(self.network.settle(x, config=self.config).codes, 1)
