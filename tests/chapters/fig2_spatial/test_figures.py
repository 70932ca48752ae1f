"""Figures and tables of Fig. 2 show what is in the shipped results, and draw from fewer models."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from glued import number

from benchmarks.baselines.longer import once
from benchmarks.spatial.settling import late_gain
from chapters.fig2_spatial import figures, figures_hold_out, tables
from vnlib.book import paths, store
from vnlib.book.evidence import SETTLED
from vnlib.plots.statistics import short

RESULTS = store.read(paths.result_file(paths.RESULTS, "paper", "fig2_spatial"))
FEW = ["cnn2", "factorised", "vn_axes_1", "vn_full"]
DRAW = (
    figures.task,
    figures.error_maps,
    figures.id_against_ood,
    figures.against_depth,
    figures.samples,
    figures.learning,
    figures_hold_out.hold_out,
)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("models", [FEW, ["mlp"]])
@pytest.mark.parametrize("draw", DRAW)
def test_figures_can_be_drawn_of_some_models(draw, models):
    draw(RESULTS.sel(model=models)).canvas.draw()


def test_a_map_is_the_median_error_over_seeds():
    fig = figures.error_maps(RESULTS.sel(model=["cnn2"]))
    shown = fig.axes[0].images[0].get_array()
    expected = RESULTS["mse"].sel(model="cnn2").median("seed").values.reshape(28, 28)
    assert (
        np.allclose(shown, expected) and fig.axes[0].get_title() == "CNN,\N{NO-BREAK SPACE}2 blocks"
    )


def test_the_example_is_of_the_median_seed_with_the_median_error():
    fig = figures_hold_out.hold_out(RESULTS)
    errors = RESULTS["mse_ood"].sel(model="vn_flat")
    rank = int((errors < errors.isel(seed=figures_hold_out.middle_seed(errors))).sum())
    assert rank == (RESULTS.sizes["seed"] - 1) // 2
    image = RESULTS["sample_image"].sel(model="vn_flat", sample=406).values
    shown = fig.axes[8].images[0].get_array()
    assert np.array_equal(shown, image[figures_hold_out.middle_seed(errors)])
    assert [ax.get_ylabel() for ax in fig.axes[::5]] == ["outside", "held out"]
    share = float((errors / RESULTS["zero_baseline_ood"].sel(model="vn_flat")).median())
    assert fig.axes[8].get_xlabel() == f"{100 * share:.2g} %"


def test_the_task_shows_where_each_split_is():
    picture = figures.task(RESULTS).axes[0].images[0].get_array()
    held = np.all(picture == picture[14, 14], axis=-1)
    assert np.array_equal(held.ravel(), RESULTS["split"].values == "ood")
    colors = {tuple(row) for row in picture.reshape(-1, 3)}
    assert len(colors) == len(figures.SPLITS)


def test_depth_joins_medians_of_every_depth():
    lines = figures.against_depth(RESULTS).axes[1].lines
    values = RESULTS["mse_ood"].sel(model=["cnn2", "cnn4", "cnn6"]).median("seed")
    assert any(np.array_equal(line.get_ydata(), values) for line in lines)


def test_tables_hold_medians_and_the_zero_baseline():
    frame = tables.errors(RESULTS).frame
    assert frame.shape[0] == RESULTS.sizes["model"] + 1 and frame.index[-1] == "Zero baseline"
    assert frame.loc["MLP", ("OOD error", "median")] == RESULTS["mse_ood"].sel(model="mlp").median()
    assert frame.loc["Zero baseline", ("OOD error", "median")] == pytest.approx(0.016028, rel=1e-4)
    shorter = tables.taken_away(RESULTS.sel(model=FEW)).shown()
    assert shorter.index.tolist() == ["Full 2D VN", "Factorised decoder", "Zero baseline"]


def test_numbers_are_those_of_the_results():
    found = tables.numbers(RESULTS)
    worst = RESULTS["mse_ood"].sel(model=["random_full", "random_axes_1"]).median("seed").max()
    assert number(found["fig2-frozen-ood"].partition(" to ")[2]) == number(short(float(worst)))
    assert found["fig2-seeds"] == "16"
    gain = late_gain(once(RESULTS)).median("seed").dropna("model")
    told = [int(found[f"fig2-unsettled-{name}"]) for name in ("of", "all")]
    assert told == [int((gain >= SETTLED).sum()), gain.size]
    longer, own = (RESULTS["mse_ood"].sel(model=m) for m in ("cnn2_longer", "cnn2"))
    less = float((longer / own).median())
    assert number(found["fig2-longer-ood-cnn2"].partition(" [")[0]) == number(short(less))
