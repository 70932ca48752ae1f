"""The linear readout of codes into accelerations (VN Sec. 4.3, App. H).

It is the U of the top layer with free column norms, taught by the delta rule: with unit columns it
is worse than predicting 0, and the paper does not teach the U of the top layer at all.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vnlib import checks
from vnlib.learning.rules import MaskedAdam, atomic_hebb


def read_out(
    readouts: Float[Tensor, "readout 2 atoms"], codes: Float[Tensor, "batch body readout atoms"]
) -> Float[Tensor, "batch body 2"]:
    """sum_f U_f a_f: every readout of its own codes."""
    return torch.einsum("fck,bnfk->bnc", readouts, codes)


def per_readout(
    codes: Float[Tensor, "batch body atoms"], forces: Float[Tensor, "batch law"], readouts: int
) -> Float[Tensor, "batch body readout atoms"]:
    """The codes that each readout reads: all of them for the only one, those under its force for
    one of four.
    """
    if readouts == 1:
        return codes[:, :, None]
    return forces[:, None, :, None] * codes[:, :, None]


class ReadoutLearner:
    """The delta rule on the readouts, given codes: dU = <(acceleration - U a) a'>, with free column
    norms.

    A batch is (codes, forces, present, accelerations in the units of the readout). Codes of absent
    bodies must be 0.
    """

    def __init__(self, readouts: Float[Tensor, "readout 2 atoms"], *, lr: float) -> None:
        checks.number("lr", lr, above=0)
        self.readouts, self.lr = readouts, lr
        self.adam = [MaskedAdam(U) for U in readouts]

    @torch.no_grad()
    def step(
        self,
        batch: tuple[
            Float[Tensor, "batch body atoms"],
            Float[Tensor, "batch law"],
            Bool[Tensor, "batch body"],
            Float[Tensor, "batch body 2"],
        ],
        *,
        scale: float,
        generator: torch.Generator,
    ) -> Tensor:
        """One update; returns the mean squared error of present bodies before it."""
        codes, forces, present, truth = batch
        codes = per_readout(codes, forces, len(self.readouts))
        error = torch.where(present[..., None], truth - read_out(self.readouts, codes), 0.0)
        for index, (U, adam) in enumerate(zip(self.readouts, self.adam, strict=True)):
            seen = codes[:, :, index].flatten(0, 1)
            wanted, used = atomic_hebb(error.flatten(0, 1), seen), (seen != 0).any(0)
            adam.ascend(U, wanted, used, scale * self.lr, unit_norm=False)
        return error[present].square().mean()

    def state(self) -> dict[str, Tensor]:
        """Readouts and their moments."""
        tensors = {"model.readouts": self.readouts}
        for index, adam in enumerate(self.adam):
            tensors |= {f"adam.{index}.{name}": t for name, t in adam.state().items()}
        return tensors
