"""Pairs, the zero baseline, lengths of training, and what tables and maps make of errors."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
import xarray as xr
from matplotlib.colors import LogNorm

from benchmarks.spatial import figures, positions, tables
from benchmarks.spatial.errors import middles
from data_gen import bumps

DATA = bumps.make(bumps.BumpConfig(grid=12, sigma=1.0))


def results() -> xr.Dataset:
    """Three models, the last of which lacks a seed."""
    mse_id = np.array([[1.0, 2.0, 4.0], [1e-4, 1e-4, 1e-4], [2.0, 3.0, np.nan]]) * 1e-3
    over = ("model", "seed")
    return xr.Dataset(
        {
            "mse_train": (over, mse_id),
            "mse_id": (over, mse_id),
            "mse_ood": (over, mse_id * [[10.0], [1.0], [2.0]]),
            "hit_id": (over, np.ones((3, 3))),
            "hit_ood": (over, np.full((3, 3), 0.5)),
            "active_share": (over, np.full((3, 3), 0.25)),
            "n_parameters": (over, np.full((3, 3), 1234)),
            "zero_baseline_id": (over, np.full((3, 3), 0.1)),
            "zero_baseline_ood": (over, np.full((3, 3), 0.2)),
        },
        {
            "model": ["a", "b", "c"],
            "seed": [0, 1, 2],
            "label": ("model", ["A", "B", "C"]),
        },
    )


def test_a_pair_is_one_split():
    code, image = positions.pair(DATA, "val", torch.device("cpu"))
    inside = bumps.subset(DATA, "val")
    assert np.array_equal(code.numpy(), inside["code"].values)
    assert np.array_equal(image.numpy(), inside["image"].values)


def test_the_zero_baseline_is_the_power_of_the_images():
    found = positions.zero_baseline(DATA)
    inside = DATA["image"].values[DATA["split"].values == "ood"]
    assert found["zero_baseline_ood"] == pytest.approx(np.square(inside).mean(), rel=1e-6)
    assert found["zero_baseline_id"] != found["zero_baseline_ood"]


def test_lengths_are_a_share_by_family():
    model = {"family": "cnn", "steps": 10, "consolidation": 100}
    assert positions.lengths(model, {"cnn": 0.01, "other": 1.0}) == {
        "steps": 1,
        "consolidation": 1,
    }
    assert positions.lengths({"family": "mlp", "steps": 10}, {"cnn": 0.1, "other": 0.5}) == {
        "steps": 5,
        "consolidation": 0,
    }


def test_settings_of_training_are_those_of_a_model_and_its_candidate():
    model = {"family": "mlp", "steps": 10, "batch_size": 4, "label": "MLP"}
    assert positions.training(model, 0.1, {"hidden": []}, {"other": 1}) == {
        **{"family": "mlp", "options": {"hidden": []}, "lr": 0.1, "batch_size": 4},
        **{"steps": 10, "consolidation": 0},
    }


def test_errors_are_medians_with_intervals_and_a_row_for_a_zero_image():
    table = tables.errors(results())
    assert table.frame.loc["A", ("OOD error", "high")] == 0.04
    assert table.frame.loc["A", ("OOD / ID", "median")] == pytest.approx(10)
    shown = table.shown()
    assert shown.loc["A", "ID test error"] == "0.0020 [0.0010, 0.0040]"
    assert shown.loc["Zero baseline", "OOD / ID"] == "2.0"


def test_sizes_have_a_column_for_the_training_error():
    shown = tables.sizes(results()).shown()
    assert shown.loc["C", "training error"] == "0.0025 [0.0020, 0.0030], n = 2"
    assert shown.loc["B", ["atoms in use [%]", "parameters"]].tolist() == ["25", "1,234"]


def test_medians_say_which_models_compose_and_which_lack():
    found = middles(results(), "c", "b", "a")
    assert found["ood"].values.tolist() == pytest.approx([0.005, 1e-7, 0.02])
    assert found["ratio"].values.tolist() == pytest.approx([2, 1, 10])
    assert found["composes"].values.tolist() == [False, True, False]
    with pytest.raises(KeyError, match=r"the model\(s\) x, y"):
        middles(results(), "a", "x", "y")


def test_gains_are_quotients_and_an_extent_is_one_number_where_both_ends_read_the_same():
    ood = middles(results())["ood"]
    assert tables.gains(ood, {"b": ("a", "b")})["b"] == ood.sel(model="b") / 0.02
    assert tables.extent(xr.DataArray([2.0, 0.5, 1.0])) == "0.50 to 2.0"
    assert tables.extent(xr.DataArray([1.001, 1.002])) == "1.0"


def test_a_map_shows_rows_upward_and_outlines_what_was_held_out():
    fig, ax = plt.subplots()
    errors = xr.DataArray(np.arange(144.0) + 1, dims="position")
    drawn = figures.error_map(ax, errors, DATA["split"] == "ood", LogNorm(10, 100), "A")
    picture = drawn.get_array()
    assert picture[0, 0] == 10 and picture[1, 3] == 16 and drawn.origin == "lower"
    (outline,) = (c for c in ax.collections if len(c.get_paths()))
    x, y = outline.get_paths()[0].vertices.T
    held = bumps.subset(DATA, "ood")
    assert x.min() == held["position_x"].values.min() - 0.5 and y.max() > x.min()
    plt.close(fig)


def test_every_seed_and_every_median_is_in_the_row_of_its_model():
    fig = figures.id_against_ood(results().isel(model=[0, 1]))
    (ax,) = fig.axes
    marks = [line for line in ax.lines if line.get_marker() not in ("None", None, "")]
    rows = {row: [one for one in marks if set(one.get_ydata()) == {row}] for row in (0, 1)}
    for own in rows.values():
        assert [len(one.get_xdata()) for one in own] == [3, 1, 3, 1], "seeds, median, of ID and OOD"
        assert own[1].get_markerfacecolor() == "white" != own[3].get_markerfacecolor()
    assert [one.get_xdata()[0] for one in rows[0][1::2]] == [0.002, 0.02]
    assert [one.get_text() for one in ax.get_yticklabels()] == ["A", "B"]
    assert ax.texts[0].get_text() == "× 10"
    low, high = ax.get_xlim()
    seen = np.concatenate([one.get_xdata() for one in marks])
    assert low < seen.min() and high > max(seen.max(), 0.2), "and the zero baseline"
    plt.close(fig)


def test_tiles_and_mosaics_hide_the_panels_left_over():
    fig = figures.tiles([(str(n), np.zeros((2, 2))) for n in range(5)], 3)
    seen = [ax for ax in fig.axes if ax.get_visible() and ax.images]
    assert [ax.get_title() for ax in seen] == ["0", "1", "2", "3", "4"]
    plt.close(fig)


def test_positions_are_counted_row_by_row():
    data = positions.plane(grid=8)
    (first, second) = positions.numbers([[3, 0], [2, 5]], 8)
    assert first == 3 and (data["position_x"][second], data["position_y"][second]) == (2, 5)
    assert set(positions.coordinates(data)["split"][1]) == {"train", "val", "id_test", "ood"}
