"""Exchanges of atoms: what a greedy choice of atoms, or one by a hard top-k, leaves to gain."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from vnlib.greedy import polish
from vnlib.implicit import padded


def swap_atoms(
    V: Float[Tensor, "d atoms"], x: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]
) -> Float[Tensor, "batch atoms"]:
    """A code of as many atoms that no exchange of one of them for another improves.

    Begins with `polish`; then each sample makes the exchange that lowers 1/2 `|x - V a|^2` most,
    with least-squares coefficients before and after, until none does.

    Raises
    ------
    ValueError
        As `polish` does, and for columns of V that are not of unit norm.
    """
    low, high = V.norm(dim=0).aminmax()
    if max(1 - low, high - 1) > 1e-3:
        raise ValueError(f"V must have unit columns, got norms from {low:g} to {high:g}")
    code, gram = polish(V, x, code), V.double().T @ V.double()
    live = (code != 0).any(1).nonzero().squeeze(1)
    while len(live):
        parts = live.split(64)  # all pairs of atoms take much memory
        swapped = torch.cat([_best_swap(gram, (x @ V)[part], code[part]) for part in parts])
        swapped = polish(V, x[live], swapped)
        before, after = (
            (x[live] - a @ V.T).double().square().sum(1) for a in (code[live], swapped)
        )
        better = after < before - torch.finfo(x.dtype).eps ** 0.75 * x[live].double().square().sum(
            1
        )
        live = live[better]
        code[live] = swapped[better]
    return code


def _best_swap(
    gram: Float[Tensor, "atoms atoms"],
    drive: Float[Tensor, "batch atoms"],
    code: Float[Tensor, "batch atoms"],
) -> Float[Tensor, "batch atoms"]:
    """The code with the support after the best exchange; its new coefficient is only a mark.

    To leave atom i out costs a_i^2 / M_ii, M the inverse Gram matrix of the support; atom j then
    gains c^2 / s, with its correlation c and its squared distance s from the span of the rest.
    """
    atoms, on = padded(code != 0)
    shares, pair = gram[atoms], on[:, :, None] * on[:, None, :]
    small = shares.gather(2, atoms[:, None, :].expand_as(pair)) * pair
    # the second term keeps what is padded or dependent from being singular
    inverse = torch.linalg.inv(small + torch.diag_embed(1 - on + 1e-10)) * pair
    spread = inverse @ shares  # the atoms of the support that make up an atom, by least squares
    freed = inverse.diagonal(dim1=1, dim2=2).clamp_min(1e-12)[:, :, None]
    coefficient = (code.double().gather(1, atoms) * on)[:, :, None]
    correlation = (drive.double() - code.double() @ gram)[:, None, :] + coefficient / freed * spread
    distance = (gram.diagonal() - (spread * shares).sum(1))[:, None, :] + spread.square() / freed
    gain = correlation.square() / distance.clamp_min(1e-9) - coefficient.square() / freed
    barred = (code != 0)[:, None, :] | (on == 0)[:, :, None] | (distance < 1e-9)
    gain, best = gain.masked_fill(barred, -torch.inf).flatten(1).max(1, keepdim=True)
    leaves, joins = atoms.gather(1, best // len(gram)), best % len(gram)
    return torch.where(gain > 0, code.scatter(1, leaves, 0).scatter(1, joins, 1), code)
