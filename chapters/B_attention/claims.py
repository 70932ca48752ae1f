"""The claim of VN App. B: attention routes states, a Vector Network composes operators."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.baselines.longer import lasting
from benchmarks.baselines.paired import over
from vnlib.book.evidence import bounded, compared, detail, one, part, scaled, select
from vnlib.book.ledger import Contrast, Decision, Part, claim

WIDTHS = ("softmax", "softmax_2", "softmax_4", "softmax_16")
# They share a property with the VN, not all: sparse attention, sparse codes without inference.
CONTROLS = ("topk", "sparsemax", "feed_forward")


@claim(
    id="VN-B",
    source="VN App. B",
    figure="appB-adaptive",
    parts=["longer"],
    statement="Attention mixes states by weights that one feed-forward pass generates, under "
    "projections that no input selects; a Vector Network infers sparse, competing coefficients of "
    "reusable rank-1 operators, and the same coefficients gate what learns. Low rank plays "
    "another role in each.",
    terms="Test digits, medians over seeds; gaps are relative to the energy; the mean rank of weights is "
    "asked of every d_head below the number of tokens. When the sum of half of what is in use is "
    "added as one more item, selectivity is the share of weight that the other half keeps, less "
    "that of the explained half.",
)
@lasting
def states_or_operators(r: xr.Dataset) -> Decision:
    by_1, by_64 = (one(r["untouched"], batch=n) for n in (1, 64))
    apart = r["kept_rest"] - r["kept_explained"]
    runs = r.assign(untouched=by_1, untouched_by_64=by_64, selectivity=apart)
    r = runs.median("seed")
    apart = r["selectivity"]

    def asks(says: str, sign: str, bound: float, name: str) -> Part:
        model, variable = name.split(".")
        values = one(r[variable], model="vn_image" if model == "vn" else model)
        return bounded(says, sign, bound, **{name: values})

    codes, heads = select(r, model=["vn_image", "vn_patches"]), select(r, model=WIDTHS)
    narrow = heads["bound"] < heads["rank_limit"]
    above = (heads["rank"] - heads["bound"]).where(narrow, drop=True)
    ranks = {"vn.rank_above_active": codes["rank_excess"]}
    scores = {"scores.rank_above_d_head": heads["rank_excess"]}
    weights = {"weights.rank_above_d_head": above}
    even = abs(one(apart, model="softmax"))
    used, others = codes["effective_share"], select(apart, model=CONTROLS)
    dense = one(r["effective_share"], model="softmax")
    share, chosen = runs["effective_share"], runs["selectivity"]
    fewer = over(select(share, model=used["model"].values), one(share, model="softmax"))
    kept = over(select(chosen, model=CONTROLS), one(chosen, model="vn_image"))
    few = "effective number over entries: codes of images and of patches less than softmax rows"
    alone = "selectivity of top-k, sparsemax and the one-pass code at most a third of the VN's"
    moved = "correlation of an active atom's coefficient with the length of its update"
    minimum = "gap of softmax weights to the minimum of their energy (theory: 0)"
    gates = "correlation of a token's softmax weight with its part in the gradient of W_V"
    printed = [
        asks("share of the code that is exactly 0", ">=", 0.5, "vn.zero_share")
        & asks("of softmax weights", "<=", 0, "softmax.zero_share"),
        asks("duality gap of the code, for 95 % of digits", "<=", 1e-3, "vn.gap")
        & asks("of one pass with as many active atoms", ">", 0.1, "feed_forward.gap"),
        detail(  # algebra
            bounded("largest rank of operators above active atoms", "<=", 0, **ranks)
            & bounded("of scores above d_head", "<=", 0, **scores)
        ),
        bounded("mean rank of weights above d_head", ">", 0, **weights),
        asks("share of atoms that one digit leaves untouched", ">=", 0.5, "vn.untouched")
        & scaled(asks(moved, ">=", 0.999, "vn.gate_correlation"), limit=1)
        & asks("inactive atoms moved", "<=", 0, "vn.idle_moved")
        & asks("share of gradients in attention that are 0", "<=", 0.01, "softmax.untouched"),
        asks("selectivity of the code", ">=", 0.3, "vn.selectivity")
        & bounded("of softmax, in size", "<=", 0.01, **{"softmax.selectivity": even}),
    ]
    controls = [
        compared(few, fewer, "<", 1.0, effective_share=used, **{"softmax.effective_share": dense}),
        asks(minimum, ">", 1e-6, "softmax.gap"),
        asks(gates, "<", 0.5, "softmax.gate_correlation"),
        asks("share of atoms that a batch of 64 leaves untouched", ">=", 0.1, "vn.untouched_by_64"),
        part(alone, Contrast(np.ravel(kept), "<=", 1 / 3), selectivity=others),
    ]
    return Decision(printed, printed + controls)
