"""The rules of VN-H2 to VN-H4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from chapters.H_nbody.claims import DEFAULT, ON_TOKENS, OTHERS, PANELS, PRINTED, READINGS, VN
from data_gen import nbody
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

SEEDS = 3
MODELS = list(dict.fromkeys([*READINGS, *PRINTED, *ON_TOKENS]))
SINGLE = [name for name in nbody.FORCE_SETS if "+" not in name]
MIXED = [name for name in nbody.FORCE_SETS if "+" in name]
VARIANTS = [f"beta {b:g}{tail}" for tail in ("", ", revived") for b in (0, 0.02, 0.3)] + [
    "split",
    "inverted",
]


def full(ds: xr.Dataset, value: float, *dims: str) -> xr.DataArray:
    return xr.DataArray(
        np.full([ds.sizes[d] for d in dims], value), dims=dims, coords={d: ds[d] for d in dims}
    )


def shared() -> xr.Dataset:
    """Fig. 4's results as the paper would have them, and our controls too."""
    r = xr.Dataset(
        coords={
            "model": MODELS,
            "seed": range(SEEDS),
            "way": ["joint", "passes"],
            "forces": list(nbody.FORCE_SETS),
            "bodies": [5, 4, 3],
            "panel": list(PANELS),
            "start": range(4),
            "step": [0, 100, 500, 999],
        }
    )
    r["power"] = full(r, 1.0, "model", "seed", "forces", "bodies")
    r["mse"] = full(r, 0.01, "model", "seed", "way", "forces", "bodies")
    r["mse"].loc[{"forces": MIXED}] = 0.3
    for model in READINGS:
        r["mse"].loc[{"model": model}] = 0.1
    r["mse"].loc[{"model": "random"}] = 1.0
    for model in ON_TOKENS:  # they start and stay behind the VN, and move
        r["mse"].loc[{"model": model}] = 0.2
        r["mse"].loc[{"model": model, "bodies": 3}] = 0.8
    for n, times in ((4, 7.0), (3, 70.0)):
        r["mse"].loc[{"model": "mamba", "bodies": n, "forces": MIXED}] = 0.3 * times
        r["mse"].loc[{"model": "transformer", "bodies": n}] = (
            r["mse"].sel(model="transformer", bodies=5) * times
        )
        r["mse"].loc[{"model": "gnn", "bodies": n, "forces": SINGLE}] = 0.01 * min(times, 20)
    r["drift"] = full(r, 1.0, "model", "seed", "panel", "start", "step") * (r["step"] / 999)
    for model in READINGS:
        r["drift"].loc[{"model": model}] = 0.1
        r["drift"].loc[{"model": model, "panel": "gravity"}] = 5.0
    r["drift"].loc[{"model": "factorized", "step": 100}] = 0.01
    r["mse"].loc[{"model": "factorized"}] = 0.02
    r["mse"].loc[{"model": "factorized", "forces": MIXED}] = 0.2
    r["mse"].loc[{"model": "factorized", "forces": ["gravity+lorentz", "spring+drag"]}] = 0.04
    return r


def ablation() -> xr.Dataset:
    r = xr.Dataset(
        coords={"model": ["literal", "gated", "token"], "variant": VARIANTS, "seed": range(SEEDS)}
    )
    for name in ("criterion", "id_error", "ood_error", "ood_mse"):
        r[name] = full(r, 0.1, "model", "variant", "seed")
        r[name].loc[{"variant": "inverted"}] = 0.2
    r["ood_error"].loc[{"variant": DEFAULT}] = 0.09
    r["ood_error"].loc[{"variant": "split"}] = 0.15
    r["id_error"].loc[{"variant": DEFAULT}] = 0.11
    r["fact_revived"] = full(r, 0.0, "model", "variant", "seed")
    r["fact_revived"].loc[{"variant": [v for v in VARIANTS if "revived" in v]}] = 3
    return r


MADE = {"VN-H2": shared, "VN-H3": ablation, "VN-H4": shared}


def changed(name: str, variable: str, where: dict, value: float) -> xr.Dataset:
    r = MADE[name]()
    r[variable].loc[where] = value
    return r


@pytest.mark.parametrize("name", MADE)
def test_all_as_printed(name):
    row = judged(name, MADE[name]())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"], row


TWO = {"model": "factorized", "panel": ["spring", "lorentz"]}
CASES = {
    "VN-H2": [
        ("mse", {"model": VN, "bodies": 3}, 0.16, [0], [0]),
        ("mse", {"model": VN, "bodies": 3, "seed": 1}, 0.16, [], [0]),
        ("mse", {"model": "vn_gated_3", "bodies": 3, "seed": 1}, 0.01, [], [0]),
        ("mse", {"model": "film", "bodies": 4, "forces": MIXED}, 0.05, [1], [1]),
        ("mse", {"model": "rbf_tokens", "bodies": 5, "forces": MIXED}, 0.05, [], [1]),
        ("mse", {"model": "mamba", "bodies": 3, "forces": SINGLE}, 2.0, [2], [2]),
        ("mse", {"model": "mamba", "bodies": 3, "forces": SINGLE, "seed": 0}, 2.0, [], [2]),
        ("mse", {"model": "mamba", "bodies": 3, "forces": MIXED}, 3.0, [3], [3]),
        ("mse", {"model": "transformer", "bodies": 3, "forces": SINGLE}, 0.01, [4], [4]),
        ("mse", {"model": "transformer", "bodies": 5}, 40.0, [4], [4]),
        ("mse", {"model": "gnn", "bodies": 3, "forces": MIXED}, 6.0, [5], [5]),
        ("mse", {"model": "gnn", "bodies": 3, "forces": SINGLE, "seed": 2}, 0.01, [], [5]),
        ("mse", {"model": "random", "bodies": 3}, 0.5, [6], []),
        ("mse", {"model": "random", "forces": MIXED, "bodies": 4}, 0.5, [7], []),
        ("mse", {"model": list(ON_TOKENS), "bodies": 3}, 0.2, [], [6]),
    ],
    "VN-H3": [
        ("ood_error", {"variant": DEFAULT}, 0.11, [0, 1], [0, 1]),
        ("ood_error", {"variant": DEFAULT, "seed": 0, "model": "literal"}, 0.11, [], [0, 1]),
        ("ood_error", {"variant": DEFAULT, "seed": 0, "model": "token"}, 0.11, [], [0, 1]),
        ("id_error", {"variant": DEFAULT}, 0.13, [0], [0]),
        ("ood_error", {"variant": f"{DEFAULT}, revived"}, 0.08, [1], [1]),
        ("fact_revived", {"model": "literal"}, 0, [1], [1]),
        ("fact_revived", {"model": "gated"}, 0, [], [1]),
        ("ood_error", {"variant": "split"}, 0.085, [2], [2]),
        ("ood_error", {"variant": "split", "seed": 1}, 0.085, [], [2]),
        ("criterion", {"variant": "inverted"}, 0.09, [3], [3]),
        ("ood_mse", {"variant": "inverted"}, 0.09, [3], [3]),
        ("id_error", {"variant": "inverted", "model": "gated"}, 0.09, [], [3]),
    ],
    "VN-H4": [
        ("drift", {"model": list(READINGS), "panel": "spring", "step": 999}, 5.0, [0], [0, 2, 3]),
        ("drift", {"model": VN, "panel": "spring+drag", "step": 999}, 5.0, [0, 1], []),
        ("drift", {"model": "gnn", "panel": "spring+drag", "step": 999}, 0.05, [0, 1], [0, 1, 2]),
        ("drift", {"model": "gnn", "panel": "spring", "step": 999, "seed": 0}, 0.05, [], [2]),
        ("drift", {"model": "rbf_tokens", "panel": "spring", "step": 999}, 0.05, [], [3]),
        ("mse", {"model": "factorized", "forces": MIXED}, 0.5, [2], [4]),
        ("drift", {**TWO, "step": 999}, 0.11, [], []),
        ("drift", {"model": "factorized", "step": 100}, 50.0, [4], []),
    ],
}


@pytest.mark.parametrize(
    ("name", "variable", "where", "value", "parts", "controls"),
    [(name, *case) for name, cases in CASES.items() for case in cases],
)
def test_each_part_can_fail(name, variable, where, value, parts, controls):
    r = changed(name, variable, where, value)
    if name == "VN-H4" and variable == "mse":  # then nobody has a lower one-step error either
        r["mse"].loc[{"model": [*OTHERS, *ON_TOKENS]}] = 0.5
    assert failing(name, r) == (parts, controls)


def test_weaker_forces_are_told_from_better_predictions():
    """A model whose errors fall with the power of the forces does not move, relatively."""
    r = shared()
    for name in ("mse", "power"):
        r[name].loc[{"bodies": 3}] = r[name].sel(bodies=3) / 2
    assert failing("VN-H2", r) == ([0, 6], [])
    r["power"].loc[{"bodies": 3}] = 1.0
    assert 0 in failing("VN-H2", r)[1]


def test_factorized_can_end_nearer():
    r = shared()
    r["drift"].loc[{"model": "factorized", "panel": ["spring", "lorentz"], "step": 999}] = 0.05
    assert 3 in failing("VN-H4", r)[0]


@pytest.mark.parametrize(
    ("name", "axis", "without"),
    [
        ("VN-H2", "model", "gnn"),
        ("VN-H2", "model", VN),
        ("VN-H4", "model", "vn_token_3"),
        ("VN-H4", "panel", "spring"),
        ("VN-H3", "model", "literal"),
        ("VN-H3", "variant", "inverted"),
    ],
)
def test_what_lacks_is_named(name, axis, without):
    r = MADE[name]()
    row = judged(name, r.sel({axis: [v for v in r[axis].values if v != without]}))
    assert row["verdict"] == NOT_TESTABLE and without in row["missing"]


def test_one_reading_is_enough_for_the_paper():
    row = judged("VN-H3", ablation().sel(model=["literal"]))
    assert row["verdict"] == REPRODUCED and row["verdict_controls"] is None
