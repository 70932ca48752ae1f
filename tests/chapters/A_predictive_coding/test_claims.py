"""The rule of VN-A on results made up so that each part is known to hold or to fail."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

PAIRS = ("digits", "permuted", "halves")
NAN = np.nan
MODELS = ["pc", "bpc", "vn", "pc_sparse", "vn_dense", "autoencoder", "linear"]
MODELS += ["vn_untrained", "vn_random"]
# Variable -> values of the models, so that everything holds.
HOLDS = {
    "active_share": (1.0, 1.0, 0.2, 0.2, 1.0, 1.0, 1.0, 0.2, 0.5),
    "map_variability": (0.0, 0.0, 0.9, 0.0, 0.9, 0.0, 0.0, 0.9, 0.6),
    "moved": (1.0, 0.95, 0.2, 0.3, 0.9, 0.6, 0.6, NAN, NAN),
    "overlap": (0.05, 0.06, 0.01, 0.05, 0.05, 0.1, 0.1, 0.01, 0.2),
    "forgetting": (0.5, 0.6, 0.1, 0.3, 0.3, 0.3, 0.3, 0.0, 0.0),
    "gated_variability": (0.6, 0.5, 0.8, 0.6, 0.6, 0.3, 0.3, 0.8, 0.6),
    "power_share": (0.2, 0.15, 0.03, 0.04, 0.1, 0.1, 0.1, 0.03, 0.07),
    "interference": (0.8, 0.9, 0.1, 0.4, 0.4, 0.4, 0.4, 0.0, 0.0),
    "rise": (0.02, 0.03, 0.01, 0.05, 0.05, 0.05, 0.05, 0.0, 0.0),
    "final_error": (0.03, 0.04, 0.10, 0.3, 0.1, 0.1, 0.1, 0.2, 0.7),
    "idle_moved": (0,) * 9,
    "mse": (0.1,) * 9,
}


def results(where: dict | None = None, **changes: float) -> xr.Dataset:
    """Three seeds, three pairs. `vn__overlap=0.2` changes that of the VN in the last pair alone."""
    wobble = 1 + 0.001 * np.arange(3) * np.ones((len(MODELS), len(PAIRS), 3))
    values = {
        name: (("model", "pair", "seed"), np.array(of_models)[:, None, None] * wobble)
        for name, of_models in HOLDS.items()
    }
    ds = xr.Dataset(values, {"model": MODELS, "pair": list(PAIRS), "seed": [0, 1, 2]})
    ds["mse"] = ds["mse"].expand_dims(stage=["first", "second"], task=[1, 2]).copy()
    for key, value in changes.items():
        model, name = key.split("__")
        ds[name].loc[{"model": model, "pair": "halves", **(where or {})}] = value
    return ds


def test_all_parts_hold_on_results_where_everything_holds():
    row = judged("VN-A", results())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert (len(row["parts"]), len(row["parts_controls"])) == (7, 13)


# What is changed, to what, and the part that then fails.
CHANGES = [
    ("pc__active_share", 0.9, 0),
    ("bpc__map_variability", 0.01, 0),
    ("vn__active_share", 0.26, 1),
    ("vn__map_variability", 0.4, 1),
    ("vn__moved", 0.26, 2),
    ("vn__idle_moved", 1, 2),
    ("pc__moved", 0.8, 3),
    ("bpc__moved", 0.8, 4),
    ("bpc__overlap", 0.005, 5),
    ("pc__forgetting", 0.05, 6),
    ("pc__gated_variability", 0.85, 7),
    ("bpc__power_share", 0.02, 8),
    ("linear__interference", 0.05, 9),
    ("pc_sparse__interference", 0.05, 9),
    ("pc__rise", 0.005, 10),
    ("vn__final_error", 0.25, 11),
    ("vn__mse", 0.6, 12),
]


@pytest.mark.parametrize(("change", "value", "part"), CHANGES)
def test_each_part_can_fail_alone_and_in_one_pair(change, value, part):
    changed = results(**{change: value})
    assert failing("VN-A", changed) == ([part] if part < 7 else [], [part])


def test_one_moving_idle_atom_in_one_seed_is_enough():
    assert failing("VN-A", results({"pair": "digits", "seed": 2}, vn__idle_moved=1))[0] == [2]


def test_a_missing_model_makes_the_claim_not_testable():
    row = judged("VN-A", results().drop_sel(model="bpc"))
    assert row["verdict"] == NOT_TESTABLE and "bpc" in row["missing"]
