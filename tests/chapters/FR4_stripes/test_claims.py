"""The rule of FR-4: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from functools import partial

import judging
import numpy as np
import pytest
import xarray as xr

from vnlib.book.ledger import NOT_TESTABLE, REPRODUCED

SEEDS = 3
MODELS = ["cnn", "cnn_square", "vn_axes", "vn_joint", "factorised", "side_12", "side_16", "side_20"]
DIETS = ["stripes+0", "stripes+100", "bumps+100", "bumps+all"]
LAYERS = ["input", "layer1", "layer2", "output"]
PARTS = ["crosses", "bumps", "not alone", "cubic", "linear", "tuning", "volume"]


def full(value: float, *dims: str) -> tuple:
    sizes = {"model": len(MODELS), "seed": SEEDS, "diet": 4, "layer": 4, "quantile": 3}
    return dims, np.full([sizes[d] for d in dims], value)


def made() -> xr.Dataset:
    """Everything as FR say."""
    cell = ("model", "seed", "diet")
    r = xr.Dataset(
        {
            name: full(value, *cell)
            for name, value in {
                "hit_ood": 1.0,
                "hit_id": 1.0,
                "bump_hit_ood": 0.0,
                "cross_share_ood": 0.0,
                "mse_ood": 1e-3,
                "line_ood": 1.0,
            }.items()
        },
        {
            "model": MODELS,
            "seed": list(range(SEEDS)),
            "diet": DIETS,
            "layer": LAYERS,
            "quantile": [0.25, 0.5, 0.75],
        },
    )
    r["hit_ood"].loc[{"diet": ["bumps+100", "bumps+all"]}] = 0.1
    r["bump_hit_ood"].loc[{"diet": "stripes+100"}] = 0.9
    r["cross_share_ood"].loc[{"diet": "stripes+0"}] = 1.0
    r["blank_ood"] = full(4e-3, "model", "seed")
    r["tuning_rest"] = full(0.1, *cell, "layer")
    r["tuning_rest"].loc[{"layer": "layer2"}] = 0.5
    r["tuning_rest"].loc[{"diet": "bumps+100", "layer": "layer1"}] = 0.3
    r["tuning_quantile"] = r["tuning_rest"].expand_dims(quantile=r["quantile"], axis=-1).copy()
    r["volume_rough"] = full(0.2, *cell, "layer")
    r["volume_rough"].loc[{"diet": "stripes+100"}] = 0.1
    need = np.full((len(MODELS), SEEDS, 2, 2, 2), np.nan)
    sides = np.array([12.0, 16, 20])[:, None, None, None]
    need[5:, :, 0], need[5:, :, 1] = sides**3, 2 * sides
    r["need"] = (("model", "seed", "kind", "measure", "target"), need)
    return r.assign_coords(
        kind=["bumps", "stripes"], measure=["hit", "bump_hit"], target=[0.5, 0.8]
    )


judged = partial(judging.judged, "FR-4")


def held(r: xr.Dataset, protocol: str = "parts") -> list[bool]:
    return [part["holds"] for part in judged(r)[protocol]]


def fails_only(r: xr.Dataset, protocol: str, *numbers: int) -> None:
    found = held(r, protocol)
    assert [i for i, holds in enumerate(found) if not holds] == list(numbers)


def test_all_as_printed():
    row = judged(made())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"]
    assert row["numbers"]["bumps.exponent"] == pytest.approx(3) and row["numbers"][
        "stripes.exponent"
    ] == pytest.approx(1)


@pytest.mark.parametrize(
    ("part", "name", "where", "value"),
    [
        (0, "hit_ood", {"model": "cnn", "diet": "stripes+0"}, 0.7),
        (0, "cross_share_ood", {"model": "cnn", "diet": "stripes+0"}, 0.7),
        (1, "bump_hit_ood", {"model": "cnn", "diet": "stripes+100"}, 0.7),
        (2, "hit_ood", {"model": "cnn", "diet": "bumps+100"}, 0.6),
        (3, "need", {"model": "side_20", "kind": "bumps"}, np.inf),
        (3, "need", {"model": "side_20", "kind": "bumps"}, 2000),
        (4, "need", {"model": "side_20", "kind": "stripes"}, np.inf),
        (4, "need", {"model": "side_20", "kind": "stripes"}, 90),
        (5, "tuning_quantile", {"model": "cnn", "diet": "stripes+100", "layer": "layer2"}, 0.05),
        (6, "volume_rough", {"model": "cnn", "diet": "bumps+all"}, 0.05),
    ],
)
def test_each_printed_part_can_fail_alone(part, name, where, value):
    r = made()
    r[name].loc[where] = value
    fails_only(r, "parts", part)


@pytest.mark.parametrize(
    ("part", "name", "where", "value"),
    [
        (0, "cross_share_ood", {"model": "cnn_square", "diet": "stripes+0"}, 0.7),
        (0, "line_ood", {"model": "cnn", "diet": "stripes+0"}, 0.4),
        (1, "bump_hit_ood", {"model": "cnn_square", "diet": "stripes+100"}, 0.7),
        (1, "mse_ood", {"model": "cnn", "diet": "stripes+100"}, 3e-3),
        (1, "mse_ood", {"model": "cnn_square", "diet": "stripes+100"}, 3e-3),
        (2, "hit_ood", {"model": "cnn_square", "diet": "bumps+all"}, 0.6),
        (2, "hit_id", {"model": "cnn", "diet": "bumps+all"}, 0.8),
        (3, "need", {"model": "side_12", "kind": "bumps"}, np.inf),
        (4, "need", {"model": "side_20", "kind": "stripes", "measure": "bump_hit"}, 90),
        (
            5,
            "tuning_rest",
            {"model": "cnn", "diet": "stripes+100", "layer": "layer2", "seed": 1},
            0.05,
        ),
        (
            5,
            "tuning_rest",
            {"model": "cnn", "diet": "bumps+100", "layer": "layer1", "seed": 2},
            0.05,
        ),
        (6, "volume_rough", {"model": "cnn", "diet": "bumps+100", "seed": 0}, 0.05),
        (7, "bump_hit_ood", {"model": "factorised", "diet": "bumps+100"}, 0.9),
    ],
)
def test_each_fair_part_can_fail_alone(part, name, where, value):
    r = made()
    r[name].loc[where] = value
    fails_only(r, "parts_controls", part)


def test_one_seed_of_three_without_the_target_does_not_decide_the_law():
    r = made()
    r["need"].loc[{"model": "side_12", "kind": "stripes", "seed": 0}] = np.inf
    assert held(r)[4]


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
    row = judged(made().drop_sel({axis: lacking}))
    assert row["verdict"] == NOT_TESTABLE and said in row["missing"]
