"""Tables and numbers of decoders on many tasks, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest

from chapters.beyond_tasks import figures, tables


def test_errors_are_over_a_zero_images(results):
    frame = tables.errors(results, "ood").frame
    assert frame.shape == (4, 4 * len(figures.TASKS)), "median, ends of its interval, seeds"
    ring = frame[figures.TASKS["shape_ring"]]
    assert ring.loc["CNN"].tolist() == pytest.approx([0.6, 0.3, 1.2, 3])
    decay = frame[figures.TASKS["penalty_decay"]]
    assert np.isnan(decay.loc["OUTER", "median"]) and decay.loc["CNN", "median"] == pytest.approx(
        0.6
    )


def test_what_settled_and_what_learned_nothing(results):
    frame = tables.training(results).frame
    assert list(frame.index) == ["VN_AXES", "CNN", "ADDITIVE"], "closed forms are not trained"
    # an exact run has settled whatever it gains
    assert frame["settled"].tolist() == [1, 1, 0]
    assert frame["learned nothing"].tolist() == [0, 0, 1]
    assert frame["samples seen"].tolist() == [1000] * 3


def test_who_composes(results):
    found = tables.composing(results)
    assert found.sel(task="base").values.tolist() == [True, False, False, True]
    assert not found.sel(task="penalty_decay").any(), "what was not trained does not compose"


def test_tasks_have_a_row_each(results):
    frame = tables.of_tasks(results).frame
    assert len(frame) == len(figures.TASKS) and frame["condition number"].iloc[0] == 58.5
    assert set(frame["seeds"]) == {3}


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results)
    assert found["beyondtasks-ood-shape-ring-cnn"] == "0.60 [0.30, 1.2]"
    every = len(figures.TASKS)
    assert found["beyondtasks-count-vn-axes"] == f"{every - 1} of {every - 1}", "not weight decay"
    assert found["beyondtasks-count-cnn"] == f"0 of {every}"
    assert found["beyondtasks-failed"] == "34 %", "18 of 53 pairs of task and decoder"


def test_longer_trainings_in_numbers(results):
    frame = tables.longer(results).frame
    base = frame[figures.TASKS["base"]]
    assert base.loc["CNN", ("error", "median")] == pytest.approx(0.45), "of the two seeds of both"
    assert base.loc["CNN", ("error, 4 × as long", "median")] == pytest.approx(0.045)
    assert base["settled, 4 × as long"].loc["CNN"].item() == 1
    found = tables.numbers(results)
    assert found["beyondtasks-longer-pairs"] == "9"
    assert found["beyondtasks-longer-crossed"] == "0"
    less = results.assign(mse_ood=results["mse_ood"] * 0.1)
    assert tables.numbers(less)["beyondtasks-longer-crossed"] == "3", "the CNN, on three tasks"
    without = results.sel(task=list(figures.TASKS))
    assert "No task" in tables.longer(without).data
    assert tables.numbers(without)["beyondtasks-longer-pairs"] == "0"


def test_in_how_many_seeds_a_decoder_draws(results):
    assert tables.drawing(results, "base", "vn_axes") == "3 of 3"
    assert tables.drawing(results, "base", "cnn") == "0 of 3"
    assert tables.drawing(results, "base_longer", "cnn") == "2 of 2"
    assert tables.numbers(results)["beyondtasks-seeds"] == "3"
    once = results.where((results["task"] != "shape_ring") | (results["seed"] == 0))
    assert tables.numbers(once)["beyondtasks-seeds"] == "1 to 3"
