"""Tables of what is compared, where it is known beforehand what they must say."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.summary import swaps, tables


def test_errors_are_over_those_of_a_zero_image(table):
    assert table["outside"].isel(row=0).values == pytest.approx([0.01, 0.011, 0.012])
    assert table["inside"].isel(row=0).values == pytest.approx([0.001, 0.0011, 0.0012])


def test_rows_have_the_name_of_the_model_or_of_the_part_that_was_changed(table):
    assert table["key"].values.tolist() == ["vn_full", "random", "flat", "cnn"]
    assert table["part"].values.tolist() == ["", "dictionary", "readout", ""]
    assert table["name"].values.tolist() == [
        "vn_full for readers",
        "dictionary: random, frozen",
        "readout: flat and linear",
        "cnn4 for readers",
    ]
    assert tables.factors(table).values == pytest.approx([1, 2, 90, 50])


def test_without_its_first_model_a_benchmark_has_no_table(nothing, drawn):
    assert set(swaps.tables(nothing).values()) == {None} and set(swaps.tables(nothing)) == set(
        swaps.READ
    )
    assert swaps.positions(nothing | {"fig2_spatial": drawn({"vn_flat": 0.9})}) is None


def test_results_of_other_chapters_join_with_their_own_seeds(nothing, drawn):
    stripes = drawn({"cnn": 1.2}, seeds=2).expand_dims(diet=["bumps+all"])
    own = drawn({"vn_full": 0.01})
    joined = swaps.positions(nothing | {"fig2_spatial": own, "FR4_stripes": stripes})
    assert joined["key"].values.tolist() == ["vn_full", "bumps"]
    assert joined["outside"].count("seed").values.tolist() == [3, 2]


def test_models_that_never_finished_are_left_out(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_ood"].loc[{"model": "cnn4"}] = np.nan
    found = swaps.positions(nothing | {"fig2_spatial": results})
    assert found["key"].values.tolist() == ["vn_full"]


def test_signals_are_means_over_hidden_stretches_and_compositions(nothing):
    masks = [*swaps.STRETCHES, swaps.SCATTERED]
    hidden = xr.DataArray(
        [[[[[4.0, 1.0, 3.0], [2.0, 4.0, 6.0], [6.0, 1.0, 3.0], [900.0, 8.0, 8.0]]] * 2]] * 2,
        dims=("model", "seed", "protocol", "mask", "set"),
        coords={
            "model": ["vn_1", "linear"],
            "seed": [0],
            "protocol": ["zero_filled", "mask_aware"],
            "mask": masks,
            "set": ["id", "easy", "hard"],
        },
    )
    zero = xr.full_like(hidden.isel(protocol=0, drop=True), 8.0)
    results = xr.Dataset({"hidden": hidden, "zero_baseline_hidden": zero})
    found = swaps.signals(nothing | {"fig3_functions": results}).isel(row=0)
    assert found["inside"].item() == pytest.approx(4 / 8)
    assert found["outside"].item() == pytest.approx(3 / 8)
    assert swaps.scattered(results) == {"vn-1": 100, "solved": 100, "interpolation": 100}


def test_forces_are_means_over_single_and_mixed_ones(nothing):
    mse = xr.DataArray(
        [[[[[1.0], [3.0], [8.0]], [[1.0], [3.0], [4.0]]]]],
        dims=("model", "seed", "inference", "forces", "bodies"),
        coords={
            "model": ["vn_literal_3"],
            "seed": [0],
            "inference": ["joint", "passes"],
            "forces": ["gravity", "drag", "gravity+drag"],
            "bodies": [5],
        },
    )
    power = xr.full_like(mse.isel(inference=0, drop=True), 4.0)
    found = swaps.forces(nothing | {"fig4_nbody": xr.Dataset({"mse": mse, "power": power})})
    assert found["key"].values.tolist() == ["vn_3", "passes"]
    assert found["inside"].values.ravel() == pytest.approx([0.5, 0.5])
    assert found["outside"].values.ravel() == pytest.approx([2, 1])


def test_digits_are_geometric_means_over_the_sets_that_a_model_has(nothing):
    mse = xr.DataArray(
        [[[[1.0], [2.0], [8.0], [np.nan]]]],
        dims=("model", "seed", "set", "reading"),
        coords={
            "model": ["vn_1"],
            "seed": [0],
            "set": ["id", "add2", "max2", "RT"],
            "reading": ["own"],
        },
    )
    zero = xr.full_like(mse.isel(reading=0, drop=True), 8.0)
    results = xr.Dataset({"mse": mse, "zero_baseline": zero})
    found = swaps.digits(nothing | {"fig5_mnist": results})
    assert float(found["outside"].item()) == pytest.approx(4 / 8)


def test_coefficients_are_counted_in_distribution():
    active = xr.DataArray(
        [[[[4.0], [8.0]]], [[[12.0], [1.0]]]],
        dims=("model", "seed", "set", "layer"),
        coords={"model": ["vn_1", "dct"], "set": ["id", "add2"], "layer": [1]},
    )
    assert swaps.coefficients(xr.Dataset({"active": active})) == 3


def test_only_the_seeds_asked_for(drawn):
    results = drawn({"vn_full": 0.01})
    read = swaps.read(lambda name: results if name == "fig2_spatial" else None, [2, 0, 7])
    assert read["fig2_spatial"]["seed"].values.tolist() == [0, 2] and read["fig5_mnist"] is None
    assert swaps.only(results, [7]) is None
