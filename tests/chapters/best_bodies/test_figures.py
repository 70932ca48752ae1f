"""Figures and tables of made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.nbody.figures import FAR
from chapters.best_bodies import figures, figures_paths, tables
from vnlib.book import chapter

SIDECAR = chapter.spec("best_bodies").sidecar


@pytest.mark.parametrize("name", ["fields", "by_cell", "ablation", "data"])
def test_every_figure_is_drawn_or_says_why_not(name, results):
    assert isinstance(getattr(figures, name)(results), Figure)
    nothing = results.sel(model=["film"])
    assert isinstance(getattr(figures, name)(nothing), Figure)
    plt.close("all")


def test_paths_are_drawn_or_it_is_said_why_not(results):
    fig = figures_paths.paths(results)
    titles = [ax.get_title() for ax in fig.axes if ax.get_title()]
    assert titles == ["gravity", "gravity + drag", "all four forces"]
    (first,) = (one for one in fig.axes[0].lines if one.get_label() == "VN_256")
    np.testing.assert_allclose(first.get_xdata(), [2.5, 4.995])
    np.testing.assert_allclose(first.get_ydata(), [0.1 * (500 / 999) ** 0.5, 0.1])
    assert isinstance(figures_paths.paths(results.sel(model=["film"])), Figure)
    assert isinstance(figures_paths.paths(results.drop_vars("drift")), Figure)
    plt.close("all")


def test_what_is_lost_is_drawn_at_the_edge(results):
    results["drift"].loc[{"model": "mlp"}] = np.inf
    fig = figures_paths.paths(results)
    (lost,) = (one for one in fig.axes[0].lines if one.get_label() == "MLP")
    assert (lost.get_ydata() == FAR).all()
    plt.close(fig)


def test_tables_of_paths_are_of_their_end(results):
    found = tables.distances(results).frame
    assert list(found.index) == ["VN_256", "PROCESS_RATIONAL", "MLP"]
    np.testing.assert_allclose(found.iloc[:, 0], [0.1, 0.2, 3.0])
    energy = tables.energies(results).frame
    np.testing.assert_allclose(energy.iloc[:, 0], [0.01, 0.04, 9.0])
    assert not any("drag" in str(column) for column in energy.columns)


def test_fields_show_the_truth_and_what_each_model_leaves(results):
    fig = figures.fields(results)
    shown = [ax for ax in fig.axes if ax.images and ax.get_xlim() == (-1.5, 1.5)]
    values = [np.unique(np.asarray(ax.images[0].get_array())).round(6) for ax in shown[:4]]
    assert len(shown) == 8
    assert np.allclose(values[0], 1) and np.allclose(values[1], 1 / 1.5), "shares of the largest"
    assert fig.axes[0].get_ylabel().endswith(f"up to {1.5 * 2**0.5:.2g} box/s²")
    assert np.allclose(values[2], 0.5 * 2**0.5) and np.allclose(values[3], 0.5 * 2**0.5)
    plt.close(fig)


def test_marks_stand_at_relative_errors(results):
    fig = figures.by_cell(results)
    assert [ax.get_title() for ax in fig.axes] == ["5 bodies", "4 bodies", "3 bodies"]
    first = fig.axes[0].containers[0].lines[0]
    assert np.allclose(first.get_xdata(), 0.01) and len(first.get_xdata()) == 15
    plt.close(fig)


def test_an_ingredient_is_the_ratio_of_two_errors(results):
    found = tables.ingredients(results).frame
    assert found.loc["operators / vectors, 256 atoms"].iloc[0] == pytest.approx(0.2)
    assert found.loc["512 / 256 atoms"].iloc[-1] == "36 of 36"
    assert "closed form / delta rule" not in found.index, "not run"


def test_tables_have_a_row_for_all_that_was_run(results):
    errors = tables.errors(results).frame
    assert len(errors) == results.sizes["model"]
    assert np.allclose(errors.loc["VN_256"].iloc[0], 0.01)
    wins = tables.wins(results).frame
    assert wins.loc["TOKEN_MLP", "VN_256"] == "45 of 45"
    assert wins.loc["RBF_512", "VN_256"] == "0 of 45"
    costs = tables.costs(results).frame
    assert costs.loc["MLP"].iloc[0] == 5000
    laws = tables.laws(results).frame
    assert list(laws.index) == [
        m.upper() for m in results["model"].values if m[:3] in ("vn_", "rbf")
    ]


def test_errors_are_means_over_sets_of_as_many_forces(results):
    results["mse"].loc[{"model": "gnn", "forces": "drag"}] *= 5
    found = tables.by_number(results, "gnn", 5)
    assert found.sel(number=1).values == pytest.approx(0.5 * 2) and found.sel(
        number=2
    ).values == pytest.approx(0.5)


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results, SIDECAR)
    assert found["bestbodies-found-B5"] == "0.050"
    assert found["bestbodies-wins-vn-256-token-mlp"] == "45 of 45"
    assert found["bestbodies-ratio-vn-256-rbf-256"] == "0.67"
    held, _, asked = found["bestbodies-held"].partition(" of ")
    assert 0 < int(held) < int(asked) == len(SIDECAR["predictions"])


def test_predictions_in_a_table(results):
    frame = tables.predicted(results, SIDECAR).frame
    assert len(frame) == len(SIDECAR["predictions"])
    assert set(frame["verdict"]) <= {"holds", "fails", "undecided", "not run"}
