"""Bodies under forces as tensors, and the numbers that models read of them (VN Sec. 4.3, App. H).

The paper says "22 numbers per body" and no more. Read here: the body's velocity (2), the positions
(8) and velocities (8) of the four others relative to it, and a multi-hot code of the forces (4), as
in `literal`. Two readings more go beyond it: `gated` features and `tokens`, one per pair of bodies
and force. All are zero where a body or a force is absent, hence nothing is centred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

LAWS = ("gravity", "spring", "drag", "lorentz")
N_BODIES = 5

Accelerations = Float[Tensor, "batch body 2"]


class Bodies(NamedTuple):
    """Moments of up to five bodies: position, velocity (batch, 5, 2); present (batch, 5) bool;
    forces (batch, 4), 1 where a law of `LAWS` acts and 0 elsewhere. What an absent body's place
    holds is not looked at.
    """

    position: Float[Tensor, "batch body 2"]
    velocity: Float[Tensor, "batch body 2"]
    present: Bool[Tensor, "batch body"]
    forces: Float[Tensor, "batch law"]

    def cpu(self) -> Bodies:
        return Bodies(*(part.cpu() for part in self))


class Samples(NamedTuple):
    """Bodies, and the accelerations (batch, 5, 2) they have."""

    position: Float[Tensor, "batch body 2"]
    velocity: Float[Tensor, "batch body 2"]
    present: Bool[Tensor, "batch body"]
    forces: Float[Tensor, "batch law"]
    acceleration: Float[Tensor, "batch body 2"]

    @property
    def bodies(self) -> Bodies:
        return Bodies(*self[:4])

    def cpu(self) -> Samples:
        return Samples(*(part.cpu() for part in self))


class Scales(NamedTuple):
    """Root mean squares over training samples, of single components: displacement and
    relative_velocity of pairs, velocity and acceleration of bodies. Models read and write numbers
    in these units.
    """

    displacement: float
    velocity: float
    relative_velocity: float
    acceleration: float


class Pairs(NamedTuple):
    """Every body and the four others, in the order of their places: what lies between them, 0 if
    one is absent.

    Parameters
    ----------
    displacement, velocity
        (batch, body, 4, 2), the other's minus the body's own.
    present
        (batch, body, 4).
    """

    displacement: Float[Tensor, "batch body other 2"]
    velocity: Float[Tensor, "batch body other 2"]
    present: Bool[Tensor, "batch body other"]


def check(bodies: Bodies) -> None:
    """Raise ValueError unless the tensors have the shapes that `Bodies` states."""
    batch = len(bodies.position)
    wanted = {
        "position": (batch, N_BODIES, 2),
        "velocity": (batch, N_BODIES, 2),
        "present": (batch, N_BODIES),
        "forces": (batch, len(LAWS)),
    }
    for name, shape in wanted.items():
        if tuple(getattr(bodies, name).shape) != shape:
            raise ValueError(
                f"{name} must have the shape {shape}, got {tuple(getattr(bodies, name).shape)}"
            )
    if bodies.present.dtype != torch.bool:
        raise ValueError(f"present must be bool, got {bodies.present.dtype}")


def pairs(bodies: Bodies) -> Pairs:
    """What lies between each body and the others.

    Raises
    ------
    ValueError
        For wrong shapes.
    """
    check(bodies)
    index = torch.tensor([[j for j in range(N_BODIES) if j != i] for i in range(N_BODIES)])
    others = index.to(bodies.position.device)
    both = bodies.present[:, others] & bodies.present[:, :, None]

    def between(x: Tensor) -> Tensor:
        return torch.where(both[..., None], x[:, others] - x[:, :, None], 0.0)

    return Pairs(between(bodies.position), between(bodies.velocity), both)


def scales_of(samples: Samples) -> Scales:
    """The scales of training samples.

    Raises
    ------
    ValueError
        Where one of them is 0: such units would divide by it.
    """
    between = pairs(samples.bodies)
    found = Scales(
        displacement=_rms(between.displacement[between.present]),
        velocity=_rms(samples.velocity[samples.present]),
        relative_velocity=_rms(between.velocity[between.present]),
        acceleration=_rms(samples.acceleration[samples.present]),
    )
    for name, value in found._asdict().items():
        if not value > 0:
            raise ValueError(
                f"samples must have a {name} that is not 0 everywhere, got a root mean "
                f"square of {value}"
            )
    return found


def own_velocity(bodies: Bodies, scales: Scales) -> Float[Tensor, "batch body 2"]:
    """Velocities in their scale, 0 for absent bodies."""
    return torch.where(bodies.present[..., None], bodies.velocity / scales.velocity, 0.0)


def literal(bodies: Bodies, scales: Scales, *, code: float = 1.0) -> Float[Tensor, "batch body 22"]:
    """Velocity 2, relative positions 8, relative velocities 8, and `code` times the multi-hot code
    of the forces 4.
    """
    between = pairs(bodies)
    forces = code * bodies.forces[:, None] * bodies.present[..., None]
    return torch.cat(
        [
            own_velocity(bodies, scales),
            (between.displacement / scales.displacement).flatten(2),
            (between.velocity / scales.relative_velocity).flatten(2),
            forces,
        ],
        -1,
    )


def gated(bodies: Bodies, scales: Scales) -> Float[Tensor, "batch body 88"]:
    """The state of a body, once per force that acts and zeros for the others: forces (x) [the first
    18 numbers of `literal`, presence of the four others].
    """
    state = torch.cat(
        [literal(bodies, scales)[..., :18], pairs(bodies).present.to(bodies.position)], -1
    )
    return (bodies.forces[:, None, :, None] * state[:, :, None]).flatten(2)


def tokens(
    bodies: Bodies, scales: Scales, *, relative_velocity: float = 0.0, presence: float = 0.7
) -> Float[Tensor, "batch body law token 7"]:
    """One token per (body, force, other body) and one per (body, force) for the body itself, which
    comes first.

    The first holds [velocity 2, 0, 0, 0, 0, 0], the four others [0, 0, displacement 2,
    relative_velocity x relative velocity 2, presence]. All zero where the force or a body is
    absent. In the space of all tokens, of 4 x 7 = 28 dimensions, the force says which seven are
    meant.
    """
    between = pairs(bodies)
    own = own_velocity(bodies, scales)
    alone = torch.cat([own, own.new_zeros(*own.shape[:2], 5)], -1)
    both = torch.cat(
        [
            own.new_zeros(*between.present.shape, 2),
            between.displacement / scales.displacement,
            relative_velocity * between.velocity / scales.relative_velocity,
            presence * between.present[..., None].to(own),
        ],
        -1,
    )
    everything = torch.cat([alone[:, :, None], both], 2)
    return bodies.forces[:, None, :, None, None] * everything[:, :, None]


def in_passes(predict: Callable[[Bodies], Accelerations], bodies: Bodies) -> Accelerations:
    """One pass per force, each as if it acted alone, summed over the forces that act: superposition
    from outside.
    """
    check(bodies)
    total = torch.zeros_like(bodies.position)
    for law in range(len(LAWS)):
        acts = bodies.forces[:, law] != 0
        if bool(acts.any()):
            alone = torch.zeros_like(bodies.forces[acts])
            alone[:, law] = 1
            total[acts] += predict(Bodies(*(part[acts] for part in bodies[:3]), alone))
    return total


def _rms(x: Tensor) -> float:
    return float(x.double().square().mean().sqrt()) if x.numel() else 0.0
