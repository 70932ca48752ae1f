"""The claims of VN App. E: the theory."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import part
from vnlib.book.ledger import Decision, claim


@claim(
    id="VN-E1",
    source="VN App. E.1 (Prop. 1, Thm. 1)",
    figure="appE-diagram",
    statement="Decoding superposes exactly, V(a + b) = V a + V b, and inference recovers the "
    "support of a composition of fewer than (1 + 1/mu)/2 atoms.",
)
def recovery(r: xr.Dataset) -> Decision:
    exact, inside = r["recovered"].sel(rule="exact"), r["active"] < r["bound"]
    worst, above = float(exact.where(inside).min()), float(exact.where(~inside).mean())
    rounding, settled = float(r["rounding"].max()), float(r["settled"].min())
    below = {"recovered_below": worst, "recovered_above": above, "settled": settled}
    covered = float(r["sum_overlap"].where(2 * r["each"] < r["sum_bound"]).min())
    mu, digits = float(r["learned_mu"].median()), float(r["digits_sum_overlap"].median())
    printed = [
        part("decoding is linear to rounding", rounding <= 8, rounding_eps=rounding),
        part("all supports below the bound come back", worst == settled == 1, **below),
    ]
    controls = [
        part("inference superposes below the bound", covered == 1, planted_overlap=covered),
        part("a learned dictionary is incoherent enough for two atoms", mu < 1 / 3, learned_mu=mu),
        part("inference superposes two digits", digits >= 0.9, digits_overlap=digits),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-E2",
    source="VN App. E.2 (Thm. 2)",
    figure="appE-danskin",
    statement="Residual times code is the exact gradient of the settled energy, so that nothing "
    "has to be differentiated through the inference.",
)
def gradient(r: xr.Dataset) -> Decision:
    worst = {case: float(r["gradient_error"].sel(case=case).max()) for case in r["case"].values}
    early = r["early_error"].sel(case="one layer", kind="V")
    falls = float((early.isel(early=-1) / early.isel(early=0)).max())
    cases = (
        ("exact for one layer", "one layer", "one_layer", 1e-3),
        ("exact for three layers and F", "three layers", "three_layers", 1e-3),
        ("exact with a hard top-k", "top-k", "top_k", 1e-2),
        ("exact for the summed layer energies", "summed", "summed", 1e-2),
        ("exact with ReLU messages", "ReLU", "relu", 1e-2),
    )
    exact = [part(says, worst[c] < bound, **{name: worst[c]}) for says, c, name, bound in cases]
    falling = part("the error falls as the settle converges", falls < 0.01, late_to_early=falls)
    printed = [*exact[:2], falling]
    return Decision(printed, printed + exact[2:])


@claim(
    id="VN-E3",
    source="VN App. E.3 (Thm. 3, Rem. 5)",
    figure="appE-steps",
    statement="With steps up to 1/L inference descends at every step, by at least the squared "
    "length of the step over 2 eta; the energy converges like 1/n with ISTA and 1/n^2 with FISTA; "
    "with a hard top-k it still descends.",
)
def descent(r: xr.Dataset) -> Decision:
    gain, rises = (r[name].where(r["factor"] <= 1) for name in ("smallest_gain", "rises"))
    soft, hard = (float(gain.sel(penalty=p).min()) for p in ("soft", "hard"))
    up, up_hard = (float(rises.sel(penalty=p).max()) for p in ("soft", "hard"))
    ista, fista = (float(r["worst_to_bound"].sel(algorithm=m).max()) for m in ("ista", "fista"))
    joint, summed = (float(r["sweep_rises"].sel(counted=c).max()) for c in ("joint", "summed"))
    least = 0.5 * (1 - 1e-6)
    printed = [
        part("every step gains what the theorem says", soft >= least and not up, gain_soft=soft),
        part("ISTA stays below its bound", ista <= 1, ista_to_bound=ista),
        part("FISTA stays below its bound", fista <= 1, fista_to_bound=fista),
        part("hard top-k descends", up_hard == 0, rises_top_k=up_hard),
    ]
    controls = [
        part("the same gain with a hard top-k", hard >= least, gain_top_k=hard),
        part("F never rises over sweeps", joint == 0, rises_joint=joint),
        part("the summed layer energies never rise", summed == 0, rises_summed=summed),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-E4",
    source="VN App. E.4 (Prop. 2)",
    figure="appE-rank",
    statement="The operator of a sample has at most the rank of its active atoms, hence at most k; "
    "k(d + m) parameters are in use, against d m of a dense layer.",
)
def capacity(r: xr.Dataset) -> Decision:
    excess = float((r["rank"] - r["active_atoms"]).max())
    within = excess <= 0 and not (r["rank"] > r["cap"]).any()
    used = xr.concat([r["active_atoms"].max("sample"), r["cap"]], "of") * r["per_atom"] / r["dense"]
    uncapped, budget = float(used.isel(of=0, layer=0).max()), float(used.isel(of=1, layer=-1).max())
    library = float((r["library"] / r["dense"]).max())
    printed = [
        part("the rank is at most the number of active atoms", within, rank_minus_active=excess),
        part("k atoms have fewer parameters than a dense layer", budget < 1, budget_share=budget),
    ]
    controls = [
        part("so have the atoms in use without a cap", uncapped < 1, in_use_share=uncapped),
        part("the library is no larger than a dense layer", library <= 1, library_share=library),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-E5",
    source="VN App. E.4 (Rem. 6 and 7)",
    figure="appE-collapse",
    statement="A code of k atoms under-fits compositions of more than k components; near-duplicate "
    "atoms make inference choose wrong ones; decorrelation and accept/reject mitigate.",
)
def failures(r: xr.Dataset) -> Decision:
    k = int(r["cap_k"].isel(seed=0))
    left = r["planted_left"].sel(planted_kind="capped").median("seed")
    at_k, beyond = (float(left.sel(planted_parts=n)) for n in (k, 2 * k))
    noisy = r["twin_recovered"].isel(noise=-1).median("seed")
    near = float(noisy.where(r["cosine"] < 1, drop=True).isel(cosine=-1))
    far = float(noisy.isel(cosine=0))
    grown = r[["grown_mu", "grown_named", "grown_found"]].median("seed")
    named = grown["grown_named"].isel(atoms=-1)
    best = float(named.where(named["strength"] > 0).idxmax("strength"))
    shown = {"strength": best} | {
        f"{name}_{word}": float(grown[f"grown_{name}"].isel(atoms=atoms).sel(strength=strength))
        for name, atoms in (("named", -1), ("mu", -1), ("found", 0))
        for word, strength in (("without", 0), ("with", best))
    }
    mended = shown["named_with"] > shown["named_without"] and shown["mu_with"] < shown["mu_without"]
    found = {name: shown.pop(name) for name in ("found_without", "found_with")}
    harmless = found["found_with"] >= found["found_without"]
    rising = r["rising_steps"].max([d for d in r["rising_steps"].dims if d != "algorithm"])
    plain, safe = (float(rising.sel(algorithm=m)) for m in ("fista", "fista, reject"))
    mends = plain > 0 and safe == 0
    longest = r["end_gap"].where(r["factor"] > 2, drop=True).isel(factor=-1)
    stuck = float(longest.sel(safeguard="reject").median("seed").max())
    under_fitted, halved = at_k < 0.01 and beyond > 0.05, near <= 0.5 * far
    copies = "copies make inference choose wrong atoms"
    printed = [
        part("more components than k are under-fitted", under_fitted, left_k=at_k, left_2k=beyond),
        part(copies, halved, found_near=near, found_far=far),
        part("decorrelation mends surplus atoms", mended, **shown),
        part("accept/reject mends FISTA's rises", mends, rises=plain, rises_reject=safe),
    ]
    controls = [
        part("decorrelation does no harm where no atom is surplus", harmless, **found),
        part("accept/reject mends a step that is too long", stuck <= 0.01, height_reject=stuck),
    ]
    return Decision(printed, printed + controls)
