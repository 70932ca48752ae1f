"""Figures for phones: what is drawn for them, and what their pages show."""

from __future__ import annotations

import importlib
import os
import re
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from benchmarks.spatial import figures as spatial
from book.site import build, in_place, moved, phone_labels, phone_panels, phones
from vnlib.book import paths
from vnlib.plots.style import IN_ROWS, readable, use_style

NAMES = ["Vector Network", "CNN, ramp code", "MLP"]


@pytest.fixture(autouse=True)
def _style():
    with plt.rc_context():
        use_style()
        yield
        plt.close("all")


def panels(rows: int = 1, columns: int = 3, **more) -> plt.Figure:
    """A figure of rows of names, which all panels of a row share."""
    fig, axes = plt.subplots(rows, columns, figsize=(10.5, 3.0 * rows), sharey=True, squeeze=False)
    for number, ax in enumerate(axes.ravel()):
        ax.plot([1, 2, 3 + number], NAMES, "o")
        ax.set_title(f"panel {number}")
    axes[0, 0].set_ylabel("model")
    fig.supxlabel("error")
    handles = [Line2D([], [], label=f"a long entry, number {n}") for n in range(4)]
    fig.legend(handles=handles, loc="outside upper center", ncols=4)
    return readable(fig)


def shown_px(fig: plt.Figure) -> list[float]:
    """Heights of letters on a phone, in CSS pixels."""
    whole = fig.get_tightbbox().width + 0.2
    texts = (one for one in fig.findobj(Text) if one.get_text().strip() and one.get_visible())
    return [one.get_fontsize() / 72 * phones.COLUMN / whole for one in texts]


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


def test_labels_are_as_large_as_on_a_wide_screen():
    fig = panels()
    assert min(shown_px(fig)) < 0.6 * phones.LEAST, "or there is nothing to do"
    assert phones.rearrange(fig)
    assert min(shown_px(fig)) >= phones.LEAST - 0.5


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


def test_a_legend_beside_a_panel_goes_below():
    fig, ax = plt.subplots(figsize=(9, 4))
    ax.plot([1, 2], label="one")
    ax.plot([2, 1], label="two")
    ax.legend(bbox_to_anchor=(1.02, 1), loc="upper left")
    assert phones.rearrange(fig)
    (legend,) = fig.legends
    assert [one.get_text() for one in legend.get_texts()] == ["one", "two"]
    assert legend.get_window_extent().y1 <= ax.get_window_extent().y0


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


@pytest.mark.parametrize("columns", [3, 4])
def test_very_many_rows_of_names_stand_once_beside_two_panels_or_three(columns, monkeypatch):
    monkeypatch.setattr(phone_panels, "LONG", 2)
    fig = panels(columns=columns)
    assert phones.rearrange(fig)
    first, second, third, *_ = (ax.get_position() for ax in fig.axes)
    assert first.y0 == pytest.approx(second.y0) and (third.y1 < first.y0) == (columns == 4)
    shown = [any(one.get_text() for one in ax.get_yticklabels()) for ax in fig.axes]
    assert shown == ([True, False, False] if columns == 3 else [True, False, True, False])


def test_numbers_of_logarithmic_axes_do_not_touch():
    fig, ax = plt.subplots(figsize=(9, 3))
    ax.plot([1e-30, 1e30], NAMES[:2])
    ax.set_xscale("log")
    ax.set_xticks([10.0**n for n in range(-30, 31, 6)])
    ax.xaxis.set_major_locator(LogLocator(numticks=14))
    assert phones.rearrange(fig)
    boxes = [one.get_window_extent() for one in phone_labels.shown_ticks(ax.xaxis)]
    assert len(boxes) > 1 and all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_a_legend_as_wide_as_its_panel_goes_below_it():
    fig, ax = plt.subplots(figsize=(9, 4))
    for number in range(6):
        ax.plot([number, 1], label=f"an entry of number {number}")
    ax.legend(ncols=3)
    assert phones.rearrange(fig)
    assert ax.get_legend().get_window_extent().y1 < ax.get_window_extent().y0


def test_a_figure_without_a_drawing_or_a_reason_is_named(tmp_path, monkeypatch):
    """The build of the shipped results ends there."""
    png = nbformat.v4.new_output("display_data", {"image/png": ""})
    cells = []
    for name in ("one", "TWO", "three", "table"):
        told = {"mystnb": {"figure": {"name": name}}}
        shown = [nbformat.v4.new_output("display_data", {"text/html": ""})]
        shown = shown if name == "table" else [png]
        cells.append(nbformat.v4.new_code_cell(metadata=told, outputs=shown))
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "page.ipynb")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "two.phone.svg").write_text("<svg/>")
    monkeypatch.setitem(moved.MOVED, "three", "of a reason")
    monkeypatch.setattr(build, "EXECUTED", tmp_path)
    monkeypatch.setattr(build, "EXTRA", tmp_path)
    with pytest.raises(RuntimeError, match="no drawing for phones of one:"):
        build._on_phones()
    monkeypatch.setitem(moved.MOVED, "one", "of a reason")
    build._on_phones()


@pytest.mark.parametrize(
    ("caption", "told", "said"),
    [
        ("Top: errors. Bottom: times.", "columns-2-1", "of every two panels"),
        ("Errors (top) and times (bottom).", "columns-3-1", "again with all their rows"),
        ("Upper row: errors, left: old.", "rows-2-1", "upper rows come first"),
        ("Left: errors. Right: times.", "columns-1-1", "what is left stands above"),
        ("Left: errors. Middle: times.", "columns-1-2", "what has no room at the right"),
        ("Errors fall below one tenth.", "columns-2-1", ""),
        ("Left: errors. Right: times.", "", ""),
    ],
)
def test_a_caption_that_names_places_says_where_they_are(monkeypatch, caption, told, said):
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    order = importlib.import_module("for_phones").order
    note = order(caption, f'<svg><g id="phone-{told}"/></svg>' if told else "<svg/>")
    assert (said in note) if said else note == ""


def test_long_titles_are_broken_and_long_names_turned():
    fig, ax = plt.subplots(figsize=(10, 4))
    ax.bar([f"name of the set {n}" for n in range(9)], range(9))
    ax.set_title("a title that is far too long for the screen of a phone, held upright")
    assert phones.rearrange(fig)
    assert "\n" in ax.get_title()
    assert {one.get_rotation() for one in ax.get_xticklabels()} == {90}


def test_a_table_of_numbers_is_cut_into_blocks_with_the_names_of_all_rows():
    """Blocks end where families do; frames, lines and numbers come with their columns."""
    fig, ax = plt.subplots(figsize=(10, 4))
    mesh = ax.pcolormesh(np.arange(36).reshape(3, 12))
    for row, column in np.ndindex(3, 12):
        ax.text(column + 0.5, row + 0.5, f"{column:04d}", ha="center", in_layout=False)
    names = [f"column {n}" for n in range(12)]
    ax.set_xticks(np.arange(12) + 0.5, names, rotation=60)
    ax.set_yticks([0.5, 1.5, 2.5], [f"model {n} of a name" for n in range(3)])
    ax.axvline(4)
    ax.axvline(8)
    ax.add_patch(plt.Rectangle((9, 1), 1, 1, fill=False))
    fig.colorbar(mesh, label="error")
    assert phones.rearrange(readable(fig))
    *blocks, bar = fig.axes
    assert [one.get_xlim() for one in blocks] == [(0, 4), (4, 8), (8, 12)]
    shown = [text.get_text() for one in blocks for text in one.get_xticklabels()[-4:]]
    assert shown[-8:] == names[4:] and bar.get_xlabel() == "error"
    for number, one in enumerate(blocks):
        assert [text.get_text()[:7] for text in one.get_yticklabels()] == [
            f"model {n}" for n in range(3)
        ]
        told = {int(text.get_text()) for text in one.texts}
        assert told == set(range(4 * number, 4 * number + 4)) and len(one.texts) == 12
    assert len(blocks[2].patches) == 1 and not blocks[1].patches


def test_names_that_slant_beyond_a_table_leave_it_less_room():
    def blocks(name: str, wide: bool) -> int:
        fig, ax = plt.subplots(figsize=(9, 4))
        ax.imshow(np.zeros((3, 12)), aspect="auto")
        for row, column in np.ndindex(3, 12):
            ax.text(column, row, "0.10", ha="center", fontsize=8)
        ax.set_xticks(range(12), [name] * 12, rotation=45 * wide, ha="left" if wide else "center")
        assert phones.rearrange(readable(fig))
        return len(fig.axes)

    assert blocks("a", False) == 1 and blocks("salt and pepper", True) == 2


def test_a_number_is_not_parted_from_its_per_cent_nor_an_interval():
    _, ax = plt.subplots()
    for room in range(8, 60):
        text = ax.text(
            0, 0, "on the right side in 60 % of 45 readings [35 %, 90 %], surely in 24 %"
        )
        phone_labels.break_text(text, 60.0, float(room))
        lines = text.get_text().splitlines()
        assert not any(line.startswith(("%", "90")) for line in lines), lines


def test_pictures_in_a_table_are_no_stamps_and_leave_slanted_names_their_room():
    fig, ax = plt.subplots(figsize=(9, 3))
    ax.imshow(np.arange(20 * 140).reshape(20, 140))
    for column in range(14):
        ax.text(10 * column + 5, 15, "0.1", ha="center", va="center")
    names = [f"a long name {column}" for column in range(14)]
    slanted = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    ax.set_xticks(10 * np.arange(14) + 5, names, **slanted)
    ax.set_yticks([5, 15], ["image", "a model"])
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
    assert phones.rearrange(readable(fig))
    assert sum(one.images[0].get_array().shape[1] for one in fig.axes) == 140, "each part once"
    for one in fig.axes:
        there = one.get_window_extent().width / fig.dpi / (np.ptp(one.get_xlim()) / 10)
        assert there > 0.4 and one.images[0].get_extent()[:2] == pytest.approx(
            one.get_xlim(), abs=1
        )
    assert fig.get_tightbbox().width < phones.WIDTH + 0.2


def test_very_many_lines_are_a_picture_and_their_labels_a_drawing():
    fig, ax = plt.subplots(figsize=(9, 4))
    for shift in range(300):
        ax.plot(np.sin(np.arange(300) + shift))
    ax.set_title("very many")
    svg = in_place.for_phones(fig)[in_place.PHONE]
    assert svg.count("<image") == 1 and "<!-- very many -->" in svg


def test_formulas_that_run_into_each_other_are_broken():
    fig, ax = plt.subplots(figsize=(10, 4))
    for column in range(3):
        ax.text(column, 0.5, "gauss(sin)*poly+exp", ha="center", fontsize=9)
    ax.set(xlim=(-0.6, 2.6), ylim=(0, 1.2))
    assert phones.rearrange(fig)
    assert {text.get_text() for text in ax.texts} == {"gauss(sin)*poly+\nexp"}


def test_a_figure_that_is_moved_sideways_says_why():
    """Of those that have no drawing on the pages of the book."""
    files = [*paths.CHAPTERS.glob("*/*.ipynb"), *paths.BOOK.glob("*.md")]
    texts = [path.read_text(encoding="utf-8") for path in files]
    for name, reason in moved.MOVED.items():
        told = (f'"name": "{name}"', f":name: {name}\n")
        assert any(one in text for text in texts for one in told), name
        assert len(reason.split()) > 3


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


# --- Pages ----------------------------------------------------------------------------------------


@pytest.fixture
def page(tmp_path, monkeypatch) -> str:
    """The HTML of a page with two figures, the first with a drawing for phones."""
    monkeypatch.syspath_prepend(paths.SOURCE / "book" / "_extensions")
    source = tmp_path / "source"
    drawn = source / "book" / "extra" / "figures"
    drawn.mkdir(parents=True)
    (drawn / "fr9-one.phone.svg").write_text('<svg><g id="phone-columns-1-1"/></svg>')
    (drawn / "fr9-drawn.phone.svg").write_text("<svg/>")
    for name in ("FR9-drawn", "four"):
        (source / f"{name}.svg").write_text(in_place._picture(panels(), sharp=True)[1])
    for name in ("FR9-one", "two"):
        plt.imsave(source / f"{name}.png", np.zeros((4, 4)))
    (source / "book" / "page.rst").write_text(
        "Page\n====\n\n.. figure:: ../FR9-one.png\n\n   One (right), of what is left.\n\n.. figure:: ../two.png\n   :target: ../index.html\n\n   Two, left.\n\n"
        ".. figure:: ../FR9-drawn.svg\n   :alt: Drawn\n\n   Three.\n\n.. figure:: ../four.svg\n   :alt: Too\n   :target: ../index.html\n\n   Four.\n"
    )
    (source / "index.rst").write_text("All\n===\n\n.. toctree::\n\n   book/page\n")
    told = {"html_theme": "basic", "extensions": ["for_phones"]}
    with docutils_namespace(), open(os.devnull, "w", encoding="utf-8") as nowhere:
        Sphinx(
            srcdir=source, confdir=None, outdir=tmp_path / "out", doctreedir=tmp_path / "trees",
            buildername="html", confoverrides=told, status=nowhere, warning=nowhere,
            warningiserror=True,
        ).build()  # fmt: skip
    return (Path(tmp_path) / "out" / "book" / "page.html").read_text(encoding="utf-8")


def test_a_page_shows_it_on_a_narrow_screen_and_lets_others_be_moved(page):
    one, two = page.split("Three.")[0].split("One (right), of what is left.")
    assert 'srcset="../figures/fr9-one.phone.svg"' in one and one.count("<picture>") == 1
    assert "<source media=" in one and one.index("<source") < one.index("<img")
    assert (
        'href="../index.html"><div class="vn-pan"><img' in two.replace("\n", "")
        and "<picture>" not in two
    )
    assert two.count("stands above") == 1 == two.count("vn-narrow"), "of what is drawn for phones"
    assert two.index("vn-narrow") < two.index("Two, left.")


def test_drawings_are_parts_of_the_page(page):
    drawn, four = page.split("Two, left.")[1].split("Three.")
    assert drawn.count("<svg") == 1 == four.count("<svg") and ".svg" not in four
    assert drawn.index('class="vn-wide"') < drawn.index("<svg") < drawn.index('class="vn-phone"')
    assert '<img loading="lazy" alt="Drawn" src="../figures/fr9-drawn.phone.svg">' in drawn
    assert '<div class="vn-pan"><svg class="vn-inline" role="img" aria-label="Too"' in four
    assert 'href="../index.html"><div class="vn-pan"><svg' in four
    assert set(re.findall(r' id="(f\d+)-', drawn)) == {"f3"}
    assert set(re.findall(r' id="(f\d+)-', four)) == {"f4"}


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
