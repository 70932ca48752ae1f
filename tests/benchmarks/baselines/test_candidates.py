"""The table of candidate settings, from a selection of which everything is known."""

import json

import pytest
import xarray as xr

from benchmarks.baselines.candidates import NOTHING, candidates


def selection() -> xr.Dataset:
    runs = [json.dumps({"training": {"lr": lr, "options": {"k": [1, 2]}}}) for lr in (0.1, 0.25)]
    return xr.Dataset(
        {
            "criterion": (("model", "candidate"), [[0.004, 0.003]]),
            "run_settings": (("model", "candidate"), [runs]),
        },
        {"model": ["ae"], "candidate": [0, 1], "label": ("model", ["AE"])},
    )


def test_candidates_are_told_apart_and_the_least_is_marked():
    table = candidates(selection(), unit=1100)
    assert table.frame.index.tolist() == ["AE", "AE"]
    assert table.frame.values.tolist() == [
        ["learning rate 0.1", pytest.approx(4.4), ""],
        ["learning rate 0.25", pytest.approx(3.3), "chosen"],
    ]
    assert "3.3" in table._repr_mimebundle_()["text/html"]


def test_the_criterion_may_be_found():
    table = candidates(selection(), lambda found: -found["criterion"], title="score")
    assert table.frame[""].tolist() == ["chosen", ""] and "score" in table.frame


def test_a_learning_rate_among_the_options_has_the_same_name():
    runs = [json.dumps({"training": {"options": {"lr": lr}}}) for lr in (0.1, 0.25)]
    given = selection().assign(run_settings=(("model", "candidate"), [runs]))
    assert candidates(given).frame["candidate"].tolist() == [
        "learning rate 0.1",
        "learning rate 0.25",
    ]


def test_nothing_chosen_is_said():
    assert NOTHING in candidates(None).data
