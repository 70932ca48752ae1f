"""The rules of VN App. E: each part shown to hold and to fail on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import judged

from vnlib.book.ledger import NOT, NOT_TESTABLE, PARTLY, REPRODUCED

SEEDS = 3


def holds() -> xr.Dataset:
    """Results in which every part of every claim holds, with controls too."""
    coords = {
        "seed": np.arange(SEEDS),
        "dtype": ["float32", "float64"],
        "family": ["pairs", "common"],
        "coherence": [0.2, 0.5],
        "rule": ["exact", "threshold"],
        "active": [1, 2, 5],
        "each": [1, 2, 4],
        "case": ["one layer", "three layers", "top-k", "ReLU", "summed"],
        "kind": ["V", "U"],
        "early": [1, 100],
        "data": ["planted", "digits"],
        "penalty": ["soft", "hard"],
        "factor": [0.5, 1.0, 1.5, 2.5],
        "algorithm": ["ista", "fista", "fista, reject"],
        "counted": ["joint", "summed"],
        "safeguard": ["none", "reject"],
        "layer": [1, 2],
        "planted_kind": ["capped", "free"],
        "planted_parts": [4, 8, 16],
        "noise": [0.0, 0.1],
        "cosine": [0.5, 0.99, 1.0],
        "atoms": [8, 12],
        "strength": [0.0, 0.1],
    }
    full = {
        "dtype": {"rounding": 1.0},
        "family coherence rule active": {"recovered": 1.0},
        "family coherence": {"settled": 1.0},
        "": {"sum_bound": 3.0, "learned_mu": 0.3, "cap_k": 8.0},
        "each planted_pair": {"sum_overlap": 1.0},
        "digits_pair": {"digits_sum_overlap": 0.95},
        "case kind": {"gradient_error": 1e-6},
        "case kind early": {"early_error": 1.0},
        "data penalty factor": {"smallest_gain": 0.6, "rises": 0.0},
        "data algorithm": {"worst_to_bound": 0.5, "rising_steps": 0.0},
        "penalty counted": {"sweep_rises": 0.0},
        "data factor safeguard": {"end_gap": 1e-4},
        "layer sample": {"rank": 10.0, "active_atoms": 10.0},
        "planted_kind planted_parts": {"planted_left": 0.2},
        "noise cosine": {"twin_recovered": 1.0},
        "atoms strength": {"grown_mu": 0.5, "grown_named": 0.7, "grown_found": 1.0},
    }
    ds = xr.Dataset(coords=coords)
    size = {name: len(values) for name, values in coords.items()}
    size |= {"planted_pair": 2, "digits_pair": 2, "sample": 4}
    for dims, values in full.items():
        along = ("seed", *dims.split())
        for name, value in values.items():
            ds[name] = along, np.full([size[d] for d in along], value)
    by_layer = {"cap": [20, 10], "per_atom": [8, 8], "dense": [200, 200], "library": [200, 150]}
    for name, values in by_layer.items():
        ds[name] = ("seed", "layer"), np.tile(np.array(values, float), (SEEDS, 1))
    ds["bound"] = ("seed", "family", "coherence"), np.tile([3.0, 1.5], (SEEDS, 2, 1))
    put(ds, "rising_steps", 0.1, algorithm="fista")
    put(ds, "early_error", 1e-3, early=100)
    put(ds, "planted_left", 0.001, planted_parts=8)
    put(ds, "twin_recovered", 0.3, cosine=0.99)
    put(ds, "twin_recovered", 0.0, cosine=1.0)
    put(ds, "grown_mu", 0.3, strength=0.1)
    put(ds, "grown_named", 0.9, strength=0.1)
    # What lies at or above the bound may fail without a word.
    put(ds, "recovered", 0.0, active=5)
    return put(ds, "sum_overlap", 0.5, each=4)


def put(ds: xr.Dataset, name: str, value: float, **where: object) -> xr.Dataset:
    ds[name].loc[where] = value
    return ds


def verdicts(claim: str, ds: xr.Dataset) -> tuple[str, str | None]:
    row = judged(claim, ds)
    return row["verdict"], row["verdict_controls"]


THEORY = [f"VN-E{n}" for n in range(1, 6)]


@pytest.mark.parametrize("claim", THEORY)
def test_everything_holds_where_it_should(claim):
    assert verdicts(claim, holds()) == (REPRODUCED, REPRODUCED)


# What is changed, and what fails for it: a part of the printed rule, one of the controls alone.
CHANGES = [
    # E1: one seed, one cell below the bound is enough.
    (1, "rounding", 9, {"dtype": "float64", "seed": 1}, "printed"),
    (1, "recovered", 0.9, {"rule": "exact", "active": 1, "coherence": 0.5, "seed": 2}, "printed"),
    (1, "recovered", 0.9, {"rule": "exact", "active": 2, "coherence": 0.2}, "printed"),
    (1, "recovered", 0.0, {"rule": "exact", "active": 2, "coherence": 0.5}, "nothing"),
    (1, "recovered", 0.0, {"rule": "threshold"}, "nothing"),
    (1, "settled", 0.99, {"family": "common", "seed": 0}, "printed"),
    (1, "sum_overlap", 0.99, {"each": 1, "seed": 0}, "controls"),
    (1, "sum_overlap", 0.99, {"each": 2}, "nothing"),
    (1, "learned_mu", 0.34, {}, "controls"),
    (1, "digits_sum_overlap", 0.89, {}, "controls"),
    # E2: the worst seed and dictionary counts.
    (2, "gradient_error", 0.002, {"case": "one layer", "kind": "V", "seed": 2}, "printed"),
    (2, "gradient_error", 0.002, {"case": "three layers", "kind": "U", "seed": 0}, "printed"),
    (2, "gradient_error", np.nan, {"case": "one layer", "kind": "U"}, "nothing"),
    (2, "early_error", 0.02, {"early": 100, "seed": 1}, "printed"),
    (2, "gradient_error", 0.02, {"case": "top-k"}, "controls"),
    (2, "gradient_error", 0.02, {"case": "summed"}, "controls"),
    (2, "gradient_error", 0.02, {"case": "ReLU"}, "controls"),
    (3, "smallest_gain", 0.49, {"penalty": "soft", "factor": 1.0, "seed": 0}, "printed"),
    (3, "smallest_gain", 0.49, {"penalty": "soft", "factor": 1.5}, "nothing"),
    (3, "smallest_gain", 0.49, {"penalty": "hard", "factor": 0.5}, "controls"),
    (3, "rises", 0.01, {"penalty": "soft", "factor": 1.0}, "printed"),
    (3, "rises", 0.01, {"penalty": "hard", "factor": 1.0, "seed": 1}, "printed"),
    (3, "rises", 0.9, {"factor": 2.5}, "nothing"),
    (3, "worst_to_bound", 1.01, {"algorithm": "ista", "data": "digits"}, "printed"),
    (3, "worst_to_bound", 1.01, {"algorithm": "fista", "seed": 2}, "printed"),
    (3, "worst_to_bound", np.nan, {"algorithm": "fista, reject"}, "nothing"),
    (3, "sweep_rises", 0.01, {"counted": "joint", "penalty": "hard"}, "controls"),
    (3, "sweep_rises", 0.01, {"counted": "summed", "penalty": "soft"}, "controls"),
    (4, "rank", 11, {"layer": 1, "seed": 0}, "printed"),
    (4, "cap", 9, {"layer": 2}, "printed"),
    (4, "per_atom", 20, {"layer": 2}, "printed"),
    (4, "per_atom", 20, {"layer": 1}, "controls"),
    (4, "library", 201, {}, "controls"),
    # E5: medians over seeds.
    (5, "planted_left", 0.02, {"planted_kind": "capped", "planted_parts": 8}, "printed"),
    (5, "planted_left", 0.02, {"planted_parts": 8, "seed": 0}, "nothing"),
    (5, "planted_left", 0.04, {"planted_kind": "capped", "planted_parts": 16}, "printed"),
    (5, "planted_left", 0.0, {"planted_kind": "free"}, "nothing"),
    (5, "twin_recovered", 0.6, {"noise": 0.1, "cosine": 0.99}, "printed"),
    (5, "twin_recovered", 1.0, {"noise": 0.0}, "nothing"),
    (5, "grown_mu", 0.6, {"atoms": 12, "strength": 0.1}, "printed"),
    (5, "grown_named", 0.6, {"atoms": 12, "strength": 0.1}, "printed"),
    (5, "grown_named", 0.0, {"atoms": 8, "strength": 0.1}, "nothing"),
    (5, "grown_found", 0.9, {"atoms": 8, "strength": 0.1}, "controls"),
    (5, "grown_found", 0.0, {"atoms": 12, "strength": 0.1}, "nothing"),
    (5, "rising_steps", 0.1, {"algorithm": "fista, reject", "seed": 1}, "printed"),
    (5, "rising_steps", 0.0, {"algorithm": "fista"}, "printed"),
    (5, "end_gap", 0.02, {"factor": 2.5, "safeguard": "reject", "data": "digits"}, "controls"),
    (5, "end_gap", 1e9, {"safeguard": "none"}, "nothing"),
]


@pytest.mark.parametrize(("claim", "name", "value", "where", "fails"), CHANGES)
def test_rules_turn_with_the_numbers(claim, name, value, where, fails):
    printed = PARTLY if fails == "printed" else REPRODUCED
    controls = REPRODUCED if fails == "nothing" else PARTLY
    assert verdicts(f"VN-E{claim}", put(holds(), name, value, **where)) == (printed, controls)


# By value, so that every part of every claim fails.
WRONG = {
    -1: "smallest_gain",
    0: "recovered sum_overlap digits_sum_overlap rising_steps",
    0.03: "planted_left",
    0.5: "grown_mu grown_named",
    999: "rounding learned_mu gradient_error early_error rises worst_to_bound sweep_rises rank "
    "per_atom library twin_recovered end_gap",
}


def test_nothing_holds_where_all_is_wrong():
    ds = holds()
    for value, names in WRONG.items():
        for name in names.split():
            put(ds, name, value)
    put(ds, "grown_found", 0.5, strength=0.1)
    assert {claim: verdicts(claim, ds) for claim in THEORY} == dict.fromkeys(THEORY, (NOT, NOT))


LACKING = ("bound", "early_error", "rises", "cap", "cap_k")


@pytest.mark.parametrize(("claim", "name"), [*zip(THEORY, LACKING, strict=True)])
def test_a_missing_variable_is_named(claim, name):
    row = judged(claim, holds().drop_vars(name))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == f"the results lack '{name}'"
