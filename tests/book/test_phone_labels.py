"""Labels, titles and names in drawings for phones."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.ticker import LogLocator
from phone_cases import NAMES, panels, shown_px

from book.site import phone_labels, phones

pytestmark = pytest.mark.usefixtures("book_style")


def test_labels_are_as_large_as_on_a_wide_screen():
    fig = panels()
    assert min(shown_px(fig)) < 0.6 * phones.LEAST, "or there is nothing to do"
    assert phones.rearrange(fig)
    assert min(shown_px(fig)) >= phones.LEAST - 0.5


def test_names_of_rows_come_with_a_panel_as_they_were():
    """Those of groups are bold; names that were not shown, or that the last panel has not, too."""
    fig, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
    for ax in axes:
        ax.plot([1, 2, 3], NAMES, "o")
    axes[0].get_yticklabels()[1].set_fontweight("bold")
    axes[0].set_ylabel("model")
    axes[2].set_ylabel("model", visible=False)
    assert phones.rearrange(fig)
    for ax in axes:
        assert [one.get_fontweight() for one in ax.get_yticklabels()] == [
            "normal",
            "bold",
            "normal",
        ]
        assert ax.get_ylabel() == "model" and ax.yaxis.label.get_visible()
    fig, axes = plt.subplots(1, 2, figsize=(10, 3))
    for ax in axes:
        ax.set(ylim=(-0.5, 2.5), yticks=range(3))
    axes[0].set_yticklabels(NAMES)
    axes[1].tick_params(labelleft=False)
    assert phones.rearrange(fig)
    assert [one.get_text() for one in axes[1].get_yticklabels()] == NAMES


def test_a_row_keeps_its_name_where_no_panel_comes_to_the_left():
    fig, axes = plt.subplots(2, 4, figsize=(9, 4))
    for ax in axes.ravel():
        ax.imshow(np.eye(4))
        ax.set(xticks=[], yticks=[])
    for ax, name in zip(axes[:, 0], ("one", "two"), strict=True):
        ax.set_ylabel(name)
    axes[1, 2].set_visible(False)
    assert phones.rearrange(fig)
    assert axes[0, 2].get_ylabel() == "one" and axes[1, 3].get_ylabel() == "two"


def test_names_of_rows_do_not_touch_and_titles_begin_where_they_have_room():
    fig, ax = plt.subplots(figsize=(9, 1.6))
    ax.plot(range(6), [f"the name of model {n}, which is a long one" for n in range(6)], "o")
    ax.set_title("one sentence that is longer than the panel is wide, by far", loc="left")
    assert phones.rearrange(fig)
    boxes = [one.get_window_extent() for one in ax.get_yticklabels()]
    assert all(a.y1 < b.y0 or b.y1 < a.y0 for a, b in pairwise(boxes))
    title = ax._left_title.get_window_extent()
    assert title.x0 < 0.05 * fig.bbox.width and title.x1 <= fig.bbox.width
    first, *rest = map(len, ax.get_title(loc="left").split("\n"))
    assert all(one > 0.7 * first for one in rest), "lines are about as long"


def test_numbers_of_logarithmic_axes_do_not_touch():
    fig, ax = plt.subplots(figsize=(9, 3))
    ax.plot([1e-30, 1e30], NAMES[:2])
    ax.set_xscale("log")
    ax.set_xticks([10.0**n for n in range(-30, 31, 6)])
    ax.xaxis.set_major_locator(LogLocator(numticks=14))
    assert phones.rearrange(fig)
    boxes = [one.get_window_extent() for one in phone_labels.shown_ticks(ax.xaxis)]
    assert len(boxes) > 1 and all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_long_titles_are_broken_and_long_names_turned():
    fig, ax = plt.subplots(figsize=(10, 4))
    ax.bar([f"name of the set {n}" for n in range(9)], range(9))
    ax.set_title("a title that is far too long for the screen of a phone, held upright")
    assert phones.rearrange(fig)
    assert "\n" in ax.get_title()
    assert {one.get_rotation() for one in ax.get_xticklabels()} == {90}


def test_a_number_is_not_parted_from_its_per_cent_nor_an_interval():
    _, ax = plt.subplots()
    for room in range(8, 60):
        text = ax.text(
            0, 0, "on the right side in 60 % of 45 readings [35 %, 90 %], surely in 24 %"
        )
        phone_labels.break_text(text, 60.0, float(room))
        lines = text.get_text().splitlines()
        assert not any(line.startswith(("%", "90")) for line in lines), lines


def test_formulas_that_run_into_each_other_are_broken():
    fig, ax = plt.subplots(figsize=(10, 4))
    for column in range(3):
        ax.text(column, 0.5, "gauss(sin)*poly+exp", ha="center", fontsize=9)
    ax.set(xlim=(-0.6, 2.6), ylim=(0, 1.2))
    assert phones.rearrange(fig)
    assert {text.get_text() for text in ax.texts} == {"gauss(sin)*poly+\nexp"}
