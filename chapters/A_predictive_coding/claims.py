"""The claim of VN App. A: predictive coding infers states, the Vector Network operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import ge, gt, le, lt

import xarray as xr

from vnlib.book.evidence import of, part
from vnlib.book.ledger import Decision, Part, claim

PC = ("pc", "bpc")
LEARNED = (*PC, "pc_sparse", "vn_dense", "autoencoder", "linear")
NEVER_LEARNED = ("vn_random", "vn_untrained")


def numbers(r: xr.Dataset, name: str, models: Sequence[str]) -> dict[str, float]:
    """The medians over seeds of several models, for each pair of tasks."""
    middle = of(r[name], model=models).median("seed")
    return {
        f"{model}.{name}.{pair}": float(middle.sel(model=model, pair=pair))
        for model in models
        for pair in r["pair"].values
    }


def each(r: xr.Dataset, says: str, models: Sequence[str], **tests: tuple[Callable, float]) -> Part:
    """All medians of the variables named compare to a bound as asked for."""
    found = {name: numbers(r, name, models) for name in tests}
    holds = all(passes(v, to) for name, (passes, to) in tests.items() for v in found[name].values())
    return part(says, holds, **{key: value for one in found.values() for key, value in one.items()})


def ordered(r: xr.Dataset, says: str, name: str, others: Sequence[str], sign: int = -1) -> Part:
    """The VN's median is below (sign -1) or above (+1) that of every other model, in each pair."""
    middle = of(r[name], model=["vn", *others]).median("seed")
    apart = sign * (middle.sel(model="vn") - middle.sel(model=list(others)))
    return part(says, bool((apart > 0).all()), **numbers(r, name, ("vn", *others)))


@claim(
    id="VN-A",
    source="VN App. A",
    figure="appA-forgetting",
    statement="Predictive coding infers dense states under a map that is the same for all inputs; "
    "the VN infers, for each input, a sparse operator. One sample's update touches the atoms in "
    "use in the VN and all weights in predictive coding, so that tasks interfere less in the VN.",
)
def states_or_operators(r: xr.Dataset) -> Decision:
    idle = float(r["idle_moved"].sel(model="vn").max())
    few = each(r, "one sample moves only atoms in use in the VN", ["vn"], moved=(le, 0.25))
    sparse = "the VN infers a sparse operator for each input"
    dense = "PC and bPC infer dense states under one map"
    second = r[["mse"]].sel(stage="second", task=2).rename(mse="error_2")
    alike = "described alike, the VN's map varies more"
    staying = "against staying, the VN loses less than all controls"
    printed = [
        each(r, dense, PC, active_share=(ge, 0.95), map_variability=(lt, 1e-6)),
        each(r, sparse, ["vn"], active_share=(le, 0.25), map_variability=(gt, 0.5)),
        part(few.says, few.holds and idle == 0, **few.numbers, **{"vn.idle_moved": idle}),
        each(r, "it moves nearly all weights of PC", ["pc"], moved=(ge, 0.9)),
        each(r, "and of bPC", ["bpc"], moved=(ge, 0.9)),
        ordered(r, "updates of two tasks are less alike in the VN", "overlap", PC),
        ordered(r, "the VN forgets less than PC and bPC", "forgetting", PC),
    ]
    controls = [
        ordered(r, alike, "gated_variability", PC, sign=1),
        ordered(r, "the power of a VN update lies in fewer weights", "power_share", PC),
        ordered(r, staying, "interference", LEARNED),
        ordered(r, "also in absolute terms", "rise", LEARNED),
        ordered(r, "learning helps the VN over both tasks", "final_error", NEVER_LEARNED),
        each(second, "it learns the second task", ["vn"], error_2=(lt, 0.5)),
    ]
    return Decision(printed, printed + controls)
