"""The rules of VN-F4b, VN-F4c and VN-H1: each part shown to hold, and to fail, on made-up
results.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from chapters.fig4_nbody.claims import (
    BASELINES,
    GATED,
    LINEAR,
    LITERAL,
    OTHERS,
    SAME_TOKENS,
    TOKENS,
)
from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

SEEDS = 3
LAWS = ("gravity", "spring", "drag", "lorentz")
FORCES = ["+".join(laws) for n in range(1, 5) for laws in combinations(LAWS, n)]
NUMBER = np.array([len(f.split("+")) for f in FORCES])
MODELS = [LITERAL, GATED, TOKENS, *OTHERS, *SAME_TOKENS, *LINEAR.values()]
CONSERVED = ["gravity", "spring", "lorentz", "gravity+spring+lorentz"]


def made() -> xr.Dataset:
    """Everything as the paper says, and as our controls would have it; the power is 1 per force."""
    coords = {
        "model": MODELS,
        "seed": range(SEEDS),
        "way": ["joint", "passes"],
        "forces": FORCES,
        "bodies": [5, 4, 3],
    }
    r = xr.Dataset(coords=coords | {"law": list(LAWS), "conserved": CONSERVED})

    def full(value: float, *dims: str) -> xr.DataArray:
        return xr.DataArray(
            np.full([r.sizes[d] for d in dims], value), dims=dims, coords={d: r[d] for d in dims}
        )

    number = xr.DataArray(NUMBER.astype(float), dims="forces")
    mixed, fewer = number - 1, xr.DataArray([1.0, 1.1, 1.2], dims="bodies")
    r["power"] = full(1.0, "model", "seed", "forces", "bodies") * number
    vn = full(0.01, "model", "seed", "way", "forces", "bodies") * number
    # Relative errors of 0.02, 0.2, 0.3, 0.4.
    baseline = (
        full(0.0, "model", "seed", "way", "forces", "bodies") + 0.02 + 0.1 * mixed * number
    ) * fewer
    plain = xr.DataArray(np.isin(MODELS, BASELINES), dims="model")
    r["mse"] = xr.where(plain, baseline, vn).transpose("model", "seed", "way", "forces", "bodies")
    r["mse"].loc[{"model": list(SAME_TOKENS)}] *= 2 * (1 + 0.5 * mixed)
    r["mse"].loc[{"model": list(LINEAR.values())}] *= 3
    r["mse"].loc[{"model": "random"}] = r["power"].sel(model="random")
    r["sim_exact"] = full(1e-9, "model", "seed", "law")
    r["sim_energy"] = full(1e-9, "model", "seed", "conserved")
    for name, value in (("momentum", 0), ("superposition", 0), ("boundary", 0), ("order", 4)):
        r[f"sim_{name}"] = full(float(value), "model", "seed")
    return r


@pytest.mark.parametrize("name", ["VN-F4b", "VN-F4c", "VN-H1"])
def test_all_as_printed(name):
    row = judged(name, made())
    assert row["verdict"] == REPRODUCED and row["verdict_controls"] == (
        None if name == "VN-H1" else REPRODUCED
    )


def changed(name: str, where: dict, factor: float) -> xr.Dataset:
    r = made()
    r[name].loc[where] *= factor
    return r


SINGLE, ALL = list(LAWS), FORCES[-1]


@pytest.mark.parametrize(
    ("where", "factor", "parts", "fair"),
    [
        # Errors on single forces: of all laws, of one law.
        ({"model": "gnn", "forces": SINGLE}, 6, [0], [0, 1]),
        ({"model": "gnn", "forces": ["gravity"]}, 6, [], [0]),
        # From three forces to four, errors fall, or rise less than the power.
        ({"model": "mlp", "forces": [ALL]}, 0.3, [1], [1]),
        ({"model": "mlp", "forces": [ALL]}, 0.6, [], [1]),
        # Three bodies.
        ({"model": "film", "bodies": 3}, 0.5, [2], [2]),
        # One cell of nine lost.
        ({"model": "mamba", "way": "joint", "bodies": 4, "forces": [ALL]}, 0.02, [3, 4], [3]),
        ({"model": "random", "bodies": 3, "forces": [ALL]}, 0.009, [3, 4], [3]),
        ({"model": LITERAL, "way": "joint", "forces": [ALL]}, 60, [3], []),
        ({"model": GATED, "way": "joint", "forces": [ALL]}, 60, [4], []),
        ({"model": [LITERAL, GATED], "way": "joint", "forces": [ALL]}, 11, [5], []),
        # The same tokens.
        ({"model": "rbf_tokens", "bodies": 5, "forces": [ALL]}, 0.1, [], [4]),
        ({"model": TOKENS, "bodies": 5, "forces": [ALL]}, 60, [], [3, 4]),
        # One pass per force.
        ({"model": "transformer", "way": "passes"}, 0.03, [], [5]),
        ({"model": LITERAL, "way": "passes", "forces": [ALL]}, 60, [], [5]),
    ],
)
def test_each_part_of_the_errors_can_fail(where, factor, parts, fair):
    assert failing("VN-F4b", changed("mse", where, factor)) == (parts, fair)


def test_growing_power_is_no_growing_relative_error():
    r = made()
    r["power"].loc[{"bodies": 3}] *= 5
    r["power"].loc[{"forces": FORCES[-1]}] *= 5
    assert failing("VN-F4b", r) == ([], [1, 2])


def test_seeds_count_by_their_median():
    assert failing("VN-F4b", changed("mse", {"model": "gnn", "seed": 1}, 100)) == ([], [])
    assert failing("VN-F4b", changed("mse", {"model": "gnn", "seed": [1, 2]}, 100))[0] == [0]


MIXED = FORCES[4:]


@pytest.mark.parametrize(
    ("where", "factor", "parts", "fair"),
    [
        ({"model": LITERAL, "way": "joint", "forces": MIXED}, 10, [0], [2]),
        ({"model": GATED, "way": "joint", "forces": MIXED}, 10, [1], [2]),
        ({"model": [LITERAL, GATED], "way": "joint"}, 100, [2], [2]),
        ({"model": TOKENS, "forces": MIXED}, 1.3, [], [0]),
        ({"model": "token_mlp", "forces": MIXED}, 0.4, [], [1]),
        ({"model": "linear_gated"}, 0.3, [], [2]),
        ({"model": "linear_literal", "forces": MIXED}, 0.9, [], [2]),
        ({"model": "factorized", "way": "passes", "forces": MIXED}, 0.02, [], [3]),
        ({"model": "factorized", "way": "joint", "forces": MIXED}, 0.02, [0, 1, 2], []),
    ],
)
def test_each_part_of_the_diagonal_can_fail(where, factor, parts, fair):
    assert failing("VN-F4c", changed("mse", where, factor)) == (parts, fair)


@pytest.mark.parametrize(
    ("name", "where", "value", "part"),
    [
        ("sim_exact", {"law": "drag"}, 2e-6, 0),
        ("sim_superposition", {}, 1e-9, 1),
        ("sim_momentum", {}, 1e-6, 2),
        ("sim_energy", {"conserved": "spring"}, 2e-6, 2),
        ("sim_order", {}, 3.5, 3),
        ("sim_order", {}, 4.5, 3),
        ("sim_boundary", {}, 1e-6, 4),
    ],
)
def test_each_part_of_the_simulator_can_fail(name, where, value, part):
    r = made()
    r[name].loc[where] = value
    assert failing("VN-H1", r) == ([part], [])


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("VN-F4b", LITERAL),
        ("VN-F4b", "mamba"),
        ("VN-F4b", "rbf_tokens"),
        ("VN-F4c", "linear_gated"),
        ("VN-F4c", TOKENS),
    ],
)
def test_what_lacks_is_named(name, model):
    row = judged(name, made().drop_sel(model=model))
    assert row["verdict"] == NOT_TESTABLE and model in row["missing"]


def test_numbers_of_bodies_that_lack_are_named():
    row = judged("VN-F4b", made().drop_sel(bodies=3))
    assert row["verdict"] == NOT_TESTABLE and "the numbers of bodies 3" in row["missing"]
