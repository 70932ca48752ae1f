"""The rules of appendix D: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT, NOT_TESTABLE, PARTLY, REPRODUCED

SEEDS, PAIRS = 3, 400
MODELS = ["VN 0.1", "VN 0.2", "linear", "whitened", "ReLU"]
STEPPED = ["VN 0.2", "linear", "whitened", "ReLU"]
OPTIMISERS = ["masked Adam", "Adam", "SGD"]
VARIANTS = ["as it is", "without the mask", "SGD", "DC removed", "DC removed, centred data"]
VARIANTS += ["decorrelated", "dead atoms re-drawn"]
RULES = ["subspace", "frozen", "literal", "untied", "silent"]


def local() -> xr.Dataset:
    """Idle atoms rest under every rule but Adam's; a tenth idles in the largest batch."""
    dims, shape = ("seed", "optimiser", "batch_size", "update"), (SEEDS, 3, 2, 4)
    idle = np.broadcast_to(np.array([0.6, 0.1])[:, None], shape)
    moved = np.broadcast_to(np.array([0.0, 1.0, 0.0])[:, None, None], shape)
    values = {"idle": idle, "idle_direction": np.zeros(shape), "idle_moved": moved}
    return xr.Dataset(
        {f"local_{n}": (dims, v.copy()) for n, v in values.items()},
        {"optimiser": OPTIMISERS, "batch_size": [1, 64]},
    )


def meeting() -> xr.Dataset:
    """The network's updates overlap as its supports do, less than those of the dense models."""
    rng = np.random.default_rng(0)
    overlap = rng.uniform(0, 1, (SEEDS, len(MODELS), PAIRS))
    size = np.array([1.0, 1.0, 10.0, 2.0, 20.0])[:, None]
    cosine = 0.01 * size * overlap * rng.choice([-1, 1], overlap.shape)
    passed = 0.01 * np.array([1.0, 10.0, 2.0, 20.0])[:, None] * np.ones((SEEDS, 4, 100))
    passed[:, :, :40] *= -1
    passed[:, 0, 30:40] *= -1  # the network hurts 30 %, the others 40 %
    pairs, arrows = ("seed", "model", "pair"), ("seed", "stepped", "arrow")
    values = {"meet_pair_overlap": (pairs, overlap), "meet_pair_cosine": (pairs, cosine)}
    values["passed_on"] = (arrows, passed)
    return xr.Dataset(values, {"model": MODELS, "stepped": STEPPED})


def upkeep() -> xr.Dataset:
    """Every option does its work at no cost; without the mask the error is a fifth higher."""
    dims, shape = ("seed", "upkeep_sparsity", "start", "variant"), (SEEDS, 2, 2, len(VARIANTS))
    values = {name: np.ones(shape) for name in ("mse", "dead", "coherence", "active")}
    values["dead"] *= 0
    values["dead"][:, 1, 1, :] = 0.3
    values["dead"][..., VARIANTS.index("dead atoms re-drawn")] = 0
    values["mse"][..., VARIANTS.index("without the mask")] = 1.2
    values["coherence"][..., VARIANTS.index("decorrelated")] = 0.5
    coords = {"upkeep_sparsity": [0.2, 1.0], "start": ["samples", "chance"], "variant": VARIANTS}
    return xr.Dataset({f"upkeep_{n}": (dims, v) for n, v in values.items()}, coords)


def interfaces() -> xr.Dataset:
    """The literal rule lowers F and the strict error alike, the subspace rule halves the error."""
    last = {"energy": [3.0, 4.0, 3.5, 3.2, 5.0], "mse_from_top": [1.0, 2.0, 1.9, 1.1, 6.0]}
    values = {
        f"interface_{name}": (("seed", "rule", "stage"), np.tile(np.c_[v, v], (SEEDS, 1, 1)))
        for name, v in (last | {"mse": np.ones(5)}).items()
    }
    return xr.Dataset(values, {"rule": RULES, "stage": [0, 10]})


def results() -> xr.Dataset:
    merged = xr.merge([local(), meeting(), upkeep(), interfaces()])
    return merged.assign_coords(seed=np.arange(SEEDS)).copy(deep=True)


IDS = ["VN-Da", "VN-Db", "VN-Dc", "VN-Dd"]


@pytest.mark.parametrize("claim", IDS)
def test_all_parts_hold_on_results_made_for_it(claim):
    row = judged(claim, results())
    assert (row["verdict"], row["verdict_controls"]) == (REPRODUCED, REPRODUCED), row
    assert row["numbers"]


def spoiled(name: str, value: float, times: float = 0.0, **where: object) -> xr.Dataset:
    """Results with `value` in one place, or there with what was there times a number."""
    r = results()
    r[name].loc[where] = times * r[name].loc[where] if times else value
    return r


CASES = [
    # claim, what is spoiled, the parts that fail: as printed, with controls
    ("VN-Da", ("local_idle_direction", 1e-12), {"seed": 2, "optimiser": "SGD"}, [0], [0]),
    ("VN-Da", ("local_idle_moved", 0.01), {"seed": 2, "optimiser": "masked Adam"}, [1], [1]),
    ("VN-Da", ("local_idle_moved", 0.5), {"optimiser": "Adam"}, [2], [2]),
    ("VN-Da", ("local_idle", 0.0), {"batch_size": 64}, [], [3]),
    ("VN-Da", ("upkeep_mse", 1.01), {"variant": "without the mask"}, [], [4]),
    ("VN-Db", ("meet_pair_cosine", 0.02), {"seed": 1, "model": "VN 0.2"}, [0, 1], [0, 1, 3]),
    ("VN-Db", ("meet_pair_cosine", 0, 0.1), {"seed": 1, "model": "ReLU"}, [], []),
    ("VN-Db", ("meet_pair_cosine", 0, 0.1), {"seed": 1, "model": "linear"}, [2], [2]),
    ("VN-Db", ("meet_pair_cosine", 0, 0.4), {"seed": 1, "model": "whitened"}, [], [3]),
    ("VN-Db", ("passed_on", 0, 0.4), {"seed": 1, "stepped": "whitened"}, [], [4]),
    ("VN-Db", ("passed_on", -0.01), {"stepped": "VN 0.2"}, [], [5]),
    ("VN-Dc", ("upkeep_dead", 0.05), {"variant": "dead atoms re-drawn"}, [0], [0]),
    ("VN-Dc", ("upkeep_dead", 0.0), {"variant": "as it is"}, [0], [0]),
    ("VN-Dc", ("upkeep_coherence", 1), {"variant": "decorrelated", "start": "chance"}, [1], [1]),
    ("VN-Dc", ("upkeep_mse", 1.2), {"variant": "decorrelated", "upkeep_sparsity": 1}, [1], [1]),
    ("VN-Dc", ("upkeep_mse", 2.0), {"variant": "DC removed"}, [2], []),
    ("VN-Dc", ("upkeep_mse", 2.0), {"variant": "DC removed, centred data"}, [], [2]),
    ("VN-Dc", ("upkeep_active", 1.5), {"variant": "decorrelated", "start": "samples"}, [], [3]),
    ("VN-Dd", ("interface_energy", 4.1), {"rule": "literal", "seed": 0}, [0], [0]),
    ("VN-Dd", ("interface_mse_from_top", 5.0), {"rule": "literal", "seed": 0}, [1], [1]),
    ("VN-Dd", ("interface_energy", 1.0), {"rule": "silent"}, [], [2]),
    ("VN-Dd", ("interface_mse_from_top", 1.8), {"rule": "subspace", "seed": 0}, [], [3]),
    ("VN-Dd", ("interface_mse", 1.2), {"rule": "subspace", "seed": 0}, [], [3]),
]


@pytest.mark.parametrize(("claim", "change", "where", "printed", "controls"), CASES)
def test_each_part_fails_where_it_should(claim, change, where, printed, controls):
    assert failing(claim, spoiled(*change, **where)) == (printed, controls)


def test_an_energy_that_ranks_backwards_is_seen():
    r = results()
    ranks = r["interface_mse_from_top"].isel(seed=0, stage=-1).values.argsort().argsort()
    r["interface_energy"][:] = 5.0 - ranks[:, None]
    assert judged("VN-Dd", r)["numbers"]["spearman_F_error"] == pytest.approx(-1)
    assert 2 in failing("VN-Dd", r)[1]


def test_nothing_holds_for_results_that_are_all_wrong():
    r = spoiled("interface_energy", 9.0, rule="literal")
    assert judged("VN-Dd", r)["verdict"] == PARTLY
    r["interface_mse_from_top"].loc[{"rule": "literal"}] = 9.0
    assert judged("VN-Dd", r)["verdict"] == NOT


@pytest.mark.parametrize("claim", IDS)
def test_results_that_lack_a_part_are_not_testable(claim):
    lacking = xr.Dataset(coords={"seed": [0], "stepped": STEPPED})
    assert judged(claim, lacking)["verdict"] == NOT_TESTABLE
