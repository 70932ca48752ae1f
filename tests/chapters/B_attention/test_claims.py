"""The rule of VN-B: each part on results made up so that it holds, and so that it fails."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book.ledger import NOT, NOT_TESTABLE, PARTLY, REPRODUCED, all_claims

SEEDS = 3
NAN = float("nan")
# Variable -> value per model, so that every part holds; models that a variable is not defined for
# are left out.
HOLDS = {
    "zero_share": {"vn_image": 0.7, "softmax": 0.0},
    "effective_share": {"vn_image": 0.15, "vn_patches": 0.1, "softmax": 0.4},
    "gap": {"vn_image": 1e-4, "feed_forward": 0.8, "softmax": 1e-2},
    "rank": {"softmax_2": 11.0, "softmax_4": 15.0, "softmax": 16.0, "softmax_16": 16.0},
    "bound": {"softmax_2": 2.0, "softmax_4": 4.0, "softmax": 8.0, "softmax_16": 16.0},
    "rank_limit": {"softmax_2": 16.0, "softmax_4": 16.0, "softmax": 16.0, "softmax_16": 16.0},
    "rank_excess": {
        "vn_image": 0.0,
        "vn_patches": 0.0,
        "softmax_2": 0,
        "softmax_4": 0,
        "softmax": 0,
        "softmax_16": 0,
    },
    "gate_correlation": {"vn_image": 1.0, "softmax": 0.2},
    "idle_moved": {"vn_image": 0.0},
    "kept_explained": {
        "vn_image": 0.1,
        "softmax": 0.9,
        "topk": 0.7,
        "sparsemax": 0.8,
        "feed_forward": 1.0,
    },
    "kept_rest": {
        "vn_image": 0.9,
        "softmax": 0.9,
        "topk": 0.75,
        "sparsemax": 0.85,
        "feed_forward": 1.0,
    },
}
MODELS = sorted({model for values in HOLDS.values() for model in values})


def results(seed: int | None = None, **changes: float) -> xr.Dataset:
    """Results in which everything holds, with other values for `variable__model`, in one seed or in
    all.
    """
    ds = xr.Dataset(
        {
            name: (
                ("model", "seed"),
                np.array([[values.get(model, NAN)] * SEEDS for model in MODELS], float),
            )
            for name, values in HOLDS.items()
        },
        {"model": MODELS, "seed": np.arange(SEEDS)},
    )
    untouched = np.full((len(MODELS), SEEDS, 2), NAN)
    untouched[MODELS.index("vn_image")] = 0.7, 0.2
    untouched[MODELS.index("softmax")] = 0
    ds["untouched"] = (("model", "seed", "batch"), untouched)
    ds = ds.assign_coords(batch=[1, 64])
    for change, value in changes.items():
        name, model, *batch = change.split("__")
        where = (
            {"model": model}
            | ({"seed": seed} if seed is not None else {})
            | ({"batch": int(batch[0])} if batch else {})
        )
        ds[name].loc[where] = value
    return ds


def verdicts(ds: xr.Dataset | None) -> tuple[str, str | None]:
    row = claims.judge(all_claims()["VN-B"], ds)
    return row["verdict"], row["verdict_controls"]


def failing(ds: xr.Dataset) -> list[int]:
    """Which parts fail, by their place in the fair protocol."""
    return [
        i
        for i, part in enumerate(claims.judge(all_claims()["VN-B"], ds)["parts_controls"])
        if not part["holds"]
    ]


def test_it_holds_where_everything_does():
    assert verdicts(results()) == (REPRODUCED, REPRODUCED)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("change", "value", "part"),
    [
        ("zero_share__vn_image", 0.49, 0),
        ("zero_share__softmax", 1e-6, 0),
        ("gap__vn_image", 2e-3, 1),
        ("gap__feed_forward", 0.1, 1),
        ("rank_excess__vn_image", 1, 2),
        ("rank_excess__vn_patches", 1, 2),
        ("rank_excess__softmax_4", 1, 2),
        ("rank__softmax_2", 2, 2),
        ("rank__softmax", 8, 2),
        ("untouched__vn_image__1", 0.49, 3),
        ("untouched__softmax__1", 0.02, 3),
        ("gate_correlation__vn_image", 0.99, 3),
        ("idle_moved__vn_image", 1, 3),
        ("kept_rest__vn_image", 0.39, 4),
        ("kept_rest__softmax", 0.92, 4),
        ("kept_rest__softmax", 0.88, 4),
        ("effective_share__vn_image", 0.41, 5),
        ("effective_share__vn_patches", 0.41, 5),
        ("effective_share__softmax", 0.12, 5),
        ("gap__softmax", 1e-15, 6),
        ("gate_correlation__softmax", 0.5, 7),
        ("untouched__vn_image__64", 0.09, 8),
        ("kept_rest__topk", 1.0, 9),
        ("kept_explained__sparsemax", 0.5, 9),
        ("kept_explained__feed_forward", 0.7, 9),
    ],
)
def test_each_part_turns_with_its_number_in_any_seed(change, value, part, seed):
    ds = results(seed, **{change: value})
    assert part in failing(ds)
    assert verdicts(ds) == ((PARTLY if part < 5 else REPRODUCED), PARTLY)


def test_a_weak_vn_makes_the_control_comparison_harder():
    assert failing(results(kept_rest__vn_image=0.2)) == [4, 9]


def test_a_head_as_wide_as_the_tokens_is_not_asked_for_more_rank():
    assert (
        failing(results(rank__softmax_16=16)) == [] and failing(results(rank__softmax_16=3)) == []
    )


def test_nothing_holds_where_nothing_does():
    ds = results(
        zero_share__vn_image=0,
        gap__vn_image=1,
        rank_excess__vn_image=3,
        untouched__vn_image__1=0,
        kept_rest__vn_image=0.1,
    )
    assert verdicts(ds) == (NOT, PARTLY)
    assert failing(ds) == [0, 1, 2, 3, 4, 9]


@pytest.mark.parametrize("name", [*HOLDS, "untouched"])
def test_what_the_rule_needs_and_lacks_is_named(name):
    row = claims.judge(all_claims()["VN-B"], results().drop_vars(name))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == f"the results lack '{name}'"


def test_missing_models_are_not_testable():
    assert verdicts(results().drop_sel(model="sparsemax"))[0] == NOT_TESTABLE
