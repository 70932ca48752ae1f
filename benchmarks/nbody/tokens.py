"""Back-propagation on the tokens that the token Vector Network reads: the same structure, another
learner.

Not a model of the paper: a control for what the tokens alone give (VN Sec. 4.3, App. H).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from benchmarks.baselines.parts import check_hidden
from benchmarks.nbody.baseline import Dynamics
from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies, Scales, tokens
from vnlib import checks

SIZE = 7  # numbers of a token in the block of its force
SPACE = SIZE * len(LAWS)
ENTRIES = 3  # about as many of them are not 0


class TokenNetwork(Dynamics):
    """One network reads every token, placed in the space of all 28 dimensions, and gives 2 numbers;
    a body's acceleration is their sum over its tokens.

    Tokens that are all zero are left out, so that an absent body or force adds exactly nothing.
    Layers: 28 -> hidden ... -> 2 with biases, SiLU between. The first one starts as for an input of
    three numbers, since no token has many more that are not 0.

    Parameters
    ----------
    relative_velocity, presence
        Weights in tokens.

    Raises
    ------
    ValueError
        Unless both are >= 0 and every entry of `hidden` is a positive integer.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        hidden: Sequence[int] = (128, 128),
        relative_velocity: float = 0.0,
        presence: float = 0.7,
    ) -> None:
        super().__init__(scales=scales)
        checks.number("relative_velocity", relative_velocity, low=0)
        checks.number("presence", presence, low=0)
        self.relative_velocity, self.presence = relative_velocity, presence
        sizes = [SPACE, *check_hidden(hidden)]
        layers: list[nn.Module] = []
        for inner, outer in pairwise(sizes):
            layers += [nn.Linear(inner, outer), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-1], 2))
        with torch.no_grad():
            self.layers[0].weight.mul_((SPACE / ENTRIES) ** 0.5)

    def respond(self, bodies: Bodies) -> Accelerations:
        read = tokens(
            bodies, self.scales, relative_velocity=self.relative_velocity, presence=self.presence
        )
        found, owner, law = acting(read)
        placed = found.new_zeros(len(found), len(LAWS), SIZE)
        placed[torch.arange(len(found), device=found.device), law] = found
        total = found.new_zeros(read.shape[0] * read.shape[1], 2)
        return total.index_add(0, owner, self.layers(placed.flatten(1))).unflatten(
            0, read.shape[:2]
        )


def acting(
    read: Float[Tensor, "batch body law token 7"],
) -> tuple[Float[Tensor, "found 7"], Int[Tensor, " found"], Int[Tensor, " found"]]:
    """The tokens that are not all zero; the body that each belongs to, counted over the batch; its
    law.
    """
    batch, body, law, token = read.detach().any(-1).nonzero(as_tuple=True)
    return read[batch, body, law, token], batch * read.shape[1] + body, law
