"""The claims of VN App. E: the theory."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import TESTS, bounded, detail, part, scaled
from vnlib.book.ledger import Contrast, Decision, Part, claim

CELLS = ("family", "coherence", "active")


def diagram(r: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray]:
    """Supports recovered exactly, below the bound in the worst cell and above it on average."""
    exact, below = r["recovered"].sel(rule="exact"), r["active"] < r["bound"]
    return exact.where(below).min(CELLS), exact.where(~below).mean(CELLS)


def over(says: str, sign: str, **numbers: xr.DataArray | float) -> Part:
    """That what is "_with" something is more or less than what is "_without" it."""
    own, other = (
        float(next(value for name, value in numbers.items() if name.endswith(end)))
        for end in ("_with", "_without")
    )
    with np.errstate(divide="ignore", invalid="ignore"):  # where no atom was found without it
        ratio = np.divide([own], [other])
    return part(f"{says} {TESTS[sign][2]} 1", Contrast(ratio, sign, 1.0), **numbers)


def mending(r: xr.Dataset) -> tuple[float, dict[str, xr.Dataset]]:
    """The strength of decorrelation that names most supports of surplus atoms, and dictionaries of
    all sizes without and with it, medians over seeds.
    """
    grown = r[["grown_mu", "grown_named", "grown_found"]].median("seed")
    named = grown["grown_named"].isel(atoms=-1)
    best = float(named.where(named["strength"] > 0).idxmax("strength"))
    return best, {"without": grown.sel(strength=0), "with": grown.sel(strength=best)}


@claim(
    id="VN-E1",
    source="VN App. E.1 (Prop. 1, Thm. 1)",
    figure="appE-diagram",
    definition=True,
    statement="Decoding superposes exactly, V(a + b) = V a + V b, and inference recovers the "
    "support of a composition of fewer than (1 + 1/mu)/2 atoms, if the atoms fit and lambda is "
    "large enough.",
    terms="The bound is (1 + 1/mu)/2 atoms; a support is that of the settled lasso.",
)
def recovery(r: xr.Dataset) -> Decision:
    below, above = diagram(r)
    worst, settled = below.min(), r["settled"].min()
    shares = {"recovered_below": worst, "recovered_above": above.mean(), "settled": settled}
    covered = r["sum_overlap"].where(2 * r["each"] < r["sum_bound"]).min()
    mu, digits = r["learned_mu"].median(), r["digits_sum_overlap"].median()
    back = "below the bound all planted supports come back, and all samples settle: shares of 1"
    least = Contrast(np.array([worst, settled], float), ">=", 1.0, limit=1.0)
    few = "mu < 1/3 on digits, so that the bound allows two atoms"
    overlap = "overlap of a sum's support with the union of the supports"
    printed = [
        bounded("V(a + b) less V a + V b, in roundings", "<=", 8, rounding_eps=r["rounding"]),
        part(back, least, **shares),
    ]
    controls = [
        scaled(
            bounded(f"{overlap}, below the bound together", ">=", 1, planted_overlap=covered),
            limit=1,
        ),
        part(few, Contrast(np.ravel(mu), "<", 1 / 3), learned_mu=mu),
        bounded(f"{overlap}, two digits, median", ">=", 0.9, digits_overlap=digits),
    ]
    return Decision(printed, controls)


@claim(
    id="VN-E2",
    source="VN App. E.2 (Thm. 2)",
    figure="appE-danskin",
    definition=True,
    statement="Residual times code is the exact gradient of the settled energy, so that nothing "
    "has to be differentiated through the inference.",
    terms="Errors are relative, against central differences of the settled energy, worst seed.",
)
def gradient(r: xr.Dataset) -> Decision:
    worst = r["gradient_error"].max(["seed", "kind"]).to_series()
    early = r["early_error"].sel(case="one layer", kind="V")
    late = early.isel(early=-1) / early.isel(early=0)
    falls = "error after the last early stop over that after one sweep, one layer"
    printed = [
        bounded("error, one layer", "<", 1e-3, one_layer=worst["one layer"]),
        bounded("error, three layers and F", "<", 1e-3, three_layers=worst["three layers"]),
        detail(bounded(falls, "<", 0.01, late_to_early=late)),
    ]
    controls = [
        bounded("error, hard top-k", "<", 0.01, top_k=worst["top-k"]),
        bounded("error, layer energies of VN Eq. 3 added", "<", 0.01, summed=worst["summed"]),
        bounded("error, ReLU messages", "<", 0.01, relu=worst["ReLU"]),
    ]
    return Decision(printed, controls)


@claim(
    id="VN-E3",
    source="VN App. E.3 (Thm. 3, Rem. 5)",
    figure="appE-steps",
    definition=True,
    statement="With steps up to 1/L inference descends at every step, by at least the squared "
    "length of the step over 2 eta; the energy converges like 1/n with ISTA and 1/n² with FISTA; "
    "with a hard top-k it still descends.",
    terms="Steps up to 1/L on random and on learned dictionaries, sweeps of three layers, soft or "
    "top-k: in every seed. With s, the squared length of the settled code, ISTA is bound by "
    "L s / 2 n, FISTA by 2 L s / (n + 1)^2. The summed energies are those of VN Eq. 3, over layers.",
)
def descent(r: xr.Dataset) -> Decision:
    steps = r.sel(factor=r["factor"] <= 1)
    soft, hard = (steps.sel(penalty=penalty) for penalty in ("soft", "hard"))
    to_bound = r["worst_to_bound"].max(["seed", "data"]).to_series()
    rises = r["sweep_rises"].max(["seed", "penalty"]).to_series()
    gains, least = "gain of a step over its squared length / eta", 0.5 * (1 - 1e-6)
    printed = [
        bounded(gains, ">=", least, gain_soft=soft["smallest_gain"])
        & part("no step raises the energy", not soft["rises"].any()),
        bounded("height of ISTA over its bound", "<=", 1, ista_to_bound=to_bound["ista"]),
        bounded("height of FISTA over its bound", "<=", 1, fista_to_bound=to_bound["fista"]),
        bounded("share of steps that rise with a hard top-k", "<=", 0, rises_top_k=hard["rises"]),
    ]
    controls = [
        bounded(f"{gains}, hard top-k", ">=", least, gain_top_k=hard["smallest_gain"]),
        detail(  # a theorem, too
            bounded(
                "share of sweeps that raise F, worst seed and penalty",
                "<=",
                0,
                rises_joint=rises["joint"],
            )
        ),
        bounded(
            "share of sweeps that raise the summed energies, worst seed and penalty",
            "<=",
            0,
            rises_summed=rises["summed"],
        ),
    ]
    return Decision(printed, controls)


@claim(
    id="VN-E4",
    source="VN App. E.4 (Prop. 2)",
    figure="appE-rank",
    statement="The operator of a sample has at most the rank of its active atoms, hence at most k; "
    "k(d + m) parameters are in use, against d m of a dense layer.",
    terms="On the network learned on digits, in every seed, layer and sample.",
)
def capacity(r: xr.Dataset) -> Decision:
    excess, atom = r["rank"] - r["active_atoms"], r["per_atom"] / r["dense"]
    budget = (r["cap"] * atom).isel(layer=-1)
    in_use = (r["active_atoms"].max("sample") * atom).isel(layer=0)
    library = r["library"] / r["dense"]
    over_cap = (r["rank"] - r["cap"]).isel(layer=-1)
    printed = [
        detail(
            bounded("rank of W(x) less active atoms", "<=", 0, rank_minus_active=excess)
            & bounded("less k in the capped layer", "<=", 0, rank_minus_cap=over_cap)
        ),
        detail(bounded("k(d + m) / d m in that layer", "<", 1, budget_share=budget)),
        bounded("parameters in use / d m in the layer without a cap", "<", 1, in_use_share=in_use),
    ]
    controls = [
        bounded("parameters of the whole library / d m", "<=", 1, library_share=library),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-E5",
    source="VN App. E.4 (Rem. 6 and 7), E.3 (Thm. 3)",
    figure="appE-collapse",
    statement="A code of k atoms under-fits compositions of more than k components; near-duplicate "
    "atoms make inference choose wrong ones; decorrelation and accept/reject mitigate.",
    terms="Medians over seeds; steps of FISTA the most of all seeds and data. Decorrelation has the strength that names most supports right; a "
    "height is relative, above the least energy; steps of more than 2/L are too long.",
)
def failures(r: xr.Dataset) -> Decision:
    k = int(r["cap_k"].isel(seed=0))
    left = r["planted_left"].sel(planted_kind="capped").median("seed")
    noisy = r["twin_recovered"].isel(noise=-1).median("seed")
    near, far = noisy.sel(cosine=noisy["cosine"] < 1).isel(cosine=-1), noisy.isel(cosine=0)
    best, grown = mending(r)
    named, mu, found = (
        {f"{name}_{word}": one[f"grown_{name}"].isel(atoms=size) for word, one in grown.items()}
        for name, size in (("named", -1), ("mu", -1), ("found", 0))
    )
    rises = r["rising_steps"].max(["seed", "data"]).to_series()
    stuck = r["end_gap"].isel(factor=-1).sel(safeguard="reject").median("seed")
    under_fits = "share of power left of k planted components by k atoms"
    copies = "with noise, the closest copies of all atoms at most halve the supports found"
    surplus = "by decorrelation of surplus atoms: supports named right over those without"
    harm = "by decorrelation where none is surplus: atoms found over those without"
    printed = [
        bounded(under_fits, "<", 0.01, left_k=left.sel(planted_parts=k))
        & bounded("of 2 k", ">", 0.05, left_2k=left.sel(planted_parts=2 * k)),
        part(copies, Contrast(np.ravel(near / far), "<=", 0.5), found_near=near, found_far=far),
        over(surplus, ">", strength=best, **named) & over("mu over that without", "<", **mu),
        bounded("share of steps in which FISTA raises the energy", ">", 0, rises=rises["fista"])
        & bounded("with accept/reject", "<=", 0, rises_reject=rises["fista, reject"]),
    ]
    controls = [
        over(harm, ">=", **found),
        bounded("height after too long steps, accept/reject", "<=", 0.01, height_reject=stuck),
    ]
    return Decision(printed, printed + controls)
