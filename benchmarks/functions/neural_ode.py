"""A latent ordinary differential equation that reconstructs signals."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torchdiffeq import odeint

from benchmarks.baselines.parts import check_sizes
from benchmarks.functions.reconstructor import Reconstructor, check_patch, patches
from vnlib import checks

METHODS = ("euler", "midpoint", "rk4")


class NeuralODE(Reconstructor):
    """patches p_1..p_n -> z(0) = W GRU(p_n..p_1) -> dz/dt = f(z), f = tanh MLP -> x_i = MLP z(t_i),
    t_i = i - 1.

    The NeuralODE of VN App. G, Table 5. The paper names it and gives no sizes; chosen here is the
    latent ODE of Rubanova et al. (2019) without its noise: a GRU of `hidden` numbers reads the
    patches of `patch` samples from the last to the first, `latent` numbers start an autonomous flow
    with one hidden layer of `width` units, and an MLP of the same width reads each patch from the
    state at its time. Time counts patches.

    A fixed-step `method` of torchdiffeq takes `steps` equal steps per patch, so that a result does
    not hang on a tolerance. Gradients are those of the discretised flow, by back-propagation
    through its steps.

    Raises
    ------
    ValueError
        For sizes that are not positive integers, unless `patch` divides `length`, and for a
        `method` that is none of `METHODS`.
    """

    def __init__(
        self,
        *,
        length: int,
        masked: bool = False,
        patch: int = 16,
        hidden: int = 96,
        latent: int = 32,
        width: int = 64,
        method: str = "rk4",
        steps: int = 1,
    ) -> None:
        super().__init__(length=length, masked=masked)
        n_patches, self.patch = check_patch(length, patch), patch
        check_sizes(hidden=hidden, latent=latent, width=width, steps=steps)
        checks.choice("method", method, METHODS)
        self.method, self.steps, self.n_steps = method, steps, (n_patches - 1) * steps
        self.encoder = nn.GRU(self.n_channels * patch, hidden, batch_first=True)
        self.to_latent = nn.Linear(hidden, latent)
        self.flow = nn.Sequential(nn.Linear(latent, width), nn.Tanh(), nn.Linear(width, latent))
        self.readout = nn.Sequential(nn.Linear(latent, width), nn.Tanh(), nn.Linear(width, patch))

    def render(self, channels: Float[Tensor, "batch channels time"]) -> Float[Tensor, "batch time"]:
        backwards = patches(channels, self.patch).flip(1)
        return self.decode(self.to_latent(self.encoder(backwards)[1][0]))

    def decode(self, z: Float[Tensor, "batch latent"]) -> Float[Tensor, "batch time"]:
        """The signals of initial states."""
        times = torch.arange(self.n_steps + 1, dtype=z.dtype, device=z.device) / self.steps
        states = odeint(lambda _, state: self.flow(state), z, times, method=self.method)
        return self.readout(states[:: self.steps]).transpose(0, 1).flatten(1)
