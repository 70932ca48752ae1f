"""Figures of force composition on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.fig4_nbody import figures, figures_controls
from data_gen import nbody

DRAWN = {
    "errors": figures.errors,
    "relative": lambda r: figures.errors(r, relative=True),
    "table": figures.table,
    "diagonal": figures.diagonal,
    "passes": figures_controls.passes,
    "laws": figures_controls.laws,
    "curves": figures_controls.curves,
}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("models", [None, ["mlp"], ["vn_token_3", "rbf_tokens"], ["random"]])
def test_figures_are_drawn_of_any_models(results, name, models):
    figure = DRAWN[name](results if models is None else results.sel(model=models))
    figure.draw_without_rendering()
    assert isinstance(figure, plt.Figure) and figure.axes


def test_the_task_shows_all_laws_and_their_mixture():
    config = nbody.NBodyConfig(n_train=1, n_val=1, n_test=1, steps=10, every=5)
    titles = [ax.get_title() for ax in figures.task(nbody.make(config)).axes]
    assert (
        len(titles) == 6 and titles[3].startswith("Lorentz") and titles[-1] == "all four, 3 bodies"
    )


def test_errors_are_drawn_where_they_belong(results):
    for number, ax in enumerate(figures.errors(results).axes[:4], 1):
        drawn = np.concatenate([points.get_offsets()[:, 0] for points in ax.collections])
        for value in (0.2 * number, 0.001 * number * 0.5):
            assert np.isclose(drawn, value).any(), value


def test_rows_have_the_names_of_models(results):
    figure = figures_controls.laws(results)
    names = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert (
        names[:4] == ["VN_LITERAL_3", "VN_GATED_3", "VN_TOKEN_3", "MLP"] and "RANDOM" not in names
    )


def test_passes_are_joined_with_joint_errors(results):
    ax = figures_controls.passes(results.sel(model=["mlp"])).axes[0]
    (joined,) = (line for line in ax.lines if len(line.get_xdata()) == 2)
    joint, passes = joined.get_xdata()
    assert passes == pytest.approx(joint / 2)
