"""The claim of VN Fig. 1: what a layer is, and what its inference composes."""

from __future__ import annotations

import xarray as xr

from vnlib.book.ledger import Decision, Part, claim


@claim(
    id="VN-F1",
    source="VN Fig. 1A-C",
    figure="fig1-operator",
    statement="A layer is a library of rank-1 atoms; for each input, sparse inference picks a "
    "few of them, and they compose an operator of low rank for that input alone.",
)
def architecture(r: xr.Dataset) -> Decision:
    numbers = {
        "active_share": float(r["active_share"].median("digit").max()),
        "rank_median": float(r["rank"].median("digit").max()),
        "explained": float(r["explained"].min()),
        "support_overlap": float(r["pair_overlap"].median("pair").max()),
        "atoms": float(r["active"].mean()),
        "atoms_untrained": float(r["untrained_active"].mean()),
        "mse": float(r["mse"].max()),
        "mse_untrained": float(r["untrained_mse"].min()),
        "mse_pca": float(r["pca_mse"].min()),
    }
    n = numbers | {"rank_share": numbers["rank_median"] / float(r["rank_limit"].max())}
    possible = bool((r["rank"] <= r["active"]).all())

    def part(says: str, holds: bool, *names: str) -> Part:
        return Part(says, holds, {name: n[name] for name in names})

    parts = [
        part("few atoms are active", n["active_share"] <= 0.25, "active_share"),
        part(
            "the operator has low rank",
            n["rank_share"] <= 0.5 and possible,
            "rank_median",
            "rank_share",
        ),
        part("the code explains the input", n["explained"] >= 0.9, "explained"),
        part("each input has its own operator", n["support_overlap"] < 0.5, "support_overlap"),
    ]
    controls = [
        part(
            "learning saves both atoms and error",
            n["atoms"] < n["atoms_untrained"] and n["mse"] < n["mse_untrained"],
            *("atoms", "atoms_untrained", "mse", "mse_untrained"),
        ),
        part("better than PCA at equal count", n["mse"] < n["mse_pca"], "mse_pca"),
    ]
    return Decision(parts, [*parts, *controls])
