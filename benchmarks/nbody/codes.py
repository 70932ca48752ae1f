"""What a Vector Network reads of bodies, and the codes it infers from it (VN Sec. 4.3, App. H)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from benchmarks.nbody.bodies import LAWS, N_BODIES, Bodies, Scales, gated, literal, pairs, tokens
from benchmarks.nbody.homotopy import Followed, Lasso, single, stacked
from vnlib import checks
from vnlib.network import VectorNetwork

READINGS = ("literal", "gated", "token")
WIDTH = 7  # numbers per token, the first 2 of which are the body's own


class Inputs(NamedTuple):
    """Inputs of one kind: the numbers of an input that they fill (the others are 0), these numbers,
    and whose they are.

    Parameters
    ----------
    columns
        Within the input of the network. x (rows, columns).
    body
        (rows,): state * 5 + place.
    law
        (rows,): index in `LAWS`, 0 where an input does not belong to one force.
    """

    columns: slice
    x: Float[Tensor, "rows d"]
    body: Int[Tensor, " rows"]
    law: Int[Tensor, " rows"]


class Reading:
    """One of `READINGS`: how bodies become inputs.

    "literal" and "gated": one input per body, of 22 and 88 numbers (`benchmarks.nbody.bodies`);
    code: the size of the force code in the former. "token": one per token, in 4 x 7 numbers of
    which those of its force are filled; relative_velocity and presence as in
    `benchmarks.nbody.bodies.tokens`.
    """

    def __init__(
        self,
        name: str,
        scales: Scales,
        *,
        code: float = 10.0,
        relative_velocity: float = 0.0,
        presence: float = 0.7,
    ) -> None:
        checks.choice("reading", name, READINGS)
        checks.number("code", code, above=0)
        checks.number("relative_velocity", relative_velocity, low=0)
        checks.number("presence", presence, low=0)
        self.name, self.scales, self.code = name, scales, code
        self.relative_velocity, self.presence = relative_velocity, presence
        self.size = {"literal": 22, "gated": 88, "token": len(LAWS) * WIDTH}[name]

    def __call__(self, bodies: Bodies) -> list[Inputs]:
        """The inputs of these bodies, by kind: one kind, or two for each force (own numbers,
        pairs).
        """
        if self.name == "token":
            return self._tokens(bodies)
        x = (
            literal(bodies, self.scales, code=self.code)
            if self.name == "literal"
            else gated(bodies, self.scales)
        )
        body = bodies.present.flatten().nonzero().squeeze(1)
        return [Inputs(slice(0, self.size), x.flatten(0, 1)[body], body, torch.zeros_like(body))]

    def _tokens(self, bodies: Bodies) -> list[Inputs]:
        everything = tokens(
            bodies, self.scales, relative_velocity=self.relative_velocity, presence=self.presence
        )
        both, acts, found = pairs(bodies).present, bodies.forces != 0, []
        for law in range(len(LAWS)):
            for own in (True, False):
                there = bodies.present[..., None] if own else both
                rows = (there & acts[:, law, None, None]).nonzero()
                first, last = (0, 2) if own else (2, WIDTH)
                x = everything[rows[:, 0], rows[:, 1], law, rows[:, 2] + (not own), first:last]
                body = rows[:, 0] * N_BODIES + rows[:, 1]
                columns = slice(law * WIDTH + first, law * WIDTH + last)
                found.append(Inputs(columns, x, body, torch.full_like(body, law)))
        return found


class Stage(NamedTuple):
    """A lasso, where its atoms are among those of all layers, and R (its atoms, m) of the message
    R'a it sends up.
    """

    lasso: Lasso
    atoms: np.ndarray
    sends: np.ndarray | None


class Coder:
    """The codes of bodies under a network as it is now, at the minimum of its energy, by
    `benchmarks.nbody.homotopy`.

    Each kind of input passes through stages: the whole stack at once where feedback couples its
    layers, else layer by layer. The first stage looks only at the numbers that the kind fills; and,
    without feedback, where every atom of the first layer keeps to one such block of numbers, only
    at the atoms of this block: the others would stay 0.
    """

    def __init__(self, network: VectorNetwork, reading: Reading) -> None:
        self.reading, layers = reading, network.layers
        self.sizes, self._V = [layer.V.shape[1] for layer in layers], layers[0].V
        self._joint = (
            stacked(layers, network.config.feedback)
            if network.config.feedback and len(layers) > 1
            else None
        )
        self._layers = [single(layer.V, sparsity=layer.penalty.sparsity) for layer in layers]
        self._U = [U.detach().double().T.contiguous().numpy() for U in network.U]
        self._stages: dict[tuple[int, int], list[Stage]] = {}

    def stages(self, columns: slice) -> list[Stage]:
        """What inputs that fill these columns pass through."""
        key = (columns.start, columns.stop)
        if key not in self._stages:
            everything = np.arange(sum(self.sizes))
            if self._joint is not None:
                self._stages[key] = [Stage(self._joint.restricted_to(columns), everything, None)]
            else:
                ends = np.cumsum(self.sizes)
                parts = np.split(everything, ends[:-1])
                block = self._block(columns)
                first = self._layers[0].restricted_to(columns, block)
                sends = [*self._U, None]
                sends[0] = None if sends[0] is None else np.ascontiguousarray(sends[0][block])
                lassos = [first, *self._layers[1:]]
                self._stages[key] = [
                    Stage(*s) for s in zip(lassos, [block, *parts[1:]], sends, strict=True)
                ]
        return self._stages[key]

    def _block(self, columns: slice) -> np.ndarray:
        """The atoms of layer 1 that inputs in these columns can make active by themselves."""
        filled = (self._V != 0).numpy()
        inside, outside = filled[columns].any(0), np.delete(filled, columns, 0).any(0)
        return np.flatnonzero(inside) if not (inside & outside).any() else np.arange(self.sizes[0])

    def __call__(
        self, bodies: Bodies, places: list[list[Followed]] | None = None, *, per_law: bool = False
    ) -> Float[Tensor, "batch body readout atoms"]:
        """The codes of all layers side by side, summed over the inputs of a body, by law if
        `per_law`.

        Result: float32.

        Parameters
        ----------
        places
            Where inference starts; an empty list stands for 0 and is filled with the codes found,
            those of an earlier call for the same bodies and forces are followed to the new codes.
        """
        places = [] if places is None else places
        batch, laws = len(bodies.position), len(LAWS) if per_law else 1
        out = np.zeros((batch * N_BODIES * laws, sum(self.sizes)), np.float32)
        kinds, fresh = self.reading(bodies), not places
        for index, kind in enumerate(kinds):
            if fresh:
                places.append(self.begin(kind))
            owner = (kind.body * laws + (kind.law if per_law else 0)).numpy()
            self.add(kind, places[index], owner, out)
        codes = torch.from_numpy(out).view(batch, N_BODIES, laws, sum(self.sizes))
        # one code, read by each readout whose force acts
        if per_law and self.reading.name != "token":
            codes = bodies.forces[:, None, :, None] * codes[:, :, :1]
        return codes

    def begin(self, kind: Inputs) -> list[Followed]:
        """Where the codes of inputs of one kind start: at 0, in every stage."""
        return [stage.lasso.begin(len(kind.x)) for stage in self.stages(kind.columns)]

    def add(
        self, kind: Inputs, places: Sequence[Followed], owner: np.ndarray, out: np.ndarray
    ) -> None:
        """Infer the codes of inputs of one kind, and add them to the rows of `out` that own them."""
        x = kind.x.double().numpy()
        for stage, place in zip(self.stages(kind.columns), places, strict=True):
            stage.lasso.move(place, x)
            stage.lasso.add(place, owner, stage.atoms, out)
            if stage.sends is not None:
                x = stage.lasso.read(place, stage.sends)

    def active(self, bodies: Bodies) -> list[float]:
        """Mean number of active atoms of an input, per layer."""
        places: list[list[Followed]] = []
        self(bodies, places)
        counts, inputs = np.zeros(sum(self.sizes)), 0
        for kind, found in zip(self.reading(bodies), places, strict=True):
            inputs += len(kind.x)
            for stage, place in zip(self.stages(kind.columns), found, strict=True):
                for row, n in enumerate(place.count):
                    counts[stage.atoms[place.atoms[row, :n]]] += 1
        return [
            float(part.sum()) / max(inputs, 1)
            for part in np.split(counts, np.cumsum(self.sizes)[:-1])
        ]
