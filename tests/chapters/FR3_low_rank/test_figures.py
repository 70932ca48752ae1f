"""The figures and tables show what the results hold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR3_low_rank import figures, figures_example, tables

MODELS = {
    "none": "Embedding network, no penalty",
    "variance": "Embedding network, variance",
    "bands": "Embedding network, bands",
    "factorised": "Factorised decoder",
}
SIDE = 12


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    """Four models, two seeds; images of the second seed only, no maps in the last model."""
    rng = np.random.default_rng(0)
    axes = {"model": list(MODELS), "hold_out": ["square", "large_corner"], "seed": [0, 1]}
    image, place = {"y": range(SIDE), "x": range(SIDE)}, {"position": range(SIDE**2)}
    axis, token, layer = {"axis": ["x", "y"]}, {"token": range(SIDE)}, {"layer": ["maps", "output"]}
    sizes = {
        **{f"mse_{split}": {} for split in ("train", "id", "ood")},
        **{name: {} for name in ("hit_ood", "zero_baseline_ood", "target_log_volume")},
        "zero_baseline_id": {},
        **{name: {"checkpoint": range(3)} for name in ("curve_step", "curve_val", "curve_ood")},
        "mse": place,
        "spectrum": axis | {"mode": range(SIDE)},
        "effective_rank": axis | token,
        "band": axis | token | {"along": ["y", "x"]},
        "s_rank": axis,
        "embedding": axis | {"token_shown": [1, 7]} | image,
        "log_volume": layer | image,
        "volume_spread": layer,
        "sample_image": {"sample": [5, 91]} | image,
    }
    made = {}
    for name, more in sizes.items():
        coords = axes | more
        values = rng.uniform(0.1, 1, [len(v) for v in coords.values()])
        made[name] = xr.DataArray(values, coords, list(coords))
    ds = xr.Dataset(made).drop_vars(["y", "x", "position", "mode", "checkpoint"])
    for name in ("spectrum", "effective_rank", "band", "s_rank", "embedding"):
        ds[name].loc[{"model": "factorised"}] = np.nan
    ds["sample_image"].loc[{"seed": 0}] = np.nan
    ds["zero_baseline_id"][:] = 10.0
    ds["curve_step"][:] = [100.0, 800, 1000]
    y, x = np.divmod(np.arange(SIDE**2), SIDE)
    ds["split_ood"] = (("model", "hold_out", "seed", "position"), np.ones((4, 2, 2, 1)) * (x > 6))
    return ds.assign_coords(
        label=("model", list(MODELS.values())),
        position_x=("position", x),
        position_y=("position", y),
        target_image=ds["sample_image"].isel(model=0, hold_out=0, seed=1, drop=True),
    )


def points(ax) -> np.ndarray:
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])


def test_every_seed_is_a_point_and_small_errors_stand_at_the_floor(results):
    tiny = results.copy(deep=True)
    tiny["mse_ood"].loc[{"model": "factorised"}] = 1e-10
    found = points(figures.id_against_ood(tiny).axes[0])
    assert len(found) == 8 and found[:, 1].min() == figures.FLOOR


def test_models_without_maps_have_no_rank(results):
    left, right = figures.rank_or_bands(results).axes
    assert len(points(left)) == len(points(right)) == 12
    assert tables.with_maps(results) == ["none", "variance", "bands"]


def test_pictures_are_of_the_seed_that_was_kept(results):
    drawn = results["sample_image"].sel(model="factorised", hold_out="large_corner", seed=1)
    last = figures.samples(results).axes[-1].images[0].get_array()
    np.testing.assert_array_equal(last, drawn.isel(sample=1))
    maps = figures.embeddings(results).axes[0].images[0].get_array()
    assert abs(maps).max() == 1


def test_curves_are_medians_of_the_runs_that_learned(results):
    ax = figures.learning(results).axes[1]
    one = results["curve_ood"].sel(model="variance", hold_out="large_corner")
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 3]
    assert any(np.allclose(y, one.median("seed")) for y in drawn)
    failed = results.copy(deep=True)
    failed["mse_id"].loc[{"model": "variance", "seed": 0}] = 9.0
    ax = figures.learning(failed).axes[1]
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 3]
    assert any(np.allclose(y, one.sel(seed=1)) for y in drawn)
    learned = tables.errors(failed).frame.loc["Embedding network, variance", "square"]
    assert learned["failed", ""] == "1 of 2 [1 to 99 %]" and learned["OOD error", "n"] == 1
    lacking = figures.learning(results.drop_vars("curve_step"))
    assert "Not computed" in lacking.axes[0].texts[0].get_text()


def test_the_order_of_the_four_settings_is_counted(results):
    four = results.isel(model=[0] * 4).assign_coords(model=["none", "entropy", "variance", "both"])
    falling = xr.DataArray(
        [[4, 4, 4], [3, 3, 3], [2, 2, 5], [1, 1, 1]], dims=("model", "checkpoint")
    )
    four["curve_ood"] = falling.astype(float) + 0 * four["curve_ood"]
    four["curve_val"][:] = [4.0, 2, 1]
    row = tables.order(four).frame.loc["corner"]
    assert row["evaluations"].item() == 3 and row["in the paper's order"].item() == 2
    assert row["late gain, both", "median"] == 0.5


@pytest.mark.parametrize(
    "draw",
    [
        *(figures.spectra, figures.error_maps, figures.volumes, figures.weights),
        figures_example.example,
    ],
)
def test_the_other_figures_can_be_drawn_from_some_of_the_models(draw, results):
    fig = draw(results)
    fig.canvas.draw()
    assert any(ax.has_data() for ax in fig.axes)


def test_the_example_shows_the_maps_of_the_position_that_is_drawn(results):
    """Number 91 is (7, 7), held out, and the maps of 7 were kept; number 5 is neither."""
    one = figures.pictured(results).sel(hold_out="large_corner")
    assert figures_example.held_out(one) == (1, {"x": 7, "y": 7})
    drawn = figures_example.example(results).axes[1].images[0].get_array()
    kept = one["embedding"].sel(model="none", axis="x", token_shown=7).values
    assert np.allclose(drawn, kept / np.abs(kept).max())
    elsewhere = one.assign_coords(token_shown=[1, 8])
    assert figures_example.held_out(elsewhere) is None


def test_the_tables_hold_medians_over_seeds(results):
    frame = tables.errors(results).frame
    one = results.sel(model="bands", hold_out="large_corner")
    row = frame.loc["Embedding network, bands", "corner"]
    assert row["OOD error", "median"] == float(one["mse_ood"].median())
    row = tables.maps(results).frame.loc["Embedding network, bands", "corner"]
    assert row["peak within 1 px, OOD", "median"] == float(one["hit_ood"].median())
    error = tables.who_composes(results).frame["OOD / zero baseline", "median"]
    assert error.is_monotonic_increasing and len(error) == 3
    even = tables.evenness(results).frame
    spread = results["volume_spread"].sel(model="none", hold_out="square", layer="output")
    assert even.loc["Embedding network, no penalty"]["square", "high"] == float(spread.max())


def test_the_correlation_is_one_for_what_orders_the_errors(results):
    error = results["mse_ood"] / results["zero_baseline_ood"]
    assert tables.correlation(results, error**3) == pytest.approx(1)
    assert tables.correlation(results, -error) == pytest.approx(-1)
