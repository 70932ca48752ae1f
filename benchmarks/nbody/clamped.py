"""Vector Networks that infer accelerations as they infer codes: while atoms learn, the acceleration
of a body is part of the vector that they reconstruct; then it is hidden, and predicted is what the
atoms say of it (a reading of VN Sec. 4.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from benchmarks.nbody.bodies import N_BODIES, Accelerations, Bodies, Samples, check, scales_of
from benchmarks.nbody.codes import Inputs, Reading
from benchmarks.nbody.forces import Trained, relative_errors
from benchmarks.nbody.homotopy import Followed, single
from benchmarks.nbody.vector_networks import BATCH
from vnlib import checks, seeding
from vnlib.fit import FitConfig, Training, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

ONE_EACH = ("literal", "gated")  # the readings that have one input for each body


def clamped_network(
    train: Samples,
    validation: Samples,
    training: Training,
    *,
    reading: str,
    atoms: Sequence[int],
    sparsity: Sequence[float],
    weight: float = 1.0,
    code: float = 10.0,
    samples: int = 6000,
    passes: float = 2.0,
    dictionary_lr: float = 2e-3,
) -> Trained:
    """One layer of atoms, taught by the local rule alone; there is no readout.

    Parameters
    ----------
    training
        Its seed alone counts.
    reading, code
        As in `Reading`, one of `ONE_EACH`.
    atoms, sparsity
        Of one layer, lambda relative to the r.m.s. norm of the joint vectors.
    weight
        Of accelerations, in units of their scale, beside the numbers that are read.
    samples, passes, dictionary_lr
        Of the dictionary, as in `benchmarks.nbody.vector_networks.vector_network`.

    Raises
    ------
    ValueError
        For options out of range, and for fewer inputs than atoms.
    """
    checks.choice("reading", reading, ONE_EACH)
    checks.number("weight", weight, above=0)
    checks.number("passes", passes, above=0)
    checks.number("samples", samples, low=1, integer=True)
    train, validation = train.cpu(), validation.cpu()
    reader = Reading(reading, scales_of(train), code=code)
    joint = _joint(train, reader, weight, samples, seed=training.seed)
    for name, values in {"atoms": atoms, "sparsity": sparsity}.items():
        if len(values) != 1:
            raise ValueError(f"{name} must have one entry, of one layer, got {list(values)}")
    checks.number("atoms", atoms[0], low=1, high=len(joint), integer=True)
    config = VNConfig(
        n_inputs=joint.shape[1],
        atoms=tuple(atoms),
        sparsity=tuple(sparsity),
        relative_sparsity=True,
        settle=SettleConfig.exact(),
    )
    network = VectorNetwork(config, seed=training.seed)
    network.start_from_samples(joint, seed=training.seed)
    learner = LocalLearner(network, lr=dictionary_lr, memory=1.0)
    steps = max(1, round(passes * len(joint) / BATCH))
    plan = FitConfig(steps=steps, batch_size=min(BATCH, len(joint)), keep="last")
    fit(learner, (joint,), plan, seed=training.seed)
    model = Clamped(network, reader, weight)
    facts = {"parameters": network.V[0].numel(), "active": model.active(validation.bodies)}
    curve = [float(relative_errors(model.predict, validation).mean())]
    return Trained(model.predict, curve=curve, facts=facts)


def _joint(train: Samples, reader: Reading, weight: float, count: int, *, seed: int) -> Tensor:
    """Inputs with their accelerations beside them, at most so many, drawn without replacement."""
    (kind,) = reader(train.bodies)
    target = (train.acceleration / reader.scales.acceleration).flatten(0, 1)[kind.body]
    rows = torch.cat([kind.x, weight * target], dim=1)
    order = torch.randperm(len(rows), generator=seeding.generator(seed, "joint"))
    return rows[order[:count]]


class Clamped:
    """Atoms of joint vectors that rest, asked for the accelerations that were hidden."""

    def __init__(self, network: VectorNetwork, reading: Reading, weight: float) -> None:
        V, size = network.V[0].detach(), reading.size
        self.reading = reading
        self.lasso = single(V[:size], sparsity=network.layers[0].penalty.sparsity)
        # what each atom says of the acceleration, in box/s^2
        says = V[size:].T.double() * (reading.scales.acceleration / weight)
        self.says = says.contiguous().numpy()

    def predict(self, bodies: Bodies) -> Accelerations:
        """Accelerations in box/s^2 of any bodies; ValueError for wrong shapes."""
        check(bodies)
        kind, codes = self._codes(bodies)
        out = torch.zeros(len(bodies.position) * N_BODIES, 2)
        out[kind.body] = torch.from_numpy(self.lasso.read(codes, self.says)).float()
        return out.view(-1, N_BODIES, 2).to(bodies.position.device)

    def active(self, bodies: Bodies) -> float:
        """Mean number of active atoms of an input."""
        return float(self._codes(bodies)[1].count.mean())

    def _codes(self, bodies: Bodies) -> tuple[Inputs, Followed]:
        """The inputs of bodies, and their codes, which see nothing of accelerations."""
        (kind,) = self.reading(bodies.cpu())
        at = self.lasso.begin(len(kind.x))
        self.lasso.move(at, kind.x.double().numpy())
        return kind, at
