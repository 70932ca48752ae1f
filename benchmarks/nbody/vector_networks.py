"""Vector Networks as models of force composition, in three readings of the paper's input (VN
Fig. 4, App. H).

Two phases. First the dictionaries start as samples and learn by the local rules; then they rest,
the codes of all training states are kept, and the readout learns by the delta rule. Accelerations
are read from codes that are inferred from the state alone. Compiled loops find the codes, on the
CPU: there all of it happens, wherever the bodies are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies, Samples, check, scales_of
from benchmarks.nbody.codes import Coder, Inputs, Reading
from benchmarks.nbody.forces import Predict, Trained, relative_errors
from benchmarks.nbody.homotopy import single
from benchmarks.nbody.readout import ReadoutLearner, per_readout, read_out
from benchmarks.nbody.swept import SweptCoder
from vnlib import checks, seeding
from vnlib.fit import FitConfig, Training, fit
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

CHUNK = 100  # states whose codes are inferred at once
BATCH = 256  # inputs per local update
EVALUATIONS = 25


def vector_network(
    train: Samples,
    validation: Samples,
    training: Training,
    *,
    reading: str,
    atoms: Sequence[int],
    sparsity: Sequence[float],
    interface: Sequence[int] = (),
    factor: float = 1.0,
    feedback: float = 0.0,
    inverted: bool = False,
    read: str = "top",
    readout_per_force: bool = False,
    code: float = 10.0,
    relative_velocity: float = 0.0,
    presence: float = 0.7,
    own_share: float = 0.16,
    samples: int = 6000,
    passes: float = 2.0,
    dictionary_lr: float = 2e-3,
    interface_rule: str = "subspace",
    revive_after: int | None = None,
    states: int | None = None,
    sweeps: int | None = None,
) -> Trained:
    """A Vector Network taught by the local rules alone.

    `training` is that of the readout, in states per batch.

    In the token reading the accelerations of a body are U times the sum of the codes of its tokens.
    Without feedback an atom of the first layer that started in a block (a force, a body's own or a
    pair's numbers) stays there, and inference goes block by block, to the same minimum.

    Parameters
    ----------
    reading, code, relative_velocity, presence
        As in `Reading`.
    atoms, interface, sparsity
        Per layer as in `VNConfig`, sparsity relative to the r.m.s. norm of the layer's inputs
        before learning, and all multiplied by `factor`.
    feedback
        Beta of VN Eq. 3.
    inverted
        The direction of the coupling is turned round. A lower layer then weighs its target by 1 and
        its own input by beta, with its penalty still in units of its input: beta/2 `|x - V
        a|^2` + 1/2 `|t - U a|^2` + beta lambda `|a|_1`, which is beta times the energy with
        feedback 1/beta and the same lambda. (With lambda itself left alone every lower code would
        be 0 for small beta).
    read
        The readout reads the "top" code or those of "all" layers.
    readout_per_force
        Each force has a readout of its own, taught by its own states; those of the forces that act
        are summed.
    own_share
        Of the atoms of layer 1 that start as tokens of a body's own numbers, in the token reading.
    samples, passes, dictionary_lr, interface_rule, revive_after
        Of the first phase, as in `LocalLearner`.
    states
        How many training states, drawn at random, teach the readout (all if None); codes under
        strong feedback take time.
    sweeps
        Once the dictionaries rest, codes are those after so many plain sweeps; None: at the minimum.

    Raises
    ------
    ValueError
        For options out of range, and for too few samples to start from.
    """
    checks.choice("read", read, ("top", "all"))
    for name, value in {"factor": factor, "passes": passes}.items():
        checks.number(name, value, above=0)
    checks.number("own_share", own_share, low=0, high=1)
    checks.number("samples", samples, low=1, integer=True)
    for name, value in {"states": states, "sweeps": sweeps}.items():
        if value is not None:
            checks.number(name, value, low=1, integer=True)
    for number, value in enumerate(sparsity, 1):
        checks.number(f"sparsity of layer {number}", value, above=0)
    if inverted and not (feedback > 0 and len(atoms) > 1):
        raise ValueError(
            f"inverted needs feedback > 0 and more than one layer, got {feedback} and {len(atoms)}"
        )
    train, validation = train.cpu(), validation.cpu()
    scales = scales_of(train)
    reader = Reading(
        reading, scales, code=code, relative_velocity=relative_velocity, presence=presence
    )
    config = VNConfig(
        n_inputs=reader.size,
        atoms=tuple(atoms),
        interface=tuple(interface),
        sparsity=tuple(factor * rho for rho in sparsity),
        feedback=1 / feedback if inverted else feedback,
        interface_rule=interface_rule,
        relative_sparsity=True,
        settle=(
            SettleConfig.exact()
            if len(atoms) == 1 or not feedback
            else SettleConfig.training(max_sweeps=25)
        ),
    )
    network = VectorNetwork(config, seed=training.seed)
    kinds, shares = reader(train.bodies), [1.0]
    if len(kinds) > 1:
        shares = [share / len(LAWS) for _ in LAWS for share in (own_share, 1 - own_share)]
    start(network, kinds, shares, seed=training.seed)
    rows = embedded(kinds, _counts(samples, shares), reader.size, training.seed + 2, most=True)
    # memory=1: lambda stays what it was at the start. Following messages that shrink under
    # feedback, it would vanish.
    learner = LocalLearner(network, lr=dictionary_lr, revive_after=revive_after, memory=1.0)
    steps = max(1, round(passes * len(rows) / BATCH))
    plan = FitConfig(steps=steps, batch_size=BATCH, keep="last")
    fit(learner, (rows,), plan, seed=training.seed)

    coder = Coder(network, reader) if sweeps is None else SweptCoder(network, reader, sweeps)
    model = BodyNetwork(coder, read=read, per_force=readout_per_force)
    if states is not None:
        drawn = torch.randperm(
            len(train.position), generator=seeding.generator(training.seed, "states")
        )[:states]
        train = Samples(*(part[drawn] for part in train))
    curve, used = _teach(model, train, validation, training)
    active = model.coder.active(validation.bodies)
    numbers = sum(p.numel() for p in network.parameters()) + model.readouts.numel()
    facts = {
        "parameters": numbers,
        "active": active[0],
        "active_top": active[-1],
        "used": int(used.sum()),
        "dead": int((~used).sum()),
        "revived": int(learner.revived.sum()),
    }
    return Trained(model.predict, follow=model.follow, curve=curve, facts=facts)


class BodyNetwork:
    """A network whose dictionaries rest, and readouts of its codes into accelerations in units of
    their scale.
    """

    def __init__(
        self,
        coder: Coder,
        *,
        read: str = "top",
        per_force: bool = False,
    ) -> None:
        checks.choice("read", read, ("top", "all"))
        self.coder, self.per_force = coder, per_force
        self.scale = coder.reading.scales.acceleration
        sizes = self.coder.sizes
        self.read = slice(sum(sizes[:-1]) if read == "top" else 0, sum(sizes))
        self.readouts = torch.zeros(
            len(LAWS) if per_force else 1, 2, self.read.stop - self.read.start
        )

    def predict(self, bodies: Bodies) -> Accelerations:
        """Accelerations in box/s^2 of any bodies.

        Raises
        ------
        ValueError
            For wrong shapes.
        """
        check(bodies)
        return torch.cat([self._read(part, None) for part in _chunks(bodies)])

    def follow(self) -> Predict:
        """A predictor for one rollout: its codes start from those of the last call."""
        places: list = []

        def predict(bodies: Bodies) -> Accelerations:
            check(bodies)
            return self._read(bodies, places)

        return predict

    def _read(self, bodies: Bodies, places: list | None) -> Accelerations:
        codes = self.coder(bodies.cpu(), places, per_law=self.per_force)[..., self.read]
        return (self.scale * read_out(self.readouts, codes)).to(bodies.position.device)

    def codes(self, bodies: Bodies) -> Float[Tensor, "batch body atoms"]:
        """The codes of all layers, summed over the inputs of a body; on the CPU."""
        return torch.cat([self.coder(part)[:, :, 0] for part in _chunks(bodies.cpu())])


def _teach(
    model: BodyNetwork, train: Samples, validation: Samples, training: Training
) -> tuple[list[float], Tensor]:
    """Teach the readouts on the codes of all training states, and keep the step that validates
    best.

    Returns
    -------
    tuple[list[float], Tensor]
        The validation error at the evaluations, and which atoms any training state uses.
    """
    codes = model.codes(train.bodies)
    used = torch.stack([(codes[..., i] != 0).any() for i in range(codes.shape[-1])])
    codes, held = codes[..., model.read], model.codes(validation.bodies)[..., model.read]
    n = len(model.readouts)
    held = per_readout(held, validation.forces, n)

    def error() -> float:
        return float(
            relative_errors(
                lambda _: model.scale * read_out(model.readouts, held), validation
            ).mean()
        )

    data = (codes, train.forces, train.present, train.acceleration / model.scale)
    history = fit(
        ReadoutLearner(model.readouts, lr=training.lr),
        data,
        training.config(EVALUATIONS),
        seed=training.seed,
        validate=error,
        checkpoint=training.workdir / "fit.safetensors",
    )
    return history.validation, used


def _chunks(bodies: Bodies) -> list[Bodies]:
    return [
        Bodies(*(part[i : i + CHUNK] for part in bodies))
        for i in range(0, max(1, len(bodies.position)), CHUNK)
    ]


@torch.no_grad()
def start(
    network: VectorNetwork, kinds: Sequence[Inputs], shares: Sequence[float], *, seed: int
) -> None:
    """Make the atoms of layer 1 normalised inputs, so many of each kind, and those of the others
    normalised messages.

    Raises
    ------
    ValueError
        Where there are fewer inputs that are not 0 than atoms of their kind.
    """
    sizes, layers = network.config.atoms, len(network.config.atoms)
    counts = _counts(sizes[0], shares)
    x = embedded(kinds, counts, network.config.n_inputs, seed)
    network.V[0].copy_(unit_columns(x.T))
    # What the layers above start from: inputs of all kinds, other ones than the atoms.
    x = embedded(
        kinds, _counts(4 * max(sizes), shares), network.config.n_inputs, seed + 1, most=True
    )
    seen = [x]
    network.track_scale(seen)
    for index in range(1, layers):
        below = network.layers[index - 1]
        lasso = single(below.V, sparsity=below.penalty.sparsity)
        at = lasso.begin(len(x))
        lasso.move(at, x.double().numpy())
        x = torch.from_numpy(lasso.read(at, below.U.T.double().contiguous().numpy())).float()
        usable = (x.norm(dim=1) > 1e-6).nonzero().squeeze(1)
        if len(usable) < sizes[index]:
            raise ValueError(
                f"atoms of layer {index + 1} must be at most the {len(usable)} messages that are "
                f"not 0, got {sizes[index]}; lower the sparsity below it, or give more samples"
            )
        pick = torch.randperm(len(usable), generator=seeding.generator(seed, "messages", index))[
            : sizes[index]
        ]
        network.V[index].copy_(unit_columns(x[usable[pick]].T))
        seen.append(x)
        network.track_scale(seen)


def embedded(
    kinds: Sequence[Inputs], counts: Sequence[int], size: int, seed: int, *, most: bool = False
) -> Float[Tensor, "rows d"]:
    """So many inputs of each kind that are not 0, drawn without replacement, in the space of all
    kinds.

    Raises
    ------
    ValueError
        For a kind that has fewer; with `most`, takes all it has.
    """
    parts = []
    for index, (kind, n) in enumerate(zip(kinds, counts, strict=True)):
        usable = (kind.x.norm(dim=1) > 1e-6).nonzero().squeeze(1)
        if len(usable) < n and not most:
            raise ValueError(
                f"train must hold at least {n} inputs of each kind that are not 0, got "
                f"{len(usable)}"
            )
        pick = usable[
            torch.randperm(len(usable), generator=seeding.generator(seed, "inputs", index))[:n]
        ]
        part = kind.x.new_zeros(len(pick), size)
        part[:, kind.columns] = kind.x[pick]
        parts.append(part)
    return torch.cat(parts)


def _counts(n: int, shares: Sequence[float]) -> list[int]:
    """n in these shares, rounded so that they sum to n."""
    ends = np.rint(n * np.cumsum([0, *shares])).astype(int)
    return np.diff(ends).tolist()
