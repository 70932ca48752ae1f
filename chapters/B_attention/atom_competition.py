"""What the others in use lose when an atom joins a dictionary, or a token the keys (VN App. B).

Two things are added, to a Vector Network of one layer and to an attention layer alike:

- an item *similar* to one, at a given cosine to it, the rest of its direction random: who gets the
  pair's weight?
- the weighted *sum of a random half* of the items in use: which half pays for it?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from chapters.B_attention.adaptive import Found
from chapters.B_attention.baselines import Attention
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork
from vnlib.prox import soft_threshold

SIMILARITIES = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0)
Infer = Callable[[VectorNetwork, Tensor], Tensor]


def settled_code(
    network: VectorNetwork, x: Float[Tensor, "batch d"]
) -> Float[Tensor, "batch atoms"]:
    """The settled code of the first layer."""
    return network.settle(x).codes[0]


def feed_forward(
    network: VectorNetwork, x: Float[Tensor, "batch d"], *, threshold: float
) -> Float[Tensor, "batch atoms"]:
    """The control without inference, S(V'x): each atom looks at the input and at no other atom."""
    return soft_threshold(x @ network.V[0], threshold)


def matched_threshold(
    network: VectorNetwork, x: Float[Tensor, "batch d"], code: Float[Tensor, "batch atoms"]
) -> float:
    """The threshold at which `feed_forward` has as many active atoms on x, in the mean, as the
    code.
    """
    ordered = (x @ network.V[0]).abs().flatten().sort(descending=True).values
    return float(ordered[int((code != 0).sum())])


# --- Atoms ----------------------------------------------------------------------------------------


@torch.no_grad()
def widened(network: VectorNetwork, atom: Float[Tensor, " d"]) -> VectorNetwork:
    """A network of one layer with one more atom, which comes last; the atom is normalised."""
    V = network.V[0]
    wider = VectorNetwork(
        replace(network.config, atoms=(V.shape[1] + 1,), interface=()), seed=0
    ).to(V)
    wider.V[0].copy_(torch.cat([V, unit_columns(atom[:, None])], 1))
    return wider


def similar_atom(
    network: VectorNetwork,
    x: Float[Tensor, "batch d"],
    infer: Infer,
    *,
    n_items: int,
    generator: Generator,
) -> Found:
    """An atom similar to one of the `n_items` most used joins the dictionary.

    Medians over these atoms and the samples that use them.

    added_share (similarity): `|a_new|` / `(|a_new| + |a_k|)`. pair_total (similarity): `|a_new|` +
    `|a_k|` over `|a_k|` before. duplicate_shift: change of V a that an exact copy causes,
    relatively.
    """
    V, code = network.V[0], infer(network, x)
    shares, totals, shifts = [], [], []
    for k in (code != 0).sum(0).argsort(descending=True, stable=True)[:n_items].tolist():
        users = code[:, k] != 0
        other = _at_right_angles(V[:, k], generator)
        for similarity in SIMILARITIES:
            wider = widened(network, similarity * V[:, k] + (1 - similarity**2) ** 0.5 * other)
            now = infer(wider, x[users])
            pair = now[:, k].abs() + now[:, -1].abs()
            shares.append(now[:, -1].abs() / pair)
            totals.append(pair / code[users, k].abs())
        before = code[users] @ V.T
        shifts.append((now @ wider.V[0].T - before).norm(dim=1) / before.norm(dim=1))
    return _medians(shares, totals, torch.cat(shifts))


def half_sum_atom(
    network: VectorNetwork, x: Float[Tensor, "batch d"], infer: Infer, *, generator: Generator
) -> Found:
    """Each sample gets an atom of its own, V_S a_S for a random half S of its active atoms; medians
    over samples.

    kept_explained: `|a_S|_1` after over before. kept_rest: the same for the other active atoms.
    """
    code, kept = infer(network, x), []
    for one, a in zip(x, code, strict=True):
        half = _random_half(a != 0, generator)
        now = infer(widened(network, network.V[0] @ (a * half)), one[None])[0, :-1].abs()
        kept.append([now[s].sum() / a[s].abs().sum() for s in (half, (a != 0) & ~half)])
    return _kept(torch.tensor(kept))


# --- Tokens ---------------------------------------------------------------------------------------


@torch.no_grad()
def similar_key(
    attention: Attention,
    z: Float[Tensor, "batch tokens d_model"],
    rows: Int[Tensor, " rows"],
    *,
    generator: Generator,
) -> Found:
    """A key similar to the one that a row weighs most joins the keys.

    Medians over rows, heads and samples.

    The same names as in `similar_atom`; the added key is as long as that key and carries its
    value, and duplicate_shift is that of what the head reads, sum_j A_ij v_j.
    """
    q, k, v = attention.project(z)
    q, k = q[:, :, rows, None], k[:, :, None]
    scores = attention.scores(q, k)
    before = attention.normalise(scores)
    most = before.argmax(-1, keepdim=True)
    best = k.expand(*scores.shape[:3], -1, -1).take_along_dim(most, -2)
    other = _at_right_angles(best, generator) * best.norm(dim=-1, keepdim=True)
    shares, totals = [], []
    for similarity in SIMILARITIES:
        added = similarity * best + (1 - similarity**2) ** 0.5 * other
        now = attention.normalise(torch.cat([scores, attention.scores(q, added)], -1))
        pair = now[..., -1:] + now.take_along_dim(most, -1)
        shares.append((now[..., -1:] / pair).flatten())
        totals.append((pair / before.take_along_dim(most, -1)).flatten())
    read, was = (w[..., 0, :] @ u for w, u in ((now[..., :-1], v), (before, v)))
    read = read + now[..., 0, -1:] * v.take_along_dim(most[..., 0, :], -2)
    return _medians(shares, totals, ((read - was).norm(dim=-1) / was.norm(dim=-1)).flatten())


@torch.no_grad()
def half_sum_key(
    attention: Attention,
    z: Float[Tensor, "batch tokens d_model"],
    rows: Int[Tensor, " rows"],
    *,
    generator: Generator,
) -> Found:
    """Each row gets a key of its own, the weighted mean of a random half of the keys in use; as for
    the atoms.
    """
    q, k, _ = attention.project(z)
    q, k = q[:, :, rows, None], k[:, :, None]
    scores = attention.scores(q, k)
    before = attention.normalise(scores)
    half = _random_half(before > 0, generator)
    mean = (before * half) @ k / (before * half).sum(-1, keepdim=True).clamp_min(1e-30)
    now = attention.normalise(torch.cat([scores, attention.scores(q, mean)], -1))[..., :-1]
    kept = [(now * s).sum(-1) / (before * s).sum(-1) for s in (half, (before > 0) & ~half)]
    return _kept(torch.stack([part.flatten() for part in kept], -1))


# --- Parts ----------------------------------------------------------------------------------------


def _at_right_angles(
    w: Float[Tensor, "*batch d"], generator: Generator
) -> Float[Tensor, "*batch d"]:
    """Random unit vectors orthogonal to w."""
    noise = torch.randn(w.shape, generator=generator, dtype=torch.float64).to(w)
    noise = (
        noise
        - (noise * w).sum(-1, keepdim=True) / w.square().sum(-1, keepdim=True).clamp_min(1e-12) * w
    )
    return noise / noise.norm(dim=-1, keepdim=True)


def _random_half(in_use: Tensor, generator: Generator) -> Tensor:
    """A mask of half of the entries in use (of each row; rounded down)."""
    order = torch.rand(in_use.shape, generator=generator, dtype=torch.float64).to(in_use.device)
    rank = order.masked_fill(~in_use, 2.0).argsort(-1).argsort(-1)
    return rank < in_use.sum(-1, keepdim=True) // 2


def _medians(shares: list[Tensor], totals: list[Tensor], shifts: Tensor) -> Found:
    def per_similarity(parts: list[Tensor]) -> np.ndarray:
        n = len(SIMILARITIES)
        return np.array([float(torch.cat(parts[i::n]).nanmedian()) for i in range(n)])

    return {
        "added_share": (("similarity",), per_similarity(shares)),
        "pair_total": (("similarity",), per_similarity(totals)),
        "duplicate_shift": ((), np.asarray(float(shifts.nanmedian()))),
    }


def _kept(kept: Float[Tensor, "cases 2"]) -> Found:
    complete = kept[kept.isfinite().all(1)]  # an item in use by itself has no halves
    explained, rest = complete.median(0).values.tolist() if len(complete) else (np.nan, np.nan)
    return {"kept_explained": ((), np.asarray(explained)), "kept_rest": ((), np.asarray(rest))}
