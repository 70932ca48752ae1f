"""Local learning: settle a batch, then change the atoms that were used (VN Sec. 3.4, App. D)."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib import checks, seeding
from vnlib.evaluate import reconstruction_error
from vnlib.fit import FitConfig, fit
from vnlib.learning.rules import (
    OPTIMIZERS,
    atomic_hebb,
    decorrelate,
    remove_dc,
    subspace_rule,
    unit_columns,
)
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig, Settled, SettleWarning

log = logging.getLogger(__name__)
VISITS = 20  # per sample, from which on codes of the last visit save `learn` a good part of a step


def learns(network: VectorNetwork, index: int) -> tuple[str, ...]:
    """Which dictionaries of layer `index` learn: "V" always, "U" and "B" below the top.

    U rests under the frozen rule, and under the subspace rule where it is wide enough to be an
    isometry.
    """
    if index + 1 == len(network.V):
        return ("V",)
    rule, (m, K) = network.config.interface_rule, network.U[index].shape[-2:]
    interface = rule == "atomic_hebb" or (rule == "subspace" and m < K)
    return ("V", *["U"] * interface, *["B"] * network.config.untied)


@torch.no_grad()
def directions(
    network: VectorNetwork, settled: Settled
) -> list[dict[str, Float[Tensor, "... _d _atoms"]]]:
    """Where each layer's dictionaries are told to go by a settled batch (VN Eqs. 8 and 9), by name.

    dV = <(x - V a) a'>. dU follows the `interface_rule`: beta <(t - U a) a'> is the paper's,
    t = V_above a_above; the subspace rule is ours. An untied B follows beta <(t - B a) a'>.
    """
    beta, found = network.config.feedback, []
    for index, (code, x) in enumerate(zip(settled.codes, settled.inputs, strict=True)):
        names = learns(network, index)
        wanted = {"V": atomic_hebb(x - code @ network.V[index].mT, code)}
        if len(names) > 1:
            target = settled.codes[index + 1] @ network.V[index + 1].mT
        if "U" in names and network.config.interface_rule == "subspace":
            wanted["U"] = subspace_rule(network.U[index], code)
        elif "U" in names:
            wanted["U"] = beta * atomic_hebb(target - code @ network.U[index].mT, code)
        if "B" in names:
            wanted["B"] = beta * atomic_hebb(target - code @ network.B[index].mT, code)
        found.append(wanted)
    return found


def learn(
    network: VectorNetwork,
    x: Float[Tensor, "samples d"],
    *,
    seed: int,
    steps: int = 500,
    batch_size: int = 256,
    learner: type[LocalLearner] | None = None,
    error: Callable[[VectorNetwork, Tensor], float] = reconstruction_error,
    **options: Any,
) -> list[float]:
    """Local learning on samples, in place, to the state in which a held-out tenth has least error.

    Returns that error after each tenth of the steps. ValueError for fewer than 2 samples.

    Parameters
    ----------
    learner
        `LocalLearner` if None, or a kind of it such as `OnlineDictionaryLearner`.
    error
        Of the network on samples: their mean squared error, or `vnlib.evaluate.settled_energy`.
    **options
        Of the learner.
    """
    checks.seed(seed)
    checks.matrix("x", x, network.config.n_inputs, "one row per sample")
    if len(x) < 2:
        raise ValueError(
            f"x must hold at least 2 samples, one to learn from and one held out, got {len(x)}"
        )
    order = torch.randperm(len(x), generator=seeding.generator(seed, "held out")).to(x.device)
    tenth = -(-len(x) // 10)
    held, rest = x[order[:tenth]], x[order[tenth:]]
    config = FitConfig(
        steps=steps, batch_size=min(batch_size, len(rest)), eval_every=max(1, -(-steps // 10))
    )
    often = steps * config.batch_size >= VISITS * len(rest)
    options = {"remember": len(rest) if often else 0} | options
    chosen, validate = (learner or LocalLearner)(network, **options), partial(error, network, held)
    data = (rest, torch.arange(len(rest), device=x.device))
    return fit(chosen, data, config, seed=seed, validate=validate).validation


class LocalLearner:
    """Atomic-Hebb on all layers of a network: settle a batch, then change the atoms that were used.

    `unused` counts per atom the updates since its last use, `revived` per layer the atoms that were
    drawn anew.

    Parameters
    ----------
    lr, interface_lr
        Learning rates of V, and of U and B.
    settle
        How to settle in training, None for the network's own.
    optimizer
        "adam" or "sgd", both on the atoms in use only; masked=False lets them move every atom.
    remove_dc
        Keep the columns of V_1 free of their mean.
    decorrelation
        Strength of `decorrelate` on V after each step.
    revive_after
        An atom that this many updates did not use becomes a sample of the batch, drawn by its
        squared residual; None never.
    memory
        What is kept per update of the scales that `relative_sparsity` follows.
    remember
        Samples whose last codes are kept: the next settle starts there. A batch holds their numbers.
    """

    def __init__(
        self,
        network: VectorNetwork,
        *,
        lr: float = 1e-2,
        interface_lr: float = 3e-3,
        settle: SettleConfig | None = None,
        optimizer: str = "adam",
        masked: bool = True,
        remove_dc: bool = False,
        decorrelation: float = 0.0,
        revive_after: int | None = None,
        memory: float = 0.9,
        remember: int = 0,
    ) -> None:
        depth = len(network.V)
        checks.number("lr", lr, above=0)
        checks.number("interface_lr", interface_lr, above=0)
        checks.choice("optimizer", optimizer, OPTIMIZERS)
        checks.number("decorrelation", decorrelation, low=0, high=1)
        if revive_after is not None:
            checks.number("revive_after", revive_after, low=1, integer=True)
        checks.number("memory", memory, low=0, high=1)
        checks.number("remember", remember, low=0, integer=True)
        if remove_dc and network.config.nonnegative:
            raise ValueError(
                "remove_dc must be False for a nonnegative network: atoms without a mean "
                "are not >= 0"
            )
        self.network, self.settle_config = network, settle
        self.lr, self.interface_lr, self.memory = lr, interface_lr, memory
        self.masked, self.remove_dc, self.decorrelation = masked, remove_dc, decorrelation
        self.revive_after = revive_after
        self.steps = [
            {
                kind: OPTIMIZERS[optimizer](getattr(network, kind)[index])
                for kind in learns(network, index)
            }
            for index in range(depth)
        ]
        self.codes = [V.new_zeros(remember, V.shape[-1]) for V in network.V if remember]
        self.unused = [V.new_zeros(V.shape[-1], dtype=torch.int64) for V in network.V]
        self.revived = torch.zeros(depth, dtype=torch.int64, device=network.V[0].device)

    @torch.no_grad()
    def step(self, batch: tuple[Tensor, ...], *, scale: float, generator: Any) -> Tensor:
        """One update by (x,), or (x, numbers) to remember; returns the mean settled energy before."""
        if self.codes and len(batch) != 2:
            raise ValueError(f"batch must be (x, numbers) to remember, got {len(batch)} tensor(s)")
        x = batch[0]
        numbers = [batch[1][..., None].expand(*x.shape[:-1], kept.shape[-1]) for kept in self.codes]
        start = [kept.gather(-2, rows) for kept, rows in zip(self.codes, numbers, strict=True)]
        # codes that still move a little teach as well
        with warnings.catch_warnings(action="ignore", category=SettleWarning):
            settled = self.network.settle(x, config=self.settle_config, start=start or None)
        for kept, rows, code in zip(self.codes, numbers, settled.codes, strict=False):
            kept.scatter_(-2, rows, code)
        self.update(settled, scale=scale, generator=generator)
        return settled.energy.mean(-1)

    @torch.no_grad()
    def update(self, settled: Settled, *, scale: float = 1.0, generator: Any = None) -> None:
        """Change the atoms that a settled batch used (VN Eqs. 8 and 9).

        Parameters
        ----------
        scale
            Multiplies the learning rates.
        generator
            Draws the samples that dead atoms become.

        Raises
        ------
        ValueError
            Where it is needed and missing.
        """
        if self.revive_after is not None:
            checks.given("generator, which draws what revive_after asks for,", generator)
        for index, wanted in enumerate(directions(self.network, settled)):
            used = (settled.codes[index] != 0).any(-2)
            moved = used if self.masked else torch.ones_like(used)
            for kind, direction in wanted.items():
                lr = scale * (self.lr if kind == "V" else self.interface_lr)
                self.steps[index][kind].ascend(
                    getattr(self.network, kind)[index], direction, moved, lr
                )
            V = self.network.V[index]
            if self.decorrelation:
                V[:, moved] = unit_columns(decorrelate(V, self.decorrelation)[:, moved])
            if index == 0 and (self.remove_dc or self.network.config.nonnegative):
                V[:, moved] = self._as_pixels(V[:, moved])
            self.unused[index].add_(1).masked_fill_(used, 0)
        if self.revive_after is not None:
            self.revive(settled, self.revive_after, generator)
        if self.network.config.relative_sparsity:
            self.network.track_scale(settled.inputs, rate=1 - self.memory)

    def _as_pixels(self, atoms: Tensor) -> Tensor:
        """Columns of V_1, which alone reads data with a mean and a sign, as the options want."""
        atoms = remove_dc(atoms) if self.remove_dc else atoms
        return unit_columns(atoms.clamp_min(0) if self.network.config.nonnegative else atoms)

    def revive(self, settled: Settled, after: int, generator: Any) -> None:
        """Make atoms that went unused samples of the batch: the worse explained, the likelier."""
        for index in range(len(self.unused)):
            self._revive(index, settled, after, generator)

    def _revive(self, index: int, settled: Settled, after: int, generator: torch.Generator) -> None:
        dead = (self.unused[index] >= after).nonzero().squeeze(1)
        if not len(dead):
            return
        V, x = self.network.V[index], settled.inputs[index]
        atoms = unit_columns(x.T) if index else self._as_pixels(x.T)
        missed = (x - settled.codes[index] @ V.T).square().sum(1) * (atoms.norm(dim=0) > 0.5)
        dead = dead[: int((missed > 0).sum())]
        if not len(dead):
            return
        drawn = torch.multinomial(missed.to(generator.device), len(dead), generator=generator)
        V[:, dead] = atoms[:, drawn.to(dead.device)]
        self.steps[index]["V"].forget(dead)
        self.unused[index][dead] = 0
        self.revived[index] += len(dead)
        told = (index + 1, len(dead), int(self.revived[index]))
        log.info("layer %d: %d dead atom(s) drawn anew, %d so far", *told)

    def state(self) -> dict[str, Tensor]:
        """What `vnlib.fit.Learner` asks for."""
        tensors = {f"model.{name}": tensor for name, tensor in self.network.state_dict().items()}
        tensors |= {f"codes.{index}": kept for index, kept in enumerate(self.codes)}
        for index, kinds in enumerate(self.steps):
            tensors[f"unused.{index}"] = self.unused[index]
            for kind, step in kinds.items():
                tensors |= {f"step.{kind}.{index}.{name}": t for name, t in step.state().items()}
        return tensors | {"revived": self.revived}
