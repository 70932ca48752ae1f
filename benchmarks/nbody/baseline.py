"""The interface of every model that tells bodies their accelerations (VN Sec. 4.3, App. H), and how
steep their networks start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn

from benchmarks.nbody.bodies import Accelerations, Bodies, Scales, check
from vnlib import checks


class Dynamics(nn.Module, ABC):
    """Bodies in, accelerations out.

    A model writes `respond`, which speaks in units of `scales.acceleration`.

    Raises
    ------
    ValueError
        Unless all scales are > 0.
    """

    def __init__(self, *, scales: Scales) -> None:
        super().__init__()
        for name, value in scales._asdict().items():
            checks.number(f"{name} of scales", value, above=0)
        self.scales = scales

    def forward(self, bodies: Bodies) -> Accelerations:
        """Accelerations in box/s^2, 0 for absent bodies.

        Raises
        ------
        ValueError
            For wrong shapes.
        """
        check(bodies)
        return self._shown(bodies) * self.scales.acceleration

    def loss(
        self,
        position: Float[Tensor, "batch body 2"],
        velocity: Float[Tensor, "batch body 2"],
        present: Bool[Tensor, "batch body"],
        forces: Float[Tensor, "batch law"],
        acceleration: Float[Tensor, "batch body 2"],
        *,
        generator: Generator,
    ) -> Float[Tensor, ""]:
        """Mean squared error of the components of present bodies, in units of the squared scale of
        accelerations.

        Parameters
        ----------
        generator
            Not used; these models have no noise.

        Raises
        ------
        ValueError
            For wrong shapes.
        """
        bodies = Bodies(position, velocity, present, forces)
        check(bodies)
        if acceleration.shape != position.shape:
            raise ValueError(
                f"acceleration must have the shape {tuple(position.shape)}, got "
                f"{tuple(acceleration.shape)}"
            )
        error = self._shown(bodies) - acceleration / self.scales.acceleration
        return error[present].square().mean()

    @abstractmethod
    def respond(self, bodies: Bodies) -> Accelerations:
        """Accelerations of checked bodies in their scale; what it gives absent ones is dropped."""

    def _shown(self, bodies: Bodies) -> Accelerations:
        return torch.where(bodies.present[..., None], self.respond(bodies), 0.0)


def amplify(module: nn.Module, gain: float) -> None:
    """Multiply the initial weights and biases of a module by `gain`.

    From torch's own (1), networks learn smooth functions long before steep ones, such as gravity at
    close range.

    Raises
    ------
    ValueError
        Unless `gain` is > 0.
    """
    checks.number("gain", gain, above=0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(gain)
