"""Superposition and sparse recovery, measured on dictionaries and codes that are known (VN Prop. 1,
Thm. 1).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float
from scipy.linalg import hadamard
from torch import Tensor

from chapters.E_theory.matching import support_recovered
from vnlib import checks
from vnlib.greedy import orthogonal_matching_pursuit
from vnlib.layer import Layer
from vnlib.learning.rules import atomic_hebb, unit_columns
from vnlib.metrics import coherence, jaccard
from vnlib.prox import L1
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settled, Settler, duality_gap

FAMILIES = ("pairs", "common")
THRESHOLD = 0.1  # of the largest coefficient: what counts as active where lambda leaves traces


def bound(mu: float) -> float:
    """(1 + 1/mu) / 2: fewer active atoms than this are always recovered (VN Eq. 33); infinite for
    mu = 0.
    """
    return 0.5 * (1 + 1 / mu) if mu > 0 else float("inf")


def overlapping_bases(d: int, mu: float, family: str) -> Float[Tensor, "rows atoms"]:
    """2 d unit atoms of mutual coherence mu, made from the pixel and the Hadamard basis (float64).

    family "pairs": every pixel atom is tilted towards one Hadamard atom until their cosine is mu;
    all other pairs stay nearly orthogonal. "common": all atoms share one component in a dimension
    of its own, as the pixels of images share a mean.

    Raises
    ------
    ValueError
        Unless d is a power of 2 and 1/sqrt(d) <= mu < 1.
    """
    checks.choice("family", family, FAMILIES)
    checks.number("d", d, low=2, integer=True)
    if d & (d - 1):
        raise ValueError(f"d must be a power of 2, got {d}")
    checks.number("mu", mu, low=d**-0.5)
    if mu >= 1:
        raise ValueError(f"mu must be < 1, got {mu!r}")
    pixel, wave = torch.eye(d, dtype=torch.float64), torch.from_numpy(hadamard(d) / d**0.5)
    if family == "common":
        share = (mu - d**-0.5) / (1 - d**-0.5)
        basis = torch.cat([pixel, wave], 1)
        return torch.cat([(1 - share) ** 0.5 * basis, basis.new_full((1, 2 * d), share**0.5)])
    towards = pixel * wave.diagonal().sign()
    rest = unit_columns(wave - towards * wave.diagonal().abs())
    return torch.cat([pixel, mu * towards + (1 - mu**2) ** 0.5 * rest], 1)


def simplex(K: int) -> Float[Tensor, "atoms atoms"]:
    """K unit atoms that sum to zero, with mu = 1 / (K - 1): where the bound of Thm. 1 cannot be
    improved (float64).
    """
    return unit_columns(torch.eye(K, dtype=torch.float64) - 1 / K)


def planted_codes(
    n: int, K: int, active: int, rng: torch.Generator, *, signed: bool = True
) -> Float[Tensor, "n atoms"]:
    """n codes with `active` coefficients at random places, of sizes from 1 to 2 and random signs
    (float64).

    signed=False: all of them 1, the worst case for atoms whose sum vanishes.
    """
    checks.number("active", active, low=1, high=K, integer=True)
    where = torch.rand(n, K, generator=rng).argsort(1)[:, :active]
    size = 1 + torch.rand(n, active, generator=rng, dtype=torch.float64)
    sign = torch.where(torch.rand(n, active, generator=rng) < 0.5, -1.0, 1.0)
    return torch.zeros(n, K, dtype=torch.float64).scatter(
        1, where, size * sign if signed else torch.ones_like(size)
    )


def settle(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    sparsity: float,
    gap: float,
    max_sweeps: int = 20000,
) -> Settled:
    """One layer settled until the duality gap of each sample is below `gap` times its energy."""
    config = SettleConfig.exact(method="restart", max_sweeps=max_sweeps, tol=gap, check_every=5)
    return Settler([Layer(V, None, L1(sparsity=sparsity))], config=config)(x)


# --- Prop. 1 ---


def linearity(
    V: Float[Tensor, "d atoms"],
    one: Float[Tensor, "batch atoms"],
    other: Float[Tensor, "batch atoms"],
) -> xr.Dataset:
    """How exactly V(a + b) = V a + V b holds, in float32 and float64.

    `rounding` (dtype): the largest `|V(a+b) - Va - Vb|` / `(|V| (|a| + |b|))`, elementwise, in
    units of the type's eps. `relu_error`: the norm of the same difference for the decoder relu(V
    a), relative to its sum. Linearity is lost there, which shows that the identity is not empty.
    """
    errors = {}
    for dtype in (torch.float32, torch.float64):
        W, a, b = V.to(dtype), one.to(dtype), other.to(dtype)
        scale = (a.abs() + b.abs()) @ W.abs().T
        error = ((a + b) @ W.T - a @ W.T - b @ W.T).abs()
        tiny = torch.finfo(dtype).tiny
        errors[str(dtype).removeprefix("torch.")] = (
            float((error / scale.clamp_min(tiny)).max()) / torch.finfo(dtype).eps
        )
    relu = [torch.relu(c @ V.T) for c in (one + other, one, other)]
    broken = (relu[0] - relu[1] - relu[2]).norm() / (relu[1] + relu[2]).norm()
    return xr.Dataset(
        {
            "rounding": ("dtype", list(errors.values()), {"units": "eps"}),
            "relu_error": ((), float(broken)),
        },
        {"dtype": list(errors)},
    )


def sums(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    y: Float[Tensor, "batch d"],
    *,
    share: float,
    gap: float,
) -> xr.Dataset:
    """What inference makes of x + y, against what it makes of x and of y; lambda is `share` of the
    mean max|V'x|.

    Per pair: `sum_overlap`, the Jaccard index of the support of the sum and the union of both
    supports; `sum_distance`, `|a(x+y) - a(x) - a(y)|` / `|a(x) + a(y)|`; `sum_active` and
    `union_active`.
    """
    sparsity = share * float((x @ V).abs().amax(1).mean())
    one, other, both = (settle(V, z, sparsity=sparsity, gap=gap).codes[0] for z in (x, y, x + y))
    union = (one != 0) | (other != 0)
    return xr.Dataset(
        {
            "sum_overlap": ("pair", jaccard(both != 0, union).double().numpy()),
            "sum_distance": (
                "pair",
                ((both - one - other).norm(dim=1) / (one + other).norm(dim=1)).double().numpy(),
            ),
            "sum_active": ("pair", (both != 0).sum(1).numpy()),
            "union_active": ("pair", union.sum(1).numpy()),
        }
    )


def sums_by_count(
    V: Float[Tensor, "d atoms"],
    counts: Sequence[int],
    *,
    samples: int,
    share: float,
    gap: float,
    seed: int,
) -> xr.Dataset:
    """`sums` of two inputs with no atom in common, of as many planted atoms each as `counts` says
    (dimension `each`).

    Where twice as many are below the bound of Thm. 1 (`sum_bound`), the support of the sum must be
    the union.
    """
    rng, rows = generator(seed, "planted sums"), []
    for count in counts:
        both = planted_codes(samples, V.shape[1], 2 * count, rng).to(V.dtype)
        first = torch.zeros_like(both, dtype=torch.bool).scatter(
            1, both.abs().topk(2 * count).indices[:, ::2], True
        )
        rows.append(sums(V, (both * first) @ V.T, (both * ~first) @ V.T, share=share, gap=gap))
    found = xr.concat(rows, "each").assign_coords(each=list(counts)).rename(pair="planted_pair")
    return found.assign(sum_bound=bound(coherence(V)))


# --- Thm. 1 ---


def recovery(
    V: Float[Tensor, "d atoms"],
    counts: Sequence[int],
    *,
    samples: int,
    share: float,
    gap: float,
    seed: int,
    signed: bool = True,
) -> xr.Dataset:
    """How often the support of planted codes comes back from x = V a, per number of active atoms.

    Every sample is settled with lambda = `share` times its own max|V'x|, to the relative duality
    gap `gap`. `recovered` (rule, active): "exact", the nonzero coefficients are those planted;
    "threshold", those above a tenth of the largest are; "pursuit", what orthogonal matching pursuit
    finds in as many picks as atoms were planted. Also `mu`, `bound`, `settled` (share of samples
    that reached the gap), `largest_gap`.
    """
    rng = generator(seed, "planted codes")
    planted = torch.cat(
        [planted_codes(samples, V.shape[1], s, rng, signed=signed) for s in counts]
    ).to(V.dtype)
    x = planted @ V.T
    x = x / (x @ V).abs().amax(1, keepdim=True)
    settled = settle(V, x, sparsity=share, gap=gap)
    code = settled.codes[0]
    greedy = [
        orthogonal_matching_pursuit(V, part, k=s)
        for part, s in zip(x.split(samples), counts, strict=True)
    ]
    found = {
        "exact": support_recovered(code, planted),
        "threshold": support_recovered(code, planted, threshold=THRESHOLD),
        "pursuit": support_recovered(torch.cat(greedy), planted),
    }
    left = duality_gap([Layer(V, None, L1(sparsity=share))], [code], x) / settled.energy
    mu = coherence(V)
    rates = [ok.double().reshape(len(counts), samples).mean(1).numpy() for ok in found.values()]
    return xr.Dataset(
        {
            "recovered": (("rule", "active"), np.stack(rates), {"units": "1"}),
            "mu": ((), mu),
            "bound": ((), bound(mu)),
            "settled": ((), float(settled.converged.double().mean())),
            "largest_gap": ((), float(left.max())),
        },
        {"rule": list(found), "active": list(counts)},
    )


def recovery_diagram(
    d: int,
    coherences: Sequence[float],
    counts: Sequence[int],
    *,
    samples: int,
    share: float,
    gap: float,
    seed: int,
) -> xr.Dataset:
    """`recovery` over families and coherences of dictionaries: `recovered` (family, coherence,
    rule, active).
    """
    options = {"samples": samples, "share": share, "gap": gap, "seed": seed}
    rows = [
        xr.concat(
            [recovery(overlapping_bases(d, mu, family), counts, **options) for mu in coherences],
            "coherence",
        )
        for family in FAMILIES
    ]
    return xr.concat(rows, "family").assign_coords(
        family=list(FAMILIES), coherence=list(coherences)
    )


def noisy_recovery(
    V: Float[Tensor, "d atoms"],
    active: int,
    multiples: Sequence[float],
    *,
    noise: float,
    samples: int,
    gap: float,
    seed: int,
) -> xr.Dataset:
    """Recovery from x = V a + e, for lambda at several multiples of `|V'e|_inf` (assumption (b) of
    VN Thm. 1).

    Per multiple: `noisy_recovered`, the share of supports found exactly; `noisy_false`, atoms too
    many and `noisy_missed`, atoms too few, per sample.

    Parameters
    ----------
    noise
        Standard deviation of every entry of e.
    """
    rng = generator(seed, "noise")
    planted = planted_codes(samples, V.shape[1], active, rng).to(V.dtype)
    e = noise * torch.randn(samples, V.shape[0], generator=rng, dtype=V.dtype)
    # In units of |V'e|_inf lambda is the multiple itself, whatever the sample.
    x = (planted @ V.T + e) / (e @ V).abs().amax(1, keepdim=True)
    rows = {"noisy_recovered": [], "noisy_false": [], "noisy_missed": []}
    for multiple in multiples:
        code = settle(V, x, sparsity=multiple, gap=gap).codes[0]
        rows["noisy_recovered"].append(float(support_recovered(code, planted).double().mean()))
        rows["noisy_false"].append(float(((code != 0) & (planted == 0)).sum(1).double().mean()))
        rows["noisy_missed"].append(float(((code == 0) & (planted != 0)).sum(1).double().mean()))
    return xr.Dataset(
        {name: ("multiple", row) for name, row in rows.items()}, {"multiple": list(multiples)}
    )


def stopped_early(
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "batch d"],
    *,
    share: float,
    sweeps: Sequence[int],
    gap: float = 1e-8,
) -> xr.Dataset:
    """What a settle that stops after so many sweeps says, against one that ends at the duality gap
    `gap`.

    lambda is `share` of the mean max|V'x|. Per solver ("ista", "restart") and number of sweeps:
    `stopped_active`, mean active atoms (`settled_active`: those of the settled codes);
    `stopped_height`, the mean relative height of the energy above the settled one;
    `stopped_update`, the error of <(x - V a) a'>, what V would learn, relative to that of the
    settled codes.
    """
    sparsity = share * float((x @ V).abs().amax(1).mean())
    layer, methods, rows = Layer(V, None, L1(sparsity=sparsity)), ("ista", "restart"), []
    best = settle(V, x, sparsity=sparsity, gap=gap)
    update = atomic_hebb(x - best.codes[0] @ V.T, best.codes[0])
    for method in methods:
        settled, done = None, 0
        for n in sweeps:
            config = SettleConfig(method=method, max_sweeps=n - done, tol=0)
            settled, done = Settler([layer], config=config)(x, settled), n
            code = settled.codes[0]
            error = (atomic_hebb(x - code @ V.T, code) - update).norm() / update.norm()
            height = (settled.energy / best.energy - 1).mean()
            rows.append([float((code != 0).sum(1).double().mean()), float(height), float(error)])
    table = np.array(rows).reshape(len(methods), len(sweeps), 3)
    names = ("stopped_active", "stopped_height", "stopped_update")
    variables = {
        name: (("solver", "sweep"), table[..., column]) for column, name in enumerate(names)
    }
    variables["settled_active"] = ((), float((best.codes[0] != 0).sum(1).double().mean()))
    return xr.Dataset(variables, {"solver": list(methods), "sweep": list(sweeps)})
