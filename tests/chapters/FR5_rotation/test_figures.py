"""The figures and tables show what the results hold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR5_rotation import figures, tables
from chapters.FR5_rotation.claims import EXPLANATIONS
from chapters.FR5_rotation.measure import LAYERS

MODELS = ["cnn", "mlp"]
ANGLES = np.arange(0.0, 360, 5)
GAP = np.arange(165.0, 200, 5)


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    """Models of two digits and two seeds; every number its own."""
    rng = np.random.default_rng(0)
    axes = {"model": MODELS, "digit": [4, 2], "seed": [0, 1]}
    angle, gap, shown = {"angle": ANGLES}, {"gap_angle": GAP}, {"shown": GAP[[0, -1]]}
    layer, image = {"layer": list(LAYERS)}, {"y": range(4), "x": range(4)}
    sizes = {
        **{name: {} for name in ("mse_id", "mse_ood", "n_parameters")},
        **dict.fromkeys(("error_model", "error_mean", "error_zero_baseline"), angle),
        **dict.fromkeys((*EXPLANATIONS, "weight", "blend_error"), gap),
        **dict.fromkeys(("ring_share", "ring_step"), layer),
        **{name: {"checkpoint": range(3)} for name in ("curve_step", "curve_val", "curve_ood")},
        "ring": layer | angle | {"component": [0, 1]},
        "drawn_image": shown | image,
        "true_image": shown | image,
        "end_image": {"end": ["low", "high"]} | image,
    }
    made = {}
    for name, more in sizes.items():
        coords = axes | more
        shape = [len(v) for v in coords.values()]
        made[name] = xr.DataArray(rng.uniform(0.1, 1, shape), coords, list(coords))
    ds = xr.Dataset(made).drop_vars(["y", "x", "component", "checkpoint"])
    ds["curve_step"][:] = [20.0, 160, 200]
    ds["drawn_image"].loc[{"seed": 0}] = np.nan
    return ds.assign_coords(label=("model", ["CNN, 1 frequency", "MLP, 1 frequency"]))


def test_the_errors_are_medians_over_seeds(results):
    fig = figures.errors(results)
    first, second = fig.axes
    assert [first.get_title(), second.get_title()] == ["digit 4", "digit 2"]
    median = results["error_model"].sel(model="cnn", digit=2).median("seed")
    np.testing.assert_allclose(second.lines[0].get_ydata(), median)


def test_curves_are_medians_of_the_papers_digit(results):
    drawn = [line.get_ydata() for line in figures.learning(results).axes[0].lines]
    median = results["curve_val"].sel(model="mlp", digit=4).median("seed")
    assert any(len(y) == 3 and np.allclose(y, median) for y in drawn)


def test_pictures_are_of_the_seed_that_was_kept(results):
    fig = figures.images(results)
    drawn = results["drawn_image"].sel(model="mlp", digit=4, seed=1).isel(shown=1)
    np.testing.assert_array_equal(fig.axes[-1].images[0].get_array(), drawn)
    assert figures.rings(results).axes[0].get_title().startswith("hidden layer 1")


def test_every_seed_is_a_line_of_the_weight(results):
    top, bottom = figures.blend(results).axes
    lines = [line for line in top.lines if len(line.get_xdata()) == len(GAP)]
    assert len(lines) == 4 and len(bottom.lines) >= len(EXPLANATIONS)


def test_every_run_is_a_point(results):
    points = figures.explanations(results).axes[0].collections[0].get_offsets()
    assert len(points) == 8
    wanted = tables.explained(results, "blend").values.ravel()
    np.testing.assert_allclose(np.sort(points[:, 1]), np.sort(wanted))


def test_the_table_holds_medians_and_ranges(results):
    table = tables.models(results)
    errors = results["mse_ood"].sel(model="mlp", digit=2)
    row = table.frame.loc["MLP, 1 frequency", "2"]
    assert row["error in the gap", "median"] == float(errors.median())
    assert row["error in the gap", "high"] == float(errors.max())
    assert "parameters" in table.shown().columns
    found = tables.explanations(results).frame.loc["MLP, 1 frequency", "2"]
    blend = tables.explained(results, "blend").sel(model="mlp", digit=2)
    assert found["explained by a blend", "median"] == float(blend.median())
