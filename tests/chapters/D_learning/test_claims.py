"""The rules of appendix D: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, filled, rules, times, told

VARIANTS = ["as it is", "without the mask", "DC removed", "DC removed, centred data"]
VARIANTS += ["decorrelated", "dead atoms re-drawn"]
COORDS = {
    "optimiser": ["masked Adam", "Adam", "SGD"],
    "batch_size": [1, 64],
    "model": ["VN 0.1", "VN 0.2", "linear", "whitened", "ReLU"],
    "pair": range(400),
    "stepped": ["VN 0.2", "linear", "whitened", "ReLU"],
    "arrow": range(100),
    "upkeep_sparsity": [0.2, 1.0],
    "start": ["samples", "chance"],
    "variant": VARIANTS,
    "rule": ["subspace", "frozen", "literal", "untied", "silent"],
    "stage": [0, 10],
}


def results() -> xr.Dataset:
    """Everything as the paper says; the network hurts 30 % of the samples, the others 40 %."""
    rng, upkeep = np.random.default_rng(0), "upkeep_sparsity start variant"
    r = filled(
        COORDS,
        "seed",
        local_idle=([0.6, 0.1], "optimiser batch_size"),
        local_idle_direction=(0, "optimiser batch_size"),
        local_idle_moved=([0, 1, 0], "batch_size optimiser"),
        meet_pair_overlap=(rng.uniform(size=(5, 400)), "model pair"),
        meet_pair_cosine=([0.01, 0.01, 0.1, 0.02, 0.2], "pair model"),
        passed_on=([0.01, 0.1, 0.02, 0.2], "arrow stepped"),
        upkeep_mse=(1, upkeep),
        upkeep_active=(1, upkeep),
        upkeep_coherence=(1, upkeep),
        upkeep_dead=(0, upkeep),
        interface_energy=([3, 4, 3.5, 3.2, 5], "stage rule"),
        interface_mse_from_top=([1, 2, 1.9, 1.1, 6], "stage rule"),
        interface_mse=(1, "stage rule"),
    )
    r["meet_pair_cosine"] = r["meet_pair_cosine"] * r["meet_pair_overlap"]
    r["meet_pair_cosine"][:, ::2] *= -1
    r["passed_on"][:, :40] *= -1
    r["passed_on"].loc[{"stepped": "VN 0.2", "arrow": slice(30, 39)}] *= -1
    r["upkeep_mse"].loc[{"variant": "without the mask"}] = 1.2
    r["upkeep_coherence"].loc[{"variant": "decorrelated"}] = 0.5
    r["upkeep_dead"].loc[{"upkeep_sparsity": 1, "start": "chance", "variant": "as it is"}] = 0.3
    return r


def of(model: str, **where: object) -> dict:
    return {"model": model, **where}


DECORRELATED, DC = {"variant": "decorrelated"}, {"variant": "DC removed"}
SUBSPACE, LITERAL = ({"rule": rule} for rule in ("subspace", "literal"))
CASES = [
    ("VN-Da", "local_idle_direction", {"seed": 2, "optimiser": "SGD"}, 1e-12, [0], [0]),
    ("VN-Da", "local_idle_moved", {"seed": 2, "optimiser": "masked Adam"}, 0.01, [1], [1]),
    ("VN-Da", "local_idle_moved", {"optimiser": "Adam"}, 0.5, [2], [2]),
    ("VN-Da", "local_idle", {"batch_size": 64}, 0.0, [], [3]),
    ("VN-Da", "upkeep_mse", {"variant": "without the mask"}, 1.01, [], [4]),
    ("VN-Db", "meet_pair_cosine", of("VN 0.2"), 0.02, [0, 1], [0, 1, 3]),
    ("VN-Db", "meet_pair_cosine", of("ReLU"), times(0.2), [], []),
    ("VN-Db", "meet_pair_cosine", of("linear"), times(0.1), [2], [2]),
    ("VN-Db", "meet_pair_cosine", of("whitened"), times(0.4), [], [3]),
    ("VN-Db", "passed_on", {"stepped": "whitened"}, times(0.4), [], [4]),
    ("VN-Db", "passed_on", {"stepped": "VN 0.2"}, -0.01, [], [5]),
    ("VN-Dc", "upkeep_dead", {"variant": "dead atoms re-drawn"}, 0.05, [0], [0]),
    ("VN-Dc", "upkeep_dead", {"variant": "as it is"}, 0.0, [0], [0]),
    ("VN-Dc", "upkeep_coherence", DECORRELATED | {"start": "chance"}, 1, [1], [1]),
    ("VN-Dc", "upkeep_mse", DECORRELATED | {"upkeep_sparsity": 1}, 1.2, [1], [1]),
    ("VN-Dc", "upkeep_mse", DC, 2.0, [2], []),
    ("VN-Dc", "upkeep_mse", {"variant": "DC removed, centred data"}, 2.0, [], [2]),
    ("VN-Dc", "upkeep_active", DECORRELATED | {"start": "samples"}, 1.5, [], [3]),
    ("VN-Dd", "interface_energy", LITERAL, 4.1, [0], [0]),
    ("VN-Dd", "interface_mse_from_top", LITERAL, 5.0, [1], [1]),
    ("VN-Dd", "interface_energy", {"rule": "silent"}, 1.0, [], [2]),
    ("VN-Dd", "interface_mse_from_top", SUBSPACE, 1.8, [], [3]),
    ("VN-Dd", "interface_mse", SUBSPACE, 1.2, [], [3]),
]
LACKING = [("VN-Db", {"model": ["whitened"]}, "model")]
MADE = dict.fromkeys(["VN-Da", "VN-Db", "VN-Dc", "VN-Dd"], results)
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(MADE, CASES, LACKING)


def test_an_energy_that_ranks_backwards_is_seen():
    r = results()
    r["interface_energy"] = 9 - r["interface_mse_from_top"]
    assert told("VN-Dd", r)["spearman_F_error"] == pytest.approx(-1)
    assert 2 in failing("VN-Dd", r)[1]
