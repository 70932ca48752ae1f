"""The claim of VN App. B: attention routes states, a Vector Network composes operators."""

from __future__ import annotations

import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

MAIN = "softmax"
WIDTHS = ("softmax", "softmax_2", "softmax_4", "softmax_16")
# Controls that share a property with the VN but not all: sparse attention, sparse codes without
# inference.
CONTROLS = ("topk", "sparsemax", "feed_forward")


@claim(
    id="VN-B",
    source="VN App. B",
    chapter="B_attention",
    figure="appB-adaptive",
    statement="Attention mixes states by dense weights that one feed-forward pass generates, "
    "under projections that no input selects; a Vector Network infers sparse, competing "
    "coefficients of reusable rank-1 operators, and the same coefficients gate what learns. Low "
    "rank plays another role in each.",
    rule="On test digits, worst seed. (a) At least half of the image code is exactly zero, and "
    "no softmax weight is. (b) The code minimises an energy: duality gap at most 0.1 % of it for "
    "95 % of the digits, where one pass with as many active atoms leaves more than 10 %. (c) The "
    "operator's rank never exceeds the active atoms; that of the scores never exceeds d_head, "
    "while that of the weights does in the mean, at every d_head below the number of tokens. (d) "
    "One digit leaves at least half of the atoms untouched, moves no inactive one, and the "
    "others in proportion to their coefficients (correlation at least 0.999), while at most 1 % "
    "of the attention weights' gradients are exactly zero. (e) A newcomer that explains half of "
    "the code takes over from that half: the share of weight kept by the rest is at least 0.3 "
    "above that of the explained half, while for softmax the two differ by at most 0.01. Fair, "
    "besides: (f) by effective number, too, the codes of images and of patches are sparser than "
    "the softmax rows; (g) softmax weights minimise no energy of their own, gap above 1e-6 "
    "(theory says they do); (h) they do not gate learning either: between the weight a token "
    "gets and its part in the gradient of W_V the correlation is below 0.5; (i) a batch of 64 "
    "digits leaves at least a tenth of the atoms untouched; (j) sparsity alone does not give "
    "(e): top-k and sparsemax attention and the code of one pass show at most a third of the "
    "VN's difference.",
)
def _attention(r: xr.Dataset) -> Decision:
    def worst(name: str, model: str, side: str, **at: float) -> float:
        return float(getattr(r[name].sel(model=model, **at), side)())

    zeros, softmax_zeros = worst("zero_share", "vn_image", "min"), worst("zero_share", MAIN, "max")
    gap, gap_one_pass = worst("gap", "vn_image", "max"), worst("gap", "feed_forward", "min")
    excess = max(worst("rank_excess", model, "max") for model in ("vn_image", "vn_patches"))
    score_excess = max(worst("rank_excess", model, "max") for model in WIDTHS)
    above = {m: r["rank"].sel(model=m) - r["bound"].sel(model=m) for m in WIDTHS}
    narrow = [m for m in WIDTHS if float((r["bound"] - r["rank_limit"]).sel(model=m).max()) < 0]
    lowest = min(float(above[m].min()) for m in narrow)
    untouched, touched = (
        worst("untouched", "vn_image", "min", batch=1),
        worst("untouched", MAIN, "max", batch=1),
    )
    gate = worst("gate_correlation", "vn_image", "min")
    idle = worst("idle_moved", "vn_image", "max")
    selective = r["kept_rest"] - r["kept_explained"]
    takes_over = float(selective.sel(model="vn_image").min())
    shared = float(abs(selective.sel(model=MAIN)).max())
    parts = [
        Part(
            "the code is sparse, softmax weights are not",
            zeros >= 0.5 and softmax_zeros == 0,
            {"vn.zero_share": zeros, "softmax.zero_share": softmax_zeros},
        ),
        Part(
            "the code minimises its energy, one pass does not",
            gap <= 1e-3 and gap_one_pass > 0.1,
            {"vn.gap": gap, "feed_forward.gap": gap_one_pass},
        ),
        Part(
            "low rank: the operator's in a VN, the scores' but not the weights' in attention",
            excess <= 0 and score_excess <= 0 and lowest > 0,
            {
                "vn.rank_above_active": excess,
                "scores.rank_above_d_head": score_excess,
                "weights.rank_above_d_head": lowest,
            },
        ),
        Part(
            "coefficients gate learning, attention leaves no weight out",
            untouched >= 0.5 and gate >= 0.999 and idle == 0 and touched <= 0.01,
            {
                "vn.untouched": untouched,
                "vn.gate_correlation": gate,
                "vn.idle_moved": idle,
                "softmax.untouched": touched,
            },
        ),
        Part(
            "atoms compete, softmax weights share alike",
            takes_over >= 0.3 and shared <= 0.01,
            {"vn.selectivity": takes_over, "softmax.selectivity": shared},
        ),
    ]
    share = {m: worst("effective_share", m, "max") for m in ("vn_image", "vn_patches")}
    spread = worst("effective_share", MAIN, "min")
    gibbs, token_gate = worst("gap", MAIN, "min"), worst("gate_correlation", MAIN, "max")
    batch = worst("untouched", "vn_image", "min", batch=64)
    controls = {m: float(selective.sel(model=m).max()) for m in CONTROLS}
    fair = [
        *parts,
        Part(
            "sparser by effective number, too",
            max(share.values()) < spread,
            {
                **{f"{m}.effective_share": v for m, v in share.items()},
                "softmax.effective_share": spread,
            },
        ),
        Part("softmax weights minimise no energy", gibbs > 1e-6, {"softmax.gap": gibbs}),
        Part(
            "attention weights do not gate learning",
            token_gate < 0.5,
            {"softmax.gate_correlation": token_gate},
        ),
        Part("atoms are left out by a batch of 64", batch >= 0.1, {"vn.untouched_by_64": batch}),
        Part(
            "sparsity alone does not compete",
            max(controls.values()) <= takes_over / 3,
            {f"{m}.selectivity": v for m, v in controls.items()},
        ),
    ]
    return Decision(parts, fair)
