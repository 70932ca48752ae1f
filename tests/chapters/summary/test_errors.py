"""Errors condition by condition, where it is known beforehand what they must say."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.summary import errors
from vnlib.book import paths, store
from vnlib.book.chapter import spec


def at(table: xr.DataArray, key: str, look: str, condition: str = "the hold-out") -> list[float]:
    row = table["key"].values.tolist().index(key)
    return table.isel(row=row).sel(look=look, condition=condition).values.tolist()


def test_errors_are_over_those_of_a_zero_image(table):
    assert at(table, "vn_full", errors.OOD) == pytest.approx([0.01, 0.011, 0.012])
    assert at(table, "vn_full", errors.ID) == pytest.approx([0.001, 0.0011, 0.0012])


def test_rows_have_a_key_and_the_name_of_the_model(table):
    assert table["key"].values.tolist() == ["vn_full", "random", "flat", "cnn"]
    assert table["name"].values.tolist()[3] == "cnn4 for readers"


def test_without_models_a_benchmark_has_no_table(nothing, drawn):
    assert set(errors.tables(nothing).values()) == {None}
    assert {*errors.tables(nothing)} == {*errors.READ, "hold-outs", "mixtures"}
    assert errors.positions(nothing | {"fig2_spatial": drawn({"other": 0.9})}) is None


def test_results_of_other_chapters_join_with_their_own_seeds(nothing, drawn):
    stripes = drawn({"cnn": 1.2}, seeds=2).expand_dims(diet=["bumps+all"])
    own = drawn({"vn_full": 0.01})
    joined = errors.positions(nothing | {"fig2_spatial": own, "FR4_stripes": stripes})
    assert joined["key"].values.tolist() == ["vn_full", "bumps"]
    assert joined.sel(look=errors.OOD).count("seed").values.ravel().tolist() == [3, 2]


def test_models_that_never_finished_are_left_out(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    for side in ("mse_ood", "mse_id"):
        results[side].loc[{"model": "cnn4"}] = np.nan
    found = errors.positions(nothing | {"fig2_spatial": results})
    assert found["key"].values.tolist() == ["vn_full"]


def test_seeds_that_learned_nothing_are_counted(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_id"].loc[{"model": "cnn4", "seed": 1}] = 0.2
    found = errors.positions(nothing | {"fig2_spatial": results})
    assert errors.failures(found).values.tolist() == ["0 of 3 [0 to 71 %]", "1 of 3 [1 to 91 %]"]


def test_other_hold_outs_are_conditions(nothing, drawn):
    found = {"full": 1.0, "full_ring": 2.0, "vn_1_8": 3.0, "vn_1_sharp": 4.0, "cnn_ring": 5.0}
    table = errors.hold_outs(nothing | {"F_spatial": drawn(found)})
    assert table["key"].values.tolist() == ["full", "vn_1", "cnn"]
    assert at(table, "full", errors.OOD, "a ring")[0] == pytest.approx(2)
    assert at(table, "vn_1", errors.OOD, "a square")[0] == pytest.approx(3)
    assert at(table, "vn_1", errors.OOD, "sharp bumps")[0] == pytest.approx(4)
    assert at(table, "cnn", errors.OOD, "a ring")[0] == pytest.approx(5)
    assert np.isnan(at(table, "cnn", errors.OOD, "a square")).all()


def test_signals_are_never_averaged(nothing, masked):
    found = errors.signals(nothing | {"fig3_functions": masked})
    assert found["condition"].size == 12
    assert at(found, "vn_1", errors.ROUNDS, "ID: last half") == [2 / 8]
    assert at(found, "vn_1", errors.SOLVED, "Hard: random 30 %") == [300 / 4 / 8]


def test_forces_are_means_over_mixtures_for_each_number_of_bodies(nothing):
    mse = xr.DataArray(
        [[[[[1.0, 9.0], [3.0, 9.0], [8.0, 16.0]], [[1.0, 9.0], [3.0, 9.0], [4.0, 8.0]]]]],
        dims=("model", "seed", "inference", "forces", "bodies"),
        coords={
            "model": ["vn_literal_3"],
            "seed": [0],
            "inference": ["joint", "passes"],
            "forces": ["gravity", "drag", "gravity+drag"],
            "bodies": [5, 3],
            "label": ("model", ["VN-3L"]),
        },
    )
    power = xr.full_like(mse.isel(inference=0, drop=True), 4.0)
    found = errors.forces(nothing | {"fig4_nbody": xr.Dataset({"mse": mse, "power": power})})
    assert found["key"].values.tolist() == ["vn_3", "vn_3_passes"]
    assert found["name"].values.tolist() == ["VN-3L", "VN-3L, passes"]
    for bodies, mixed in (("5 bodies", 2), ("3 bodies", 4)):
        assert at(found, "vn_3", errors.ID, bodies) == [0.5]
        assert at(found, "vn_3", errors.OOD, bodies) == [mixed]
        assert at(found, "vn_3_passes", errors.OOD, bodies) == [mixed / 2]


def test_digits_stand_set_by_set_with_the_length_of_their_codes(nothing):
    mse = xr.DataArray(
        [[[[8.0], [1.0], [2.0]]]],
        dims=("model", "seed", "set", "reading"),
        coords={"model": ["vn_1"], "seed": [0], "set": ["max2", "id", "add2"], "reading": ["own"]},
    )
    zero = xr.full_like(mse.isel(reading=0, drop=True), 8.0)
    active = (4 * zero).expand_dims(layer=[1]) + xr.DataArray([3.0, 1.0, 2.0], dims="set")
    results = xr.Dataset({"mse": mse, "zero_baseline": zero, "active": active})
    found = errors.digits(nothing | {"fig5_mnist": results})
    assert found["condition"].values.tolist() == ["single", "sum of 2", "maximum of 2"]
    assert found.values.ravel() == pytest.approx([1 / 8, 2 / 8, 1])
    assert found["active"].values.ravel().tolist() == [33, 34, 35]


def test_only_the_seeds_asked_for(drawn):
    results = drawn({"vn_full": 0.01})
    read = errors.read(lambda name: results if name == "fig2_spatial" else None, [2, 0, 7])
    assert read["fig2_spatial"]["seed"].values.tolist() == [0, 2] and read["fig5_mnist"] is None
    assert errors.only(results, [7]) is None


def test_all_seeds_of_all_results_are_read():
    asked = range(spec("summary").sidecar["settings"]["seeds"])
    for name in {name for names in errors.READ.values() for name in names}:
        stored = store.read(paths.result_file(paths.RESULTS, "paper", name))
        kept = errors.only(stored, asked)
        assert kept is not None and kept["seed"].equals(stored["seed"]), name
