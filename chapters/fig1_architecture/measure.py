"""What a trained network is like on digits: its codes, its operators, and what a picture shows."""

from __future__ import annotations

import numpy as np
import torch
import xarray as xr
from sklearn.decomposition import PCA
from torch import Tensor

from vnlib import checks, metrics
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig


@torch.no_grad()
def network_report(network: VectorNetwork, x: Tensor, *, n_ranks: int) -> xr.Dataset:
    """How a Vector Network does on inputs x (digit, d): error in both readings, atoms in use, rank
    of W_1(x).

    `rank` is computed for the first `n_ranks` inputs; `active` counts atoms of layer 1,
    `active_top` of the top layer. `pair_overlap` compares the supports of inputs 2i and 2i + 1, and
    the `sum_*` variables describe the settle of their sum, which no one trained on: what V_1 a
    leaves of it, what the sum of the two codes leaves of it, and how its support overlaps with the
    union of the two.
    """
    settled = network.settle(x)
    code, K = settled.codes[0], network.config.atoms[0]
    seen, from_top = network.reconstruct(settled), network.decode(settled.codes[-1])
    W = torch.cat([network.operator(network.settle(part)) for part in x[:n_ranks].split(25)])
    support, active = code != 0, (code != 0).sum(1)
    a, b = code[0::2][: len(x) // 2], code[1::2][: len(x) // 2]
    both = x[0::2][: len(x) // 2] + x[1::2][: len(x) // 2]
    joint = network.settle(both)
    per_digit = {
        "active": active[:n_ranks],
        "active_share": active[:n_ranks] / K,
        "active_top": (settled.codes[-1] != 0).sum(1)[:n_ranks],
        "rank": metrics.operator_rank(W),
    }
    per_pair = {
        "pair_overlap": metrics.jaccard(a != 0, b != 0),
        "sum_overlap": metrics.jaccard(joint.codes[0] != 0, (a != 0) | (b != 0)),
        "sum_active": (joint.codes[0] != 0).sum(1),
        "sum_mse": (network.reconstruct(joint) - both).square().mean(1),
        "sum_of_codes_mse": ((a + b) @ network.V[0].T - both).square().mean(1),
    }
    scalars = {
        "mse": (seen - x).square().mean(),
        "mse_from_top": (from_top - x).square().mean(),
        "zero_baseline": x.square().mean(),
        "explained": 1 - (seen - x).square().sum() / x.square().sum(),
        "converged": settled.converged.float().mean(),
        "sweeps": settled.sweeps.float().median(),
        "active_mean": active.float().mean(),
        "atoms_used": support.any(0).float().mean(),
        "coherence": metrics.coherence(network.V[0]),
        "rank_limit": min(W.shape[1:]),
    }
    report = xr.Dataset({name: ("digit", np.asarray(v.cpu())) for name, v in per_digit.items()})
    report = report.assign({name: ("pair", np.asarray(v.cpu())) for name, v in per_pair.items()})
    return report.assign({name: ((), float(v)) for name, v in scalars.items()})


@torch.no_grad()
def portrait(
    network: VectorNetwork,
    x: Tensor,
    one: Tensor,
    other: Tensor,
    *,
    sweeps: int,
    atoms: int,
    pieces: int,
) -> xr.Dataset:
    """What a figure of the architecture shows of a network on square images.

    x (sample, d) ranks atoms by use; one and other (d,) are two inputs.

    Returns
    -------
    xr.Dataset
        The `atoms` most used atoms; the settle of `one` sweep by sweep; its operator as pieces
        a_k u_k v_k', largest first (`pieces`, NaN beyond the active ones), with the singular
        values of W_1; and layer-1 codes of both inputs and of their sum.
    """
    side = int(x.shape[1] ** 0.5)

    def image(t: Tensor) -> np.ndarray:
        return t.reshape(*t.shape[:-1], side, side).cpu().numpy()

    def where_active(values: np.ndarray) -> np.ndarray:
        return np.where(active.reshape(-1, *[1] * (values.ndim - 1)), values, np.nan)

    use = (network.settle(x).codes[0] != 0).float().mean(0)
    most = use.argsort(descending=True, stable=True)[:atoms]
    three = torch.stack([one, other, one + other])
    settled = network.settle(three)
    story = network.settle(one[None], config=SettleConfig.training(max_sweeps=sweeps), trace=True)
    log, code = checks.given("trace", story.trace), settled.codes[0][0]
    order = code.abs().argsort(descending=True, stable=True)[:pieces]
    active = (code[order] != 0).cpu().numpy()
    singular = (
        torch.linalg.svdvals(network.operator(network.settle(one[None]))[0].double()).cpu().numpy()
    )
    seen = network.reconstruct(settled)
    data = {
        "atom": (("atom_rank", "y", "x"), image(network.V[0].T[most])),
        "atom_use": (("atom_rank",), use[most].cpu().numpy()),
        "settle_energy": (("sweep",), torch.stack(log.energy)[:, 0].cpu().numpy()),
        "settle_active": (
            ("sweep", "layer"),
            torch.stack(log.active)[:, :, 0].cpu().numpy(),
        ),
        "piece_code": (("piece",), where_active(code[order].cpu().numpy())),
        "piece_v": (("piece", "y", "x"), where_active(image(network.V[0].T[order]))),
        "piece_u": (("piece", "interface"), where_active(network.U[0].T[order].cpu().numpy())),
        "singular_value": (
            ("piece",),
            np.pad(singular, (0, len(order)), constant_values=np.nan)[: len(order)],
        ),
        "shown": (("which", "y", "x"), image(three)),
        "shown_seen": (("which", "y", "x"), image(seen)),
        "shown_code": (("which", "k"), settled.codes[0].cpu().numpy()),
    }
    coords = {
        "sweep": np.arange(1, sweeps + 1),
        "layer": np.arange(1, len(network.config.atoms) + 1),
        "which": ["one", "other", "sum"],
    }
    return xr.Dataset(data, coords)


def pca_error(train: Tensor, test: Tensor, n_components: int) -> float:
    """Mean squared error of the best `n_components`-dimensional affine subspace of `train`, on
    `test`.
    """
    checks.number("n_components", n_components, low=1, high=min(train.shape), integer=True)
    pca = PCA(n_components=n_components, svd_solver="covariance_eigh").fit(train.cpu().numpy())
    back = pca.inverse_transform(pca.transform(test.cpu().numpy()))
    return float(((back - test.cpu().numpy()) ** 2).mean())
