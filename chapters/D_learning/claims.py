"""The claims of VN App. D: what the slow local rule changes, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

CHAPTER = "D_learning"
DENSE = ("linear", "whitened", "ReLU")
TRAINED_DENSE = ("linear", "ReLU")


def _spearman(x: np.ndarray, y: np.ndarray) -> float:
    found = float(pd.Series(x).rank().corr(pd.Series(y).rank()))
    return found if np.isfinite(found) else 0.0  # values that are all equal have no order


def _main(r: xr.Dataset) -> str:
    """The network of the sparsity that the chapter works with."""
    return next(str(name) for name in r["stepped"].values if str(name).startswith("VN"))


@claim(
    id="VN-Da",
    source="VN App. D, Eqs. 26-30",
    chapter=CHAPTER,
    figure="appD-local",
    statement="The update of an atom is the residual times its own coefficient: exactly zero for "
    "atoms that the batch does not use.",
    rule="Over all batch sizes and seeds: (a) the direction of idle atoms is exactly 0; (b) "
    "masked Adam and SGD leave every idle atom bit for bit; (c) the control sees a difference: "
    "Adam without the mask moves at least 90 % of the idle atoms. Fair: (d) idleness is more "
    "than a principle: at the largest batch at least 5 % of the atoms are idle, on average; (e) "
    "masking is worth something: without it the test error is at least 5 % higher in some cell "
    "of the upkeep table, mean over seeds.",
)
def _local(r: xr.Dataset) -> Decision:
    told = float(r["local_idle_direction"].max())
    kept = float(r["local_idle_moved"].sel(way=["masked Adam", "SGD"]).max())
    control = float(r["local_idle_moved"].sel(way="Adam").mean())
    idle = float(r["local_idle"].sel(way="masked Adam").isel(batch_size=-1).mean())
    errors = r["upkeep_mse"].mean("seed")
    gain = (
        float((errors.sel(variant="without the mask") / errors.sel(variant="as it is")).max()) - 1
    )
    parts = [
        Part("idle atoms are told nothing", told == 0, {"largest_idle_direction": told}),
        Part("masked Adam and SGD do not move them", kept == 0, {"share_moved": kept}),
        Part("Adam without the mask does", control >= 0.9, {"share_moved_unmasked": control}),
    ]
    return Decision(
        parts,
        [
            *parts,
            Part(
                "atoms idle in large batches too", idle >= 0.05, {"idle_share_largest_batch": idle}
            ),
            Part("the mask saves error", gain >= 0.05, {"error_without_mask_above": gain}),
        ],
    )


@claim(
    id="VN-Db",
    source="VN App. D; Sec. 3.4",
    chapter=CHAPTER,
    figure="appD-overlap",
    statement="Updates of different samples interfere only through atoms that both use, so "
    "sparse codes limit interference, unlike dense layers.",
    rule="Pairs of test samples, worst seed: (a) the size of the cosine of two updates rises "
    "with the overlap of the supports: Spearman >= 0.3; (b) its median in the lowest quarter of "
    "overlaps is at most half of that in the highest; (c) its median over all pairs is at most "
    "half of that of each dense autoencoder as trained. Fair: (d) it is also below that of the "
    "linear autoencoder with a whitened code, which computes the same function as the trained "
    "one; (e) a step on one sample changes the loss of another, relative to its own, by less "
    "than in every dense model, medians over pairs; (f) it hurts others (their loss rises) in at "
    "most as many pairs as in the best dense model, mean over seeds.",
)
def _interference(r: xr.Dataset) -> Decision:
    vn = _main(r)
    size = abs(r["meet_pair_cosine"])
    overlap, cosine = r["meet_pair_overlap"].sel(model=vn), size.sel(model=vn)
    ranks, quarters = [], []
    for seed in r["seed"].values:
        x, y = overlap.sel(seed=seed).values, cosine.sel(seed=seed)
        ranks.append(_spearman(x, y.values))
        low, high = overlap.sel(seed=seed).quantile([0.25, 0.75]).values
        quarters.append(float(y[x <= low].median() / y[x >= high].median()))
    median = size.median("pair")
    ratio = {m: float((median.sel(model=vn) / median.sel(model=m)).max()) for m in DENSE}
    passed = abs(r["passed_on"]).median("arrow")
    passed_ratio = {m: float((passed.sel(stepped=vn) / passed.sel(stepped=m)).max()) for m in DENSE}
    hurt = (r["passed_on"] < 0).mean(["arrow", "seed"])
    hurt_dense = float(hurt.sel(stepped=list(DENSE)).min())
    parts = [
        Part(
            "overlap of updates rises with overlap of supports",
            min(ranks) >= 0.3,
            {"spearman": min(ranks)},
        ),
        Part(
            "it is small where supports hardly meet",
            max(quarters) <= 0.5,
            {"low_to_high_quarter": max(quarters)},
        ),
        Part(
            "it is at most half of a dense autoencoder's",
            max(ratio[m] for m in TRAINED_DENSE) <= 0.5,
            {f"overlap_vs_{m}": ratio[m] for m in TRAINED_DENSE},
        ),
    ]
    return Decision(
        parts,
        [
            *parts,
            Part(
                "and below that of a whitened dense code",
                ratio["whitened"] < 1,
                {"overlap_vs_whitened": ratio["whitened"]},
            ),
            Part(
                "a step passes less on to others",
                max(passed_ratio.values()) < 1,
                {f"passed_on_vs_{m}": v for m, v in passed_ratio.items()},
            ),
            Part(
                "a step hurts others no more often",
                float(hurt.sel(stepped=vn)) <= hurt_dense,
                {"hurt_share": float(hurt.sel(stepped=vn)), "hurt_share_dense": hurt_dense},
            ),
        ],
    )


@claim(
    id="VN-Dc",
    source="VN App. D; Sec. 3.4",
    chapter=CHAPTER,
    figure="appD-upkeep",
    statement="Renormalisation, DC removal, a decorrelation step and the re-drawing of dead "
    "atoms keep the dictionary in shape.",
    rule="Means over seeds of the upkeep table: (a) from a start by chance, at the sparser "
    "setting, re-drawing leaves at most 2 % of the atoms dead where at least 10 % are without "
    "it; (b) decorrelation lowers the coherence in every cell and costs at most 10 % of test "
    "error in each; (c) removing the DC of the atoms costs at most 10 % of test error in each "
    "cell. Fair: (d) the same for (c) when the samples lose their mean too; (e) decorrelation "
    "does not take more than 10 % more active atoms in any cell.",
)
def _upkeep(r: xr.Dataset) -> Decision:
    means = {
        name: r[f"upkeep_{name}"].mean("seed") for name in ("mse", "dead", "coherence", "active")
    }

    def cost(name: str, variant: str) -> float:
        cells = means[name]
        return float((cells.sel(variant=variant) / cells.sel(variant="as it is")).max()) - 1

    dead = means["dead"].sel(start="chance").isel(upkeep_sparsity=-1)
    without, with_ = (float(dead.sel(variant=v)) for v in ("as it is", "dead atoms re-drawn"))
    coherence, error = cost("coherence", "decorrelated"), cost("mse", "decorrelated")
    dc, centred = cost("mse", "DC removed"), cost("mse", "DC removed, centred data")
    atoms = cost("active", "decorrelated")
    alive = Part(
        "re-drawing revives dead atoms",
        with_ <= 0.02 and without >= 0.1,
        {"dead": without, "dead_redrawn": with_},
    )
    apart = Part(
        "decorrelation lowers coherence at little cost",
        coherence < 0 and error <= 0.1,
        {"coherence_change": coherence, "error_decorrelated_above": error},
    )
    return Decision(
        [alive, apart, Part("DC removal costs little", dc <= 0.1, {"error_dc_removed_above": dc})],
        [
            alive,
            apart,
            Part(
                "DC removal costs little on centred samples",
                centred <= 0.1,
                {"error_centred_above": centred},
            ),
            Part(
                "decorrelation does not take more atoms",
                atoms <= 0.1,
                {"active_decorrelated_above": atoms},
            ),
        ],
    )


@claim(
    id="VN-Dd",
    source="VN Eq. 9; App. D, Eq. 27",
    chapter=CHAPTER,
    figure="appD-interface",
    statement="The same residual x coefficient rule learns the interface dictionary U.",
    rule="Two layers, after training, worst seed: (a) the energy F falls further under the "
    "literal rule than with a frozen U; (b) the error of the reading from the top code down is "
    "not above that with a frozen U. Fair: (c) F ranks the interfaces as this error does: "
    "Spearman > 0 over all rules; (d) the subspace rule, our addition, has at most 75 % of the "
    "frozen U's error, and changes the error of V a by at most 5 %.",
)
def _interface(r: xr.Dataset) -> Decision:
    last = {n: r[f"interface_{n}"].isel(stage=-1) for n in ("energy", "mse", "mse_from_top")}

    def ratio(name: str, rule: str) -> float:
        return float((last[name].sel(rule=rule) / last[name].sel(rule="frozen")).max())

    energy, strict = ratio("energy", "literal"), ratio("mse_from_top", "literal")
    ours = ratio("mse_from_top", "subspace")
    seen = float(abs(last["mse"].sel(rule="subspace") / last["mse"].sel(rule="frozen") - 1).max())
    ranks = max(
        _spearman(last["energy"].sel(seed=seed).values, last["mse_from_top"].sel(seed=seed).values)
        for seed in r["seed"].values
    )
    parts = [
        Part("F falls further than with a frozen U", energy < 1, {"energy_vs_frozen": energy}),
        Part(
            "the top code says no less of the input",
            strict <= 1,
            {"strict_error_vs_frozen": strict},
        ),
    ]
    return Decision(
        parts,
        [
            *parts,
            Part(
                "F ranks interfaces as the strict error does",
                ranks > 0,
                {"spearman_F_error": ranks},
            ),
            Part(
                "the subspace rule makes the top code say more",
                ours <= 0.75 and seen <= 0.05,
                {"subspace_error_vs_frozen": ours, "subspace_seen_change": seen},
            ),
        ],
    )
