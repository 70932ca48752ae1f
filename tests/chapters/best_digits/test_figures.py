"""Figures and tables of made-up results."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from chapters.best_digits import figures, tables
from vnlib.book import chapter

SIDECAR = chapter.spec("best_digits").sidecar
DRAWN = ("example", "by_set", "rate_distortion", "code_length", "ablation")


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn_or_says_why_not(name, results):
    assert isinstance(getattr(figures, name)(results), Figure)
    nothing = results.sel(model=["pca"], way=["own"], k=[8])
    assert isinstance(getattr(figures, name)(nothing), Figure)
    plt.close("all")


def test_marks_stand_at_the_medians_of_each_set(results):
    fig = figures.by_set(results)
    left, right = fig.axes
    assert (left.get_title(), right.get_title()) == ("24 coefficients", "65 coefficients")
    best = next(line for line in left.lines if line.get_marker() == "D")
    assert np.allclose(best.get_xdata(), 1e3 * 0.1 * 0.1 * 1.25)
    assert len(right.containers) < len(left.containers), "no autoencoder of 65 units"
    plt.close(fig)


def test_an_ingredient_is_the_ratio_of_two_errors(results):
    ratio = figures.changed(results, "learned / exemplars, 512")
    assert np.allclose(ratio, 0.5) and ratio.sizes == {"seed": 6, "set": 14}
    frame = tables.ingredients(results).frame
    assert frame.loc["swaps / none"].iloc[0] == pytest.approx(0.3 / 0.35)
    assert frame.loc["two layers / one, 2,048"].iloc[-1] == "14 of 14"
    assert "pixels beside / none" not in frame.index, "not run"


def test_tables_have_a_row_for_all_that_was_drawn(results):
    frame = tables.errors(results, 24).frame
    assert len(frame) == 19 and frame.loc["VN_512, swaps"].iloc[0] == pytest.approx(37.5)
    assert len(tables.errors(results, 65).frame) == 15
    costs = tables.costs(results).frame
    assert costs.loc["VN-2L, 2,048 atoms, two layers", "bits of 24 indices"].item() == 24 * 11
    assert np.isnan(costs.loc["DCT", "bits of 24 indices"].item())
    assert tables.thresholds(results).frame.iloc[0, 0] == pytest.approx(0.2)


def test_the_numbers_of_the_prose(results):
    found = tables.numbers(results, SIDECAR)
    assert found["bestdigits-rivals-24-vn-2048-two-layer"] == "14 of 14"
    assert found["bestdigits-found-D6"] == "0.50"
    held, _, asked = found["bestdigits-held"].partition(" of ")
    assert 0 < int(held) < int(asked) == len(SIDECAR["predictions"])
    assert found["bestdigits-error-24-dct-own-stripes1"].startswith("88 ")


def test_predictions_in_a_table(results):
    frame = tables.predicted(results, SIDECAR).frame
    assert len(frame) == len(SIDECAR["predictions"])
    assert set(frame["verdict"]) <= {"holds", "fails", "undecided", "not run"}


def test_networks_of_two_layers_are_called_so():
    labels = {name: model["label"] for name, model in SIDECAR["models"].items()}
    named = xr.Dataset(coords={"model": [*labels], "label": ("model", [*labels.values()])})
    networks = {
        name
        for name, model in SIDECAR["models"].items()
        if model["group"] == "vn" and "two_layer" in model["plan"]
    }
    assert {*figures.LAYERED} == networks
    for name, layered in figures.LAYERED.items():
        assert labels[name].startswith("VN-1L") and layered.startswith("VN-2L")
        assert layered[5:] == labels[name][5:]
        assert figures.name_of(named, name, "two_layer") == f"{layered}, two layers"
        assert figures.name_of(named, name, "swaps") == f"{labels[name]}, swaps"
    other = figures.name_of(named, "dictionary_learning_512", "two_layer")
    assert other == "Dictionary learning, 512 atoms, two layers"
