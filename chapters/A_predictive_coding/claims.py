"""The claim of VN App. A: predictive coding infers states, the Vector Network operators."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import of
from vnlib.book.ledger import Decision, Part, claim

PC = ("pc", "bpc")
LEARNED_CONTROLS = ("pc_sparse", "vn_dense", "autoencoder", "linear")
NEVER_LEARNED = ("vn_random", "vn_untrained")


def _median(r: xr.Dataset, name: str, model: str) -> xr.DataArray:
    """Median over seeds, per pair of tasks. KeyError names the model that lacks."""
    return of(r[name], model=[model]).squeeze("model").median("seed")


def _figures(r: xr.Dataset, name: str, models: Sequence[str]) -> dict[str, float]:
    """The medians of several models, by pair."""
    return {
        f"{model}.{name}.{pair}": float(_median(r, name, model).sel(pair=pair))
        for model in models
        for pair in r["pair"].values
    }


def _ordered(r: xr.Dataset, says: str, name: str, others: Sequence[str], *, sign: int = -1) -> Part:
    """The VN's median is below (sign -1) or above (+1) that of every other model, in each pair of
    tasks.
    """
    differences = [sign * (_median(r, name, "vn") - _median(r, name, other)) for other in others]
    return Part(
        says, all(bool((d > 0).all()) for d in differences), _figures(r, name, ("vn", *others))
    )


@claim(
    id="VN-A",
    source="VN App. A",
    chapter="A_predictive_coding",
    figure="appA-forgetting",
    statement="Predictive coding infers dense states under a map that is the same for all "
    "inputs; the VN infers, for each input, a sparse operator. One sample's update touches the "
    "atoms in use in the VN and all weights in predictive coding, so that tasks interfere less "
    "in the VN.",
    rule="Medians over seeds, for each pair of tasks (digits 0-4 then 5-9; images, then images "
    "with permuted pixels; left halves, then right halves): (a) PC and bPC: at least 95 % of the "
    "inferred first-level states are nonzero, and their map does not vary with the input; (b) "
    "VN: at most a quarter of the atoms are active, and more than half of the operator's power "
    "lies in what differs from input to input; (c) one step on one sample moves at most a "
    "quarter of the VN's weights, and none of an idle atom; (d) it moves at least 90 % of PC's; "
    "(e) and of bPC's; (f) the updates that samples of the two tasks ask for are less alike "
    "(absolute cosine) in the VN than in PC and bPC; (g) learning the second task multiplies the "
    "first one's error by a smaller factor in the VN than in PC and bPC. Fair adds: (h) columns "
    "weighted by what was inferred, the same description for all, vary more from input to input "
    "in the VN than in PC and bPC; (i) 90 % of an update's power lies in a smaller share of the "
    "VN's weights; (j) the first task's error after the second, relative to that of the same "
    "model kept on the first task instead, is lower in the VN than in PC, bPC, sparse PC, the VN "
    "without sparsity and two autoencoders; (k) so is the difference of these errors, in units "
    "of a blank image's; (l) after both tasks the VN's mean error on them is below that of "
    "libraries that never learned, (m) and its error on the second below half of a blank "
    "image's.",
)
def _predictive_coding(r: xr.Dataset) -> Decision:
    def least(name: str, model: str) -> float:
        return float(_median(r, name, model).min())

    def most(name: str, model: str) -> float:
        return float(_median(r, name, model).max())

    idle = float(r["idle_moved"].sel(model="vn").max())
    dense = all(least("active_share", m) >= 0.95 and most("map_variability", m) < 1e-6 for m in PC)
    sparse = most("active_share", "vn") <= 0.25 and least("map_variability", "vn") > 0.5
    parts = [
        Part(
            "PC and bPC infer dense states under one map",
            dense,
            _figures(r, "active_share", PC) | _figures(r, "map_variability", PC),
        ),
        Part(
            "the VN infers a sparse operator for each input",
            sparse,
            _figures(r, "active_share", ["vn"]) | _figures(r, "map_variability", ["vn"]),
        ),
        Part(
            "one sample moves only atoms in use in the VN",
            most("moved", "vn") <= 0.25 and idle == 0,
            _figures(r, "moved", ["vn"]) | {"vn.idle_moved": idle},
        ),
        Part(
            "it moves nearly all weights of PC",
            least("moved", "pc") >= 0.9,
            _figures(r, "moved", ["pc"]),
        ),
        Part("and of bPC", least("moved", "bpc") >= 0.9, _figures(r, "moved", ["bpc"])),
        _ordered(r, "updates of two tasks are less alike in the VN", "overlap", PC),
        _ordered(r, "the VN forgets less than PC and bPC", "forgetting", PC),
    ]
    second = _median(r, "mse", "vn").sel(stage="second", task=2)
    never = all(
        bool((_median(r, "final_error", "vn") < _median(r, "final_error", m)).all())
        for m in NEVER_LEARNED
    )
    fair = [
        *parts,
        _ordered(r, "described alike, the VN's map varies more", "gated_variability", PC, sign=1),
        _ordered(r, "the power of a VN update lies in fewer weights", "power_share", PC),
        _ordered(
            r,
            "against staying, the VN loses less than all controls",
            "interference",
            (*PC, *LEARNED_CONTROLS),
        ),
        _ordered(r, "also in absolute terms", "rise", (*PC, *LEARNED_CONTROLS)),
        Part(
            "learning helps the VN over both tasks",
            never,
            _figures(r, "final_error", ("vn", *NEVER_LEARNED)),
        ),
        Part(
            "it learns the second task",
            bool((second < 0.5).all()),
            {f"vn.error_2.{pair}": float(second.sel(pair=pair)) for pair in r["pair"].values},
        ),
    ]
    return Decision(parts, fair)
