"""What adapts in a model of either kind, how sparse it is, its rank, and what it gates (VN App. B).

The adaptive variable of a model is an array >= 0 of shape (sample, row, entry): the coefficients
`|a|` of each code, or the rows of the attention weights A that belong to hidden patches, the rows
that the loss reads.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from numbers import Real

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from chapters.B_attention.baselines import PatchPredictor
from vnlib import metrics, seeding
from vnlib.layer import operator
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import atomic_hebb
from vnlib.network import VectorNetwork
from vnlib.settle import duality_gap

BATCHES = (1, 4, 16, 64, 256)
DRAWS = 8  # batches of each size
Found = dict[str, tuple[tuple[str, ...], np.ndarray]]


# --- Measures -------------------------------------------------------------------------------------


def effective_number(c: Float[Tensor, "*rows entries"]) -> Float[Tensor, "*rows"]:
    """exp of the entropy of each row as a distribution: n for n equal entries, 0 for a row of
    zeros.
    """
    p = c.double() / c.double().sum(-1, keepdim=True).clamp_min(1e-300)
    return torch.where(p.sum(-1) > 0, torch.special.entr(p).sum(-1).exp(), 0.0)


def concentration(c: Float[Tensor, "batch rows entries"], *, order: int) -> Found:
    """How sparse the adaptive variable is, and how much of it is the same for all inputs.

    zero_share: exact zeros. effective_share: `effective_number` over the number of entries.
    fixed_share: power of the mean over samples, over the mean power. profile: the entries in
    falling order as shares of their sum, median over rows, the first `order` ones. Rows without any
    nonzero entry (codes of blank patches) do not count.
    """
    rows = c.flatten(0, 1)[c.flatten(0, 1).sum(1) > 0]
    profile = (rows / rows.sum(1, keepdim=True)).sort(1, descending=True).values.median(0).values
    padded = np.pad(
        profile.cpu().numpy()[:order], (0, max(0, order - len(profile))), constant_values=np.nan
    )
    power = c.square().sum((1, 2)).mean()
    return {
        **scalars(
            entries=c.shape[2],
            zero_share=(rows == 0).double().mean(),
            effective_number=effective_number(rows).mean(),
            effective_share=effective_number(rows).mean() / c.shape[2],
            fixed_share=c.mean(0).square().sum() / power,
        ),
        "profile": (("order",), padded),
    }


def spectrum(singular: Float[Tensor, "batch n"], *, rtol: float = 1e-5) -> tuple[float, float]:
    """Mean numerical rank (singular values above rtol times the largest), and mean
    `effective_number` of them.
    """
    rank = (singular > rtol * singular[:, :1].clamp_min(1e-300)).sum(1)
    return float(rank.double().mean()), float(effective_number(singular).mean())


def correlation(
    a: Float[Tensor, "batch n"], b: Float[Tensor, "batch n"]
) -> Float[Tensor, " batch"]:
    """Pearson correlation of the rows of a and b; NaN where one of them is constant."""
    a, b = (t.double() - t.double().mean(1, keepdim=True) for t in (a, b))
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))


def gibbs_gap(
    scores: Float[Tensor, "rows keys"], p: Float[Tensor, "rows keys"]
) -> Float[Tensor, " rows"]:
    """How far rows p of a simplex are above the minimum of G(p) = -p.s - entropy(p), which is -log
    sum exp(s).
    """
    scores, p = scores.double(), p.double()
    return scores.logsumexp(-1) - (p * scores).sum(-1) - torch.special.entr(p).sum(-1)


def hopfield_energy(
    state: Float[Tensor, "*rows d"], keys: Float[Tensor, "*#rows keys d"], beta: float
) -> Float[Tensor, "*rows"]:
    """E(q) = -log sum_j exp(beta k_j.q) / beta + `|q|^2` / 2 (Ramsauer et al. 2021, Eq. 2, up to a
    constant).
    """
    return -(beta * (keys @ state[..., None])[..., 0]).logsumexp(
        -1
    ) / beta + 0.5 * state.square().sum(-1)


def scalars(**values: Real | Tensor) -> Found:
    return {name: ((), np.asarray(float(value))) for name, value in values.items()}


# --- The Vector Network ---------------------------------------------------------------------------


def network_report(
    network: VectorNetwork,
    x: Float[Tensor, "samples d"],
    code: Float[Tensor, "samples atoms"],
    *,
    rows: int,
    n_ranks: int,
    order: int,
    seed: int,
) -> Found:
    """One layer of atoms on images of `rows` inputs each, and their codes.

    gap: 95th percentile of duality gap over energy. rank and bound (active atoms): of the
    operators; map_rank: summed over the rows of an image. untouched (batch): share of the atoms
    that Atomic-Hebb leaves exactly as they are; untouched_row: when it learns from a single row.
    gate_correlation: between the coefficient of an active atom and the length of its update by one
    row. update_share: effective share of the entries of V that one image moves.
    """
    layer = network.layers[0]
    missed = x - code @ layer.V.T
    energy = 0.5 * missed.square().sum(1) + layer.penalty.value(code)
    gap = duality_gap([layer], [code], x) / energy
    live = (code != 0).any(1)
    shown = live & (torch.arange(len(x), device=x.device) < n_ranks * rows)
    W, active = operator(layer, code[shown]), (code[shown] != 0).sum(1)
    rank, effective = spectrum(torch.linalg.svdvals(W.double()))
    images = torch.arange(len(x), device=x.device).split(rows)
    single = [i[live[i]][:1] for i in images[:n_ranks] if live[i].any()]

    def update(chosen: Tensor) -> Tensor:
        return atomic_hebb(missed[chosen], code[chosen])

    def idle(chosen: Tensor) -> Tensor:
        return (update(chosen) == 0).all(0).double().mean()

    gates = []
    for i in single:
        used = code[i[0]] != 0
        gates.append(correlation(code[i][:, used].abs(), update(i).norm(dim=0)[None, used]))
    shares = [
        effective_number(update(i).square().flatten()) / layer.V.numel() for i in images[:n_ranks]
    ]
    return concentration(code.abs().unflatten(0, (-1, rows)), order=order) | {
        **scalars(
            gap=gap[live].double().quantile(0.95),
            error=missed.square().mean(),
            rank=rank,
            rank_effective=effective,
            rank_limit=min(W.shape[1:]),
            bound=active.double().mean(),
            rank_excess=(metrics.operator_rank(W) - active).max(),
            map_rank=rank * len(W) / n_ranks,
            map_limit=min(W.shape[1:]) * rows,
            gate_correlation=torch.cat(gates).nanmedian(),
            update_share=torch.stack(shares).mean(),
            untouched_row=torch.stack([idle(i) for i in single]).mean(),
        ),
        "untouched": (("batch",), _over_batches(images, seed, idle)),
    }


def at_best_gain(network: VectorNetwork, code: Tensor, x: Tensor) -> Float[Tensor, "samples atoms"]:
    """The code times the one number per sample with which it reconstructs x best."""
    seen = code @ network.V[0].T
    return code * (
        (x * seen).sum(1, keepdim=True) / seen.square().sum(1, keepdim=True).clamp_min(1e-12)
    )


@torch.no_grad()
def idle_moved(network: VectorNetwork, x: Float[Tensor, "samples d"]) -> int:
    """How many atoms change in a step of the learner on x that no sample of x uses."""
    trial = copy.deepcopy(network)
    before, settled = trial.V[0].clone(), trial.settle(x)
    LocalLearner(trial).update(settled)
    return int(((trial.V[0] != before).any(0) & ~(settled.codes[0] != 0).any(0)).sum())


# --- Attention ------------------------------------------------------------------------------------


def attention_report(
    model: PatchPredictor,
    tokens: Float[Tensor, "batch tokens d"],
    hidden: Bool[Tensor, " tokens"],
    *,
    n_ranks: int,
    n_maps: int,
    order: int,
    seed: int,
) -> Found:
    """One attention layer on images with these patches hidden; the same names as in
    `network_report`.

    rank: of A, per head; score_rank: the largest rank of the scores; bound: d_head. map_rank: of
    the linear map that the weights make of the layer, on all states. untouched (batch): share of
    the entries of W_Q, W_K, W_V and W_O whose gradient is exactly zero. gate_correlation: between
    the weight that a token gets from the hidden rows, and the length of its part in the gradient of
    W_V.
    """
    layer = copy.deepcopy(model).double()
    with torch.no_grad():
        z = layer.embed(tokens.double(), hidden[None])
        q, k, _ = layer.attention.project(z)
        scores = layer.attention.scores(q, k)
        A = layer.attention.normalise(scores)
        some, rows = A[:n_ranks].flatten(0, 1), scores[:, :, hidden].flatten(0, 2)
        rank, effective = spectrum(torch.linalg.svdvals(some))
        score_rank = metrics.operator_rank(scores[:n_ranks].flatten(0, 1)).max()
        map_rank, _ = spectrum(torch.linalg.svdvals(layer.attention.linear_map(A[:n_maps])))
        softmax = model.attention.kind == "softmax"
        gibbs = (gibbs_gap(rows, A[:, :, hidden].flatten(0, 2)) / rows.logsumexp(-1).abs()).max()
        weights = model.attention.weights(model.embed(tokens, hidden[None]))[:, :, hidden].flatten(
            1, 2
        )
        error = model.error(tokens, hidden[None])
    images = torch.arange(len(tokens), device=tokens.device).split(1)
    return concentration(weights, order=order) | {
        **scalars(
            restored=error,
            heads=model.attention.heads,
            gap=gibbs if softmax else np.nan,
            rank=rank,
            rank_effective=effective,
            rank_limit=tokens.shape[1],
            bound=model.attention.d_head,
            score_rank=score_rank,
            rank_excess=score_rank - model.attention.d_head,
            map_rank=map_rank,
            map_limit=z.shape[1] * z.shape[2],
            gate_correlation=correlation(
                *gated_tokens(model, tokens[:n_ranks], hidden)
            ).nanmedian(),
            update_share=np.mean(
                [
                    float(effective_number(g.square())) / len(g)
                    for g in (gradients(model, tokens[i], hidden) for i in images[:n_ranks])
                ]
            ),
        ),
        "untouched": (
            ("batch",),
            _over_batches(
                images, seed, lambda i: (gradients(model, tokens[i], hidden) == 0).double().mean()
            ),
        ),
    }


def gradients(
    model: PatchPredictor, tokens: Float[Tensor, "batch tokens d"], hidden: Bool[Tensor, " tokens"]
) -> Float[Tensor, " weights"]:
    """The gradient of the error of the hidden patches by W_Q, W_K, W_V and W_O, in one row."""
    layer = model.attention
    loss = model.error(tokens, hidden[None])
    return torch.cat(
        [
            g.flatten()
            for g in torch.autograd.grad(loss, (layer.W_Q, layer.W_K, layer.W_V, layer.W_O))
        ]
    )


def gated_tokens(
    model: PatchPredictor, tokens: Float[Tensor, "batch tokens d"], hidden: Bool[Tensor, " tokens"]
) -> tuple[Float[Tensor, "batch head_tokens"], Float[Tensor, "batch head_tokens"]]:
    """Per head and token: the weight it gets from the hidden rows, and the length of its part in
    dL/dW_V.

    That gradient is a sum over tokens, sum_j z_j (dL/dv_j)' with dL/dv_j = sum_i A_ij dL/do_i.
    """
    z = model.embed(tokens, hidden[None]).detach()
    q, k, v = model.attention.project(z)
    A = model.attention.normalise(model.attention.scores(q, k))
    missed = model.read(z + model.attention.mix(A, v)) - tokens
    (by_value,) = torch.autograd.grad(missed[:, hidden].square().mean((1, 2)).sum(), v)
    part = z.norm(dim=-1)[:, None] * by_value.norm(dim=-1)
    return A[:, :, hidden].sum(2).detach().flatten(1), part.flatten(1)


def _over_batches(
    images: Sequence[Tensor], seed: int, share: Callable[[Tensor], Tensor]
) -> Float[np.ndarray, " batch"]:
    """`share` of batches of so many images, mean over DRAWS batches of each size; NaN where there
    are too few.
    """
    rng, means = seeding.generator(seed, "batches"), []
    for size in BATCHES:
        draws = [torch.randperm(len(images), generator=rng)[:size] for _ in range(DRAWS)]
        draws = [torch.cat([images[i] for i in draw.tolist()]) for draw in draws]
        means.append(np.mean([float(share(i)) for i in draws]) if size <= len(images) else np.nan)
    return np.array(means)
