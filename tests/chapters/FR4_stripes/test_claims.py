"""The rule of FR-4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import changed, judged, rules, told

STRIPES, FEW, ALONE, MOST = DIETS = ["stripes+0", "stripes+100", "bumps+100", "bumps+all"]
SIDES = {f"side_{side}": float(side) for side in (12, 16, 20)}
MODELS = ["cnn", "cnn_square", "vn_axes", "vn_joint", "factorised", *SIDES]
RUNS = {"model": MODELS, "seed": [0, 1, 2]}
CNN, SQUARE = {"model": "cnn"}, {"model": "cnn_square"}
FIRST, LAST = {"layer": "layer1"}, {"layer": "layer2"}


def filled(value: float, axes: dict) -> xr.DataArray:
    return xr.DataArray(value, axes, list(axes)).copy()


def made() -> xr.Dataset:
    """Everything as FR say."""
    axes = RUNS | {"diet": DIETS}
    layers = axes | {"layer": ["input", "layer1", "layer2", "output"]}
    start = {"hit_ood": 1.0, "hit_id": 1.0, "line_ood": 1.0, "bump_hit_ood": 0.0}
    start |= {"cross_share_ood": 0.0, "mse_ood": 1e-3, "mse_id": 1e-3}
    r = xr.Dataset({name: filled(value, axes) for name, value in start.items()})
    r["hit_ood"].loc[{"diet": [ALONE, MOST]}] = 0.1
    r["bump_hit_ood"].loc[{"diet": FEW}] = 0.9
    r["cross_share_ood"].loc[{"diet": STRIPES}] = 1.0
    r["zero_baseline_ood"] = filled(4e-3, RUNS)
    r["zero_baseline_id"] = filled(4e-3, RUNS)
    r["tuning_rest"] = filled(0.1, layers)
    r["tuning_rest"].loc[LAST] = 0.5
    r["tuning_rest"].loc[{"diet": ALONE} | FIRST] = 0.3
    r["tuning_quantile"] = r["tuning_rest"].expand_dims(quantile=[0.25, 0.5, 0.75]).copy()
    r["volume_rough"] = filled(0.2, layers)
    r["volume_rough"].loc[{"diet": FEW}] = 0.1
    asked = {"region": ["corner", "none"], "places": ["pixels", "anywhere"]}
    asked |= {"kind": ["bumps", "stripes"], "measure": ["joint", "drawn"], "target": [0.5, 0.8]}
    r["need"] = filled(np.nan, RUNS | asked)
    for model, side in SIDES.items():
        r["need"].loc[{"model": model, "kind": "bumps"}] = side**3
        r["need"].loc[{"model": model, "kind": "stripes"}] = 4 * side
    r["curve_step"] = xr.DataArray([1.0, 4, 5], dims="checkpoint") * filled(1.0, axes)
    r["curve_val"] = filled(1.0, axes | {"checkpoint": range(3)})
    return r


HELD_OUT = {"region": "corner", "places": "pixels"}
OPEN = {"region": "none", "places": "anywhere"}
BUMPS_20, STRIPES_20 = (HELD_OUT | {"model": "side_20", "kind": k} for k in ("bumps", "stripes"))
OPEN_20 = OPEN | {"model": "side_20"}
CASES = [
    ("FR-4", "hit_ood", CNN | {"diet": STRIPES}, 0.7, [0], [0]),
    ("FR-4", "hit_ood", SQUARE | {"diet": STRIPES}, 0.7, [], [0]),
    ("FR-4", "cross_share_ood", CNN | {"diet": STRIPES}, 0.7, [1], [1]),
    ("FR-4", "cross_share_ood", SQUARE | {"diet": STRIPES}, 0.7, [], [1]),
    ("FR-4", "line_ood", CNN | {"diet": STRIPES}, 0.4, [], [1]),
    ("FR-4", "bump_hit_ood", CNN | {"diet": FEW}, 0.7, [2], [2]),
    ("FR-4", "bump_hit_ood", SQUARE | {"diet": FEW}, 0.7, [], [2]),
    ("FR-4", "mse_ood", SQUARE | {"diet": FEW}, 3e-3, [], [2]),
    ("FR-4", "hit_ood", CNN | {"diet": ALONE}, 0.6, [3], []),
    ("FR-4", "hit_ood", SQUARE | {"diet": MOST}, 0.6, [], [3]),
    ("FR-4", "need", BUMPS_20, np.inf, [4], [4]),
    ("FR-4", "need", BUMPS_20, 2000, [4], [4]),
    ("FR-4", "need", OPEN_20 | {"kind": "bumps"}, 2000, [5], [5]),
    ("FR-4", "need", BUMPS_20 | {"seed": 0}, np.inf, [], []),  # one seed does not decide
    ("FR-4", "need", STRIPES_20, np.inf, [6], [6]),
    ("FR-4", "need", STRIPES_20 | {"measure": "joint"}, 180, [6], []),
    ("FR-4", "need", STRIPES_20 | {"measure": "drawn"}, 180, [], [6]),
    ("FR-4", "need", OPEN_20 | {"kind": "stripes"}, 180, [], [7]),
    ("FR-4", "tuning_quantile", CNN | {"diet": FEW} | LAST, 0.05, [7], []),
    ("FR-4", "tuning_rest", CNN | {"diet": ALONE} | FIRST, 0.05, [], [8]),
    ("FR-4", "volume_rough", CNN | {"diet": MOST}, 0.05, [8], []),
    ("FR-4", "volume_rough", CNN | {"diet": ALONE}, 0.05, [], [9]),
    ("FR-4", "bump_hit_ood", {"model": "factorised", "diet": ALONE}, 0.9, [], [10]),
]
LACKING = [
    ("FR-4", {"model": "cnn_square"}, "the model(s) cnn_square"),
    ("FR-4", {"model": "vn_joint"}, "the model(s) vn_joint"),
    ("FR-4", {"model": "side_16"}, "the models of three image sizes"),
    ("FR-4", {"diet": "bumps+all"}, "the diet(s) bumps+all"),
]
test_as_printed, test_each_part_can_fail, test_what_lacks_is_named = rules(
    {"FR-4": made}, CASES, LACKING
)


def test_exponents_are_those_of_the_needs():
    numbers = told("FR-4", made())
    assert numbers["bumps.joint.corner.pixels.exponent"] == pytest.approx(3)
    assert numbers["bumps.joint.none.anywhere.exponent"] == pytest.approx(3)
    assert numbers["stripes.joint.corner.pixels.exponent"] == pytest.approx(1)


def unmet(part) -> list[bool]:
    return [need.holds for need in part.needs]


def test_no_exponent_is_told_that_is_so_by_construction():
    r = changed(made(), "need", {"model": "side_20", "kind": "bumps"}, np.inf)
    assert unmet(judged("FR-4", r).parts[4]) == [False], "a side where nothing reaches the target"
    for model, side in SIDES.items():
        r = changed(r, "need", {"model": model, "kind": "stripes", "measure": "joint"}, 2 * side)
    decision = judged("FR-4", r)
    assert unmet(decision.parts[6]) == [False], "2N stripes alone suffice"
    assert unmet(decision.controls[6]) == [True], "but not for the form"


def late(model: dict, diet: str) -> xr.Dataset:
    """Results in which the error of these trainings halves at the end."""
    r = changed(made(), "curve_val", model | {"diet": diet}, 2.0)
    return changed(r, "curve_val", model | {"diet": diet, "checkpoint": 2}, 1.0)


def not_tested(r: xr.Dataset) -> tuple[list[int], list[int]]:
    """The statements, as printed and with controls, whose conditions are not met."""
    decision = judged("FR-4", r)
    plain, controls = (
        [i for i, part in enumerate(parts) if not all(unmet(part))]
        for parts in (decision.parts, decision.controls)
    )
    return plain, controls


def test_what_has_not_settled_is_not_tested():
    assert not_tested(made()) == ([], [])
    assert not_tested(late(CNN, STRIPES)) == ([0, 1], [0, 1])
    assert not_tested(late(SQUARE, STRIPES)) == ([], [0, 1])
    assert not_tested(late(CNN, FEW)) == ([2, 7, 8], [2, 8, 9])
    assert not_tested(late(CNN, ALONE)) == ([3], [9])


def test_a_network_that_draws_nothing_in_distribution_shows_no_lack_of_bumps():
    for model, parts in ((CNN, [3]), (SQUARE, [])):
        r = changed(made(), "mse_id", model | {"diet": ALONE}, 3e-3)
        assert not_tested(r) == (parts, [])
