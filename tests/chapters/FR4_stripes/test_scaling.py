"""Data needs, on made-up numbers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import scaling

ITEMS = np.array([10.0, 40.0, 160.0])


@pytest.mark.parametrize(
    ("accuracy", "need"),
    [
        ([0.2, 0.6, 1.0], 80.0),  # half-way from 40 to 160 in logarithms
        ([0.8, 0.9, 1.0], 10.0),  # there at once
        ([0.2, 0.8, 0.1], 40.0),  # a later fall does not count
        ([0.2, 0.5, 0.7], np.inf),
    ],
)
def test_the_fewest_items_that_reach_a_target(accuracy, need):
    assert scaling.crossing(ITEMS, np.array(accuracy), 0.8) == pytest.approx(need)


def test_needs_of_every_reading():
    accuracy = np.array([[[0.2, 0.6], [0.6, 0.7], [1.0, 0.9]], [[1.0, 0.0]] * 3])
    report = xr.Dataset(
        {
            "dose_items": (("kind", "dose"), [ITEMS, 2 * ITEMS]),
            "accuracy": (("kind", "dose", "measure"), accuracy),
        },
        {"kind": ["bumps", "stripes"], "measure": ["joint", "drawn"]},
    )
    need = scaling.needs(report, targets=[0.6, 0.8])["need"].transpose("kind", "measure", "target")
    np.testing.assert_allclose(need, [[[40, 80], [10, 80]], [[20, 20], [np.inf, np.inf]]])


@pytest.mark.parametrize("target", [0, 1.5])
def test_a_target_is_a_share(target):
    with pytest.raises(ValueError, match="each of targets"):
        scaling.needs(xr.Dataset(), targets=[target])
