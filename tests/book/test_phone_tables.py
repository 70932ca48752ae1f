"""Tables in colours are cut into blocks for phones."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from book.site import phones
from vnlib.plots.style import readable

pytestmark = pytest.mark.usefixtures("book_style")


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
