"""The figures and tables show what the results hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import xarray as xr

from chapters.FR2_manifold import figures, figures_maps, measure, tables
from chapters.FR2_manifold.claims import hidden, middle
from data_gen import bumps

NETWORKS = {"mlp_bump_1": [6], "mlp_bump_2": [6, 6]}
MODELS = {
    "perfect": ("Perfect decoder", "reference", 0),
    "table": ("Table of positions", "reference", 0),
    "mlp_bump_1": ("MLP, 1 layer, bump code", "mlp", 1),
    "mlp_bump_2": ("MLP, 2 layers, bump code", "mlp", 2),
    "vn_full": ("Full 2D VN", "vn", 1),
}
GIVEN = {"margin": 1, "folds": 3, "seed": 0, "samples": [44, 55]}


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    """Reports of references and untrained networks, two seeds."""
    data = bumps.make(bumps.BumpConfig(grid=10, sigma=1.0))
    codes, runs = torch.from_numpy(data["code"].values), []
    for name in MODELS:
        seeds = []
        for seed in (0, 1):
            if name in ("perfect", "table"):
                found = measure.reference(name, data)
            else:
                own = {"streams": "joint", "n_atoms": 8} if name == "vn_full" else {}
                family = "vn" if own else "mlp"
                options = own or {"hidden": NETWORKS[name]}
                sizes = {"n_inputs": codes.shape[1], "image_shape": (10, 10)}
                model = measure.untrained(family=family, options=options, seed=seed, **sizes)
                with torch.no_grad():
                    found = measure.layers(model, codes)
            kept = {"maps": seed == 0, "plane": seed == 0 and name == "mlp_bump_1"}
            one = measure.report(found, data, **kept, **GIVEN)
            seeds.append(measure.with_untrained(one, one))
        runs.append(xr.concat(seeds, "seed"))
    ds = xr.concat(runs, "model", join="outer")
    labels, groups, depths = zip(*MODELS.values(), strict=True)
    watched = {
        f"curve_{name}": (("model", "seed", "checkpoint"), np.full((len(MODELS), 2, 2), values))
        for name, values in (("step", [10.0, 20.0]), ("val", [2e-3, 1e-3]))
    }
    watched["curve_ood"] = (watched["curve_val"][0], 5 * watched["curve_val"][1])
    watched["failed"] = (("model", "seed"), np.zeros((len(MODELS), 2)))
    return ds.assign(zero_baseline_id=1.0, zero_baseline_ood=1.0, **watched).assign_coords(
        model=list(MODELS),
        seed=[0, 1],
        label=("model", list(labels)),
        group=("model", list(groups)),
        depth=("model", list(depths)),
        encoding=("model", ["bump"] * len(MODELS)),
        split=("position", data["split"].values),
        target_image=(("sample", "y", "x"), data["image"].values[[44, 55]]),
    )


def test_layers_are_counted_from_the_input(results):
    frame = figures.by_layer(results, "F", ["mlp_bump_1", "mlp_bump_2"])
    last = frame[frame["layer"] == "output"].set_index("model")["step"]
    assert set(last["mlp_bump_1"]) == {2} and set(last["mlp_bump_2"]) == {3}
    assert len(frame) == 2 * (3 + 4)


def test_lines_are_medians_over_seeds(results):
    ax = figures.metrics(results).axes[0]
    line = next(line for line in ax.lines if len(line.get_xdata()) == 4)
    values = results["F"].sel(model="mlp_bump_2", weights="trained").median("seed").dropna("layer")
    np.testing.assert_allclose(line.get_ydata(), values, rtol=1e-6)


def test_the_median_of_errors_is_not_that_of_their_logarithms(results):
    ax = figures.errors(results).axes[0]
    drawn = np.concatenate([line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 2])
    one = results.sel(weights="trained", model=["mlp_bump_1", "mlp_bump_2"])
    for split in figures.SPLITS:
        assert np.isclose(drawn[:, None], one[f"mse_{split}"].median("seed").values).any(0).all()


@pytest.mark.parametrize(
    "draw",
    [
        figures.rank,
        figures.distortion,
        figures.against_failure,
        figures.along,
        figures.vector_network,
        figures_maps.planes,
        figures_maps.drawn,
    ],
)
def test_the_other_figures_can_be_drawn(draw, results):
    fig = draw(results)
    fig.canvas.draw()
    assert any(ax.has_data() for ax in fig.axes)


def test_one_network_can_be_asked_for_and_all_are_drawn_where_it_lacks(results):
    rows = [len(figures_maps.planes(results, names).axes) for names in ((), ["vn_full"], ["cnn"])]
    kept = np.isfinite(results["plane"].sel(weights="trained").isel(seed=0))
    kept = kept.all(set(kept.dims) - {"model"})
    stages = results.sizes["stage"]
    assert rows == [stages * int(kept.sum()), stages, stages * int(kept.sum())]


def test_maps_are_of_the_first_seed_on_one_scale_and_missing_kinds_are_said(results):
    image = figures_maps.volume(results, "mlp", "bump").axes[0].images[0].get_array()
    one = results["log_volume"].sel(model="mlp_bump_1", weights="trained", layer="input", seed=0)
    one = one.values.reshape(10, 10)
    outside = (results["split"] != "ood").values.reshape(10, 10)
    np.testing.assert_allclose(image, one - np.median(one[outside]))
    pictures = [p for ax in figures_maps.volume(results, "mlp", "bump").axes for p in ax.images]
    assert {p.get_clim() for p in pictures} == {(-figures_maps.SPAN, figures_maps.SPAN)}
    empty = figures_maps.volume(results, "cnn", "ramp")
    assert "no CNN, ramp code" in empty.axes[0].texts[0].get_text()
    long = results.assign_coords(group=("model", ["longer"] * results.sizes["model"]))
    some = long.isel(model=[results["model"].values.tolist().index("mlp_bump_1")])
    assert figures_maps.longer(some).axes[0].get_ylabel().startswith("MLP")
    assert "trained longer" in figures_maps.longer(results).axes[0].texts[0].get_text()


def test_the_table_holds_medians_and_no_error_of_the_table(results):
    frame, measures = tables.models(results).frame, tables.measures(results).frame
    assert measures.loc["Full 2D VN", ("F, last hidden", "median")] == float(
        middle(results, "last")["F"].sel(model="vn_full")
    )
    assert np.isnan(measures.loc["Table of positions", ("F, last hidden", "median")])
    assert np.isnan(frame.loc["Table of positions", ("training error", "median")])
    assert frame.loc["Perfect decoder", ("OOD error", "median")] == 0
    assert hidden(results, "perfect") == []


def test_errors_along_training_are_drawn_for_every_network(results):
    ax = figures.along(results).axes[0]
    lines = [line.get_ydata() for line in ax.lines if len(line.get_xdata()) == 2]
    drawn = len(NETWORKS) * (1 + results.sizes["seed"])  # the median and every seed
    assert sum(np.allclose(y, [1e-2, 5e-3]) for y in lines) == drawn
    assert sum(np.allclose(y, [2e-3, 1e-3]) for y in lines) == drawn


def test_the_table_says_how_many_runs_failed_and_what_the_last_fifth_gained(results):
    failing = results.copy(deep=True)
    failing["failed"].loc[{"model": "mlp_bump_1", "seed": 1}] = 1
    frame = tables.models(failing).frame
    assert frame.loc["MLP, 1 layer, bump code", ("failed", "")] == "1 of 2 [1 to 99 %]"
    assert frame.loc["MLP, 2 layers, bump code", ("late gain", "median")] == 0.5
