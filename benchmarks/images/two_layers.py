"""The playground's network of two layers as a small script, and back.

As for the one of one layer (`benchmarks.images.playground`), dictionaries are stored as int8 with
columns of unit norm, and what is read from the file, in Python or in the browser, computes with
just these. So do the numbers in the file on images that were held out.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from benchmarks.images import playground
from vnlib import checks
from vnlib.layer import Layer, hessian, lipschitz
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1
from vnlib.settle import SettleConfig

FEEDBACKS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # what the page offers
READING = 0.02  # lambda of the reading from the top, relative as in `VectorNetwork.decode`
# as deep.js does
SETTLE = SettleConfig(method="restart", criterion="gap", tol=1e-12, max_sweeps=20_000)


@dataclass(frozen=True)
class TwoLayers:
    """What the page knows of its network.

    Parameters
    ----------
    network
        In float64, with absolute sparsities.
    reading
        Lambda of the reading from the top.
    held_out
        Of images that the network did not learn from: how many, the residuals' sum of squares over
        that of the images ("own", V_1 a_1; "alone", the same without feedback; "top"), and "active",
        mean numbers of coefficients per layer.
    """

    network: VectorNetwork
    reading: float
    held_out: Mapping[str, Any]

    def with_feedback(self, feedback: float, *, factor: float = 1.0) -> VectorNetwork:
        """The same dictionaries at another beta, and at `factor` times the sparsities."""
        V, U = self.network.V, self.network.U[0]
        sparsity = [factor * one for one in self.network.config.sparsity]
        return two_layer_network((V[0], V[1]), U, sparsity=sparsity, feedback=feedback)


def two_layer_network(
    V: tuple[Float[Tensor, "d lower"], Float[Tensor, "m upper"]],
    U: Float[Tensor, "m lower"],
    *,
    sparsity: Sequence[float],
    feedback: float,
) -> VectorNetwork:
    """Two layers with these dictionaries and absolute lambdas, which settle to a tiny gap."""
    config = VNConfig(
        n_inputs=V[0].shape[0],
        atoms=(V[0].shape[1], V[1].shape[1]),
        interface=(U.shape[0],),
        sparsity=tuple(sparsity),
        feedback=feedback,
        settle=SETTLE,
    )
    network = VectorNetwork(config, seed=0).double()
    for kept, given in zip((*network.V, network.U[0]), (*V, U), strict=True):
        kept.data.copy_(given)
    return network


def export(
    network: VectorNetwork, held_out: Float[Tensor, "n d"], folder: str | Path, *, about: str
) -> Path:
    """Write `layers.js` into a folder, which is made if it is missing; returns its path.

    Parameters
    ----------
    network
        Two layers with l1 penalties, signed codes, identity messages and tied dictionaries, without
        a cap.
    held_out
        Images that it did not learn from, on which it is measured.
    about
        How the network was made: "learned from ...".

    Raises
    ------
    ValueError
        For what the page cannot show; nothing is written.
    """
    config, penalties = network.config, network.penalties
    lambdas = [float(penalty.sparsity) for penalty in penalties if type(penalty) is L1]
    plain = config.top_k is None and config.activation == "identity" and not config.untied
    if len(penalties) != 2 or len(lambdas) != 2 or not plain:
        raise ValueError(
            "network must have two layers with penalty 'l1', signed codes, identity messages, tied "
            f"dictionaries and no top_k, got {config}"
        )
    if config.feedback not in FEEDBACKS:
        raise ValueError(f"feedback must be one of {FEEDBACKS}, got {config.feedback}")
    checks.matrix("held_out", held_out, config.n_inputs, "one row per image")
    if not isinstance(about, str) or not about.strip():
        raise ValueError(f"about must say how the network was made, got {about!r}")
    stored = [playground.quantise(one) for one in (network.V[0], network.V[1], network.U[0])]
    first, second, U = (playground.restore(one) for one in stored)
    own = two_layer_network((first, second), U, sparsity=lambdas, feedback=config.feedback)
    made = TwoLayers(own, READING * network.scales[1], {})
    below, above = own.layers
    upward = hessian(Layer(U, None, below.penalty))
    value = {
        "format": playground.FORMAT,
        "about": about,
        "atoms": list(config.atoms),
        "interface": len(U),
        "sparsity": lambdas,
        "reading": made.reading,
        "feedback": config.feedback,
        "feedbacks": list(FEEDBACKS),
        "lipschitz": {
            "first": [lipschitz(hessian(below, beta)) for beta in FEEDBACKS],
            "second": lipschitz(hessian(above)),
            "reading": lipschitz(upward),
        },
        "held_out": measured(made, held_out.double()),
        "V": [playground.encoded(one) for one in stored[:2]],
        "U": playground.encoded(stored[2]),
    }
    return playground.write(Path(folder), "layers", value)


def measured(made: TwoLayers, x: Float[Tensor, "n d"]) -> dict[str, Any]:
    """What `TwoLayers.held_out` holds, of these images, to four digits."""
    config = SettleConfig(method="restart", criterion="gap", tol=1e-6, max_sweeps=20_000)
    network, alone = made.network, made.with_feedback(0.0)
    settled = network.settle(x, config=config)
    drawn = {
        "own": network.reconstruct(settled),
        "alone": alone.reconstruct(alone.settle(x, config=config)),
        "top": network.decode(settled.codes[1], sparsity=made.reading, max_sweeps=2_000),
    }
    power = x.square().sum()
    found = {name: float((x - one).square().sum() / power) for name, one in drawn.items()}
    active = [float((code != 0).double().sum(1).mean()) for code in settled.codes]
    short = {name: float(f"{share:.4g}") for name, share in found.items()}
    return {"images": len(x), **short, "active": [float(f"{one:.4g}") for one in active]}


def read(folder: str | Path) -> TwoLayers:
    """The network that `export` wrote, as the page has it: in float64, from eight bits.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        For a file of another kind.
    """
    value = playground.parsed(Path(folder) / "layers.js")
    try:
        counts = (*value["atoms"], value["atoms"][0])
        stored = [
            np.frombuffer(base64.b64decode(one), np.int8).reshape(count, -1)
            for one, count in zip((*value["V"], value["U"]), counts, strict=True)
        ]
        first, second, U = (playground.restore(one) for one in stored)
        known = {name: value[name] for name in ("sparsity", "feedback")}
        network = two_layer_network((first, second), U, **known)
        return TwoLayers(network, float(value["reading"]), dict(value["held_out"]))
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{folder} holds a damaged layers.js ({error}); export it again"
        ) from error
