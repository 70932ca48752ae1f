"""Capacity of the synthesised operator, what fails beyond it, and whether learning finds planted
atoms (VN Prop. 2, Remarks 1, 6 and 7).

`recovery` has Prop. 1 and Thm. 1, `gradient` Thm. 2, `descent` Thm. 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from chapters.E_theory.matching import match_atoms, support_recovered
from chapters.E_theory.recovery import THRESHOLD, bound, planted_codes, settle
from vnlib.fit import FitConfig, fit
from vnlib.greedy import polish
from vnlib.layer import Layer, operator
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.metrics import coherence, jaccard, operator_rank
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1, TopK
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settler

SAME = 0.95  # two atoms with a larger |cosine| count as one


def operator_ranks(
    network: VectorNetwork, x: Float[Tensor, "sample d"], *, batch_size: int = 16
) -> xr.Dataset:
    """Rank of W(x) = U diag(a) V' against the active atoms, per layer and sample (VN Eq. 38), in
    float64.

    `rank`, `active_atoms` (layer, sample); per layer `rank_limit` = min(d, m), `cap` (k; K where
    there is none), and numbers of parameters: `per_atom` = d + m, `dense` = d m, `library` = K
    (d + m). Needs a U in every layer.
    """
    settled = network.settle(x)
    columns = {
        name: []
        for name in ("rank", "active_atoms", "rank_limit", "cap", "per_atom", "dense", "library")
    }
    for index, (layer, code) in enumerate(zip(network.layers, settled.codes, strict=True)):
        exact = Layer(layer.V.double(), layer.U.double(), layer.penalty)
        # Coherent atoms give small singular values; what is left of zero ones is far below this.
        ranks = [
            operator_rank(operator(exact, part.double()), rtol=1e-11)
            for part in code.split(batch_size)
        ]
        (d, K), m = layer.V.shape, layer.U.shape[0]
        top = index + 1 == len(network.layers)
        columns["rank"].append(torch.cat(ranks).cpu().numpy())
        columns["active_atoms"].append((code != 0).sum(1).cpu().numpy())
        columns["rank_limit"].append(min(d, m))
        columns["cap"].append(network.config.top_k if top and network.config.top_k else K)
        columns["per_atom"].append(d + m)
        columns["dense"].append(d * m)
        columns["library"].append(K * (d + m))
    dims = {
        name: ("layer", "sample") if name in ("rank", "active_atoms") else ("layer",)
        for name in columns
    }
    variables = {name: (dims[name], np.array(values)) for name, values in columns.items()}
    return xr.Dataset(variables, {"layer": np.arange(1, len(network.layers) + 1)})


def capacity(
    V: Float[Tensor, "d atoms"],
    parts: Float[Tensor, "sample most d"],
    *,
    k: int,
    share: float,
    sweeps: int,
) -> xr.Dataset:
    """How much is left of a superposition of 1, 2, ... parts, with a hard cap of k atoms and
    without (Rem. 7 i).

    Codes are settled for `sweeps` sweeps with lambda = `share` of each sample's max|V'x|; their
    coefficients are then fitted by least squares on the support, so that what is left is due to the
    support. `left` (kind, parts): the mean of `|x - V a|^2` / `|x|^2` for "capped" and "free"
    codes. `used` (kind, parts): mean active atoms.
    """
    left, used = [], []
    penalties = {"capped": TopK(penalty=L1(sparsity=share), k=k), "free": L1(sparsity=share)}
    config = SettleConfig.momentum(max_sweeps=sweeps, tol=1e-9)
    settlers = [Settler([Layer(V, None, penalty)], config=config) for penalty in penalties.values()]
    for x in parts.cumsum(1).unbind(1):
        x = x / (x @ V).abs().amax(1, keepdim=True)
        codes = [polish(V, x, settler(x).codes[0]) for settler in settlers]
        left.append(
            [float(((x - c @ V.T).square().sum(1) / x.square().sum(1)).mean()) for c in codes]
        )
        used.append([float((c != 0).sum(1).double().mean()) for c in codes])
    return xr.Dataset(
        {
            "left": (("kind", "parts"), np.array(left).T),
            "used": (("kind", "parts"), np.array(used).T),
        },
        {"kind": list(penalties), "parts": np.arange(1, parts.shape[1] + 1)},
    )


def planted_parts(
    V: Float[Tensor, "d atoms"], most: int, *, samples: int, seed: int
) -> Float[Tensor, "sample most d"]:
    """`most` different planted atoms per sample, with coefficients of sizes from 1 to 2 and random
    signs.
    """
    rng = generator(seed, "parts")
    code = planted_codes(samples, V.shape[1], most, rng).to(V.dtype)
    which = (
        (code != 0).double().mul(torch.rand(code.shape, generator=rng)).topk(most, dim=1).indices
    )
    return code.gather(1, which)[:, :, None] * V.T[which]


def twins(
    V: Float[Tensor, "d atoms"],
    cosines: Sequence[float],
    noises: Sequence[float],
    active: int,
    *,
    samples: int,
    share: float,
    gap: float,
    seed: int,
) -> xr.Dataset:
    """Recovery where every atom has a copy at a given cosine (Rem. 7 ii, dictionary collapse).

    The data use the atoms of V alone, with white noise of norm `noise` times the signal's; the
    dictionary holds V and the copies. Per noise and cosine: `twin_recovered`, the share of supports
    found (coefficients above a tenth of the largest); `twin_folded`, the same if an atom and its
    copy count as one; `twin_left`, the mean of `|V planted - V a|^2` / `|V planted|^2`. Per cosine:
    `twin_mu`, `twin_bound`.
    """
    rng = generator(seed, "twins")
    K = V.shape[1]
    planted = planted_codes(samples, K, active, rng).to(V.dtype)
    clean = planted @ V.T
    noise = torch.randn(clean.shape, generator=rng, dtype=V.dtype)
    noise = noise * clean.norm(dim=1, keepdim=True) / noise.norm(dim=1, keepdim=True)
    other = torch.randn(V.shape, generator=rng, dtype=V.dtype)
    other = unit_columns(other - V * (V * other).sum(0))
    both = [torch.cat([V, c * V + (1 - c**2) ** 0.5 * other], 1) for c in cosines]
    table = np.array(
        [
            [_with_copies(W, planted, clean, level * noise, share, gap) for W in both]
            for level in noises
        ]
    )
    names, mus = ("twin_recovered", "twin_folded", "twin_left"), [coherence(W) for W in both]
    variables = {
        name: (("noise", "cosine"), table[..., column]) for column, name in enumerate(names)
    }
    variables |= {"twin_mu": ("cosine", mus), "twin_bound": ("cosine", [bound(mu) for mu in mus])}
    return xr.Dataset(variables, {"noise": list(noises), "cosine": list(cosines)})


def _with_copies(
    W: Tensor, planted: Tensor, clean: Tensor, noise: Tensor, share: float, gap: float
) -> list[float]:
    """Supports found, supports found up to copies, and error, where W holds the atoms and then
    their copies.
    """
    K = planted.shape[1]
    scale = ((clean + noise) @ W).abs().amax(1, keepdim=True)
    code = settle(W, (clean + noise) / scale, sparsity=share, gap=gap).codes[0]
    exact = support_recovered(
        code, torch.cat([planted, torch.zeros_like(planted)], 1), threshold=THRESHOLD
    )
    folded = support_recovered(code[:, :K].abs() + code[:, K:].abs(), planted, threshold=THRESHOLD)
    left = (clean - scale * (code @ W.T)).square().sum(1) / clean.square().sum(1)
    return [float(v.double().mean()) for v in (exact, folded, left)]


def learn_dictionary(
    x: Float[Tensor, "samples d"],
    start: Float[Tensor, "d atoms"],
    *,
    sparsity: float,
    steps: int,
    batch_size: int,
    lr: float,
    train_sweeps: int,
    seed: int,
    decorrelation: float = 0.0,
) -> Float[Tensor, "d atoms"]:
    """Atomic-Hebb on one layer, from the dictionary `start`; the step falls to a twentieth along a
    cosine.
    """
    d, K = start.shape
    network = VectorNetwork(VNConfig(n_inputs=d, atoms=(K,), sparsity=(sparsity,)), seed=seed)
    network.V[0].copy_(start)
    settle_config = SettleConfig.training(max_sweeps=train_sweeps, tol=1e-4)
    learner = LocalLearner(network, lr=lr, settle=settle_config, decorrelation=decorrelation)
    config = FitConfig(steps=steps, batch_size=batch_size, lr_floor=0.05, keep="last")
    fit(learner, (x,), config, seed=seed)
    return network.V[0].detach().clone()


def planted_samples(
    d: int, K: int, active: int, samples: int, seed: int
) -> tuple[Float[Tensor, "d atoms"], Float[Tensor, "samples d"]]:
    """A random dictionary of K unit atoms, and samples of `active` of them each (float32)."""
    rng = generator(seed, "planted dictionary")
    V = unit_columns(torch.randn(d, K, generator=rng, dtype=torch.float64))
    codes = planted_codes(samples, K, active, rng)
    return V.float(), (codes @ V.T).float()


def learning_recovers(
    d: int, K: int, counts: Sequence[int], *, samples: int, seed: int, **training: float
) -> xr.Dataset:
    """The share of planted atoms that Atomic-Hebb finds, per number of atoms in a sample.

    A planted atom is found if the atom assigned to it has `|cosine|` > 0.95. It starts from
    normalised samples: `found_at_start` counts those. `hebb_mu`, `planted_mu`: coherences of the
    learned and the planted dictionary.

    Parameters
    ----------
    **training
        See `learn_dictionary`.
    """
    rows = []
    for active in counts:
        V, x = planted_samples(d, K, active, samples, seed)
        start = unit_columns(x[torch.randperm(samples, generator=generator(seed, "start"))[:K]].T)
        learned = learn_dictionary(x, start, seed=seed, **training)
        shares = [float((match_atoms(W, V)[0] > SAME).double().mean()) for W in (learned, start)]
        rows.append([*shares, coherence(learned), coherence(V)])
    names = ("found", "found_at_start", "hebb_mu", "planted_mu")
    columns = zip(names, np.array(rows).T, strict=True)
    return xr.Dataset(
        {name: ("mixed", column) for name, column in columns}, {"mixed": list(counts)}
    )


def decorrelation(
    d: int,
    K: int,
    atoms: Sequence[int],
    strengths: Sequence[float],
    active: int,
    *,
    samples: int,
    share: float,
    gap: float,
    seed: int,
    **training: float,
) -> xr.Dataset:
    """What the decorrelation step does to a learned dictionary, with as many atoms as the data have
    and with more.

    The data mix `active` of K planted atoms; dictionaries of several sizes (`atoms`) learn them by
    Atomic-Hebb with `decorrelation` at several strengths. Per size and strength: `grown_mu`;
    `grown_twins`, the share of learned atoms that have a copy `(|cosine| > 0.95)`; `grown_found`,
    the share of planted atoms found `(|cosine| > 0.95 with the atom assigned to it)`;
    `grown_named`, the share of samples whose strongest `active` atoms are those assigned to the
    atoms that were planted.
    """
    V, x = planted_samples(d, K, active, samples, seed)
    test = planted_codes(200, K, active, generator(seed, "test codes")).float()
    shape = (len(atoms), len(strengths))
    columns = {
        name: np.empty(shape) for name in ("grown_mu", "grown_twins", "grown_found", "grown_named")
    }
    for row, size in enumerate(atoms):
        start = unit_columns(
            x[torch.randperm(samples, generator=generator(seed, "start"))[:size]].T
        )
        for column, strength in enumerate(strengths):
            W = learn_dictionary(x, start, seed=seed, decorrelation=strength, **training)
            cosine, assigned = match_atoms(W, V)
            scaled = test @ V.T
            scaled = scaled / (scaled @ W).abs().amax(1, keepdim=True)
            strongest = (
                settle(W, scaled, sparsity=share, gap=gap, max_sweeps=2000)
                .codes[0]
                .abs()
                .topk(active, dim=1)
                .indices
            )
            wanted = torch.zeros(len(test), size).scatter(
                1, assigned.expand(len(test), -1), (test != 0).float()
            )
            named = torch.zeros(len(test), size).scatter(1, strongest, 1.0)
            overlap = (W.T @ W).abs().fill_diagonal_(0)
            columns["grown_mu"][row, column] = coherence(W)
            columns["grown_twins"][row, column] = float((overlap.amax(0) > SAME).double().mean())
            columns["grown_found"][row, column] = float((cosine > SAME).double().mean())
            columns["grown_named"][row, column] = float(
                (jaccard(named > 0, wanted > 0) == 1).double().mean()
            )
    coords = {"atoms": list(atoms), "strength": list(strengths)}
    return xr.Dataset(
        {name: (("atoms", "strength"), values) for name, values in columns.items()}, coords
    )


def prefixed(results: xr.Dataset, prefix: str) -> xr.Dataset:
    """The dataset with `prefix` before all names of variables and dimensions: the same study of
    something else.
    """
    return results.rename(
        {name: f"{prefix}_{name}" for name in [*results.data_vars, *results.dims]}
    )
