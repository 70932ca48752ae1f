"""The pictures of the summary."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.lines import Line2D

from benchmarks.baselines import figures as kit
from chapters.summary import effects, errors, figures, figures_short


def texts(fig: plt.Figure) -> set[str]:
    fig.canvas.draw()
    return {text.get_text() for ax in fig.axes for text in ax.texts}


def test_a_picture_has_a_row_for_each_model_under_its_heading(table):
    fig = figures.by_condition(table)
    shown = [label.get_text() for label in fig.axes[0].get_yticklabels()]
    named = [one for one in shown if one not in table["block"].values]
    assert named == table["name"].values.tolist()
    assert shown[0] == table["block"].values[0] and set(table["block"].values) < set(shown)
    plt.close(fig)


def test_a_picture_has_a_panel_for_each_condition_asked_for(nothing, masked):
    table = errors.signals(nothing | {"fig3_functions": masked})
    fig = figures.by_condition(table, "Hard")
    titles = ["last quarter", "last half", "random 30 %", "a block"]
    assert [ax.get_title() for ax in fig.axes] == titles
    for ax, mask in zip(fig.axes, titles, strict=True):
        own = table.sel(condition=f"Hard: {mask}").values.ravel()
        drawn = np.concatenate([one.get_offsets()[:, 0] for one in ax.collections])
        assert sorted(np.round(drawn, 9)) == sorted(np.round(own, 9))
    plt.close(fig)


def test_seeds_beyond_the_axis_are_counted(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_ood"].loc[{"model": "cnn4", "seed": 1}] = 1e6
    fig = figures.by_condition(errors.positions(nothing | {"fig2_spatial": results}))
    assert "1 seed →" in texts(fig) and fig.axes[0].get_xlim()[1] <= figures.MOST
    plt.close(fig)


def test_errors_stand_over_the_number_of_coefficients_that_they_took():
    values = [[[0.1, 0.1, 0.4], [0.2, 0.2, 0.2]], [[0.01, 0.01, 0.01], [0.02, 0.02, 0.02]]]
    rows = {"key": ("row", ["vn_1", "dct"]), "name": ("row", ["VN", "DCT"])}
    table = xr.DataArray([values], dims=("look", "row", "condition", "seed")).assign_coords(
        condition=["single", "sum of 2"], active=(("row", "condition"), [[65, 94], [286, 393]])
    )
    fig = figures.against_length(table.assign_coords(rows))
    for ax, xs, ys in zip(
        fig.axes, ([65, 286], [94, 393]), ([0.1, 0.01], [0.2, 0.02]), strict=False
    ):
        points = [line for line in ax.lines if len(line.get_xdata()) == 1]
        assert [line.get_xdata()[0] for line in points] == xs
        assert [line.get_ydata()[0] for line in points] == ys
    spread = next(line for line in fig.axes[0].lines if len(line.get_xdata()) == 2)
    assert spread.get_ydata().tolist() == [0.1, 0.4]
    plt.close(fig)


def test_effects_of_one_part_look_unlike_those_of_several(nothing, masked):
    found = effects.changes(nothing | {"fig3_functions": masked})
    more = {("signals", "inference + learning", "both"): next(iter(found.values()))}
    fig = figures.factors(found | more)
    faces = {
        line.get_ydata()[0] // 1: line.get_markerfacecolor() for line in fig.axes[0].lines[:-1]
    }
    assert len(fig.axes[0].lines) == len(found) + 2
    assert set(faces.values()) == {"w", figures.PALETTE[0]}
    plt.close(fig)


@pytest.mark.parametrize("draw", [figures.by_condition, figures.against_length])
def test_a_missing_picture_says_so(draw):
    for fig in (draw(None), figures.factors({})):
        assert "stored here" in fig.axes[0].texts[0].get_text()
        plt.close(fig)


def test_the_legend_at_a_glance_has_the_marks_that_are_drawn_and_no_others(
    nothing, drawn, monkeypatch
):
    names = ["cnn4 for readers", "vn_full for readers", "vn_flat for readers"]
    known = dict(zip(names, ("C0", "C1", "C2"), strict=True))
    for where in (kit, figures_short):
        monkeypatch.setattr(where, "look", lambda name: (known.get(name, "C7"), "o"))
    results = drawn({"vn_full": 0.0001, "cnn4": 0.5, "vn_flat": 0.9, "random_full": 0.2})
    table = errors.positions(nothing | {"fig2_spatial": results})
    assert "random_full for readers" in table["name"].values
    fig = figures_short.swaps({"positions": table})
    marks = {one.get_color() for one in fig.legends[0].findobj(Line2D) if one.get_marker() == "o"}
    assert marks == set(known.values())
    plt.close(fig)


def test_the_summary_at_a_glance_has_a_panel_for_each_benchmark_that_is_stored(nothing, drawn):
    results = drawn({"vn_full": 0.0001, "cnn4": 0.5, "vn_flat": 0.9})
    shown = {
        "positions": errors.positions(nothing | {"fig2_spatial": results}),
        "digits": None,
    }
    fig = figures_short.swaps(shown)
    (ax,) = fig.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"{key} for readers" for key in ("cnn4", "vn_full", "vn_flat")]
    table = shown["positions"]
    place = table["key"].values.tolist().index("cnn")
    errors_of = np.sort(table.isel(row=place, look=1, condition=0).values)
    assert np.allclose(np.sort(ax.lines[0].get_xdata()), errors_of)
    said = [float(text.get_text().removesuffix(" %")) for text in ax.texts]
    assert said[0] == pytest.approx(100 * np.median(errors_of), rel=0.06)
    assert said[1] < said[0] < said[2]
    plt.close(fig)
    assert "stored here" in figures_short.swaps({}).axes[0].texts[0].get_text()
