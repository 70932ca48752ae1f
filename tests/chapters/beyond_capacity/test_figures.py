"""Figures, tables and numbers of errors against size, on made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from chapters.beyond_capacity import figures, tables
from vnlib.plots.style import readable


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.mark.parametrize("name", ["sizes", "coefficients"])
def test_figures_draw_whatever_there_is(results, name):
    for part in (results, results.isel(seed=[1]), results.isel(model=[0]), results.isel(size=[3])):
        getattr(figures, name)(part).canvas.draw()


def test_lines_are_medians_over_sets_and_seeds_against_the_size_over_the_usual_one(results):
    ax = figures.sizes(results.sel(model=["digits_vn"])).axes[2]
    line = next(one for one in ax.lines if one.get_linestyle() == "-")
    assert line.get_xdata().tolist() == [1 / 8, 1 / 4, 1]
    assert line.get_ydata() == pytest.approx([1.5 * 8 / size for size in (64, 128, 512)])
    points = [one for one in ax.lines if one.get_linestyle() == "None"]
    assert len(points) == 2, "a point for each seed"


def test_optimised_codes_are_a_model_of_their_own(results):
    values = figures.error(results, "digits", "ood")
    known = figures.known(results, "active", values)
    names = ("digits_ae", "digits_ae" + figures.OPTIMISED)
    own, optimised = (values.sel(model=name, size=128) for name in names)
    assert (optimised == own / 2).all() and optimised["label"] == "AE, optimised codes"
    assert "digits_vn_optimised" not in values["model"]
    counts = [known.sel(model=name, size=128) for name in names]
    assert (counts[0] == counts[1]).all() and counts[1].notnull().all()


def test_no_name_of_a_model_tells_a_single_size(results):
    old = results["label"].where(results["model"] != "signals_exemplars", "Exemplars, 3 of 2048")
    own = figures.error(results.assign_coords(label=old), "whole", "ood")
    assert own["label"].sel(model="signals_exemplars") == "Exemplars, 3 at a time"


def test_bodies_are_five_under_one_force_or_under_several(results):
    assert figures.sets(results, "forces", "id") == ["gravity, 5 bodies"]
    assert figures.sets(results, "forces", "ood") == ["gravity+drag, 5 bodies"]


def test_only_models_that_code_have_coefficients(results):
    found = figures.coded(results["active"])
    assert "digits_vn" in found and "forces_mlp" not in found


def test_errors_at_the_usual_and_at_the_largest_size(results):
    frame = tables.growth(results).frame
    row = frame.loc[("digits; sums and differences", "PCA")]
    assert row["in distribution", "usual", "median"] == pytest.approx(1.5 * 8 / 117)
    assert row["in distribution", "ratio", "median"] == 1, "the usual size is the largest here"
    larger = results.assign(error=results["error"].where(results["size"] != 117))
    assert tables.growth(larger).frame.loc[("digits; sums and differences", "PCA")].isna().any()


def test_a_row_for_each_size(results):
    found = tables.every(results).frame
    assert len(found.loc["digits; sums and differences", "PCA"]) == 3
    assert "late gain" in found.columns.get_level_values(0)


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results)
    assert found["beyondcapacity-ood-digits-usual-digits-pca"] == "0.10 [0.068, 0.14]"
    assert found["beyondcapacity-late-digits-vn"] == "0.010"


@pytest.mark.parametrize("name", ["sizes", "coefficients"])
def test_errors_have_ticks_of_one_kind_in_all_panels(results, name):
    fig = readable(getattr(figures, name)(results))
    fig.canvas.draw()
    said = [text.get_text() for ax in fig.axes for text in ax.get_yticklabels()]
    assert said and all("10^" in one for one in said if one)
