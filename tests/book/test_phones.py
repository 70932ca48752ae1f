"""Figures for phones: their panels, and what is drawn at all."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from phone_cases import NAMES, panels

from benchmarks.spatial import figures as spatial
from book.site import in_place, phone_panels, phones
from vnlib.plots.style import IN_ROWS

pytestmark = pytest.mark.usefixtures("book_style")


def test_panels_stand_below_each_other_and_keep_their_names():
    fig = panels()
    assert phones.rearrange(fig)
    left = [ax.get_position().x0 for ax in fig.axes]
    top = [ax.get_position().y1 for ax in fig.axes]
    assert np.ptp(left) < 1e-3 and top == sorted(top, reverse=True)
    for ax in fig.axes:
        seen = [one.get_text() for one in ax.get_yticklabels() if one.get_visible()]
        assert seen == NAMES and ax.get_ylabel() == "model" and ax.get_xlabel() == "error"
    assert fig.get_tightbbox().width <= phones.WIDTH + 0.2


def test_the_first_columns_keep_their_rows():
    """Two columns with their rows above the two that follow."""
    fig, axes = plt.subplots(2, 6, figsize=(10, 3.4))
    for number, ax in enumerate(axes.ravel()):
        ax.imshow(np.eye(4))
        ax.set(xticks=[], yticks=[])
        ax.set_label(str(number))
        ax.set_title(f"column {number}" if number < 6 else "", fontsize=8)
    assert phones.rearrange(fig)
    order = sorted(fig.axes, key=lambda ax: (-round(ax.get_position().y0, 2), ax.get_position().x0))
    assert [ax.get_label() for ax in order] == [*"012", *"678", *"345", "9", "10", "11"]


@pytest.mark.parametrize("named", [False, True])
def test_a_figure_is_read_row_by_row_that_says_so(named):
    """Rows with names begin anew, others go on; what is not seen leaves no gap."""
    fig, axes = plt.subplots(2, 5, figsize=(10, 3.4), label=IN_ROWS)
    for number, ax in enumerate(axes.ravel()):
        ax.imshow(np.eye(4))
        ax.set(xticks=[], yticks=[], visible=number < 9)
        ax.set_title(str(number), fontsize=8)
    if named:
        for ax in axes[:, 0]:
            ax.set_ylabel("row")
    assert phones.rearrange(fig)
    order = sorted(fig.axes, key=lambda ax: (-round(ax.get_position().y0, 2), ax.get_position().x0))
    rows = [round(ax.get_position().y0, 2) for ax in order]
    assert [ax.get_title() for ax in order] == [*"012345678"]
    assert [rows.count(one) for one in sorted({*rows}, reverse=True)] == (
        [3, 2, 3, 1] if named else [3, 3, 3]
    )


def test_kits_call_it_the_same():
    fig, _ = spatial.mosaic(3, 2, (1, 1))
    assert fig.get_label() == IN_ROWS


def test_squares_with_names_of_their_own_stand_below_each_other():
    fig, axes = plt.subplots(1, 2, figsize=(9.4, 4.4))
    for ax in axes:
        ax.set(ylabel="error of one kind", xlabel="error of another kind", box_aspect=1)
    assert phones.rearrange(fig)
    one, other = (ax.get_position() for ax in fig.axes)
    assert one.y0 > other.y1


def test_a_bar_of_colours_stays_with_the_panels_that_are_left():
    fig, axes = plt.subplots(2, 3, figsize=(9, 6))
    for ax in axes.flat[:5]:
        image = ax.imshow(np.eye(3))
        ax.set(xticks=[], yticks=[])
    axes[1, 2].set_axis_off()
    fig.colorbar(image, ax=axes, label="share")
    assert phones.rearrange(fig)
    assert len(fig.axes) == 6, "five panels and the bar"


def test_rows_are_read_one_after_the_other_where_lower_panels_have_titles():
    """Titles of the top row alone name columns."""
    for named, order in ((2, "012345"), (1, "031425")):
        fig, axes = plt.subplots(2, 3, figsize=(10, 5), sharex=True)
        for number, ax in enumerate(axes.ravel()):
            ax.plot([number, 1])
            ax.set_title(f"panel {number}" if number < 3 * named else "")
        for ax in axes[1]:
            ax.set_xlabel("time")
        assert phones.rearrange(fig)
        places = sorted(range(6), key=lambda one: -axes.ravel()[one].get_position().y0)
        assert "".join(map(str, places)) == order
        assert fig.get_gid() == f"phone-{'rows' if named == 2 else 'columns'}-2-1"
        if named == 2:  # each says what x is
            assert {ax.get_xlabel() for ax in fig.axes} == {"time"}
            assert all(ax.xaxis.get_tick_params()["labelbottom"] for ax in fig.axes)


def test_images_stand_side_by_side_above_the_plot_of_their_row():
    fig, axes = plt.subplots(2, 3, figsize=(9.6, 4), width_ratios=[1, 1, 5])
    for row in axes:
        for ax in row[:2]:
            ax.imshow(np.eye(4))
            ax.set(title="a digit", xticks=[], yticks=[])
        row[2].plot([1, 2])
    assert phones.rearrange(fig)
    for left, right, plot in axes:
        one, other, below = (ax.get_position() for ax in (left, right, plot))
        assert one.y0 == pytest.approx(other.y0) and one.x1 < other.x0 and below.y1 < one.y0
        assert below.width > 1.5 * one.width


@pytest.mark.parametrize("columns", [3, 4])
def test_very_many_rows_of_names_stand_once_beside_two_panels_or_three(columns, monkeypatch):
    monkeypatch.setattr(phone_panels, "LONG", 2)
    fig = panels(columns=columns)
    assert phones.rearrange(fig)
    first, second, third, *_ = (ax.get_position() for ax in fig.axes)
    assert first.y0 == pytest.approx(second.y0) and (third.y1 < first.y0) == (columns == 4)
    shown = [any(one.get_text() for one in ax.get_yticklabels()) for ax in fig.axes]
    assert shown == ([True, False, False] if columns == 3 else [True, False, True, False])


def test_very_many_lines_are_a_picture_and_their_labels_a_drawing():
    fig, ax = plt.subplots(figsize=(9, 4))
    for shift in range(300):
        ax.plot(np.sin(np.arange(300) + shift))
    ax.set_title("very many")
    svg = in_place.for_phones(fig)[in_place.PHONE]
    assert svg.count("<image") == 1 and "<!-- very many -->" in svg


def test_what_cannot_be_read_so_is_not_drawn_so(monkeypatch):
    fig, ax = plt.subplots(figsize=(12, 6))
    for x in range(40):
        ax.text(x, 0.5, "0.12345")
    ax.set_xlim(0, 240)
    ax.set_xlim(0, 60)
    assert not phones.rearrange(fig), "numbers would stand upon each other"
    fig, ax = plt.subplots(figsize=(9, 4))
    ax.annotate("far away", (3, 0.5), xycoords="axes fraction", annotation_clip=False)
    assert not phones.rearrange(fig), "it would be wider than the screen"
    fig = plt.figure(figsize=(9, 4))
    for part in fig.subfigures(1, 2):
        part.subplots()
    assert not phones.rearrange(fig)
    fig, ax = plt.subplots()
    ax.set_axis_off()
    assert not phones.rearrange(fig), "nothing is seen"
    fig, ax = plt.subplots()
    ax.imshow(np.eye(3))
    ax.set_axis_off()
    assert phones.rearrange(fig), "an image without axes is"
    monkeypatch.setattr(phones, "MOST", 30)
    fig, _ = plt.subplots(6, 6)
    assert len(fig.axes) > phones.MOST and not phones.rearrange(fig)


def test_it_is_the_same_after_the_figure_was_drawn():
    one, other = panels(), panels()
    in_place._picture(other, sharp=True)
    assert phones.rearrange(one) and phones.rearrange(other)
    places = [[ax.get_position().bounds for ax in fig.axes] for fig in (one, other)]
    assert np.allclose(*places)


def test_a_drawing_for_phones_comes_with_a_figure(monkeypatch):
    svg = in_place.for_phones(panels())[in_place.PHONE]
    assert svg.startswith("<?xml") and "<!-- panel 2 -->" in svg
    monkeypatch.setattr(phones, "MOST", 30)
    assert in_place.for_phones(plt.subplots(6, 6)[0]) == {}


def test_images_that_come_to_the_left_get_the_ticks_that_were_there():
    fig, axes = plt.subplots(1, 4, figsize=(7, 2.2))
    for ax in axes:
        ax.imshow(np.zeros((20, 20)))
        ax.set(title="an image", xticks=[0, 8, 16], yticks=[])
    axes[0].set(yticks=[0, 8, 16], ylabel="y [px]")
    assert phones.rearrange(fig)
    left = min(ax.get_position().x0 for ax in axes)
    shown = [ax for ax in axes if ax.get_position().x0 < left + 0.1]
    assert len(shown) == 2 and all(list(ax.get_yticks()) == [0, 8, 16] for ax in shown)
    assert sum(len(ax.get_yticks()) > 0 for ax in axes) == 2
