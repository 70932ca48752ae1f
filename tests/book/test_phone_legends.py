"""Legends in drawings for phones."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from book.site import phone_labels, phones
from vnlib.plots.style import readable

pytestmark = pytest.mark.usefixtures("book_style")


def test_a_legend_beside_a_panel_goes_below():
    fig, ax = plt.subplots(figsize=(9, 4))
    ax.plot([1, 2], label="one")
    ax.plot([2, 1], label="two")
    ax.legend(bbox_to_anchor=(1.02, 1), loc="upper left")
    assert phones.rearrange(fig)
    (legend,) = fig.legends
    assert [one.get_text() for one in legend.get_texts()] == ["one", "two"]
    assert legend.get_window_extent().y1 <= ax.get_window_extent().y0


def test_a_legend_in_a_panel_of_its_own_stays_when_the_panel_goes():
    fig, axes = plt.subplots(2, 2, figsize=(10, 6))
    for ax in axes.ravel()[:3]:
        ax.plot([1, 2], label="one")
    axes[1, 1].set_axis_off()
    axes[1, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="center")
    assert phones.rearrange(fig)
    (legend,) = fig.legends
    assert len(fig.axes) == 3 and [one.get_text() for one in legend.get_texts()] == ["one"]
    assert legend.get_window_extent().y1 <= min(ax.get_window_extent().y0 for ax in fig.axes)


def test_legends_of_two_panels_become_one():
    fig, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, name in zip(axes, ("one", "two"), strict=True):
        ax.plot([1, 2], label=name, color="k" if name == "one" else "r")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    assert phones.rearrange(fig)
    (legend,) = fig.legends
    assert [one.get_text() for one in legend.get_texts()] == ["one", "two"]
    fig.draw_without_rendering()
    one, two = (text.get_window_extent() for text in legend.get_texts())
    assert not phone_labels.over(one, two)


def test_legends_of_two_panels_say_once_what_they_share():
    fig, axes = plt.subplots(1, 2, figsize=(9, 4))
    for ax, names in zip(axes, (["one", "two"], ["two", "three", "one"]), strict=True):
        for name in names:
            ax.plot([0, 1], label=name, color={"one": "r", "two": "g", "three": "b"}[name])
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    assert phones.rearrange(readable(fig))
    (legend,) = fig.legends
    assert [one.get_text() for one in legend.get_texts()] == ["one", "two", "three"]


def test_legends_in_which_a_mark_means_something_else_stay_with_their_panels():
    fig, axes = plt.subplots(1, 2, figsize=(10, 4))
    for ax, name in zip(axes, ("one", "two"), strict=True):
        ax.plot([1, 2], label=name)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    assert phones.rearrange(fig) and not fig.legends
    first, second = (ax.get_legend().get_window_extent() for ax in axes)
    assert axes[0].get_window_extent().y0 > first.y1 > first.y0 > axes[1].get_window_extent().y1
    assert axes[1].get_window_extent().y0 > second.y1


def test_a_legend_as_wide_as_its_panel_goes_below_it():
    fig, ax = plt.subplots(figsize=(9, 4))
    for number in range(6):
        ax.plot([number, 1], label=f"an entry of number {number}")
    ax.legend(ncols=3)
    assert phones.rearrange(fig)
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0
