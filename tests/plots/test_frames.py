"""Long frames, and rows of seeds with their medians."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from benchmarks.baselines.figures import seeds_and_medians
from vnlib.plots import frames

GROUPS = {"vn": ("Vector Network", "C0", "o"), "control": ("Controls", "C1", "^")}


def results() -> xr.Dataset:
    coords = {"model": ["a", "b", "c"], "seed": [0, 1, 2], "label": ("model", ["A", "B", "C"])}
    coords["group"] = ("model", ["vn", "control", "control"])
    data = np.array([[1, 2, 9], [4, np.nan, 6], [7, 7, 7]], float)
    return xr.Dataset({"error": (("model", "seed"), data)}, coords)


def test_a_long_frame_has_a_row_per_value_that_exists():
    frame = frames.long_frame(results()["error"])
    assert len(frame) == 8 and set(frame.columns) == {"model", "seed", "label", "group", "value"}
    assert frame.loc[frame["label"] == "B", "value"].tolist() == [4, 6]


def test_models_of_groups_in_the_order_of_the_results():
    assert frames.in_groups(results(), "control") == ["b", "c"] and frames.in_groups(results()) == [
        "a",
        "b",
        "c",
    ]
    assert frames.label(results(), "b") == "B" and frames.group(results(), "a") == "vn"


def drawn() -> plt.Axes:
    _, ax = plt.subplots()
    frame = frames.long_frame(results()["error"])
    seeds_and_medians(
        ax, frame, value="value", by="label", hue="group", groups=GROUPS, order=["A", "B", "C"]
    )
    return ax


def test_every_seed_is_a_point_and_every_row_has_its_median():
    ax = drawn()
    points = np.concatenate([c.get_offsets() for c in ax.collections if len(c.get_offsets())])
    assert sorted(np.asarray(points)[:, 0].tolist()) == [1, 2, 4, 6, 7, 7, 7, 9]
    marks = {x for line in ax.lines for x in np.asarray(line.get_xdata(), float) if np.isfinite(x)}
    assert marks == {2, 5, 7}
    plt.close("all")


def test_points_lie_at_the_same_places_each_time_and_the_callers_generator_is_left_alone():
    np.random.seed(5)
    first = [np.asarray(c.get_offsets()) for c in drawn().collections]
    after = np.random.rand()
    np.random.seed(5)
    assert np.random.rand() == after
    again = [np.asarray(c.get_offsets()) for c in drawn().collections]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    plt.close("all")


def test_a_second_condition_can_stand_below_its_row():
    ax, frame = drawn(), frames.long_frame(results()["error"])
    first, line = [*ax.collections], ax.lines[0].get_ydata()
    seeds_and_medians(
        ax,
        frame,
        value="value",
        by="label",
        hue="group",
        groups=GROUPS,
        order=["A", "B", "C"],
        shift=0.25,
    )
    for old, new in zip(first, ax.collections[len(first) :], strict=True):
        np.testing.assert_allclose(new.get_offsets(), np.add(old.get_offsets(), [0, 0.25]))
    np.testing.assert_allclose(ax.lines[len(ax.lines) // 2].get_ydata(), np.add(line, 0.25))
    plt.close("all")


def test_a_figure_of_what_was_not_computed_says_so():
    figure = frames.if_computed(lambda results: results["nothing"])(xr.Dataset())
    assert figure.axes[0].texts[0].get_text() == frames.NOT_COMPUTED
