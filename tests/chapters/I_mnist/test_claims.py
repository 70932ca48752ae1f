"""The rule of VN-I: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from functools import cache

import numpy as np
import xarray as xr
from judging import changed, failing, filled, rules, unmet

from chapters.I_mnist.claims import EQUAL, LEVELS, PRINTED

AXES = {
    **{"model": [*LEVELS, EQUAL, "vn_1"], "set": ["id", "add2"], "layer": [1, 2, 3]},
    **{"solver": ["ista", "restart", "line_search"], "sweep": [1, 20, 150]},
    **{"threshold": [0.9, 0.99], "quantile": [0.1, 0.5, 0.9], "state": ["active", "signed"]},
}


@cache
def made() -> xr.Dataset:
    """All as the paper would have it, and our controls too."""
    r = filled(
        AXES,
        atoms=((512, 384, 256), "set layer"),
        used=((1, 1, 0.96), "set layer"),
        effective=((500, 300, 140), "set layer"),
        active_share=((0.3, 0.2, 0.1), "set layer"),
        told=((0.1, 0.2, 0.3), "state layer"),
        told_shuffled=(0.02, "state layer"),
        told_shuffled_most=(0.03, "state layer"),
        locked_mean=((151, 40, 15), "set layer threshold solver"),
        locked=((156, 45, 20), "set layer threshold quantile solver"),
        nonzero=(100, "set layer sweep solver"),
        flips=((9, 5, 0.5), "set layer sweep solver"),
    )
    curve = np.broadcast_to([9.0, 7.0, 6.0, 5.1, 5.05], (*r["used"].shape[:1], r.sizes["seed"], 5))
    r = r.assign(curve=(("model", "seed", "evaluation"), curve.copy()))
    for name in r.drop_vars("curve"):
        r[name].loc[{"model": "vn_1", "layer": [2, 3]}] = np.nan
    return r


CAPPED, FIRST = {"model": PRINTED}, {"seed": 0}
NINE = {"quantile": 0.9, "layer": 1}
CASES = [
    ("used", CAPPED | {"layer": 3}, 0.94, [0], [0]),
    ("used", CAPPED | FIRST | {"layer": 3}, 0.94, [], []),
    ("used", {"model": "vn_3_half", "layer": 1}, 0.94, [], [0]),
    ("used", {"set": "add2"}, 0.5, [], []),
    ("effective", CAPPED | {"layer": 2}, 190, [0], [0]),
    ("effective", {"model": "vn_3_double", "layer": 3}, 127, [], [0]),
    ("flips", CAPPED | {"sweep": 150, "layer": 2}, 1.1, [1], []),
    ("flips", CAPPED | {"sweep": 20}, 50, [], []),
    ("flips", CAPPED | {"sweep": 150, "solver": "ista"}, 50, [], []),
    ("flips", {"model": "vn_3", "sweep": 150}, 50, [], []),
    ("locked", CAPPED | NINE, 151, [2], []),
    ("locked", CAPPED | NINE | {"quantile": 0.5}, 151, [], []),
    ("locked", CAPPED | NINE | FIRST, 151, [], []),
    ("locked_mean", {"model": "vn_3", "layer": 3}, 21, [], [1]),
    ("locked_mean", {"model": "vn_3", "layer": 3}, 20, [], []),
    ("locked_mean", CAPPED | {"solver": ["restart", "line_search"]}, 30, [], [1]),
    ("locked_mean", {"set": "add2"}, 151, [], []),
    ("active_share", CAPPED | {"layer": 2}, 0.3, [3], []),
    ("active_share", {"model": "vn_3_double", "layer": 3}, 0.2, [], [2]),
    ("active_share", {"model": EQUAL, "layer": 3}, 0.25, [], [3]),
    ("told", CAPPED | {"layer": 3}, 0.15, [4], [5]),
    ("told", {"model": "vn_3_half", "layer": 2}, 0.05, [], [5]),
    ("told", {"model": "vn_3_half", "layer": 2, "state": "signed"}, 0.025, [], [4]),
    ("told_shuffled", CAPPED | {"layer": 3}, 0.15, [4], [5]),
    ("told_shuffled_most", {"model": "vn_3", "layer": 2, "state": "active"}, 0.2, [], [4]),
]
LACKING = [("VN-I", {"model": name}, f"the model(s) {name}") for name in (*LEVELS, EQUAL)]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"VN-I": made}, [("VN-I", *case) for case in CASES], LACKING
)


def test_a_solver_must_lock_all_layers():
    """Different solvers for different layers do not count."""
    r = changed(made(), "locked_mean", {"solver": "line_search", "layer": 1}, 151)
    r["locked_mean"].loc[{"solver": "restart"}] = 10
    r["locked_mean"].loc[{"solver": "restart", "layer": 2}] = 151
    assert failing("VN-I", r) == ([], [1])


def test_the_reference_is_not_judged():
    assert failing("VN-I", made().drop_sel(model="vn_1")) == ([], [])


def test_what_twice_the_updates_change_tells_nothing():
    names = ("active_share", "locked_mean", "told", "told_shuffled", "told_shuffled_most")
    longer = {f"longer_{name}": made()[name] for name in names}
    assert unmet("VN-I", made().assign(longer)) == ([], [])
    late = changed(made(), "locked_mean", {"model": "vn_3", "layer": 3}, 21)
    longer["longer_locked_mean"] = late["locked_mean"]
    assert unmet("VN-I", made().assign(longer)) == ([], [1])
