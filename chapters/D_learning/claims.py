"""The claims of VN App. D: what the slow local rule changes, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import xarray as xr

from vnlib.book.evidence import part, spearman
from vnlib.book.ledger import Decision, claim

CHAPTER = "D_learning"
DENSE = ("linear", "whitened", "ReLU")


def highest_cost(r: xr.Dataset, name: str, variant: str) -> float:
    """Relative growth of a mean over seeds by an option, in the cell where it is largest."""
    cells = r[f"upkeep_{name}"].mean("seed")
    return float((cells.sel(variant=variant) / cells.sel(variant="as it is")).max()) - 1


@claim(
    id="VN-Da",
    source="VN App. D, Eqs. 26-30",
    figure="appD-local",
    statement="The update of an atom is the residual times its own coefficient: exactly zero for "
    "atoms that the batch does not use.",
)
def locality(r: xr.Dataset) -> Decision:
    told, moved = float(r["local_idle_direction"].max()), r["local_idle_moved"]
    kept = float(moved.sel(optimiser=["masked Adam", "SGD"]).max())
    control = float(moved.sel(optimiser="Adam").mean())
    idle = float(r["local_idle"].sel(optimiser="masked Adam").isel(batch_size=-1).mean())
    gain = highest_cost(r, "mse", "without the mask")
    printed = [
        part("idle atoms are told nothing", told == 0, largest_idle_direction=told),
        part("masked Adam and SGD do not move them", kept == 0, share_moved=kept),
        part("Adam without the mask does", control >= 0.9, share_moved_unmasked=control),
    ]
    controls = [
        part("atoms idle in large batches too", idle >= 0.05, idle_share_largest_batch=idle),
        part("the mask saves error", gain >= 0.05, error_without_mask_above=gain),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-Db",
    source="VN App. D; Sec. 3.4",
    figure="appD-overlap",
    statement="Updates of different samples interfere only through atoms that both use, so sparse "
    "codes limit interference, unlike dense layers.",
)
def interference(r: xr.Dataset) -> Decision:
    vn = next(str(name) for name in r["stepped"].values if str(name).startswith("VN"))
    size, hurt = abs(r["meet_pair_cosine"]), (r["passed_on"] < 0).mean(["arrow", "seed"])
    ranks, quarters = [], []
    for seed in r["seed"].values:
        x = r["meet_pair_overlap"].sel(model=vn, seed=seed).values
        y = size.sel(model=vn, seed=seed)
        low, high = np.quantile(x, [0.25, 0.75])
        ranks.append(spearman(x, y.values))
        quarters.append(float(y[x <= low].median() / y[x >= high].median()))
    rank, quarter = min(ranks), max(quarters)
    passed = abs(r["passed_on"]).median("arrow").rename(stepped="model")
    overlap, passed = (
        {f"{name}_vs_{m}": float((v.sel(model=vn) / v.sel(model=m)).max()) for m in DENSE}
        for name, v in (("overlap", size.median("pair")), ("passed_on", passed))
    )
    white, less = overlap.pop("overlap_vs_whitened"), max(passed.values()) < 1
    own, others = float(hurt.sel(stepped=vn)), float(hurt.sel(stepped=list(DENSE)).min())
    hurts, half = {"hurt_share": own, "hurt_share_dense": others}, max(overlap.values()) <= 0.5
    printed = [
        part("overlap of updates rises with overlap of supports", rank >= 0.3, spearman=rank),
        part("it is small where supports hardly meet", quarter <= 0.5, low_to_high_quarter=quarter),
        part("it is at most half of a dense autoencoder's", half, **overlap),
    ]
    controls = [
        part("and below that of a whitened dense code", white < 1, overlap_vs_whitened=white),
        part("a step passes less on to others", less, **passed),
        part("a step hurts others no more often", own <= others, **hurts),
    ]
    return Decision(printed, printed + controls)


@claim(
    id="VN-Dc",
    source="VN App. D; Sec. 3.4",
    figure="appD-upkeep",
    statement="Renormalisation, DC removal, a decorrelation step and the re-drawing of dead atoms "
    "keep the dictionary in shape.",
)
def upkeep(r: xr.Dataset) -> Decision:
    dead = r["upkeep_dead"].mean("seed").sel(start="chance").isel(upkeep_sparsity=-1)
    names = {"dead": "as it is", "dead_redrawn": "dead atoms re-drawn"}
    dead = {name: float(dead.sel(variant=variant)) for name, variant in names.items()}
    costly = ("coherence", "mse", "active")
    coherence, error, atoms = (highest_cost(r, name, "decorrelated") for name in costly)
    dc, centred = (highest_cost(r, "mse", f"DC removed{on}") for on in ("", ", centred data"))
    costs = {"coherence_change": coherence, "error_decorrelated_above": error}
    lower, cheap = coherence < 0 and error <= 0.1, "DC removal costs little"
    revived = dead["dead_redrawn"] <= 0.02 and dead["dead"] >= 0.1
    more = {"active_decorrelated_above": atoms}
    both = [
        part("re-drawing revives dead atoms", revived, **dead),
        part("decorrelation lowers coherence at little cost", lower, **costs),
    ]
    controls = [
        part(f"{cheap} on centred samples", centred <= 0.1, error_centred_above=centred),
        part("decorrelation does not take more atoms", atoms <= 0.1, **more),
    ]
    plain = part(cheap, dc <= 0.1, error_dc_removed_above=dc)
    return Decision([*both, plain], both + controls)


@claim(
    id="VN-Dd",
    source="VN Eq. 9; App. D, Eq. 27",
    figure="appD-interface",
    statement="The same residual x coefficient rule learns the interface dictionary U.",
)
def interface(r: xr.Dataset) -> Decision:
    last = {n: r[f"interface_{n}"].isel(stage=-1) for n in ("energy", "mse", "mse_from_top")}
    ratio = {name: one / one.sel(rule="frozen") for name, one in last.items()}
    names = ("energy", "mse_from_top")
    energy, strict = (float(ratio[name].sel(rule="literal").max()) for name in names)
    ours = float(ratio["mse_from_top"].sel(rule="subspace").max())
    seen = float(abs(ratio["mse"].sel(rule="subspace") - 1).max())
    pairs = zip(*(last[n].transpose("seed", "rule").values for n in names), strict=True)
    rank = max(spearman(f, error) for f, error in pairs)
    says_more = ours <= 0.75 and seen <= 0.05
    changes = {"subspace_error_vs_frozen": ours, "subspace_seen_change": seen}
    printed = [
        part("F falls further than with a frozen U", energy < 1, energy_vs_frozen=energy),
        part("the top code says no less of the input", strict <= 1, strict_error_vs_frozen=strict),
    ]
    controls = [
        part("F ranks interfaces as the strict error does", rank > 0, spearman_F_error=rank),
        part("the subspace rule makes the top code say more", says_more, **changes),
    ]
    return Decision(printed, printed + controls)
