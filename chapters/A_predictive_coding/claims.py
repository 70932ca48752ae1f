"""The claim of VN App. A: predictive coding infers states, the Vector Network operators."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from benchmarks.baselines import paired
from benchmarks.baselines.longer import lasting
from vnlib.book.evidence import bounded, compared, detail, part, scaled, select
from vnlib.book.ledger import Contrast, Decision, Part, claim

PC = ("pc", "bpc")
LEARNED = (*PC, "pc_sparse", "vn_dense", "autoencoder", "linear")
NEVER_LEARNED = ("vn_random", "vn_untrained")
OTHERS = {
    PC: "PC and bPC",
    LEARNED: "PC, bPC, sparse PC, the VN without sparsity and two autoencoders",
    NEVER_LEARNED: "libraries that never learned",
}


def numbers(values: xr.DataArray, models: Sequence[str]) -> dict[str, xr.DataArray]:
    """The medians over seeds of several models, for each pair of tasks."""
    middle = select(values, model=models).median("seed").stack(row=("model", "pair"))
    return {
        f"{one}.{values.name}.{pair}": middle.sel(model=one, pair=pair)
        for one, pair in middle["row"].values
    }


def each(says: str, sign: str, bound: float, values: xr.DataArray, *models: str) -> Part:
    """That all medians of some models pass a test."""
    return bounded(says, sign, bound, **numbers(values, models))


def below(
    says: str, values: xr.DataArray, others: Sequence[str], sign: str = "<", over: bool = True
) -> Part:
    """That the VN's value is below (sign ">": above) those of all others, in each pair of tasks: medians
    of ratios within seeds, or (over: False) of differences of what may be below 0.
    """
    found = numbers(values, ("vn", *others))
    own, theirs = select(values, model=["vn"]).isel(model=0), select(values, model=others)
    apart = paired.over(own, theirs) if over else (own - theirs).median("seed")
    contrast = Contrast(np.ravel(apart), sign, float(over))
    return part(f"{says} in the VN than in {OTHERS[others]}", contrast, **found)


def fewer(name: str, moved: xr.DataArray, other: str) -> Part:
    """That one sample moves a smaller share of the VN's weights than of another model's."""
    found = numbers(moved, ["vn", other])
    apart = paired.over(moved.sel(model="vn"), moved.sel(model=other))
    says = f"weights of the VN that one sample moves, share, over that of {name} < 1"
    return compared(says, apart, "<", 1.0, **found)


@claim(
    id="VN-A",
    source="VN App. A",
    figure="appA-updates",
    parts=["longer"],
    statement="Predictive coding infers dense states under a map that is the same for all inputs; "
    "the VN infers, for each input, a sparse operator. One sample's update touches the atoms in "
    "use in the VN and is spread over the weights in predictive coding.",
    terms="Medians over seeds, of what is compared within seeds, for each pair of tasks: digits 0-4, then 5-9; images, then images "
    "with permuted pixels; left halves, then right halves. States are those of the first level.",
)
@lasting
def states_or_operators(r: xr.Dataset) -> Decision:
    share, varies, moved = r["active_share"], r["map_variability"], r["moved"]
    idle = {"vn.idle_moved": r["idle_moved"].sel(model="vn")}
    second = r["mse"].sel(stage="second", task=2).rename("error_2")
    # A VN that did not learn the second task has nothing to forget the first for.
    idler = (second > 0.5) & (second["model"] == "vn")
    changed = r[["forgetting", "interference", "rise"]].where(~idler)
    alike = "samples of both tasks ask for less similar updates (absolute cosine)"
    growth = "task 2 multiplies the error on task 1 by less"
    weighted = "columns weighted by what is inferred vary more with the input"
    power = "90 % of an update's power lies in a smaller share of the weights"
    stays = "error on task 1 after task 2, {} that after task 1 again, is lower".format
    both = "mean error on both tasks after both is lower"
    printed = [
        scaled(each("nonzero states in PC and bPC, share", ">=", 0.95, share, *PC), limit=1),
        detail(each("power of their map that varies, share", "<", 1e-6, varies, *PC)),
        each("active atoms in the VN, share", "<=", 0.25, share, "vn")
        & each("power of its operator that varies, share", ">", 0.5, varies, "vn"),
        detail(bounded("idle atoms that any sample moves in any seed", "<=", 0, **idle)),
        detail(fewer("PC", moved, "pc")),  # it moves all of them, whatever it learns
        fewer("bPC", moved, "bpc"),
    ]
    controls = [
        fewer("sparse PC", moved, "pc_sparse"),
        below(alike, r["overlap"], PC),
        detail(below(growth, (1 + changed["forgetting"]).rename("factor"), PC)),
        below(weighted, r["gated_variability"], PC, ">"),
        below(power, r["power_share"], PC),
        below(stays("over"), (1 + changed["interference"]).rename("factor"), LEARNED),
        below(stays("minus"), changed["rise"], LEARNED, over=False),
        below(both, r["final_error"], NEVER_LEARNED),
        each("error of the VN on task 2 over the zero baseline's", "<", 0.5, second, "vn"),
    ]
    return Decision(printed, printed + controls)
