"""The rule of FR-4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import rules, told

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
    start |= {"cross_share_ood": 0.0, "mse_ood": 1e-3}
    r = xr.Dataset({name: filled(value, axes) for name, value in start.items()})
    r["hit_ood"].loc[{"diet": [ALONE, MOST]}] = 0.1
    r["bump_hit_ood"].loc[{"diet": FEW}] = 0.9
    r["cross_share_ood"].loc[{"diet": STRIPES}] = 1.0
    r["zero_baseline_ood"] = filled(4e-3, RUNS)
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
        r["need"].loc[{"model": model, "kind": "stripes"}] = 2 * side
    return r


HELD_OUT = {"region": "corner", "places": "pixels"}
BUMPS_20, STRIPES_20 = (HELD_OUT | {"model": "side_20", "kind": k} for k in ("bumps", "stripes"))
OPEN_20 = BUMPS_20 | {"region": "none"}
CASES = [
    ("FR-4", "hit_ood", CNN | {"diet": STRIPES}, 0.7, [0], [0]),
    ("FR-4", "cross_share_ood", CNN | {"diet": STRIPES}, 0.7, [0], [0]),
    ("FR-4", "bump_hit_ood", CNN | {"diet": FEW}, 0.7, [1], [1]),
    ("FR-4", "hit_ood", CNN | {"diet": ALONE}, 0.6, [2], []),
    ("FR-4", "need", BUMPS_20, np.inf, [3], [3]),
    ("FR-4", "need", BUMPS_20, 2000, [3], [3]),
    ("FR-4", "need", STRIPES_20, np.inf, [4], [4]),
    ("FR-4", "need", STRIPES_20, 90, [4], [4]),
    ("FR-4", "need", STRIPES_20 | {"seed": 0}, np.inf, [], []),
    ("FR-4", "need", OPEN_20, np.inf, [], []),
    ("FR-4", "tuning_quantile", CNN | {"diet": FEW} | LAST, 0.05, [5], [5]),
    ("FR-4", "volume_rough", CNN | {"diet": MOST}, 0.05, [6], [6]),
    ("FR-4", "cross_share_ood", SQUARE | {"diet": STRIPES}, 0.7, [], [0]),
    ("FR-4", "line_ood", CNN | {"diet": STRIPES}, 0.4, [], [0]),
    ("FR-4", "bump_hit_ood", SQUARE | {"diet": FEW}, 0.7, [], [1]),
    ("FR-4", "mse_ood", CNN | {"diet": FEW}, 3e-3, [], [1]),
    ("FR-4", "mse_ood", SQUARE | {"diet": FEW}, 3e-3, [], [1]),
    ("FR-4", "hit_ood", SQUARE | {"diet": MOST}, 0.6, [], [2]),
    ("FR-4", "hit_id", CNN | {"diet": MOST}, 0.8, [], [2]),
    ("FR-4", "need", {"model": "side_12", "kind": "bumps"}, np.inf, [3], [3]),
    ("FR-4", "need", STRIPES_20 | {"measure": "drawn"}, 90, [], [4]),
    ("FR-4", "tuning_rest", CNN | {"diet": FEW, "seed": 1} | LAST, 0.05, [], [5]),
    ("FR-4", "tuning_rest", CNN | {"diet": ALONE, "seed": 2} | FIRST, 0.05, [], [5]),
    ("FR-4", "volume_rough", CNN | {"diet": ALONE, "seed": 0}, 0.05, [], [6]),
    ("FR-4", "bump_hit_ood", {"model": "factorised", "diet": ALONE}, 0.9, [], [7]),
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
    assert numbers["bumps.exponent"] == pytest.approx(3)
    assert numbers["stripes.exponent"] == pytest.approx(1)
