"""The claims of VN App. E: the theory."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import part
from vnlib.book.ledger import Decision, claim


@claim(
    id="VN-E1",
    source="VN App. E.1 (Prop. 1, Thm. 1)",
    chapter="E_theory",
    figure="appE-diagram",
    statement="Decoding superposes exactly, V(a + b) = V a + V b, and inference recovers the "
    "support of a composition of fewer than (1 + 1/mu)/2 atoms.",
    rule="(a) V(a + b) and V a + V b differ by at most 8 roundings of the terms summed, in float32 "
    "and float64; (b) in every cell of the phase diagram below the bound, all planted supports "
    "are the nonzero coefficients of the settled lasso, and every sample reached its duality gap. "
    "With controls: (c) the support of a sum of planted inputs is the union of their supports "
    "wherever all their atoms together are below the bound; (d) for the dictionary learned on "
    "digits the bound allows two atoms (mu < 1/3); (e) there the support of the sum of two digits "
    "is the union of their supports (median Jaccard >= 0.9).",
)
def recovery(r: xr.Dataset) -> Decision:
    """Decide VN-E1."""
    exact, below = r["recovered"].sel(rule="exact"), r["active"] < r["bound"]
    worst, above = float(exact.where(below).min()), float(exact.where(~below).mean())
    rounding, settled = float(r["rounding"].max()), float(r["settled"].min())
    covered = float(r["sum_overlap"].where(2 * r["each"] < r["sum_bound"]).min())
    mu, digits = float(r["learned_mu"].median()), float(r["digits_sum_overlap"].median())
    printed = [
        part("decoding is linear to rounding", rounding <= 8, rounding_eps=rounding),
        part(
            "all supports below the bound come back",
            worst == 1 and settled == 1,
            recovered_below=worst,
            recovered_above=above,
            settled=settled,
        ),
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
    chapter="E_theory",
    figure="appE-danskin",
    statement="Residual times code is the exact gradient of the settled energy, so that nothing "
    "has to be differentiated through the inference.",
    rule="Against central differences of the settled energy, in every seed: (a) for one layer the "
    "relative error is below 1e-3; (b) for three layers and the joint energy F it is, for V and "
    "for U; (c) it comes from settling: the codes of the last early stop have less than a "
    "hundredth of the error of those after one sweep (one layer). With controls: the same, with "
    "an error below 1e-2, (d) with a hard top-k; (e) for the layer energies of VN Eq. 3 added up, "
    "as printed; (f) with ReLU messages.",
)
def gradient(r: xr.Dataset) -> Decision:
    """Decide VN-E2."""
    worst = {case: float(r["gradient_error"].sel(case=case).max()) for case in r["case"].values}
    one, three, top_k = (worst[case] for case in ("one layer", "three layers", "top-k"))
    summed, relu = worst["summed"], worst["ReLU"]
    early = r["early_error"].sel(case="one layer", kind="V")
    falls = float((early.isel(early=-1) / early.isel(early=0)).max())
    printed = [
        part("exact for one layer", one < 1e-3, one_layer=one),
        part("exact for three layers and F", three < 1e-3, three_layers=three),
        part("the error falls as the settle converges", falls < 0.01, late_to_early=falls),
    ]
    controls = [
        part("exact with a hard top-k", top_k < 1e-2, top_k=top_k),
        part("exact for the summed layer energies", summed < 1e-2, summed=summed),
        part("exact with ReLU messages", relu < 1e-2, relu=relu),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-E3",
    source="VN App. E.3 (Thm. 3, Rem. 5)",
    chapter="E_theory",
    figure="appE-steps",
    statement="With steps up to 1/L inference descends at every step, by at least the squared "
    "length of the step over 2 eta; the energy converges like 1/n with ISTA and 1/n^2 with FISTA; "
    "with a hard top-k it still descends.",
    rule="On random and on learned dictionaries, in every seed: (a) every step of size up to 1/L "
    "gains at least its squared length over 2 eta; (b) ISTA stays below its bound, that is L/(2 "
    "n) times the squared length of the settled code; (c) FISTA below its own, with 2 L/(n + "
    "1)^2; (d) no step of size up to 1/L raises the energy under a hard top-k. With controls: (e) "
    "the gain of (a) holds with the top-k too; for the sweeps of three layers, (f) F never rises, "
    "soft or top-k; (g) nor do the layer energies of VN Eq. 3 added up.",
)
def descent(r: xr.Dataset) -> Decision:
    """Decide VN-E3."""
    gain, rises = (r[name].where(r["factor"] <= 1) for name in ("smallest_gain", "rises"))
    soft, hard = (float(gain.sel(penalty=p).min()) for p in ("soft", "hard"))
    up_soft, up_hard = (float(rises.sel(penalty=p).max()) for p in ("soft", "hard"))
    ista, fista = (float(r["worst_to_bound"].sel(algorithm=m).max()) for m in ("ista", "fista"))
    joint, summed = (float(r["sweep_rises"].sel(counted=c).max()) for c in ("joint", "summed"))
    least = 0.5 * (1 - 1e-6)
    printed = [
        part(
            "every step gains what the theorem says",
            soft >= least and up_soft == 0,
            gain_soft=soft,
        ),
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
    chapter="E_theory",
    figure="appE-rank",
    statement="The operator of a sample has at most the rank of its active atoms, hence at most k; "
    "k(d + m) parameters are in use, against d m of a dense layer.",
    rule="On the network learned on digits, in every seed, layer and sample: (a) rank W(x) <= "
    "active atoms, and <= k in the capped top layer; (b) there k(d + m) < d m. With controls: (c) "
    "the parameters in use are fewer than d m in the layer without a cap too; (d) the whole "
    "library, which has to be stored, is no larger than a dense layer.",
)
def capacity(r: xr.Dataset) -> Decision:
    """Decide VN-E4."""
    excess = float((r["rank"] - r["active_atoms"]).max())
    over_cap = float((r["rank"].max("sample") - r["cap"]).max())
    per_atom = r["per_atom"] / r["dense"]
    budget = float((r["cap"] * per_atom).isel(layer=-1).max())
    uncapped = float((r["active_atoms"].max("sample") * per_atom).isel(layer=0).max())
    library = float((r["library"] / r["dense"]).max())
    printed = [
        part(
            "the rank is at most the number of active atoms",
            excess <= 0 and over_cap <= 0,
            rank_minus_active=excess,
        ),
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
    chapter="E_theory",
    figure="appE-collapse",
    statement="A code of k atoms under-fits compositions of more than k components; near-duplicate "
    "atoms make inference choose wrong ones; decorrelation and accept/reject mitigate.",
    rule="Medians over seeds: (a) with a cap of k atoms less than 1 % of the power is left of k "
    "planted components, and more than 5 % of 2 k; (b) with noise, copies of all atoms at the "
    "closest cosine below 1 at most halve the supports found, against the farthest; (c) with more "
    "atoms than the data have, some strength of the decorrelation step lowers mu and raises the "
    "share of supports that are named right; (d) FISTA raises the energy in some steps, and with "
    "accept/reject in none. With controls: (e) at that strength decorrelation finds no fewer "
    "atoms where none is surplus; (f) accept/reject mends a step of more than 2/L: the energy "
    "ends within 1 % of its minimum.",
)
def failures(r: xr.Dataset) -> Decision:
    """Decide VN-E5."""
    k = int(r["cap_k"].isel(seed=0))
    left = r["planted_left"].sel(planted_kind="capped").median("seed")
    at_k, beyond = (float(left.sel(planted_parts=n)) for n in (k, 2 * k))
    noisy = r["twin_recovered"].isel(noise=-1).median("seed")
    near = float(noisy.where(r["cosine"] < 1, drop=True).isel(cosine=-1))
    far = float(noisy.isel(cosine=0))
    grown = r[["grown_mu", "grown_named", "grown_found"]].median("seed")
    surplus, fitting = grown.isel(atoms=-1), grown.isel(atoms=0)
    best = float(surplus["grown_named"].where(surplus["strength"] > 0).idxmax("strength"))
    named, mu = (surplus[name].sel(strength=[0, best]) for name in ("grown_named", "grown_mu"))
    named, mu = named.values.tolist(), mu.values.tolist()
    found = fitting["grown_found"].sel(strength=[0, best]).values.tolist()
    rising = r["rising_steps"].max([d for d in r["rising_steps"].dims if d != "algorithm"])
    plain, safe = (float(rising.sel(algorithm=m)) for m in ("fista", "fista, reject"))
    longest = r["end_gap"].where(r["factor"] > 2, drop=True).isel(factor=-1)
    stuck = float(longest.sel(safeguard="reject").median("seed").max())
    printed = [
        part(
            "more components than k are under-fitted",
            at_k < 0.01 and beyond > 0.05,
            left_k=at_k,
            left_2k=beyond,
        ),
        part(
            "copies make inference choose wrong atoms",
            near <= 0.5 * far,
            found_near=near,
            found_far=far,
        ),
        part(
            "decorrelation mends surplus atoms",
            named[1] > named[0] and mu[1] < mu[0],
            strength=best,
            named_without=named[0],
            named_with=named[1],
            mu_without=mu[0],
            mu_with=mu[1],
        ),
        part(
            "accept/reject mends FISTA's rises",
            plain > 0 and safe == 0,
            rises=plain,
            rises_reject=safe,
        ),
    ]
    controls = [
        part(
            "decorrelation does no harm where no atom is surplus",
            found[1] >= found[0],
            found_without=found[0],
            found_with=found[1],
        ),
        part("accept/reject mends a step that is too long", stuck <= 0.01, height_reject=stuck),
    ]
    return Decision(printed, printed + controls)
