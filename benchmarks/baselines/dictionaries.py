"""Vector Networks that learn nothing: they tell what a result owes to inference from what it owes
to learned atoms.
"""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor

from vnlib import checks
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig


def fixed_network(
    V: Float[Tensor, "d atoms"],
    samples: Float[Tensor, "samples d"],
    *,
    sparsity: float = 0.02,
    **options: Any,
) -> VectorNetwork:
    """One layer with this dictionary, its columns scaled to unit norm, on the device and of the
    type of V.

    Parameters
    ----------
    sparsity
        Relative to the r.m.s. norm of `samples` (training signals).
    **options
        As in `VNConfig`.

    Raises
    ------
    ValueError
        Where V and samples do not fit, and for a zero column.
    """
    checks.finite("V", V)
    checks.matrix("samples", samples, V.shape[0], "one row per signal, as long as an atom")
    if V.ndim != 2 or bool((V.norm(dim=0) == 0).any()):
        raise ValueError(f"V must be (d, atoms) without a zero column, got {tuple(V.shape)}")
    config = VNConfig(
        n_inputs=len(V),
        atoms=(V.shape[1],),
        sparsity=(sparsity,),
        relative_sparsity=True,
        **options,
    )
    network = VectorNetwork(config, seed=0).to(device=V.device, dtype=V.dtype)
    network.V[0].copy_(unit_columns(V))
    network.track_scale([samples.to(V)])
    return network
