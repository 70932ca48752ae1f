"""The rule of FR-4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import failing, judged

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

AXES = {
    "model": [
        *("cnn", "cnn_square", "vn_axes", "vn_joint", "factorised"),
        *("side_12", "side_16", "side_20"),
    ],
    "seed": [0, 1, 2],
    "diet": ["stripes+0", "stripes+100", "bumps+100", "bumps+all"],
}
LAYER = {"layer": ["input", "layer1", "layer2", "output"]}
CNN_100 = {"model": "cnn", "diet": "stripes+100"}
CNN_ALONE = {"model": "cnn", "diet": "bumps+100"}


def filled(value: float, **axes) -> xr.DataArray:
    axes = axes or AXES
    return xr.DataArray(value, axes, list(axes)).copy()


def made() -> xr.Dataset:
    """Everything as FR say."""
    r = xr.Dataset({name: filled(1.0) for name in ("hit_ood", "hit_id", "line_ood")})
    r["bump_hit_ood"], r["cross_share_ood"], r["mse_ood"] = filled(0.0), filled(0.0), filled(1e-3)
    r["hit_ood"].loc[{"diet": ["bumps+100", "bumps+all"]}] = 0.1
    r["bump_hit_ood"].loc[{"diet": "stripes+100"}] = 0.9
    r["cross_share_ood"].loc[{"diet": "stripes+0"}] = 1.0
    runs = {name: AXES[name] for name in ("model", "seed")}
    r["zero_baseline_ood"] = filled(4e-3, **runs)
    r["tuning_rest"] = filled(0.1, **AXES, **LAYER)
    r["tuning_rest"].loc[{"layer": "layer2"}] = 0.5
    r["tuning_rest"].loc[{"diet": "bumps+100", "layer": "layer1"}] = 0.3
    r["tuning_quantile"] = r["tuning_rest"].expand_dims(quantile=[0.25, 0.5, 0.75]).copy()
    r["volume_rough"] = filled(0.2, **AXES, **LAYER)
    r["volume_rough"].loc[{"diet": "stripes+100"}] = 0.1
    asked = {"kind": ["bumps", "stripes"], "measure": ["hit", "bump_hit"], "target": [0.5, 0.8]}
    r["need"] = filled(np.nan, **runs, **asked)
    for side in (12.0, 16.0, 20.0):
        model = f"side_{side:.0f}"
        r["need"].loc[{"model": model, "kind": "bumps"}] = side**3
        r["need"].loc[{"model": model, "kind": "stripes"}] = 2 * side
    return r


def changed(name: str, where: dict, value: float) -> xr.Dataset:
    r = made()
    r[name].loc[where] = value
    return r


def test_all_as_printed():
    row = judged("FR-4", made())
    assert row["verdict"] == row["verdict_controls"] == REPRODUCED
    assert row["numbers"]["bumps.exponent"] == pytest.approx(3)
    assert row["numbers"]["stripes.exponent"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("controls", "part", "name", "where", "value"),
    [
        (False, 0, "hit_ood", {"model": "cnn", "diet": "stripes+0"}, 0.7),
        (False, 0, "cross_share_ood", {"model": "cnn", "diet": "stripes+0"}, 0.7),
        (False, 1, "bump_hit_ood", {"model": "cnn", "diet": "stripes+100"}, 0.7),
        (False, 2, "hit_ood", {"model": "cnn", "diet": "bumps+100"}, 0.6),
        (False, 3, "need", {"model": "side_20", "kind": "bumps"}, np.inf),
        (False, 3, "need", {"model": "side_20", "kind": "bumps"}, 2000),
        (False, 4, "need", {"model": "side_20", "kind": "stripes"}, np.inf),
        (False, 4, "need", {"model": "side_20", "kind": "stripes"}, 90),
        (False, 5, "tuning_quantile", CNN_100 | {"layer": "layer2"}, 0.05),
        (False, 6, "volume_rough", {"model": "cnn", "diet": "bumps+all"}, 0.05),
        (True, 0, "cross_share_ood", {"model": "cnn_square", "diet": "stripes+0"}, 0.7),
        (True, 0, "line_ood", {"model": "cnn", "diet": "stripes+0"}, 0.4),
        (True, 1, "bump_hit_ood", {"model": "cnn_square", "diet": "stripes+100"}, 0.7),
        (True, 1, "mse_ood", CNN_100, 3e-3),
        (True, 1, "mse_ood", {"model": "cnn_square", "diet": "stripes+100"}, 3e-3),
        (True, 2, "hit_ood", {"model": "cnn_square", "diet": "bumps+all"}, 0.6),
        (True, 2, "hit_id", {"model": "cnn", "diet": "bumps+all"}, 0.8),
        (True, 3, "need", {"model": "side_12", "kind": "bumps"}, np.inf),
        (True, 4, "need", {"model": "side_20", "kind": "stripes", "measure": "bump_hit"}, 90),
        (True, 5, "tuning_rest", CNN_100 | {"layer": "layer2", "seed": 1}, 0.05),
        (True, 5, "tuning_rest", CNN_ALONE | {"layer": "layer1", "seed": 2}, 0.05),
        (True, 6, "volume_rough", CNN_ALONE | {"seed": 0}, 0.05),
        (True, 7, "bump_hit_ood", {"model": "factorised", "diet": "bumps+100"}, 0.9),
    ],
)
def test_each_part_can_fail_alone(controls, part, name, where, value):
    assert failing("FR-4", changed(name, where, value))[controls] == [part]


def test_one_seed_of_three_without_the_target_does_not_decide_the_law():
    where = {"model": "side_12", "kind": "stripes", "seed": 0}
    assert failing("FR-4", changed("need", where, np.inf))[0] == []


@pytest.mark.parametrize(
    ("axis", "lacking", "said"),
    [
        ("model", "cnn_square", "the model cnn_square"),
        ("model", "vn_joint", "the model vn_joint"),
        ("model", "side_16", "the models of three image sizes"),
        ("diet", "bumps+all", "the diet bumps+all"),
    ],
)
def test_what_lacks_is_named(axis, lacking, said):
    row = judged("FR-4", made().drop_sel({axis: lacking}))
    assert row["verdict"] == NOT_TESTABLE and said in row["missing"]
