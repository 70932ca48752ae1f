"""The books of a settle: who is still on the way, and what became of the others."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from vnlib.layer import message
from vnlib.settle.config import Settled, Trace
from vnlib.settle.schedule import Run
from vnlib.settle.stopping import Look


class Record:
    """The last states and energies of all samples of a run, of which `live` are on the way."""

    def __init__(self, run: Run, *, trace: bool) -> None:
        self.run, self.x, self.states = run, run.x, [state.clone() for state in run.states]
        self.energy, n, device = run.energy(), run.x.shape[:-1], run.x.device
        self.sweeps = torch.full(n, run.config.max_sweeps, device=device)
        self.converged = torch.zeros(n, dtype=torch.bool, device=device)
        self.live = torch.arange(n[0], device=device)
        self.trace = Trace() if trace else None
        self.before, self.looked = self.energy, 0

    def look(self, sweep: int, now: Float[Tensor, "... live"]) -> Look:
        """What a stopping rule may see after a sweep; `now` is F, and next time was F before."""
        if self.trace is not None:
            self._add(self.trace, sweep, now)
        look = Look(sweep, sweep - self.looked, now, self.before, self.run.moved, self.run.gap)
        self.before, self.looked = now, sweep
        return look

    def _add(self, trace: Trace, sweep: int, now: Float[Tensor, "... live"]) -> None:
        """A row of the trace; who has arrived repeats its last values."""
        row = (trace.energy[-1] if trace.energy else self.energy).clone()
        row[self.live] = now
        active = torch.stack([(state.code != 0).sum(-1) for state in self.states])
        active[:, self.live] = torch.stack([(code != 0).sum(-1) for code in self.run.codes])
        trace.sweep.append(sweep)
        trace.energy.append(row)
        trace.active.append(active)

    def arrive(self, done: Bool[Tensor, " live"]) -> bool:
        """Write down those that are done, and go on without them; whether nobody is left."""
        arrived = done.nonzero().squeeze(1)  # numbers, since each mask would be waited for
        if not len(arrived):
            return False
        rows, left = self.live[arrived], (~done).nonzero().squeeze(1)
        for state, current in zip(self.states, self.run.states, strict=True):
            state.write(rows, current.rows(arrived))
        self.energy[rows], self.sweeps[rows] = self.before[arrived], self.looked
        self.converged[rows] = True
        self.live, self.before = self.live[left], self.before[left]
        self.run.keep(left)
        return not len(left)

    def close(self) -> Settled:
        """The result; who did not arrive is left where the budget ended."""
        run = self.run
        self._end(run)
        codes, inputs = tuple(state.code for state in self.states), [self.x]
        for layer, code in zip(run.layers[:-1], codes[:-1], strict=True):
            inputs.append(message(layer, code, run.activation))
        return Settled(
            codes=codes,
            inputs=tuple(inputs),
            energy=self.energy,
            sweeps=self.sweeps,
            converged=self.converged,
            criterion=run.config.criterion,
            trace=self.trace,
            states=tuple(self.states),
        )

    def _end(self, run: Run) -> None:
        for state, current in zip(self.states, run.states, strict=True):
            state.write(self.live, current)
        self.energy[self.live] = run.energy()


class ReplicaRecord(Record):
    """The same of replicas, none of whose samples leaves: they stay one batch, and what becomes of a
    sample after it has arrived is not looked at.
    """

    def arrive(self, done: Bool[Tensor, "replica batch"]) -> bool:
        """Write down those that are done; whether all are."""
        fresh = done & ~self.converged
        self._write_down(fresh, self.before)
        self.sweeps = torch.where(fresh, self.looked, self.sweeps)
        self.converged = self.converged | done
        return bool(self.converged.all())

    def _end(self, run: Run) -> None:
        self._write_down(~self.converged, run.energy())

    def _write_down(self, rows: Bool[Tensor, "replica batch"], energy: Tensor) -> None:
        for state, current in zip(self.states, self.run.states, strict=True):
            state.put(rows, current)
        self.energy = torch.where(rows, energy, self.energy)
