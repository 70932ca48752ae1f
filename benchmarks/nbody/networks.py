"""Feedforward networks that tell each body its acceleration by itself: MLP, FiLM, and one network
per force.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from benchmarks.baselines.parts import check_sizes
from benchmarks.nbody.baseline import Dynamics, amplify
from benchmarks.nbody.bodies import (
    LAWS,
    Accelerations,
    Bodies,
    Scales,
    literal,
    own_velocity,
    pairs,
)
from vnlib import checks

STATE = 18  # of the literal 22 numbers, those that are not the forces' code
STRUCTURES = ("pairwise", "dense")


class BodyMLP(Dynamics):
    """The literal 22 numbers of a body -> `layers` hidden layers of `width` SiLU units -> its
    acceleration.

    The MLP of VN Sec. 4.3 and App. H, which give no sizes. `gain` multiplies the first layer's
    initial weights (see `amplify`).

    Raises
    ------
    ValueError
        Unless `width` and `layers` are integers >= 1 and `gain` > 0.
    """

    def __init__(
        self, *, scales: Scales, width: int = 128, layers: int = 3, gain: float = 1.0
    ) -> None:
        super().__init__(scales=scales)
        self.net = perceptron(STATE + len(LAWS), width, layers, 2, gain)

    def respond(self, bodies: Bodies) -> Accelerations:
        return self.net(literal(bodies, self.scales))


class FiLM(Dynamics):
    """The 18 state numbers of a body -> hidden layers -> its acceleration, modulated by the forces.

    h_l = SiLU((1 + gamma_l) * (W_l h_{l-1} + b_l) + beta_l), where (gamma, beta) = W SiLU(W'
    c + b') + b for the forces' multi-hot code c (feature-wise linear modulation, Perez et al.
    2018). VN Sec. 4.3 and App. H name FiLM and give no sizes. Forces reach the network in no other
    way. `gain` as in `BodyMLP`.

    Raises
    ------
    ValueError
        Unless `width`, `layers` and `code_width` are integers >= 1 and `gain` > 0.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        width: int = 128,
        layers: int = 3,
        code_width: int = 32,
        gain: float = 1.0,
    ) -> None:
        super().__init__(scales=scales)
        check_sizes(code_width=code_width)
        self.hidden, self.readout = stack(STATE, width, layers, gain), nn.Linear(width, 2)
        self.code = nn.Sequential(
            nn.Linear(len(LAWS), code_width), nn.SiLU(), nn.Linear(code_width, 2 * layers * width)
        )

    def respond(self, bodies: Bodies) -> Accelerations:
        h = literal(bodies, self.scales)[..., :STATE]
        modulation = self.code(bodies.forces)[:, None].chunk(2 * len(self.hidden), -1)
        for layer, gamma, beta in zip(self.hidden, modulation[::2], modulation[1::2], strict=True):
            h = nn.functional.silu((1 + gamma) * layer(h) + beta)
        return self.readout(h)


class Factorized(Dynamics):
    """One network per force; the acceleration is the sum over the forces that act: a_i = sum_f c_f
    net_f(state_i).

    The Factorized baseline of VN Sec. 4.3 and App. H: "one hand-crafted subnetwork per force". A
    force that does not act adds exactly 0, and its network gets no gradient. The paper leaves open
    what is crafted; here, by `structure`,

    "pairwise": net_f = sum over the others j of P_f(displacement_ij, relative_velocity x relative
    velocity_ij) + S_f(velocity_i), so that bodies, too, add up: that, and with the default of 0 the
    absence of relative velocities, is knowledge of the physics. "dense": net_f is an MLP of the 18
    state numbers; forces add up, bodies do not.

    All have `layers` hidden layers of `width` SiLU units; `gain` as in `BodyMLP`.

    Raises
    ------
    ValueError
        Unless `structure` is one of `STRUCTURES`, `width` and `layers` are integers >= 1, `gain`
        is > 0 and `relative_velocity` is >= 0.
    """

    def __init__(
        self,
        *,
        scales: Scales,
        structure: str = "pairwise",
        width: int = 64,
        layers: int = 3,
        gain: float = 1.0,
        relative_velocity: float = 0.0,
    ) -> None:
        super().__init__(scales=scales)
        checks.choice("structure", structure, STRUCTURES)
        checks.number("relative_velocity", relative_velocity, low=0)
        self.structure, self.relative_velocity = structure, relative_velocity

        def one_per_force(n_inputs: int) -> nn.ModuleList:
            return nn.ModuleList(perceptron(n_inputs, width, layers, 2, gain) for _ in LAWS)

        if structure == "dense":
            self.nets = one_per_force(STATE)
        else:
            # Inputs that would be 0 in every sample are left out.
            self.pair_nets = one_per_force(4 if relative_velocity else 2)
            self.self_nets = one_per_force(2)

    def respond(self, bodies: Bodies) -> Accelerations:
        total = torch.zeros_like(bodies.position)
        for law in range(len(LAWS)):
            rows = bodies.forces[:, law].nonzero()[:, 0]
            if len(rows):  # of the states where the force acts; the others do not meet its network
                part = Bodies(*(tensor[rows] for tensor in bodies))
                total = total.index_add(
                    0, rows, part.forces[:, law, None, None] * self._of(law, part)
                )
        return total

    def _of(self, law: int, bodies: Bodies) -> Accelerations:
        if self.structure == "dense":
            return self.nets[law](literal(bodies, self.scales)[..., :STATE])
        between = pairs(bodies)
        x = between.displacement / self.scales.displacement
        if self.relative_velocity:
            x = torch.cat(
                [x, self.relative_velocity * between.velocity / self.scales.relative_velocity], -1
            )
        each = torch.where(between.present[..., None], self.pair_nets[law](x), 0.0)
        return each.sum(2) + self.self_nets[law](own_velocity(bodies, self.scales))


def perceptron(
    n_inputs: int, width: int, layers: int, n_outputs: int, gain: float = 1.0
) -> nn.Sequential:
    """`layers` hidden layers of `width` SiLU units and a linear readout; see `stack`."""
    hidden = [
        module for layer in stack(n_inputs, width, layers, gain) for module in (layer, nn.SiLU())
    ]
    return nn.Sequential(*hidden, nn.Linear(width, n_outputs))


def stack(n_inputs: int, width: int, layers: int, gain: float = 1.0) -> nn.ModuleList:
    """The linear maps into `layers` hidden layers of `width` units, the first one's weights and
    biases times `gain`.

    Raises
    ------
    ValueError
        Unless `width` and `layers` are integers >= 1 and `gain` is > 0.
    """
    check_sizes(width=width, layers=layers)
    maps = nn.ModuleList(nn.Linear(*sizes) for sizes in pairwise([n_inputs, *[width] * layers]))
    amplify(maps[0], gain)
    return maps
