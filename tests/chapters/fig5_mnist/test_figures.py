"""Figures of image composition on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from chapters.fig5_mnist import figures, figures_example, names
from chapters.fig5_mnist import figures_motions as moves
from chapters.fig5_mnist import figures_parts as parts
from data_gen import digits, motions
from vnlib.book import chapter
from vnlib.plots.style import look

# Enough for every panel to be drawn, and for tests to be quick.
FEW = ["id", "sub2", "max5", "single", "RTS", "RTS_x3", "RTS_x2_3d"]


DRAWN = {
    "errors": figures.errors,
    "errors, motions": lambda r: figures.errors(r, "motions"),
    "table": figures.error_map,
    "table, motions": lambda r: figures.error_map(r, "motions"),
    "growth": figures.growth,
    "samples": parts.samples,
    "example": figures_example.example,
    "samples, motions": lambda r: parts.samples(r, "motions"),
    "path": parts.training_path,
    "path, motions": lambda r: parts.training_path(r, "motions"),
    "top": lambda r: parts.readings(r, "digits", "top", more=("ae",)),
    "searched": lambda r: parts.readings(r, "digits", "searched"),
    "active": parts.active_units,
    "curves": parts.training_curves,
    "steps": moves.motion_steps,
    "growth of steps": lambda r: moves.motion_steps(r, relative=True),
}
CHOICES = {
    "all": slice(None),
    "one": ["ae"],
    "motions": ["m_vn_1", "m_ae"],
    "nothing": ["zero_baseline"],
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("chosen", CHOICES)
def test_figures_are_made_of_any_models(fig5_results, name, chosen):
    figure = DRAWN[name](fig5_results.sel(model=CHOICES[chosen], set=FEW))
    assert isinstance(figure, plt.Figure)
    plt.close(figure)


@pytest.mark.parametrize("name", ["errors", "samples", "path", "top", "active", "steps"])
def test_figures_can_be_rendered(fig5_results, name):
    figure = DRAWN[name](fig5_results.sel(set=FEW))
    figure.canvas.draw()
    plt.close(figure)


def test_sets_are_known_by_the_same_names_as_they_are_made():
    for name, families in figures.FAMILIES.items():
        assert sorted(s for family in families.values() for s in family) == sorted(
            {"digits": digits, "motions": motions}[name].SETS
        )
    named = {s for _, sets in moves.PANELS.values() for s in sets.values()}
    assert named == set(motions.SETS)
    assert list(names.DIGITS) == figures.SETS["digits"]
    for sets in (digits.SETS, motions.SETS):
        assert len(set(map(names.said, sets))) == len(sets)
    assert names.said("RTS_x2_3d") == "RTS ×2, 3 digits"
    assert not [one for one in map(names.said, [*digits.SETS, *motions.SETS]) if "_" in one]
    for sets in (*parts.SOME.values(), *parts.PATHS.values()):
        assert set(sets) <= {*digits.SETS, *motions.SETS}


def test_points_are_where_the_errors_are(fig5_results):
    figure = figures.errors(fig5_results.sel(set=FEW))
    panel = next(ax for ax in figure.axes if ax.get_title() == "difference")
    drawn = np.concatenate([np.asarray(c.get_offsets())[:, 0] for c in panel.collections])
    assert np.isclose(drawn, 0.153).sum() == 3 and np.isclose(drawn, 0.0075).sum() == 3, (
        "every seed a point"
    )
    assert any(np.allclose(line.get_xdata(), 0.1) for line in panel.lines), "the zero baseline"
    plt.close(figure)


def test_samples_are_scaled_set_by_set_and_tell_their_errors(fig5_results):
    figure = parts.samples(fig5_results)
    mosaic = figure.axes[0].images[0].get_array()
    assert np.nanmax(mosaic) == 1 and np.nanmin(mosaic) == pytest.approx(0.9)
    assert {text.get_text() for text in figure.axes[0].texts} == {"10"}
    plt.close(figure)


def test_steps_show_every_seed(fig5_results):
    figure = moves.motion_steps(fig5_results)
    panel = next(ax for ax in figure.axes if ax.get_title() == "all three, larger")
    points = np.concatenate([np.asarray(c.get_offsets()) for c in panel.collections])
    assert (np.isclose(points[:, 1], 0.022) & (points[:, 0] == 3)).sum() == 3
    plt.close(figure)


def test_growth_is_relative_to_own_id_error(fig5_results):
    found = figures.errors_of(fig5_results, "digits", relative=True).median("seed")
    assert np.allclose(found.sel(model="ae", set=["id", "add2", "sub2"]), [1, 3, 30])
    assert np.allclose(
        figures.errors_of(fig5_results, "motions", relative=True).sel(model="m_ae", set="RTS_x3"), 4
    )
    assert figures.power(fig5_results, "digits").sel(set="max5") == pytest.approx(0.1)


@pytest.mark.parametrize("benchmark", figures.MAIN)
def test_no_two_models_of_a_figure_look_the_same(benchmark):
    models = chapter.spec("fig5_mnist").sidecar["models"]
    looks = [look(models[name]["label"]) for name in figures.MAIN[benchmark]]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ("value", "said"), [(0.1234, "0.12"), (5.309, "5.31"), (21.66, "21.7"), (417.4, "417")]
)
def test_numbers_have_three_digits(value, said):
    assert figures.number(value) == said
