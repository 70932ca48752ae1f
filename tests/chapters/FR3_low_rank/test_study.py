"""One run of the chapter, at a tiny size, and the settings that are stored with it."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.FR3_low_rank import study
from vnlib.book import chapter
from vnlib.book.store.variables import described

TINY = {
    "grid": 12,
    "sigma": 1.0,
    "split_seed": 0,
    "samples": [[2, 3], [9, 9]],
    "tokens": [1, 7],
    "steps": 3,
    "batch_size": 16,
    "lr": 1e-2,
    "lr_floor": 1.0,
    "evaluations": 3,
    "weight_decay": 1e-4,
    "pictures": True,
}
AXES = {"model": "any", "hold_out": "square", "seed": 3}


def opened(**given) -> chapter.Chapter:
    one = chapter.spec("FR3_low_rank")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


@pytest.mark.parametrize(
    ("family", "options"), [("embedding", {"entropy": 0.1}), ("factorised", {})]
)
def test_a_run_repeats_to_the_bit_and_names_all_that_it_holds(family, options, tmp_path):
    given = TINY | {"family": family, "options": options}
    one, two = (study.run(opened(), AXES, given, tmp_path / name) for name in "ab")
    assert one.identical(two) and one["sample_image"].notnull().all()
    assert one["band"].isnull().all() == (family == "factorised")
    assert one["curve_step"].values.tolist() == [1, 2, 3]
    least = one.isel(checkpoint=int(one["curve_val"].values.argmin()))
    np.testing.assert_allclose(least["curve_ood"], one["mse_ood"], rtol=1e-5)
    np.testing.assert_allclose(one["target_image"][1].values[9, 9], 1)
    named = described(one.expand_dims(hold_out=["square"]), study.VARIABLES)
    assert named["position_x"].attrs["units"] == "px"
    trained = study.run(opened(), AXES, given | {"steps": 60}, tmp_path / "c")
    assert float(trained["mse_train"]) < float(one["mse_train"])


def test_weight_decay_is_of_the_embedding_networks(tmp_path):
    reports = [
        study.run(
            opened(),
            AXES,
            TINY | {"family": f, "options": {}, "weight_decay": w},
            tmp_path / f"{f}{w}",
        )
        for f in ("embedding", "factorised")
        for w in (0.0, 10.0)
    ]
    errors = [float(one["mse_train"]) for one in reports]
    assert errors[0] != errors[1] and errors[2] == errors[3]


def test_settings_are_those_that_are_stored():
    found = study.settings(opened(profile="paper"), {"model": "decay", "seed": 0})
    assert found["weight_decay"] == 1.0 and found["lr"] == 1e-3 and found["options"] == {}
    assert found["pictures"] and found["steps"] == 20_000 and found["family"] == "embedding"
    changed = opened(profile="paper", entropy=0.5, variance=0.2, sigma=2.0)
    found = study.settings(changed, {"model": "entropy", "seed": 1})
    assert found["options"] == {"entropy": 0.5}, "a model without the penalty gets none"
    assert found["sigma"] == 2.0 and not found["pictures"] and found["split_seed"] == 1
