"""The rules of VN-F4b, VN-F4c and VN-H1: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import pytest
import xarray as xr
from judging import changed, failing, filled, rules, times, unmet

from chapters.fig4_nbody.claims import BASELINES, EVERYONE, GATED, LINEAR, LITERAL, TOKENS
from data_gen.nbody import FORCE_SETS, LAWS

MIXED, ALL = list(FORCE_SETS[4:]), FORCE_SETS[-1]


def made() -> xr.Dataset:
    """Everything as the paper says, and as our controls would have it; the power is 1 per force."""
    coords = {
        "model": EVERYONE,
        "inference": ["joint", "passes"],
        "forces": FORCE_SETS,
        "bodies": [5, 4, 3],
        "law": LAWS,
        "conserved": ["gravity", "spring"],
    }
    simulator = {"exact": (1e-9, "law"), "energy": (1e-9, "conserved"), "order": (4, "")}
    simulator |= {"momentum": (1e-10, "")} | dict.fromkeys(
        ("superposition", "boundary"), (1e-13, "")
    )
    simulator = {f"sim_{name}": one for name, one in simulator.items()}
    r = filled(
        coords, power=(1, "forces bodies"), mse=(0.01, "inference forces bodies"), **simulator
    )
    number = r["forces"].str.count(r"\+") + 1.0
    r["power"] *= number
    r["mse"] *= number
    # Relative errors of 0.02, 0.2, 0.3, 0.4, and more of them with fewer bodies.
    fewer = xr.DataArray([1.0, 1.1, 1.2], dims="bodies")
    r["mse"].loc[{"model": list(BASELINES)}] = (0.02 + 0.1 * (number - 1) * number) * fewer
    r["mse"].loc[{"model": ["token_mlp", "rbf_tokens"]}] *= 2 * (1 + 0.5 * (number - 1))
    r["mse"].loc[{"model": list(LINEAR.values())}] *= 3
    r["mse"].loc[{"model": "random"}] = r["power"].sel(model="random")
    return r


JOINT = {"inference": "joint"}
ERRORS = [
    # Errors on single forces: of all laws, of one law.
    ({"model": "gnn", "forces": list(LAWS)}, 6, [0], [0, 1]),
    ({"model": "gnn", "forces": ["gravity"]}, 6, [], [0]),
    ({"model": LITERAL, "inference": "joint", "forces": list(LAWS)}, 11, [1], [0]),
    # From three forces to four, errors fall, or rise less than the power.
    ({"model": "mlp", "forces": [ALL]}, 0.3, [2], [1]),
    ({"model": "mlp", "forces": [ALL]}, 0.6, [], [1]),
    ({"model": "film", "bodies": 3}, 0.5, [3], [2]),
    # One cell of nine lost.
    ({"model": "mamba", **JOINT, "bodies": 4, "forces": [ALL]}, 0.02, [4, 5], [3, 6]),
    ({"model": "random", "bodies": 3, "forces": [ALL]}, 0.009, [4, 5], [3]),
    ({"model": LITERAL, **JOINT, "forces": [ALL]}, 60, [4], []),
    ({"model": GATED, **JOINT, "forces": [ALL]}, 60, [5], [6, 7]),
    ({"model": [LITERAL, GATED], **JOINT, "forces": [ALL]}, 11, [6], []),
    # The same tokens, and one pass per force.
    ({"model": "rbf_tokens", "bodies": 5, "forces": [ALL]}, 0.1, [], [4]),
    ({"model": TOKENS, "bodies": 5, "forces": [ALL]}, 60, [], [3, 4]),
    ({"model": "transformer", "inference": "passes"}, 0.03, [], [5]),
    ({"model": LITERAL, "inference": "passes", "forces": [ALL]}, 60, [], [5]),
    # Seeds count by their median.
    ({"model": "gnn", "seed": 1}, 100, [], []),
    ({"model": "gnn", "seed": [1, 2], "forces": list(LAWS)}, 6, [0], [0, 1]),
]
DIAGONAL = [
    ({"model": LITERAL, **JOINT, "forces": MIXED}, 10, [0], [2]),
    ({"model": GATED, **JOINT, "forces": MIXED}, 10, [1], [2]),
    ({"model": [LITERAL, GATED], **JOINT}, 100, [2], [2]),
    ({"model": TOKENS, "forces": MIXED}, 1.3, [], [0]),
    ({"model": "token_mlp", "forces": MIXED}, 0.4, [], [1]),
    ({"model": "linear_gated"}, 0.3, [], [2]),
    ({"model": "linear_literal", "forces": MIXED}, 0.9, [], [2]),
    ({"model": "factorized", "inference": "passes", "forces": MIXED}, 0.02, [], [3]),
    ({"model": "factorized", **JOINT, "forces": MIXED}, 0.02, [0, 1, 2], []),
]
SIMULATOR = [
    ("sim_exact", {"law": "drag"}, 2e3, [0]),
    ("sim_superposition", {}, 1e4, [1]),
    ("sim_momentum", {}, 1e4, [2]),
    ("sim_energy", {"conserved": "spring"}, 2e3, [2]),
    ("sim_order", {}, 0.875, [3]),
    ("sim_order", {}, 1.125, [3]),
    ("sim_boundary", {}, 1e7, [4]),
]
CASES = [
    *(("VN-F4b", "mse", where, times(by), *fail) for where, by, *fail in ERRORS),
    *(("VN-F4c", "mse", where, times(by), *fail) for where, by, *fail in DIAGONAL),
    *(("VN-H1", name, where, times(by), fail, []) for name, where, by, fail in SIMULATOR),
]
LACKING = [
    ("VN-F4b", {"model": LITERAL}, LITERAL),
    ("VN-F4b", {"model": "rbf_tokens"}, "rbf_tokens"),
    ("VN-F4c", {"model": "linear_gated"}, "linear_gated"),
    ("VN-F4c", {"model": TOKENS}, TOKENS),
]
MADE = dict.fromkeys(("VN-F4b", "VN-F4c", "VN-H1"), made)
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(MADE, CASES, LACKING)


def test_growing_power_is_no_growing_relative_error():
    r = changed(made(), "power", {"bodies": 3}, times(5))
    r = changed(r, "power", {"forces": ALL}, times(5))
    assert failing("VN-F4b", r) == ([], [1, 2])


@pytest.mark.parametrize(
    ("claim", "where", "turned"), [("VN-F4b", JOINT, [4, 5]), ("VN-F4c", JOINT, [2])]
)
def test_what_twice_the_updates_turn_is_not_testable(claim, where, turned):
    r = made()
    twin = r.sel(model=["mamba"]).assign_coords(model=["mamba_longer"])
    same = xr.concat([r, twin], "model")
    assert unmet(claim, same) == ([], [])
    better = changed(same, "mse", {"model": "mamba_longer", "forces": MIXED} | where, times(0.02))
    found, _ = unmet(claim, better)
    assert {*turned} <= {*found} and failing(claim, better)[0] == []
