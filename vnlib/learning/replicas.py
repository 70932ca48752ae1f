"""Local learning of many networks at once: replicas, which differ in their seeds, their samples,
their learning rates and their lambdas.

What they change are rows of stacked tensors, (replica, d, atoms) for a dictionary. A batch is one
batch of each. The replicas take every sweep and every update together, and coordinate descent,
which computes on the CPU, one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.prox import CEL0, Penalty, TopK
from vnlib.settle import SettleConfig, Settled
from vnlib.settle.config import mapped
from vnlib.settle.steps import ALONE


def kind(learner: LocalLearner) -> str:
    """What replicas must share; "" for a learner that has no equals."""
    network, given = learner.network, vars(learner)
    config = network.settler(learner.settle_config).config
    usual = type(learner) is LocalLearner and type(network) is VectorNetwork
    upkeep = learner.remove_dc or learner.decorrelation or network.config.nonnegative
    if not usual or upkeep or config.method in ALONE or config.monotone:
        return ""
    options = ("masked", "memory", "revive_after")
    sizes = [(name, t.shape, t.dtype) for name, t in learner.state().items()]
    shared = replace(network.config, sparsity=(0.0,) * len(network.V))
    return repr((config, shared, sizes, [given[name] for name in options]))


class LocalReplicas(LocalLearner):
    """Local learners of one `kind` as one, whose tensors theirs are rows of."""

    def __init__(self, learners: Sequence[LocalLearner]) -> None:
        one, names = learners[0], ("steps", "codes", "unused", "revived")
        vars(self).update(vars(one) | {name: deepcopy(getattr(one, name)) for name in names})
        self.each, self.network = learners, Networks([learner.network for learner in learners])
        self.settle_config = one.network.settler(one.settle_config).config
        many = [_tensors(learner) for learner in learners]
        for name, whole in _tensors(self).items():
            whole.data = torch.stack([tensors[name].data for tensors in many])
            for row, tensors in zip(whole.data, many, strict=True):
                tensors[name].data = row
        rates: Any = [(learner.lr, learner.interface_lr) for learner in learners]
        self.lr, self.interface_lr = _each(rates, self.network.V[0]).unbind(1)

    def revive(self, settled: Settled, after: int, generator: Any) -> None:
        """That of each replica which has dead atoms, by its own one of the generators."""
        dead = torch.stack([(unused >= after).any(-1) for unused in self.unused]).any(0)
        for row, one in enumerate(dead.tolist()):  # the only time that a device is waited for
            if one:
                self.each[row].revive(mapped(itemgetter(row), settled), after, generator[row])


def _tensors(learner: LocalLearner) -> dict[str, Tensor]:
    """The tensors of a learner's state themselves."""
    return learner.state() | learner.network.state_dict(prefix="model.", keep_vars=True)


class Networks(VectorNetwork):
    """Networks of one shape, with dictionaries (replica, d, atoms) and a lambda for each."""

    def __init__(self, each: Sequence[VectorNetwork]) -> None:
        vars(self).update(vars(deepcopy(each[0])))
        self.each = list(each)

    @property
    def penalties(self) -> list[Penalty]:
        """One penalty for all replicas of each layer."""
        relative, none = self.config.relative_sparsity, [None] * len(self.each)
        scales: Any = self.input_scale.tolist() if relative else none
        found = [one.config.penalties(own) for one, own in zip(self.each, scales, strict=True)]
        return [_merged(many, self.V[0]) for many in zip(*found, strict=True)]

    def settle(self, x: Tensor, *, config: SettleConfig, start: Any = None, **_: Any) -> Settled:
        """As of one network, x (replica, batch, d); `config` says the method."""
        if config.method != "cd":
            return super().settle(x, config=config, start=start)
        starts = zip(*start, strict=True) if start else [None] * len(x)
        each = zip(self.each, x, starts, strict=True)
        parts = [one.settle(own, config=config, start=begun) for one, own, begun in each]
        return mapped(lambda *rows: torch.stack(rows), *parts)


def _merged(many: Sequence[Any], like: Tensor) -> Any:
    """Penalties that differ in lambda as one, whose `sparsity` is (replica, 1, 1)."""
    if isinstance(many[0], TopK):
        return replace(many[0], penalty=_merged([penalty.penalty for penalty in many], like))
    many = [penalty.firm(1.0) if isinstance(penalty, CEL0) else penalty for penalty in many]
    lambdas = [penalty.sparsity for penalty in many]
    same = len(set(lambdas)) == 1
    return many[0] if same else replace(many[0], sparsity=_each(lambdas, like))


def _each(numbers: Sequence[Any], like: Tensor) -> Tensor:
    """Numbers of each replica, as they multiply what is (replica, batch, atoms)."""
    return torch.tensor(numbers, dtype=like.dtype, device=like.device)[..., None, None]
