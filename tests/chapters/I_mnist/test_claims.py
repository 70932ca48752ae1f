"""The rule of VN-I: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from functools import partial

import judging
import numpy as np
import pytest
import xarray as xr

from chapters.I_mnist.claims import EQUAL, LEVELS, PRINTED
from vnlib.book.ledger import NOT, NOT_TESTABLE, REPRODUCED

MODELS = [*LEVELS, EQUAL, "vn_1"]
AXES = {
    **{"model": MODELS, "seed": range(3), "set": ["id", "add2"], "layer": [1, 2, 3]},
    **{"solver": ["ista", "restart", "line_search"], "sweep": [1, 20, 150]},
    **{"threshold": [0.9, 0.99], "quantile": [0.1, 0.5, 0.9], "state": ["active", "signed"]},
}
LAYERS = {
    "atoms": (512, 384, 256),
    "used": (1, 1, 0.96),
    "effective": (500, 300, 140),
    "active_share": (0.3, 0.2, 0.1),
    "told": (0.1, 0.2, 0.3),
    "told_shuffled": (0.02, 0.02, 0.02),
    "told_shuffled_most": (0.03, 0.03, 0.03),
}


def made() -> xr.Dataset:
    """All as the paper would have it, and our controls too."""
    r = xr.Dataset()

    def full(*dims: str, value: object) -> xr.DataArray:
        axes = {d: AXES[d] for d in ("model", "seed", *dims)}
        return xr.DataArray(0.0, axes, list(axes)) + value

    for name, values in LAYERS.items():
        per_layer = xr.DataArray(list(values), {"layer": AXES["layer"]})
        r[name] = full("state" if name.startswith("told") else "set", "layer", value=per_layer)
    speed = xr.DataArray([151, 40, 15], {"solver": AXES["solver"]})
    flips = xr.DataArray([9, 5, 0.5], {"solver": AXES["solver"]})
    settle = ("set", "solver", "layer")
    r["locked_mean"] = full(*settle, "threshold", value=speed)
    r["locked"] = full(*settle, "threshold", "quantile", value=speed + 5)
    r["nonzero"] = full(*settle, "sweep", value=100)
    r["flips"] = full(*settle, "sweep", value=flips)
    for name in r:
        r[name].loc[{"model": "vn_1", "layer": [2, 3]}] = np.nan
    return r


judged = partial(judging.judged, "VN-I")
failing = partial(judging.failing, "VN-I")


def test_all_as_printed():
    row = judged(made())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"], row
    assert row["numbers"]["capped.active_share_3"] == 0.1
    assert row["numbers"]["vn_3.locked_sweeps_most"] == 15


FIRST = {"seed": 0}


@pytest.mark.parametrize(
    ("name", "where", "value", "parts", "controls"),
    [
        ("used", {"model": PRINTED, "layer": 3}, 0.94, [0], [0]),
        ("used", {"model": PRINTED, "layer": 3, **FIRST}, 0.94, [], [0]),
        ("used", {"model": "vn_3_half", "layer": 1, **FIRST}, 0.94, [], [0]),
        ("used", {"set": "add2"}, 0.5, [], []),
        ("effective", {"model": PRINTED, "layer": 2}, 190, [0], [0]),
        ("effective", {"model": "vn_3_double", "layer": 3}, 127, [], [0]),
        ("flips", {"model": PRINTED, "sweep": 150, "layer": 2}, 1.1, [1], []),
        ("flips", {"model": PRINTED, "sweep": 20}, 50, [], []),
        ("flips", {"model": PRINTED, "sweep": 150, "solver": "ista"}, 50, [], []),
        ("flips", {"model": "vn_3", "sweep": 150}, 50, [], []),
        ("locked", {"model": PRINTED, "layer": 1, "quantile": 0.9}, 151, [2], []),
        ("locked", {"model": PRINTED, "layer": 1, "quantile": 0.5}, 151, [], []),
        ("locked", {"model": PRINTED, "layer": 1, "quantile": 0.9, **FIRST}, 151, [], []),
        ("locked_mean", {"model": "vn_3", "layer": 3, **FIRST}, 21, [], [1]),
        ("locked_mean", {"model": "vn_3", "layer": 3, **FIRST}, 20, [], []),
        ("locked_mean", {"model": PRINTED, "solver": ["restart", "line_search"]}, 30, [], [1]),
        ("locked_mean", {"set": "add2"}, 151, [], []),
        ("active_share", {"model": PRINTED, "layer": 2}, 0.3, [3], []),
        ("active_share", {"model": "vn_3_double", "layer": 3, **FIRST}, 0.2, [], [2]),
        ("active_share", {"model": EQUAL, "layer": 3, **FIRST}, 0.25, [], [3]),
        ("told", {"model": PRINTED, "layer": 3}, 0.15, [4], [5]),
        ("told", {"model": "vn_3_half", "layer": 2, **FIRST}, 0.05, [], [5]),
        ("told", {"model": "vn_3_half", "layer": 2, "state": "signed", **FIRST}, 0.025, [], [4]),
        ("told_shuffled", {"model": PRINTED, "layer": 3}, 0.15, [4], [5]),
        ("told_shuffled_most", {"model": "vn_3", "layer": 2, "state": "active"}, 0.2, [], [4]),
    ],
)
def test_each_part_can_fail(name, where, value, parts, controls):
    r = made()
    r[name].loc[where] = value
    assert failing(r) == (parts, controls)


def test_a_solver_must_lock_all_layers():
    """Different solvers for different layers do not count."""
    r = made()
    r["locked_mean"].loc[{"solver": "line_search", "layer": 1}] = 151
    r["locked_mean"].loc[{"solver": "restart"}] = 10
    r["locked_mean"].loc[{"solver": "restart", "layer": 2}] = 151
    assert failing(r) == ([], [1])


def test_all_can_fail():
    r = made()
    r["used"][:] = 0
    r["flips"][:] = 100
    r["locked"][:] = r["locked_mean"][:] = 151
    for name in ("active_share", "told", "told_shuffled", "told_shuffled_most"):
        r[name][:] = 0.1
    row = judged(r)
    assert row["verdict"] == NOT == row["verdict_controls"]


@pytest.mark.parametrize("without", [*LEVELS, EQUAL])
def test_a_network_that_lacks_is_named(without):
    row = judged(made().drop_sel(model=without))
    assert row["verdict"] == NOT_TESTABLE and without in row["missing"]


def test_the_reference_is_not_judged():
    assert judged(made().drop_sel(model="vn_1"))["verdict"] == REPRODUCED
