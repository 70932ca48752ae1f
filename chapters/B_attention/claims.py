"""The claim of VN App. B: attention routes states, a Vector Network composes operators."""

from __future__ import annotations

import operator

import xarray as xr

from vnlib.book.ledger import Decision, Part, claim

WIDTHS = ("softmax", "softmax_2", "softmax_4", "softmax_16")
# They share a property with the VN, not all: sparse attention, sparse codes without inference.
CONTROLS = ("topk", "sparsemax", "feed_forward")
COMPARE = {"<": operator.lt, "<=": operator.le, "==": operator.eq}
COMPARE |= {">=": operator.ge, ">": operator.gt}


def part(says: str, *tests: tuple[str, float, str, float]) -> Part:
    """A statement that holds where every number compares as it must: name, number, <=, bound."""
    holds = all(COMPARE[sign](number, bound) for _, number, sign, bound in tests)
    return Part(says, holds, {name: number for name, number, _, _ in tests})


@claim(
    id="VN-B",
    source="VN App. B",
    figure="appB-adaptive",
    statement="Attention mixes states by dense weights that one feed-forward pass generates, under "
    "projections that no input selects; a Vector Network infers sparse, competing coefficients of "
    "reusable rank-1 operators, and the same coefficients gate what learns. Low rank plays "
    "another role in each.",
)
def states_or_operators(r: xr.Dataset) -> Decision:
    def least(name: str, model: str, **at: float) -> float:
        return float(r[name].sel(model=model, **at).min())

    def most(name: str, *models: str, **at: float) -> float:
        return max(float(r[name].sel(model=model, **at).max()) for model in models)

    narrow = [m for m in WIDTHS if float((r["bound"] - r["rank_limit"]).sel(model=m).max()) < 0]
    above = float((r["rank"] - r["bound"]).sel(model=narrow).min())
    selectivity, spread = r["kept_rest"] - r["kept_explained"], least("effective_share", "softmax")
    vn = float(selectivity.sel(model="vn_image").min())
    shared = float(abs(selectivity.sel(model="softmax")).max())
    # What is said, and for it: a name, its number, how that must compare to what.
    rules = {
        "the code is sparse, softmax weights are not": [
            ("vn.zero_share", least("zero_share", "vn_image"), ">=", 0.5),
            ("softmax.zero_share", most("zero_share", "softmax"), "==", 0),
        ],
        "the code minimises its energy, one pass does not": [
            ("vn.gap", most("gap", "vn_image"), "<=", 1e-3),
            ("feed_forward.gap", least("gap", "feed_forward"), ">", 0.1),
        ],
        "low rank: the operator's in a VN, the scores' but not the weights' in attention": [
            ("vn.rank_above_active", most("rank_excess", "vn_image", "vn_patches"), "<=", 0),
            ("scores.rank_above_d_head", most("rank_excess", *WIDTHS), "<=", 0),
            ("weights.rank_above_d_head", above, ">", 0),
        ],
        "coefficients gate learning, attention leaves no weight out": [
            ("vn.untouched", least("untouched", "vn_image", batch=1), ">=", 0.5),
            ("vn.gate_correlation", least("gate_correlation", "vn_image"), ">=", 0.999),
            ("vn.idle_moved", most("idle_moved", "vn_image"), "==", 0),
            ("softmax.untouched", most("untouched", "softmax", batch=1), "<=", 0.01),
        ],
        "atoms compete, softmax weights share alike": [
            ("vn.selectivity", vn, ">=", 0.3),
            ("softmax.selectivity", shared, "<=", 0.01),
        ],
        "sparser by effective number, too": [
            ("vn_image.effective_share", most("effective_share", "vn_image"), "<", spread),
            ("vn_patches.effective_share", most("effective_share", "vn_patches"), "<", spread),
            ("softmax.effective_share", spread, "==", spread),
        ],
        "softmax weights minimise no energy": [("softmax.gap", least("gap", "softmax"), ">", 1e-6)],
        "attention weights do not gate learning": [
            ("softmax.gate_correlation", most("gate_correlation", "softmax"), "<", 0.5)
        ],
        "atoms are left out by a batch of 64": [
            ("vn.untouched_by_64", least("untouched", "vn_image", batch=64), ">=", 0.1)
        ],
        "sparsity alone does not compete": [
            (f"{m}.selectivity", float(selectivity.sel(model=m).max()), "<=", vn / 3)
            for m in CONTROLS
        ],
    }
    parts = [part(says, *tests) for says, tests in rules.items()]
    return Decision(parts[:5], parts)
