"""One form of picture for all benchmarks."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from chapters.summary import figures, swaps


def texts(fig: plt.Figure) -> set[str]:
    fig.canvas.draw()
    return {text.get_text() for text in fig.axes[0].texts}


def test_a_picture_has_a_row_for_each_model_under_its_heading_and_says_its_factor(table):
    fig = figures.swaps(table)
    shown = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    assert [one for one in shown if one not in table["block"].values] == table[
        "name"
    ].values.tolist()
    assert shown[0] == table["block"].values[0] and set(table["block"].values) < set(shown)
    assert {"×1.00", "×2.00", "×90", "×50"} <= texts(fig)
    plt.close(fig)


def test_seeds_beyond_the_axis_are_counted(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_ood"].loc[{"model": "cnn4", "seed": 1}] = 1e6
    fig = figures.swaps(swaps.positions(nothing | {"fig2_spatial": results}))
    assert "1 seed →" in texts(fig) and fig.axes[0].get_xlim()[1] <= figures.MOST
    plt.close(fig)


def test_every_seed_is_a_point(table):
    fig = figures.swaps(table)
    drawn = np.concatenate([one.get_offsets()[:, 0] for one in fig.axes[0].collections])
    assert set(np.round(table["outside"].values.ravel(), 9)) <= set(np.round(drawn, 9))
    plt.close(fig)


def test_a_missing_picture_says_so():
    fig = figures.swaps(None)
    assert "not stored here" in fig.axes[0].texts[0].get_text()
    plt.close(fig)
