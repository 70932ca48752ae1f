"""The claim of VN Fig. 1: what a layer is, and what its inference composes."""

from __future__ import annotations

import xarray as xr

from benchmarks.baselines.longer import lasting
from benchmarks.baselines.paired import over
from vnlib.book.evidence import bounded, compared, part, scaled
from vnlib.book.ledger import Decision, Part, claim


@claim(
    id="VN-F1",
    source="VN Fig. 1A-C",
    figure="fig1-operator",
    parts=["longer"],
    cases=["digit", "pair"],
    statement="A layer is a library of rank-1 atoms; for each input, sparse inference picks a "
    "few of them, and they compose an operator of low rank for that input alone.",
    terms="On test digits: medians over digits or pairs of them, of atoms in use means over digits, "
    "then medians over seeds, of ratios within seeds where two are compared; untrained atoms are normalised training digits.",
)
@lasting
def architecture(r: xr.Dataset) -> Decision:
    active, rank = (r[name].median("digit").median("seed") for name in ("active_share", "rank"))
    overlap = r["pair_overlap"].median("pair").median("seed")
    share = rank / r["rank_limit"].max()
    means = ("mse", "untrained_mse", "pca_mse", "explained")
    mse, before, mse_pca, power = (r[name] for name in means)
    n, n_before = r["active"].mean("digit"), r["untrained_active"]
    possible = (r["rank"] <= r["active"]).all()
    fewer, less = (
        "fewer atoms active than untrained",
        "less error than untrained, at equal l1 weight",
    )
    below = "error below that of PCA with as many components"
    parts = [
        bounded("share of layer 1's atoms that are active", "<=", 0.25, active_share=active),
        bounded("rank of W(x) over the largest its shape allows", "<=", 0.5, rank_share=share)
        & part("never above the number of active atoms", possible, rank_median=rank),
        scaled(
            bounded(
                "share of the input's power in the code", ">=", 0.9, explained=power.median("seed")
            ),
            limit=1,
        ),
        bounded("overlap of two digits' supports (Jaccard)", "<", 0.5, support_overlap=overlap),
    ]

    def fewer_than(says: str, own: xr.DataArray, other: xr.DataArray, *names: str) -> Part:
        told = zip(names, (own.median("seed"), other.median("seed")), strict=True)
        return compared(says, over(own, other), "<", 1.0, **dict(told))

    controls = [
        fewer_than(fewer, n, n_before, "atoms", "atoms_untrained"),
        fewer_than(less, mse, before, "mse", "mse_untrained"),
        fewer_than(below, mse, mse_pca, "mse", "mse_pca"),
    ]
    return Decision(parts, [*parts, *controls])
