"""The rule of VN-A on results made up so that each part is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT_TESTABLE, PARTLY, REPRODUCED

PAIRS = ("digits", "permuted", "halves")
NAMES = (
    "active_share",
    "map_variability",
    "moved",
    "overlap",
    "forgetting",
    "gated_variability",
    "power_share",
    "interference",
    "rise",
    "final_error",
)
# Model -> these, so that everything holds.
HOLDS = {
    "pc": (1.0, 0.0, 1.0, 0.05, 0.5, 0.6, 0.2, 0.8, 0.02, 0.03),
    "bpc": (1.0, 0.0, 0.95, 0.06, 0.6, 0.5, 0.15, 0.9, 0.03, 0.04),
    "vn": (0.2, 0.9, 0.2, 0.01, 0.1, 0.8, 0.03, 0.1, 0.01, 0.10),
    "pc_sparse": (0.2, 0.0, 0.3, 0.05, 0.3, 0.6, 0.04, 0.4, 0.05, 0.3),
    "vn_dense": (1.0, 0.9, 0.9, 0.05, 0.3, 0.6, 0.1, 0.4, 0.05, 0.1),
    "autoencoder": (1.0, 0.0, 0.6, 0.1, 0.3, 0.3, 0.1, 0.4, 0.05, 0.1),
    "linear": (1.0, 0.0, 0.6, 0.1, 0.3, 0.3, 0.1, 0.4, 0.05, 0.1),
    "vn_untrained": (0.2, 0.9, np.nan, 0.01, 0.0, 0.8, 0.03, 0.0, 0.0, 0.2),
    "vn_random": (0.5, 0.6, np.nan, 0.2, 0.0, 0.6, 0.07, 0.0, 0.0, 0.7),
}
PLAIN = (
    "PC and bPC infer dense states under one map",
    "the VN infers a sparse operator for each input",
    "one sample moves only atoms in use in the VN",
    "it moves nearly all weights of PC",
    "and of bPC",
    "updates of two tasks are less alike in the VN",
    "the VN forgets less than PC and bPC",
)
FAIR = (
    "described alike, the VN's map varies more",
    "the power of a VN update lies in fewer weights",
    "against staying, the VN loses less than all controls",
    "also in absolute terms",
    "learning helps the VN over both tasks",
    "it learns the second task",
)


def results(**changes: float) -> xr.Dataset:
    """Three seeds, three pairs.

    `vn_overlap=0.2` changes the overlap of the VN in the last pair alone.
    """
    shape, wobble = (len(HOLDS), 3, 3), 1 + 0.001 * np.arange(3)
    values = np.array(list(HOLDS.values())).T[..., None, None] * wobble * np.ones(shape)
    ds = xr.Dataset(
        {
            name: (("model", "pair", "seed"), value)
            for name, value in zip(NAMES, values, strict=True)
        },
        {"model": list(HOLDS), "pair": list(PAIRS), "seed": [0, 1, 2]},
    )
    ds["idle_moved"] = ds["moved"] * 0
    ds["mse"] = xr.DataArray(
        np.full((*shape, 4, 2), 0.1),
        dims=("model", "pair", "seed", "stage", "task"),
        coords={"stage": ["before", "first", "second", "stayed"], "task": [1, 2]},
    )
    for key, value in changes.items():
        model, name = key.split("__")
        ds[name].loc[{"model": model, "pair": "halves"}] = value
    return ds


def failing(ds: xr.Dataset) -> tuple[set[str], set[str]]:
    """What fails under the paper's protocol, and what the fair one adds to it."""
    row = claims.judge(claims.all_claims()["VN-A"], ds)
    plain, fair = (
        {p["says"] for p in row[key] if not p["holds"]} for key in ("parts", "parts_controls")
    )
    return plain, fair - plain


def test_all_parts_hold_on_results_where_everything_holds():
    row = claims.judge(claims.all_claims()["VN-A"], results())
    assert (row["verdict"], row["verdict_controls"]) == (REPRODUCED, REPRODUCED), row
    assert tuple(p["says"] for p in row["parts"]) == PLAIN
    assert tuple(p["says"] for p in row["parts_controls"]) == PLAIN + FAIR


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"pc__active_share": 0.9}, PLAIN[0]),
        ({"bpc__map_variability": 0.01}, PLAIN[0]),
        ({"vn__active_share": 0.26}, PLAIN[1]),
        ({"vn__map_variability": 0.4}, PLAIN[1]),
        ({"vn__moved": 0.26}, PLAIN[2]),
        ({"vn__idle_moved": 1}, PLAIN[2]),
        ({"pc__moved": 0.8}, PLAIN[3]),
        ({"bpc__moved": 0.8}, PLAIN[4]),
        ({"bpc__overlap": 0.005}, PLAIN[5]),
        ({"pc__forgetting": 0.05}, PLAIN[6]),
        ({"pc__gated_variability": 0.85}, FAIR[0]),
        ({"bpc__power_share": 0.02}, FAIR[1]),
        ({"linear__interference": 0.05}, FAIR[2]),
        ({"pc_sparse__interference": 0.05}, FAIR[2]),
        ({"pc__rise": 0.005}, FAIR[3]),
        ({"vn__final_error": 0.25}, FAIR[4]),
        ({"vn__mse": 0.6}, FAIR[5]),
    ],
)
def test_each_part_can_fail_alone_and_in_one_pair(change, part):
    plain, fair = failing(results(**change))
    assert plain | fair == {part}
    assert (part in plain) == (part in PLAIN)
    row = claims.judge(claims.all_claims()["VN-A"], results(**change))
    assert row["verdict_controls"] == PARTLY


def test_one_moving_idle_atom_in_one_seed_is_enough():
    ds = results()
    ds["idle_moved"].loc[{"model": "vn", "pair": "digits", "seed": 2}] = 1
    assert failing(ds)[0] == {PLAIN[2]}


def test_a_missing_model_makes_the_claim_not_testable():
    ds = results()
    row = claims.judge(claims.all_claims()["VN-A"], ds.sel(model=[m for m in HOLDS if m != "bpc"]))
    assert row["verdict"] == NOT_TESTABLE and "bpc" in row["missing"]
