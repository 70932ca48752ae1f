"""The claim of VN Fig. 1: what a layer is, and what its inference composes."""

from __future__ import annotations

import xarray as xr

from vnlib.book.ledger import Decision, Part, claim


@claim(
    id="VN-F1",
    source="VN Fig. 1A-C",
    chapter="fig1_architecture",
    figure="fig1-operator",
    statement="A layer is a library of rank-1 atoms; for each input, sparse inference picks a "
    "few of them, and they compose an operator of low rank for that input alone.",
    rule="On test digits, medians over digits, worst seed: (a) at most a quarter of layer 1's "
    "atoms are active; (b) the rank of W(x) is at most half of what its shape allows and never "
    "above the number of active atoms; (c) the code explains at least 90 % of the input's power; "
    "(d) the operators of two digits differ: their supports overlap by less than half (Jaccard). "
    "Fair: (e) with the same l1 weight the learned library needs fewer atoms and leaves less "
    "error than the untrained one (normalised training digits); (f) its error is below that of a "
    "principal component basis with as many components as it has active atoms.",
)
def _architecture(r: xr.Dataset) -> Decision:
    active = float(r["active_share"].median("digit").max())
    rank = float(r["rank"].median("digit").max())
    bound = float((r["rank"] - r["active"]).max())
    explained = float(r["explained"].min())
    overlap = float(r["pair_overlap"].median("pair").max())
    share = rank / float(r["rank_limit"].max())
    parts = [
        Part("few atoms are active", active <= 0.25, {"active_share": active}),
        Part(
            "the operator has low rank",
            share <= 0.5 and bound <= 0,
            {"rank_median": rank, "rank_share": share},
        ),
        Part("the code explains the input", explained >= 0.9, {"explained": explained}),
        Part("each input has its own operator", overlap < 0.5, {"support_overlap": overlap}),
    ]
    atoms, untrained = float(r["active"].mean()), float(r["untrained_active"].mean())
    mse, mse_untrained = float(r["mse"].max()), float(r["untrained_mse"].min())
    pca = float(r["pca_mse"].min())
    fair = [
        *parts,
        Part(
            "learning saves both atoms and error",
            atoms < untrained and mse < mse_untrained,
            {
                "atoms": atoms,
                "atoms_untrained": untrained,
                "mse": mse,
                "mse_untrained": mse_untrained,
            },
        ),
        Part("better than PCA at equal count", mse < pca, {"mse_pca": pca}),
    ]
    return Decision(parts, fair)
