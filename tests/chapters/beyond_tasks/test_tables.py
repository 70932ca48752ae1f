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
    assert found["beyondtasks-ood-shape-ring-cnn"] == "0.60"
    assert found["beyondtasks-count-vn-axes"] == str(len(figures.TASKS) - 1)
    assert found["beyondtasks-count-cnn"] == "0"
    assert found["beyondtasks-failed"] == "34 %", "18 of 53 pairs of task and decoder"
