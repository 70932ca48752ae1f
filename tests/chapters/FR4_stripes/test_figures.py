"""The figures and tables show what the results hold."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.FR4_stripes import figures, figures_maps, tables
from chapters.FR4_stripes.claims import ALONE, FEW, MOST, STRIPES
from chapters.FR4_stripes.laws import laws as laws_of
from vnlib.plots.frames import NOT_COMPUTED

DIETS = {STRIPES: 0, FEW: 100, ALONE: 100, MOST: 472}
MODELS = ["cnn", "vn_axes", "side_12", "side_16", "side_20"]
LABELS = ["CNN, corner", "VN-1L per axis", "CNN, 12 px", "CNN, 16 px", "CNN, 20 px"]
CELLS = (
    *("hit_ood", "hit_x_ood", "hit_y_ood", "bump_hit_ood", "cross_share_ood", "line_ood"),
    *("product_ood", "mse_ood", "mse_id", "stripe_mse"),
)


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    """Two seeds; the second model has no diet of all bumps; bumps alone never suffice."""
    rng = np.random.default_rng(0)
    axes = {"model": MODELS, "seed": [0, 1]}
    cell = axes | {"diet": list(DIETS)}
    along = cell | {"checkpoint": range(3)}
    layer = cell | {"layer": ["input", "layer1", "layer2", "output"]}
    sizes = {
        **{name: cell for name in CELLS},
        "zero_baseline_ood": axes,
        **{name: along for name in ("curve_step", "curve_val", "curve_ood")},
        "picture": cell | {"sample": ["20, 18"], "v": range(28), "u": range(28)},
        **{name: layer for name in ("tuning_rest", "tuning_axis", "volume_rough", "volume_gap")},
        "tuning_quantile": layer | {"quantile": [0.25, 0.5, 0.75]},
        "log_volume": layer | {"row": range(28), "column": range(28)},
        "unit": layer | {"neuron": [0, 1], "row": range(28), "column": range(28)},
    }
    ds = xr.Dataset()
    for name, coords in sizes.items():
        values = rng.uniform(0.1, 1, [len(v) for v in coords.values()])
        ds[name] = xr.DataArray(values, coords, list(coords))
    ds = ds.drop_vars(["u", "v", "row", "column", "neuron", "checkpoint"])
    ds["curve_step"][:] = [100.0, 800, 1000]
    bumps = xr.DataArray(list(DIETS.values()), dims="diet") + 0.0 * ds["mse_ood"]
    ds["bumps"] = bumps.where(~((ds["model"] == "vn_axes") & (ds["diet"] == MOST)))
    ds = ds.assign({name: ds[name].where(ds["bumps"].notnull()) for name in CELLS})
    ds["items"] = ds["bumps"] + 56
    where = {"places": ["pixels", "anywhere"], "kind": ["bumps", "stripes"]}
    ask = {"region": ["corner", "none"], **where}
    ask |= {"measure": ["joint", "marginal", "drawn"], "target": [0.5, 0.8]}
    side = xr.DataArray([28.0, 28, 12, 16, 20], dims="model")
    need = xr.DataArray(2.0, axes | ask, list(axes | ask)) * side
    ds["need"] = need.where(need["kind"] == "stripes", np.inf)
    doses = axes | where | {"dose": [0, 1]}
    ds["dose_items"] = xr.DataArray(400.0, doses, list(doses)).drop_vars("dose")
    polarity = ("model", ["dark", "bright", "dark", "dark", "dark"])
    return ds.assign_coords(label=("model", LABELS), polarity=polarity)


@pytest.fixture(scope="module")
def laws(results) -> xr.Dataset:
    return laws_of(results)


def test_diets_are_ordered_by_their_bumps(results):
    assert tables.amounts(results, "stripes", "cnn") == [STRIPES, FEW]
    assert tables.diets_of(results, "vn_axes") == [STRIPES, FEW, ALONE]
    assert figures.amount_labels(results, ["cnn"]) == ["0", "100", "all"]


def test_every_seed_is_a_point_and_medians_are_joined(results):
    ax = figures.accuracy(results).axes[1]
    points = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    assert len(points) == 8
    drawn = np.concatenate([line.get_ydata() for line in ax.lines])
    for diet in DIETS:
        median = float(results["hit_ood"].sel(model="cnn", diet=diet).median())
        assert np.isclose(drawn, median).any()


def test_the_median_of_errors_is_not_that_of_their_logarithms(results):
    drawn = np.concatenate([line.get_ydata() for line in figures.errors(results).axes[0].lines])
    median = float(results["mse_ood"].sel(model="cnn", diet=FEW).median())
    assert np.isclose(drawn, median).any()


def test_dark_images_are_shown_as_ink(results):
    axes = figures.samples(results, models=["cnn", "vn_axes"]).axes
    pictures = [ax.images[0].get_array() for ax in axes if ax.images]
    picture = results["picture"].isel(seed=0, sample=0)
    np.testing.assert_allclose(pictures[1], 1 - picture.sel(model="cnn", diet=STRIPES))
    found = any(np.allclose(p, picture.sel(model="vn_axes", diet=FEW)) for p in pictures)
    assert found, "bright images as they are"


def test_arrows_stand_where_the_target_is_not_reached(results, laws):
    fig = figures.scaling(results, laws)
    assert [len(ax.texts) for ax in fig.axes] == [3] * 4, "one arrow per side, of bumps only"
    texts = [text.get_text() for text in fig.axes[0].get_legend().get_texts()]
    assert any(text.startswith("stripes and bumps: exponent 1.0, ") for text in texts)


@pytest.mark.parametrize(
    "draw",
    [
        figures.crossness,
        figures.decoders,
        figures.learning,
        figures_maps.volumes,
        figures_maps.smoothness,
        figures_maps.tuning,
        figures_maps.units,
    ],
)
def test_the_other_figures_can_be_drawn_and_say_what_lacks(draw, results):
    fig = draw(results)
    fig.canvas.draw()
    assert any(ax.has_data() for ax in fig.axes)
    lacking = draw(results.sel(model=MODELS[2:]))
    said = lacking.axes[0].texts[0].get_text()
    assert said in (NOT_COMPUTED, "None of these models was asked for.")


def test_tables_hold_medians_over_seeds(results, laws):
    frame = tables.by_diet(results, "cnn").frame
    one = results["mse_ood"].sel(model="cnn", diet=ALONE)
    assert frame.loc["bumps + 100"]["OOD error", "median"] == float(one.median())
    assert frame.loc["stripes + 100"]["items", ""] == 156
    val = results["curve_val"].sel(model="cnn", diet=ALONE)
    gain = 1 - val.min("checkpoint") / val.isel(checkpoint=slice(2)).min("checkpoint")
    frame = tables.fits(results, "cnn").frame
    assert frame.loc["bumps + 100"]["late gain", "median"] == pytest.approx(float(gain.median()))
    frame = tables.side_by_side(results, MODELS[:2]).frame
    assert frame.loc[("CNN, corner", "bumps + 100"), ("OOD error", "median")] == float(one.median())
    assert ("VN-1L per axis", "bumps + all") not in frame.index, "it was not trained on these"
    frame = tables.exponents(laws).frame
    row = frame.loc[("in a corner held out", "on pixels", "stripes and bumps", "x and y")]
    assert row["exponent [95 %]", "median"] == pytest.approx(1)
    assert row["reached", ""] == 1 and row["at once", ""] == 0


def test_what_was_not_asked_for_is_said(results):
    assert "Not computed" in tables.by_diet(results.drop_sel(model=["cnn"]), "cnn").data
    assert "Not computed" in tables.fits(results.drop_sel(model=["cnn"]), "cnn").data
    assert "Not computed" in tables.exponents(xr.Dataset()).data
    assert "Not computed" in tables.side_by_side(results, ["cnn_ramp"]).data
    assert figures.scaling(results, xr.Dataset()).axes[0].texts
