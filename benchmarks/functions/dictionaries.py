"""A dictionary that is written down, and the exact solution of the masked problem (VN App. G.4)."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.functions.masks import by_mask, shown
from vnlib import checks
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork
from vnlib.prox import L1, NonNegativeL1

STEP = 1.25  # ratio of two successive lambdas on the way to the one asked for
ON_THE_WAY = 1000  # passes for each of the others


def fourier_and_bumps(
    length: int = 512, *, highest: float = 8.0, widths: Sequence[float] = (0.03, 0.06, 0.12, 0.24)
) -> Float[Tensor, "time atoms"]:
    """A dictionary that is written down, with unit columns; 162 atoms as it stands.

    Over t = 0..1: the constant 1; cos(2 pi f t) and sin(2 pi f t) for f = 0.5, 1, ..., `highest`,
    in cycles over the signal; and exp(-(t - c)^2 / 2 s^2) for every width s of `widths`, at
    round(2 / s) + 1 centres c that are evenly spaced from 0 to 1, half a width apart. Neither
    exponentials nor polynomials are in it.
    """
    checks.number("length", length, low=2, integer=True)
    checks.number("highest", highest, low=0.5)
    t = torch.linspace(0, 1, length, dtype=torch.float64)[:, None]
    angle = math.pi * torch.arange(1, math.floor(2 * highest) + 1) * t
    atoms = [torch.ones_like(t), angle.cos(), angle.sin()]
    for width in widths:
        checks.number("each of widths", width, above=0)
        centres = torch.linspace(0, 1, round(2 / width) + 1, dtype=torch.float64)
        atoms.append(torch.exp(-0.5 * ((t - centres) / width) ** 2))
    return unit_columns(torch.cat(atoms, 1)).float()


def with_sparsity(network: VectorNetwork, factor: float) -> VectorNetwork:
    """The same network, sharing all weights, with all its lambdas multiplied by `factor` > 0."""
    checks.number("factor", factor, above=0)
    other = copy.copy(network)
    sparsity = tuple(factor * value for value in network.config.sparsity)
    other.config = replace(network.config, sparsity=sparsity)
    return other


def masked_codes(
    network: VectorNetwork,
    x: Float[Tensor, "batch time"],
    observed: Bool[Tensor, "batch time"],
    *,
    tol: float = 1e-5,
    max_passes: int = 10_000,
) -> tuple[Float[Tensor, "batch atoms"], Float[Tensor, " batch"]]:
    """Codes that solve the masked problem of a one-layer l1 network, and their duality gaps
    relative to their energies.

    With the hidden samples cut off, Eq. 39 is an ordinary lasso in the rows of V that are observed,
    whose columns have norms below 1: coordinate descent for every different mask, in float64 on the
    CPU wherever the network is. Atoms that are nearly parallel make it slow from a = 0, so lambda
    comes down in steps of `STEP` and each starts from the last. A signal stops at a gap of `tol`
    times its energy, or after max_passes.

    Raises
    ------
    ValueError
        For deeper networks, other penalties, lambda = 0, and signals or masks that do not fit.
    """
    # here, since numba takes a second to load
    from vnlib.settle.coordinate import coordinate_descent, gram_matrix

    checks.number("sparsity", network.config.sparsity[0], above=0)
    layers = network.layers
    if len(layers) != 1 or not isinstance(penalty := layers[0].penalty, L1):
        raise ValueError(
            "network must have one layer with an l1 penalty, got "
            f"{[layer.penalty for layer in layers]}"
        )
    V = layers[0].V.detach().double().cpu()
    lowest, nonnegative = penalty.sparsity, isinstance(penalty, NonNegativeL1)
    seen, masks = shown(x, observed, len(V)).double().cpu(), observed.cpu()
    codes, gaps = V.new_zeros(len(x), V.shape[1]), V.new_zeros(len(x))
    for mask, rows in by_mask(masks):
        atoms, part = V[mask].contiguous(), seen[rows][:, mask]
        gram, code = gram_matrix(atoms), codes[rows]
        first = float((part @ atoms).abs().max())  # where all codes are zero
        above = max(0, math.ceil(math.log(first / lowest) / math.log(STEP))) if first else 0
        for power in range(above, -1, -1):
            code, gap, _ = coordinate_descent(
                atoms,
                part,
                sparsity=lowest * STEP**power,
                tol=tol,
                max_passes=ON_THE_WAY if power else max_passes,
                nonnegative=nonnegative,
                start=code,
                gram=gram,
            )
        energy = 0.5 * (part - code @ atoms.T).square().sum(1) + lowest * code.abs().sum(1)
        codes[rows], gaps[rows] = code, gap / energy.clamp_min(1e-300)
    return codes.to(x), gaps.to(x)
