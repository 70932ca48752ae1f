"""Bodies that drop out and feedback, drawn."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.H_nbody import figures


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("models", [None, ["rbf_tokens"], ["gnn"]])
def test_a_page_of_any_models_is_drawn(shared, models):
    figure = figures.body_dropout(shared if models is None else shared.sel(model=models))
    figure.canvas.draw()
    assert figure.axes[0].get_title() == "models of the paper, absolute error"


def test_the_figure_of_feedback_has_a_column_per_reading(results):
    axes = figures.feedback(results).axes
    assert [ax.get_title() for ax in axes[:3]] == ["LITERAL", "GATED", "TOKEN"] and len(axes) == 6
    ticks = [text.get_text() for text in axes[-1].get_xticklabels()]
    assert [one.strip() for one in ticks] == ["0", "0.02", "0.3", "split", "inverted"]
    heights = np.concatenate([points.get_offsets()[:, 1] for points in axes[-1].collections])
    assert sorted(set(heights.round(6))) == [0.1, 1.0]
