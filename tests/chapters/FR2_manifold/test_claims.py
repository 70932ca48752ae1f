"""The rules of FR-2 and FR-A on made-up results: each part holds on the claimed pattern and fails
without it.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import absent, changed, failing, filled, judged, rules, told

from chapters.FR2_manifold import claims

CNN_BUMP, CNN_RAMP = ["cnn_bump_2", "cnn_bump_3"], ["cnn_ramp_2", "cnn_ramp_3"]
CNN = [*CNN_BUMP, *CNN_RAMP]
MLP_BUMP, MLP_RAMP = ["mlp_bump_2", "mlp_bump_3"], ["mlp_ramp_2", "mlp_ramp_3"]
MLP = [*MLP_BUMP, *MLP_RAMP]
LONG_CNN, LONG_MLP = ["longer_cnn_bump_2"], ["longer_bump_2", "longer_ramp_2"]
VN, REFERENCES = ["vn_full", "vn_axes_1"], ["perfect", "table"]
COORDS = {
    "model": [*CNN, *MLP, *LONG_CNN, *LONG_MLP, *VN, *REFERENCES],
    "weights": ["trained", "untrained"],
    "layer": ["input", "layer1", "layer2", "output"],
}
TRAINED = {"weights": "trained"}
# What differs from the first network: values at the input, both hidden layers and the output.
DIFFER = [
    ("cnn_bump_3", "F", [1.0, 0.9, 0.68, 0.6]),
    ("cnn_bump_3", "terms", [2.0, 3.0, 6.0, 6.0]),
    ("cnn_ramp_2", "F", [1.0, 0.55, 0.5, 0.6]),
    ("cnn_ramp_3", "F", [1.0, 0.75, 0.5, 0.6]),
    (CNN_RAMP, "terms", [2.0, 3.0, 6.0, 8.0]),
    (MLP + LONG_MLP, "F", [1.0, 0.9, 0.4, 0.6]),
    (MLP + LONG_MLP, "volume_in", [0.0, 0.0, -0.5, -0.5]),
    (MLP + LONG_MLP, "terms", [2.0, 3.0, 6.0, 9.0]),
    (VN, "F", [1.0, 0.99, np.nan, 1.0]),
    (VN, "units", [1.0, 1.0, np.nan, 1.0]),
    (REFERENCES, "units", [1.0, np.nan, np.nan, 1.0]),
    ("perfect", "F", [1.0, np.nan, np.nan, 1.0]),
    ("perfect", "one_factor", [1.0, np.nan, np.nan, 0.2]),
    ("perfect", "terms", [2.0, np.nan, np.nan, 1.0]),
    ("table", "terms", [2.0, np.nan, np.nan, 2.0]),
]
ERRORS = {"cnn_bump_2": 4e-3, "cnn_bump_3": 5e-3, "vn_full": 1e-6, "vn_axes_1": 1e-6}


def made() -> xr.Dataset:
    """The pattern that the claims describe; only the first seed is measured before training."""
    by_layer = {
        "F": [(1.0, 0.9, 0.7, 0.6), (1.0, 0.98, 0.97, 0.97)],
        "probe": [(1.0, 0.95, 0.9, 0.9), (1.0, 1.0, 1.0, 1.0)],
        "probe_ood": [(1.0, 0.5, 0.5, 0.5), (1.0, 0.95, 0.95, 0.95)],
        "spread_in": [(0.0, 0.1, 0.5, 0.5), (0.0, 0.03, 0.03, 0.03)],
        "spread_out": [(0.0, 0.05, 0.1, 0.1), (0.0, 0.03, 0.03, 0.03)],
        "volume_in": [(0.0, 0.0, 0.5, 0.5), (0.0, 0.0, 0.0, 0.0)],
        "volume_out": [(0.0, 0.0, 0.2, 0.2), (0.0, 0.0, 0.0, 0.0)],
        "one_factor": [(1.0, 0.8, 0.1, 0.1), (1.0, 0.9, 0.9, 0.9)],
        "terms": [(2.0, 3.0, 6.0, 5.0), (2.0, 2.2, 2.2, 2.2)],
        "units": [(1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0)],
    }
    r = filled(COORDS, **{name: (values, "weights layer") for name, values in by_layer.items()})
    r = r.where((r["weights"] == "trained") | (r["seed"] == 0))
    r = r.merge(filled(COORDS, mse_train=(1e-4, "weights"), mse_ood=(9e-3, "weights")))
    r["failed"] = xr.zeros_like(r["F"].isel(weights=0, layer=0, drop=True))
    curve = ("model", "seed", "checkpoint")
    steps, errors = np.arange(1.0, 11.0), np.full((r.sizes["model"], 3, 10), 1e-4)
    r = r.assign(curve_step=("checkpoint", steps), curve_val=(curve, errors))
    for model, name, values in DIFFER:
        r[name].loc[{"model": model} | TRAINED] = values
    for model, value in ERRORS.items():
        r["mse_ood"].loc[{"model": model}] = value
    return r.assign(zero_baseline_id=4e-3, zero_baseline_ood=4e-3)


def case(claim: str, name: str, model: object, layer: object, value: object, *parts: list) -> tuple:
    return claim, name, {"model": model, "layer": layer} | TRAINED, value, *parts


LAST, BOTH = "layer2", ["layer1", "layer2"]
NETWORKS = [*CNN, *MLP, *LONG_CNN, *LONG_MLP]
# Printed: F falls (0-3), spread (4, 5), sharp (6), MLPs (7, 8; as drawn or not 9, 10). Controls end with probes (9-12).
CASES = [
    case("FR-2", "F", CNN_BUMP, LAST, 1.01, [0], [4]),
    case("FR-2", "F", CNN_RAMP, LAST, 1.01, [1], [3, 4]),
    case("FR-2", "F", MLP_BUMP, LAST, 1.01, [2, 8, 10], [3, 4]),
    case("FR-2", "F", MLP_RAMP, LAST, 1.01, [3, 8, 10], [3, 4]),
    case("FR-2", "probe", CNN_BUMP, LAST, 0.99, [], [9]),
    case("FR-2", "probe", CNN_RAMP, LAST, 0.99, [], [10]),
    case("FR-2", "probe", MLP_BUMP, LAST, 0.99, [], [11]),
    case("FR-2", "probe", MLP_RAMP, LAST, 0.99, [], [12]),
    case("FR-2", "spread_in", CNN_BUMP, "layer1", 0.4, [4], []),
    case("FR-2", "spread_in", CNN_RAMP, "layer1", 0.4, [5], []),
    case("FR-2", "F", "cnn_ramp_3", "layer1", 0.5, [6], []),
    case("FR-2", "volume_in", MLP, LAST, 0.5, [7, 9], []),
    case("FR-2", "F", MLP, LAST, 0.9, [8, 10], [3]),
    case("FR-2", "F", NETWORKS, LAST, 0.96, [8, 10], [0, 3, 6, 8]),
    case("FR-2", "spread_out", NETWORKS, LAST, 0.5, [4, 5], [1]),
    case("FR-2", "F", NETWORKS, "output", 0.97, [], [2]),
    case("FR-2", "F", NETWORKS, BOTH, 0.6, [6, 8, 10], [3, 6, 8]),
    case("FR-2", "F", "vn_full", "layer1", 0.3, [], [4]),
    case("FR-2", "volume_in", LONG_MLP, LAST, 0.5, [], [5, 7]),
    case("FR-2", "F", LONG_MLP, LAST, 0.9, [], [3, 6, 8]),
    case("FR-A", "terms", "cnn_bump_2", "input", 2.5, [], [0]),
    case("FR-A", "terms", CNN_BUMP, LAST, 1.9, [], [1]),
    case("FR-A", "one_factor", CNN_BUMP, LAST, 0.98, [], [2]),
    case("FR-A", "terms", CNN_RAMP, LAST, 1.9, [], [3]),
    case("FR-A", "one_factor", CNN_RAMP, LAST, 0.98, [], [4]),
    case("FR-A", "terms", MLP_BUMP, LAST, 1.9, [], [5]),
    case("FR-A", "one_factor", MLP_BUMP, LAST, 0.98, [], [6]),
    case("FR-A", "terms", MLP_RAMP, LAST, 1.9, [], [7]),
    case("FR-A", "one_factor", MLP_RAMP, LAST, 0.98, [], [8]),
    case("FR-A", "terms", "perfect", "output", 7.0, [], [9]),
    case("FR-A", "one_factor", "perfect", "output", 0.1, [], [10]),
    case("FR-A", "terms", NETWORKS, "output", 5.0, [], [12]),
]
LACKING = [
    ("FR-2", {"model": "mlp_ramp_2"}, "mlp_ramp"),
    ("FR-2", {"model": "perfect"}, "the model(s) perfect"),
    ("FR-2", {"model": "vn_full"}, "two of the models vn"),
    ("FR-A", {"model": "perfect"}, "the model(s) perfect"),
]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-2": made, "FR-A": made}, CASES, LACKING
)


@pytest.mark.parametrize("claim", ["FR-2", "FR-A"])
def test_networks_that_draw_nothing_do_not_count_as_having_learned(claim):
    assert "learned to draw" in absent(claim, changed(made(), "failed", {"model": NETWORKS}, 1))


def test_runs_that_learned_nothing_are_left_out_and_networks_of_such_runs_decide_nothing():
    one = {"model": CNN_BUMP, "seed": 2}
    r = changed(made(), "F", one | {"layer": LAST} | TRAINED, 0.1)
    some = told("FR-2", changed(r, "failed", one, 1))
    assert some["F_kept.cnn_bump"] == told("FR-2", made())["F_kept.cnn_bump"]
    parts = judged("FR-2", changed(made(), "failed", {"model": MLP}, 1)).parts
    unmet = [i for i, part in enumerate(parts) if not all(need.holds for need in part.needs)]
    assert unmet == [2, 3, 7, 8]
    assert parts[9].holds and parts[9].weight == "detail"


def test_a_training_that_has_not_settled_is_no_control():
    falling = xr.DataArray(np.geomspace(1, 1e-3, 10), dims="checkpoint")
    r = made()
    assert claims.counted(r) == [*CNN, *MLP, *LONG_CNN, *LONG_MLP]
    r["curve_val"].loc[{"model": LONG_MLP[:1]}] = falling
    controls = judged("FR-2", r).controls
    unmet = [i for i, part in enumerate(controls) if not all(need.holds for need in part.needs)]
    assert unmet == [5, 6]
    assert claims.counted(r) == [*CNN, *MLP, *LONG_CNN, LONG_MLP[1]], "nor among the others"
    r["curve_val"].loc[{"model": CNN + LONG_CNN}] = falling
    assert claims.counted(r) == [*CNN, *MLP, LONG_MLP[1]], "of the published length, or settled"


def test_measures_before_training_are_those_of_all_seeds_where_there_are_any():
    r = made()
    random = r["F"].sel(weights="untrained", drop=True)
    assert random.isel(seed=1).isnull().all()
    own = random.isel(seed=0, drop=True).expand_dims(seed=r["seed"])
    own = own.where(r["model"].isin(NETWORKS))
    r["random_F"] = own.where((own["layer"] != "layer2") | own.isnull(), 0.6)
    before = claims.before_training(r)["F"]
    assert before.dims == r["F"].dims and before.sel(TRAINED).equals(r["F"].sel(TRAINED))
    last = before.sel(weights="untrained", layer="layer2")
    assert (last.sel(model=CNN) == 0.6).all()
    other = r["F"].sel(weights="untrained", layer="layer2", model="perfect")
    assert last.sel(model="perfect").equals(other)
    assert failing("FR-2", r) == ([], [0]), "a fall of 0.6 is less than twice one of 0.4"
    rare = r["random_F"].copy()
    rare.loc[{"seed": [1, 2], "layer": "layer2"}] = 0.97
    assert failing("FR-2", r.assign(random_F=rare)) == ([], []), "the median over seeds decides"


def test_a_seed_of_some_models_only_decides_what_these_can():
    """CNNs with ramps have more seeds than others."""
    alone = made().isel(seed=[0])
    others = [name for name in alone["model"].values if name not in CNN_RAMP]
    alone = alone.where(~alone["model"].isin(others))
    assert np.isnan(claims._steepest(alone, CNN_BUMP[0]))
