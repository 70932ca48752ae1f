"""Figures of App. G, drawn from the shipped results, whole and with few models."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from chapters.G_functions import figures_gallery as gallery
from chapters.G_functions import figures_readings as figures
from chapters.G_functions import figures_signatures as marks
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def results():
    folder = paths.ROOT / "results" / "paper"
    return {name: store.read(folder / f"{name}.nc") for name in ("fig3_functions", "G_functions")}


def texts(figure: plt.Figure) -> str:
    figure.canvas.draw()
    found = [
        t.get_text() for ax in figure.axes for t in (ax.title, *ax.get_yticklabels(), *ax.texts)
    ]
    found += [t.get_text() for legend in figure.legends for t in legend.get_texts()]
    plt.close(figure)
    return " ".join(found)


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (figures.both_readings, "VN-5L, recipe G, literal"),
        (figures.masked_readings, "VN-3L, recipe G, frozen"),
        (figures.learned, "atoms not learned"),
        (figures.layers, "isometry"),
        (figures.rounds, "VN-5L, recipe G, subspace"),
        (figures.convergence, "VN-1L, recipe G"),
        (figures.trade_off, "×0.25"),
    ],
)
def test_figures_of_this_page_name_what_they_draw(results, draw, name):
    own = results["G_functions"]
    assert name in texts(draw(own))
    without = own.drop_vars([v for v in own if v.startswith(("curve", "sweep"))])
    few = texts(draw(without.sel(model=["vn_1"], seed=[0])))
    assert "VN-1L" in few or "asked for" in few


@pytest.mark.parametrize(
    ("draw", "name"),
    [
        (marks.bands, "Mamba-bottleneck"),
        (marks.collapse, "NeuralODE"),
        (marks.tails, "with masks"),
        (gallery.example, "NeuralODE"),
        (gallery.one_case, "median case"),
        (lambda shared: gallery.reconstructions(shared, "largest"), "SparseAE3"),
        (lambda shared: gallery.forecasts(shared, "neutral"), "Last value held"),
    ],
)
def test_figures_of_shared_models_name_what_they_draw(results, draw, name):
    shared = results["fig3_functions"]
    assert name in texts(draw(shared))
    assert "asked for" in texts(draw(shared.sel(model=["zero_baseline"])))


def test_cases_are_chosen_by_their_rule(results):
    gap = gallery.gaps(results["fig3_functions"])
    largest, neutral = (gallery.pick(gap, rule, 1)[0] for rule in gallery.RULES)
    assert gap.sel(example=largest) == gap.max()
    assert abs(float((gap >= gap.sel(example=neutral)).mean()) - 0.5) < 0.06
