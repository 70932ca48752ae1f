"""Figures and tables of appendix F show the shipped results, and say so where models lack."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from glued import number
from IPython.display import HTML

from benchmarks.spatial.errors import middles, of_learned
from chapters.F_spatial import figures, tables
from vnlib.book import paths, store
from vnlib.plots.statistics import short

RESULTS, SELECTION = (
    store.read(paths.result_file(paths.RESULTS, "paper", name))
    for name in ("F_spatial", "F_spatial.selection")
)
PARTS = ("depth", "sharp", "ring", "ladder", "entangled", "continuous", "two", "care")
DRAW = {
    "rank": figures.rank,
    "depth": figures.depth,
    "encodings": figures.encodings,
    "maps": figures.maps,
    "images": lambda r: figures.images(r, "ladder"),
    "two": lambda r: figures.images(r, "two", "two"),
    "scatter": lambda r: figures.scatter(r, "ring"),
}
FEW = ["factorised", "factorised_2", "vn_3_mix", "full", "sae", "vn_1_fourier14", "cnn_ring"]


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("models", [FEW, ["full"], ["linear"]])
@pytest.mark.parametrize("name", DRAW)
def test_figures_can_be_drawn_of_some_models(name, models):
    DRAW[name](RESULTS.sel(model=models)).canvas.draw()


def test_ranks_show_medians_of_every_family():
    left, right = figures.rank(RESULTS).axes
    alike = RESULTS["stream_similarity"].sel(model=["factorised_2", "factorised_3"]).median("seed")
    assert any(np.array_equal(line.get_ydata(), alike) for line in left.lines)
    ood = RESULTS["mse_ood"].sel(model=list(figures.RANKS["VN-1L per axis"])).median("seed")
    assert any(np.array_equal(line.get_ydata(), ood) for line in right.lines)


def test_every_code_of_a_position_has_points_in_the_panel_of_its_model():
    axes = figures.encodings(RESULTS).axes
    assert [ax.get_title() for ax in axes if ax.get_visible()] == list(tables.ENCODED)
    points = sum(len(c.get_offsets()) for c in axes[3].collections)
    assert points == 5 * RESULTS.sizes["seed"]


def test_the_table_of_codes_has_a_row_per_code_and_a_column_per_model():
    frame = tables.encodings(RESULTS).frame
    assert frame.shape == (5, 7) and frame.notna().all(axis=None)
    assert frame.index.tolist() == list(tables.ENCODINGS.values())
    for model, code, column in (
        ("sae_scalar", "scalar", "Sparse AE"),
        ("vae_high", "bump", "VAE, beta 0.1"),
        ("cnn_fourier7", "Fourier-7", "CNN"),
    ):
        own = of_learned(RESULTS)["mse_ood"].sel(model=model)
        assert frame.loc[code, column] == own.median("seed")
    few = tables.encodings(RESULTS.sel(model=["sae", "vn_1_fourier14"])).frame
    assert few.columns.tolist() == ["Sparse AE", "VN-1L per axis"] and len(few) == 2


def test_a_part_holds_its_models_in_their_order():
    assert tables.within(RESULTS, "ring")["model"].values.tolist() == [
        m for m in RESULTS["model"].values if m.endswith("_ring")
    ]


@pytest.mark.parametrize("part", PARTS)
def test_tables_of_errors_have_a_row_per_model_and_one_for_zero(part):
    frame = tables.errors(RESULTS, part).frame
    assert len(frame) == tables.within(RESULTS, part).sizes["model"] + 1
    assert frame.index.is_unique and frame.index[-1] == "Zero baseline"


def test_tables_of_streams_and_of_two_bumps():
    streams = tables.streams(RESULTS).frame
    assert len(streams) == 6 and "Factorised decoder" not in streams.index
    two = tables.two(RESULTS)
    ghost = float(RESULTS["two_ghost"].sel(model="full").median())
    assert two.frame.loc["Full 2D VN", ("at the crossings", "median")] == ghost
    assert two.shown().loc["Zero baseline", "at the crossings"] == "0"


@pytest.mark.parametrize("make", [tables.streams, tables.two, lambda r: tables.errors(r, "ring")])
def test_what_was_not_computed_is_said(make):
    assert isinstance(make(RESULTS.sel(model=["vn_2_8"])), HTML)


def test_numbers_are_those_of_the_results():
    found = tables.numbers(RESULTS, SELECTION)
    left = 100 * middles(RESULTS, "full_ring")["of_zero"].item()
    assert number(found["appF-remains-full-ring"]) == number(f"{short(left)} %")
    assert found["appF-widest"].startswith("VN-2L")
    assert "VN-1L per axis, Fourier-7" in found["appF-edges"].split("; ")


def test_a_choice_is_at_an_edge_where_it_is_the_least_or_the_largest_of_what_was_tried():
    def tried(*values: tuple[float, float]) -> list[str]:
        return [
            json.dumps({"training": {"lr": lr, "options": {"sparsity": sparsity}}})
            for lr, sparsity in values
        ]

    settings = {
        "inside": tried((1, 5), (3, 5), (2, 5)),
        "largest": tried((1, 5), (2, 5), (3, 5)),
        "sparsest": tried((1, 6), (1, 7), (1, 5)),
    }
    selection = xr.Dataset(
        {
            "run_settings": (("model", "candidate"), list(settings.values())),
            "mse_val": (("model", "candidate"), [[0.3, 0.2, 0.1]] * 3),
        },
        coords={"model": list(settings)},
    )
    assert tables.at_edges(selection) == ["largest", "sparsest"]
