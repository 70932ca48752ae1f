"""Models of forces that learn one law after another (VN Sec. 4.3, Sec. 5): Vector Networks and
networks.

Sets are `benchmarks.nbody.bodies.Samples`. Scales are those of all laws together, for all models
alike.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from benchmarks.baselines.parts import built
from benchmarks.nbody.bodies import Samples, Scales
from benchmarks.nbody.codes import Coder, Reading
from benchmarks.nbody.dynamics import NETWORKS
from benchmarks.nbody.readout import ReadoutLearner, read_out
from benchmarks.nbody.vector_networks import BATCH, BodyNetwork, embedded
from chapters.beyond_continual.images import Continual, schedule
from vnlib import checks, seeding
from vnlib.fit import GradientLearner, fit
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig


class BodyVN:
    """One layer of atoms and a readout, taught by the local rules (see
    `benchmarks.nbody.vector_networks`).

    Parameters
    ----------
    reading, code
        As in `Reading`.
    atoms
        That every set adds, drawn from its inputs; without grow, the first set adds four times as
        many and no other any.
    own_share
        Of the new atoms in the token reading that are tokens of a body's own numbers.
    samples
        Inputs of a set that the atoms learn from, in `dictionary_steps` updates.
    """

    def __init__(
        self,
        first: Tensor,
        *,
        scales: Scales,
        lr: float,
        steps: int,
        batch_size: int,
        seed: int,
        reading: str,
        atoms: int,
        sparsity: float,
        grow: bool = True,
        own_share: float = 0.16,
        code: float = 20.0,
        samples: int = 1500,
        dictionary_steps: int = 12,
        dictionary_lr: float = 2e-3,
    ) -> None:
        checks.number("atoms", atoms, low=4, integer=True)
        checks.number("sparsity", sparsity, above=0)
        checks.number("own_share", own_share, above=0, high=0.9)
        self.reader, self.scales, self.seed, self.grow = (
            Reading(reading, scales, code=code),
            scales,
            seed,
            grow,
        )
        self.atoms, self.own_share, self.samples = atoms, own_share, samples
        self.config, self.lr = schedule(steps, batch_size), lr
        self.dictionary = {"steps": dictionary_steps, "lr": dictionary_lr}
        config = VNConfig(
            n_inputs=self.reader.size,
            atoms=(1,),
            sparsity=(sparsity,),
            relative_sparsity=True,
            settle=SettleConfig.exact(),
        )
        self.network, self.readout, self.sets = (
            VectorNetwork(config, seed=seed),
            torch.zeros(1, 2, 0),
            0,
        )

    def learn(self, data: tuple[Tensor, ...], *, seed: int) -> None:
        data = Samples(*data)
        rows = self._rows(data, self.samples, seed)
        if self.grow or not self.sets:
            self._add(data, rows, self.atoms if self.grow else 4 * self.atoms, seed)
        steps = self.dictionary["steps"]
        if steps:
            learner = LocalLearner(self.network, lr=self.dictionary["lr"], memory=1.0)
            fit(learner, (rows,), schedule(steps, min(BATCH, len(rows))), seed=seed)
        codes = self.model.codes(data.bodies)
        truth = data.acceleration / self.scales.acceleration
        batch = (codes, data.forces, data.present, truth)
        fit(ReadoutLearner(self.readout, lr=self.lr), batch, self.config, seed=seed)
        self.sets += 1

    @property
    def model(self) -> BodyNetwork:
        """The network as it is now, with its readout."""
        model = BodyNetwork(Coder(self.network, self.reader))
        model.readouts = self.readout
        return model

    def _rows(self, data: Samples, n: int, seed: int) -> Tensor:
        """Inputs of all kinds that the set has, in the shares that atoms have too."""
        kinds = [
            kind for kind in self.reader(data.bodies) if len(kind.x) and bool((kind.x != 0).any())
        ]
        own = [kind.x.shape[1] == 2 for kind in kinds]
        weights = [self.own_share if is_own else 1 - self.own_share for is_own in own]
        counts = [max(1, round(n * weight / sum(weights))) for weight in weights]
        return embedded(
            kinds, counts, self.reader.size, seeding.derive(seed, "rows", n) % 2**31, most=True
        )

    def _add(self, data: Samples, rows: Tensor, n: int, seed: int) -> None:
        new, old = unit_columns(self._rows(data, n, seed).T), self.network
        V = new if not self.sets else torch.cat([old.V[0], new], 1)
        self.network = VectorNetwork(replace(old.config, atoms=(V.shape[1],)), seed=0)
        self.network.V[0].copy_(V)
        if self.sets:
            self.network.input_scale.copy_(old.input_scale)
        else:
            self.network.track_scale([rows])
        added = torch.zeros(1, 2, V.shape[1] - self.readout.shape[2])
        self.readout = torch.cat([self.readout, added], 2)

    def error(self, data: tuple[Tensor, ...]) -> float:
        return relative_error(self._predict, Samples(*data))

    def _predict(self, samples: Samples) -> Tensor:
        if not self.sets:
            return torch.zeros_like(samples.acceleration)
        return self.scales.acceleration * read_out(
            self.readout, self.model.codes(samples.bodies)[:, :, None]
        )

    def weights(self) -> list[Tensor]:
        """Per atom what it is, and what is read from it."""
        if not self.sets:
            return [torch.zeros(0, self.reader.size), torch.zeros(0, 2)]
        return [self.network.V[0].detach().T.clone(), self.readout[0].T.clone()]

    def activity(self, data: tuple[Tensor, ...]) -> list[Tensor]:
        codes = self.model.codes(Samples(*data).bodies)
        return [codes.square().mean((0, 1))]

    def facts(self) -> dict[str, float]:
        atoms = self.readout.shape[2]
        return {
            "parameters": float(atoms * (self.reader.size + 2)),
            "units": float(atoms),
            "revived": 0.0,
        }


class BodyNet:
    """One of `benchmarks.nbody.dynamics.NETWORKS`, by back-propagation."""

    def __init__(
        self,
        first: Tensor,
        *,
        scales: Scales,
        network: str,
        lr: float,
        steps: int,
        batch_size: int,
        seed: int,
        **options: object,
    ) -> None:
        checks.choice("network", network, NETWORKS)
        self.model = built(NETWORKS[network], scales=scales, seed=seed, **options)
        self.learner, self.config = GradientLearner(self.model, lr=lr), schedule(steps, batch_size)

    def learn(self, data: tuple[Tensor, ...], *, seed: int) -> None:
        fit(self.learner, data, self.config, seed=seed)

    @torch.no_grad()
    def error(self, data: tuple[Tensor, ...]) -> float:
        return relative_error(lambda samples: self.model(samples.bodies), Samples(*data))

    def weights(self) -> list[Tensor]:
        """What each unit reads."""
        return [p.detach().clone() for p in self.model.parameters() if p.ndim == 2]

    @torch.no_grad()
    def activity(self, data: tuple[Tensor, ...]) -> list[Tensor]:
        """Of the units that the last layer reads."""
        last, seen = [m for m in self.model.modules() if isinstance(m, torch.nn.Linear)][-1], []
        hook = last.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
        self.model(Samples(*data).bodies)
        hook.remove()
        return [torch.cat([one.flatten(0, -2) for one in seen]).square().mean(0)]

    def facts(self) -> dict[str, float]:
        numbers = float(sum(p.numel() for p in self.model.parameters()))
        return {
            "parameters": numbers,
            "units": float(sum(len(W) for W in self.weights())),
            "revived": 0.0,
        }


def relative_error(predict: object, samples: Samples) -> float:
    """Mean squared error of accelerations of present bodies, over their mean square."""
    there = samples.present
    truth, given = samples.acceleration[there].double(), predict(samples)[there].double()
    return float((given - truth).square().mean() / truth.square().mean())


FAMILIES: dict[str, type[Continual]] = {"body_vn": BodyVN, "body_net": BodyNet}
