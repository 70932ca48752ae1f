"""The rules of VN App. E: each part shown to hold and to fail on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import judged

from vnlib.book.ledger import NOT, NOT_TESTABLE, PARTLY, REPRODUCED

SEEDS = 3
CASES = ["one layer", "three layers", "top-k", "ReLU", "summed"]


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
        "case": CASES,
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
        "rounding": (("dtype",), 1.0),
        "recovered": (("family", "coherence", "rule", "active"), 1.0),
        "settled": (("family", "coherence"), 1.0),
        "sum_bound": ((), 3.0),
        "sum_overlap": (("each", "planted_pair"), 1.0),
        "learned_mu": ((), 0.3),
        "digits_sum_overlap": (("digits_pair",), 0.95),
        "gradient_error": (("case", "kind"), 1e-6),
        "early_error": (("case", "kind", "early"), 1.0),
        "smallest_gain": (("data", "penalty", "factor"), 0.6),
        "rises": (("data", "penalty", "factor"), 0.0),
        "worst_to_bound": (("data", "algorithm"), 0.5),
        "rising_steps": (("data", "algorithm"), 0.0),
        "sweep_rises": (("penalty", "counted"), 0.0),
        "end_gap": (("data", "factor", "safeguard"), 1e-4),
        "rank": (("layer", "sample"), 10.0),
        "active_atoms": (("layer", "sample"), 10.0),
        "planted_left": (("planted_kind", "planted_parts"), 0.2),
        "cap_k": ((), 8.0),
        "twin_recovered": (("noise", "cosine"), 1.0),
        "grown_mu": (("atoms", "strength"), 0.5),
        "grown_named": (("atoms", "strength"), 0.7),
        "grown_found": (("atoms", "strength"), 1.0),
    }
    sizes = {name: len(values) for name, values in coords.items()} | {
        "planted_pair": 2,
        "digits_pair": 2,
        "sample": 4,
    }
    ds = xr.Dataset(
        {
            name: (("seed", *dims), np.full((SEEDS, *(sizes[d] for d in dims)), value))
            for name, (dims, value) in full.items()
        },
        coords,
    )
    ds["bound"] = (("seed", "family", "coherence"), np.tile([3.0, 1.5], (SEEDS, 2, 1)))
    for name, values in (
        ("cap", [20, 10]),
        ("per_atom", [8, 8]),
        ("dense", [200, 200]),
        ("library", [200, 150]),
    ):
        ds[name] = (("seed", "layer"), np.tile(np.array(values, float), (SEEDS, 1)))
    put(ds, "rising_steps", 0.1, algorithm="fista")
    put(ds, "early_error", 1e-3, early=100)
    put(ds, "planted_left", 0.001, planted_parts=8)
    put(ds, "twin_recovered", 0.3, cosine=0.99)
    put(ds, "twin_recovered", 0.0, cosine=1.0)
    put(ds, "grown_mu", 0.3, strength=0.1)
    put(ds, "grown_named", 0.9, strength=0.1)
    # What lies at or above the bound may fail without a word.
    put(ds, "recovered", 0.0, active=5)
    put(ds, "sum_overlap", 0.5, each=4)
    return ds


def put(
    ds: xr.Dataset, name: str, value: float, *, only_seed: int | None = None, **where: object
) -> xr.Dataset:
    seeds = {} if only_seed is None else {"seed": only_seed}
    ds[name].loc[where | seeds] = value
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
    ("VN-E1", "rounding", 9, {"dtype": "float64", "only_seed": 1}, "printed"),
    (
        "VN-E1",
        "recovered",
        0.9,
        {"rule": "exact", "active": 1, "coherence": 0.5, "only_seed": 2},
        "printed",
    ),
    ("VN-E1", "recovered", 0.9, {"rule": "exact", "active": 2, "coherence": 0.2}, "printed"),
    ("VN-E1", "recovered", 0.0, {"rule": "exact", "active": 2, "coherence": 0.5}, "nothing"),
    ("VN-E1", "recovered", 0.0, {"rule": "threshold"}, "nothing"),
    ("VN-E1", "settled", 0.99, {"family": "common", "only_seed": 0}, "printed"),
    ("VN-E1", "sum_overlap", 0.99, {"each": 1, "only_seed": 0}, "controls"),
    ("VN-E1", "sum_overlap", 0.99, {"each": 2}, "nothing"),
    ("VN-E1", "learned_mu", 0.34, {}, "controls"),
    ("VN-E1", "digits_sum_overlap", 0.89, {}, "controls"),
    # E2: the worst seed and dictionary counts.
    (
        "VN-E2",
        "gradient_error",
        0.002,
        {"case": "one layer", "kind": "V", "only_seed": 2},
        "printed",
    ),
    (
        "VN-E2",
        "gradient_error",
        0.002,
        {"case": "three layers", "kind": "U", "only_seed": 0},
        "printed",
    ),
    ("VN-E2", "gradient_error", np.nan, {"case": "one layer", "kind": "U"}, "nothing"),
    ("VN-E2", "early_error", 0.02, {"early": 100, "only_seed": 1}, "printed"),
    ("VN-E2", "gradient_error", 0.02, {"case": "top-k"}, "controls"),
    ("VN-E2", "gradient_error", 0.02, {"case": "summed"}, "controls"),
    ("VN-E2", "gradient_error", 0.02, {"case": "ReLU"}, "controls"),
    ("VN-E3", "smallest_gain", 0.49, {"penalty": "soft", "factor": 1.0, "only_seed": 0}, "printed"),
    ("VN-E3", "smallest_gain", 0.49, {"penalty": "soft", "factor": 1.5}, "nothing"),
    ("VN-E3", "smallest_gain", 0.49, {"penalty": "hard", "factor": 0.5}, "controls"),
    ("VN-E3", "rises", 0.01, {"penalty": "soft", "factor": 1.0}, "printed"),
    ("VN-E3", "rises", 0.01, {"penalty": "hard", "factor": 1.0, "only_seed": 1}, "printed"),
    ("VN-E3", "rises", 0.9, {"factor": 2.5}, "nothing"),
    ("VN-E3", "worst_to_bound", 1.01, {"algorithm": "ista", "data": "digits"}, "printed"),
    ("VN-E3", "worst_to_bound", 1.01, {"algorithm": "fista", "only_seed": 2}, "printed"),
    ("VN-E3", "worst_to_bound", np.nan, {"algorithm": "fista, reject"}, "nothing"),
    ("VN-E3", "sweep_rises", 0.01, {"counted": "joint", "penalty": "hard"}, "controls"),
    ("VN-E3", "sweep_rises", 0.01, {"counted": "summed", "penalty": "soft"}, "controls"),
    ("VN-E4", "rank", 11, {"layer": 1, "only_seed": 0}, "printed"),
    ("VN-E4", "cap", 9, {"layer": 2}, "printed"),
    ("VN-E4", "per_atom", 20, {"layer": 2}, "printed"),
    ("VN-E4", "per_atom", 20, {"layer": 1}, "controls"),
    ("VN-E4", "library", 201, {}, "controls"),
    # E5: medians over seeds.
    ("VN-E5", "planted_left", 0.02, {"planted_kind": "capped", "planted_parts": 8}, "printed"),
    ("VN-E5", "planted_left", 0.02, {"planted_parts": 8, "only_seed": 0}, "nothing"),
    ("VN-E5", "planted_left", 0.04, {"planted_kind": "capped", "planted_parts": 16}, "printed"),
    ("VN-E5", "planted_left", 0.0, {"planted_kind": "free"}, "nothing"),
    ("VN-E5", "twin_recovered", 0.6, {"noise": 0.1, "cosine": 0.99}, "printed"),
    ("VN-E5", "twin_recovered", 1.0, {"noise": 0.0}, "nothing"),
    ("VN-E5", "grown_mu", 0.6, {"atoms": 12, "strength": 0.1}, "printed"),
    ("VN-E5", "grown_named", 0.6, {"atoms": 12, "strength": 0.1}, "printed"),
    ("VN-E5", "grown_named", 0.0, {"atoms": 8, "strength": 0.1}, "nothing"),
    ("VN-E5", "grown_found", 0.9, {"atoms": 8, "strength": 0.1}, "controls"),
    ("VN-E5", "grown_found", 0.0, {"atoms": 12, "strength": 0.1}, "nothing"),
    ("VN-E5", "rising_steps", 0.1, {"algorithm": "fista, reject", "only_seed": 1}, "printed"),
    ("VN-E5", "rising_steps", 0.0, {"algorithm": "fista"}, "printed"),
    (
        "VN-E5",
        "end_gap",
        0.02,
        {"factor": 2.5, "safeguard": "reject", "data": "digits"},
        "controls",
    ),
    ("VN-E5", "end_gap", 1000000000.0, {"safeguard": "none"}, "nothing"),
]


@pytest.mark.parametrize(("claim", "name", "value", "where", "fails"), CHANGES)
def test_rules_turn_with_the_numbers(claim, name, value, where, fails):
    printed = PARTLY if fails == "printed" else REPRODUCED
    controls = REPRODUCED if fails == "nothing" else PARTLY
    assert verdicts(claim, put(holds(), name, value, **where)) == (printed, controls)


WRONG = {
    "rounding": 99,
    "recovered": 0,
    "sum_overlap": 0,
    "learned_mu": 1,
    "digits_sum_overlap": 0,
    "gradient_error": 1,
    "early_error": 1,
    "smallest_gain": -1,
    "rises": 1,
    "worst_to_bound": 2,
    "sweep_rises": 1,
    "rank": 99,
    "per_atom": 99,
    "library": 999,
    "planted_left": 0.03,
    "twin_recovered": 1,
    "grown_mu": 0.5,
    "grown_named": 0.5,
    "rising_steps": 0,
    "end_gap": 9,
}


def test_nothing_holds_where_all_is_wrong():
    ds = holds()
    for name, value in WRONG.items():
        ds[name] = ds[name] * 0 + value
    put(ds, "grown_found", 0.5, strength=0.1)
    assert {claim: verdicts(claim, ds) for claim in THEORY} == dict.fromkeys(THEORY, (NOT, NOT))


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("VN-E1", "bound"),
        ("VN-E2", "early_error"),
        ("VN-E3", "rises"),
        ("VN-E4", "cap"),
        ("VN-E5", "cap_k"),
    ],
)
def test_a_missing_variable_is_named(claim, name):
    row = judged(claim, holds().drop_vars(name))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == f"the results lack '{name}'"
