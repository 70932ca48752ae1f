"""The result store: what a grid computes and returns."""

import json
import os

import numpy as np
import pytest
import xarray as xr
from store_cases import AXES, Lab

from vnlib.book import store
from vnlib.book.store import provenance


def without_stamps(ds):
    """The dataset without what differs from session to session."""
    return ds.drop_vars(["run_date", "run_wall_time"]).drop_attrs(deep=False)


def test_each_cell_is_computed_once_and_returned_in_the_order_asked(lab):
    result = lab.grid(AXES)
    assert sorted(lab.calls) == sorted(
        f"model={m},seed={s}" for m in AXES["model"] for s in AXES["seed"]
    )
    assert result.dataset["model"].values.tolist() == ["vn", "cnn"]
    assert result.dataset["seed"].values.tolist() == [1, 0]
    expected = np.array([[2, 1, 2 / 3], [1, 0.5, 1 / 3]], np.float32)
    for model in AXES["model"]:
        np.testing.assert_array_equal(result.dataset["loss"].sel(model=model), expected)
    assert "4 of 4 runs computed" in result.notes[0]
    # no locks, run files or folders stay
    assert [p.name for p in lab.path.parent.iterdir()] == ["fig.nc"]


def test_types_and_units_survive_the_merge(lab):
    ds = lab.grid(AXES).dataset
    assert ds["loss"].dtype == np.float32 and ds["loss"].attrs["units"] == "nat"
    assert ds["epoch"].attrs["units"] == "epoch"
    assert ds["steps"].dtype == np.int64 and ds["steps"].attrs["units"] == "1"
    assert ds["converged"].dtype == bool and ds["converged"].sel(model="vn").values.tolist() == [
        False,
        True,
    ]
    assert ds["why"].dtype.kind == "U" and ds["why"].sel(model="cnn", seed=0) == "cnn stopped"
    assert (
        np.isnan(ds["ratio"].sel(model="cnn")).all() and (ds["ratio"].sel(model="vn") == 2.5).all()
    )


def test_missing_cells_are_nan_or_empty_text(lab):
    lab.grid({"model": ["vn"], "seed": [0]})
    lab.grid({"model": ["cnn"], "seed": [1]})
    gap = store.read(lab.path).sel(model="cnn", seed=0)
    assert gap["why"] == "" and gap["run_settings"] == ""
    assert np.isnan(gap["loss"]).all() and np.isnan(gap["steps"]) and np.isnan(gap["converged"])


def test_the_result_does_not_depend_on_the_history(lab, tmp_path):
    whole = lab.grid(AXES).dataset
    parts = Lab(tmp_path / "parts")
    for axes in ({"model": ["vn"], "seed": [0]}, {"model": ["cnn"], "seed": [1]}):
        parts.grid(axes)
    parts.grid(AXES)
    assert len(parts.calls) == 2
    xr.testing.assert_identical(without_stamps(whole), without_stamps(parts.grid(AXES).dataset))
    whole, parts = (without_stamps(store.read(p)) for p in (lab.path, parts.path))
    xr.testing.assert_identical(whole, parts)
    assert {n: v.dtype for n, v in whole.variables.items()} == {
        n: v.dtype for n, v in parts.variables.items()
    }


def test_provenance_is_kept_per_run_and_summed_up(lab, monkeypatch):
    origin = {"git_dirty": 0, "hardware": "CPU A", "versions": '{"torch": "1"}'}
    monkeypatch.setattr(provenance, "collect", lambda device: origin | {"git_revision": "r1"})
    lab.grid({"model": ["vn"], "seed": [0]}, source="a" * 12)
    other = {
        "git_revision": "r2",
        "git_dirty": 1,
        "hardware": "GPU 5",
        "versions": '{"torch": "2"}',
    }
    monkeypatch.setattr(provenance, "collect", lambda device: origin | other)
    result = lab.grid(
        {"model": ["vn"], "seed": [0, 1]},
        source="b" * 12,
        attrs={"profile": "smoke", "caption": None},
    )
    ds = result.dataset
    assert ds["run_source_hash"].values.ravel().tolist() == ["a" * 12, "b" * 12]
    assert ds["run_git_revision"].values.ravel().tolist() == ["r1", "r2"]
    assert (
        ds["run_git_dirty"].values.ravel().tolist() == [0, 1]
        and ds["run_git_dirty"].dtype == np.int8
    )
    assert json.loads(ds["run_settings"].values[0, 0]) == {"n": 3}
    assert ds["run_wall_time"].attrs["units"] == "s"
    for attrs in (ds.attrs, store.read(lab.path).attrs):
        assert attrs["format"] == store.FORMAT and attrs["title"] == "A figure"
        assert attrs["git_revision"] == "r1, r2" and attrs["git_dirty"] == 1
        assert attrs["source_hash"] == f"{'a' * 12}, {'b' * 12}"
        assert json.loads(attrs["axes"]) == {"model": ["vn"], "seed": [0, 1]}
        assert json.loads(attrs["seeds"]) == [0, 1] and json.loads(attrs["versions"]) == {
            "torch": "1, 2"
        }
        assert attrs["hardware"] == "CPU A; GPU 5" and attrs["date"] == max(
            ds["run_date"].values.ravel()
        )
        assert attrs["wall_time_s"] == pytest.approx(float(ds["run_wall_time"].sum()))
        assert attrs["profile"] == "smoke" and attrs["caption"] == "null"
    assert "r2" not in lab.grid({"model": ["vn"], "seed": [0]}).dataset.attrs["git_revision"]


def test_progress_is_shown_on_demand(lab, capfd):
    for seed, progress in enumerate((True, False)):
        lab.grid({"model": ["vn"], "seed": [seed]}, progress=progress)
        assert ("A figure" in capfd.readouterr().err) == progress


def test_keys_are_safe_file_names():
    key = store.Cell({"model": "../a/b,c=d é", "lam": 0.5, "seed": 3}).key
    assert not set(key) & set("/\\\0") and key.endswith("lam=0.5,seed=3")
    assert store.Cell({"lam": 1.0}).key == store.Cell({"lam": 1}).key == "lam=1"
    assert store.Cell({"lam": 0.1}).key != store.Cell({"lam": 0.1 + 1e-16}).key
    long = [store.Cell({"model": "x" * 400 + end}).key for end in "ab"]
    assert max(map(len, long)) <= 200 and long[0] != long[1]


def test_odd_axis_values_find_their_runs_again(tmp_path):
    axes = {"model": ["a/b", "..", "ü,k=1" * 99], "lam": np.array([1 / 3])}
    calls = []

    def run(axes, settings, workdir):
        calls.append(axes)
        return xr.Dataset({"x": axes["lam"]})

    for _ in range(2):
        options = {
            "path": tmp_path / "odd.nc",
            "settings": lambda a: {},
            "title": "t",
            "progress": False,
        }
        ds = store.grid(run, axes, **options).dataset
    assert len(calls) == 3 and (ds["x"] == ds["lam"]).all()
    assert os.listdir(tmp_path) == ["odd.nc"]
