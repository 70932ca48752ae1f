"""The result store: what is refused, and what is said of it."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from store_cases import Lab, damage

from vnlib.book import store
from vnlib.book.store import netcdf


@pytest.mark.parametrize("kind", ["truncated", "text", "empty", "foreign"])
@pytest.mark.parametrize("place", ["merged", "run"])
def test_a_damaged_or_foreign_file_is_named_and_left_alone(lab, place, kind):
    if place == "merged":
        lab.grid({"model": ["vn"], "seed": [0]})
        path = lab.path
    else:
        lab.fail = 0
        with pytest.raises(RuntimeError):
            lab.grid({"model": ["vn"], "seed": [1, 0]})
        lab.fail = None
        path = lab.runs / "model=vn,seed=1.nc"
    damage(kind, path)
    before = path.read_bytes()
    for recompute in (False, True):
        with pytest.raises(store.StoreError, match="move it away or delete it") as caught:
            lab.grid(recompute=recompute)
        assert str(path) in str(caught.value)
        assert lab.calls == [] and path.read_bytes() == before
    path.unlink()
    assert lab.grid({"model": ["vn"], "seed": [1]}).dataset["loss"].notnull().all()


def test_a_grid_over_other_axes_is_refused(lab):
    lab.grid()
    for axes in (
        {"seed": [0]},
        {"model": ["vn"], "seed": [0], "lam": [1]},
        {"model": ["vn"], "seed": ["0"]},
    ):
        with pytest.raises(store.StoreError, match=r"fig\.nc .*use another file|not texts"):
            lab.grid(axes)
    store.write(xr.Dataset({"loss": 1.0}), lab.path)
    with pytest.raises(store.StoreError, match=r"fig\.nc is a grid over \(\)"):
        lab.grid()


def test_a_run_file_under_a_wrong_name_is_refused(lab):
    lab.fail = 0
    with pytest.raises(RuntimeError):
        lab.grid()
    (lab.runs / "model=vn,seed=1.nc").rename(lab.runs / "model=vn,seed=8.nc")
    with pytest.raises(store.StoreError, match=r"seed=8\.nc holds model=vn,seed=1"):
        lab.grid()


@pytest.mark.parametrize(
    "axes",
    [
        {},
        {"seed": []},
        {"seed": [0, 0]},
        {"seed": [1, 1.0]},
        {"seed": [0, "a"]},
        {"seed": [True, False]},
        {"seed": [None]},
        {"seed": [float("nan")]},
        {"seed": [[0], [1]]},
        {"seed": "012"},
        {"seed": 3},
        {"run_date": [0]},
        {"a b": [0]},
        {3: [0]},
    ],
    ids=repr,
)
def test_bad_axes(lab, axes):
    with pytest.raises(ValueError, match=r"ax[ie]s"):
        store.grid(lab.run, axes, path=lab.path, settings=lambda a: {}, title="t", progress=False)
    assert not lab.runs.exists()


@pytest.mark.parametrize("settings", [None, [1], {"f": open}, {"a": {1, 2}}], ids=repr)
def test_bad_settings(lab, settings):
    with pytest.raises(ValueError, match="settings of model=vn,seed=1"):
        lab.grid(settings=lambda axes: settings)


def test_settings_may_hold_arrays_and_in_any_order(lab):
    lab.grid(settings=lambda axes: {"n": np.int64(2), "layers": np.arange(2)})
    lab.grid(settings=lambda axes: {"layers": (0, 1), "n": 2})
    assert lab.calls == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"loss": 1.0}, "xarray.Dataset, got dict"),
        (xr.Dataset({"seed": 1}), "names of the axes"),
        (xr.Dataset({"loss": ("seed", [1.0])}), "names of the axes"),
        (xr.Dataset({"run_date": "today"}), "run_"),
        (xr.Dataset({"stream": 2**60}), "stream"),
    ],
    ids=["dict", "variable", "dimension", "provenance", "large"],
)
def test_bad_results_of_a_run(lab, made, words):
    lab.run = lambda axes, settings, workdir: made
    with pytest.raises(ValueError, match=words) as caught:
        lab.grid()
    assert any("model=vn,seed=1" in note for note in caught.value.__notes__)


def test_runs_that_do_not_fit_together_are_kept_and_named(lab):
    lab.run = lambda axes, settings, workdir: xr.Dataset(
        {"x": ("sample", np.zeros(2 + axes["seed"]))}
    )
    with pytest.raises(store.StoreError, match=r"fig\.nc do not fit together .*sample"):
        lab.grid()
    assert len(list(lab.runs.glob("*.nc"))) == 2
    units = {0: "m", 1: "cm"}
    lab.run = lambda axes, s, w: xr.Dataset({"x": ((), 1.0, {"units": units[axes["seed"]]})})
    with pytest.raises(store.StoreError, match="units cm and m"):
        lab.grid(recompute=True)


def test_two_callers_who_want_other_settings_in_one_cell_are_told(lab, tmp_path):
    rival = Lab(tmp_path)
    rival.n = 2
    run = lab.run

    def interrupted(axes, settings, workdir):
        if axes["seed"] == 0:
            rival.grid({"model": ["vn"], "seed": [1]})
        return run(axes, settings, workdir)

    lab.run = interrupted
    with pytest.raises(
        store.StoreError, match=r"another process .*model=vn,seed=1.*use another file"
    ):
        lab.grid()


def test_a_folder_that_cannot_be_written_is_named_before_any_run(lab, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/no/such")):
        lab.path = folder / "fig.nc"
        with pytest.raises(store.StoreError, match="choose another results folder") as caught:
            lab.grid()
        assert str(folder) in str(caught.value) and lab.calls == []
    lab.path = tmp_path / "fig.nc"
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(store.StoreError, match="it is read-only"):
        lab.grid()
    assert lab.calls == []


def test_read_names_the_file(tmp_path):
    with pytest.raises(store.StoreError, match=r"none\.nc does not exist"):
        store.read(tmp_path / "none.nc")
    with pytest.raises(store.StoreError, match=f"{tmp_path} cannot be read"):
        store.read(tmp_path)
    path = tmp_path / "a.nc"
    for kind, words in (
        ("foreign", netcdf.FORMAT),
        ("text", "cannot be read"),
        ("empty", "cannot be read"),
    ):
        damage(kind, path)
        with pytest.raises(store.StoreError, match=words) as caught:
            store.read(path)
        assert str(path) in str(caught.value)
