"""Files of a folder are read once, and again when they change; nobody writes into what is shared."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from book.site.read_once import read_once
from vnlib.book import store
from vnlib.book.store import runfiles


def saved(path: Path, value: float) -> Path:
    store.write(xr.Dataset({"loss": ("seed", np.full(3, value))}), path)
    os.utime(path, ns=(0, int(value)))
    return path


def test_a_file_is_read_once_until_it_changes(tmp_path, monkeypatch):
    read, times = store.read, []
    counted = lambda path: times.append(path) or read(path)  # noqa: E731
    monkeypatch.setattr(store, "read", counted)
    other = runfiles.read
    path = saved(tmp_path / "fig.nc", 1)
    with read_once(tmp_path):
        first = store.read(path)
        first.attrs["mine"], first["more"] = 1, first["loss"] + 1
        again = runfiles.read(path)
        assert [*again] == ["loss"] and "mine" not in again.attrs
        assert len(times) == 1
        saved(path, 2)
        assert store.read(path)["loss"].values.tolist() == [2, 2, 2]
        assert len(times) == 2
    assert store.read is counted and runfiles.read is other


def test_what_is_shared_is_not_written_to_and_of_other_folders_nothing_is_shared(tmp_path):
    (tmp_path / "other").mkdir()
    path, other = saved(tmp_path / "fig.nc", 1), saved(tmp_path / "other" / "fig.nc", 1)
    with read_once(tmp_path):
        with pytest.raises(ValueError, match="read-only"):
            store.read(path)["loss"].values[0] = 5
        store.read(other)["loss"].values[0] = 5
        assert store.read(other)["loss"].values[0] == 1


def test_a_file_that_lacks_is_named_and_read_when_it_is_there(tmp_path):
    path = tmp_path / "fig.nc"
    with read_once(tmp_path):
        with pytest.raises(store.StoreError, match="does not exist"):
            store.read(path)
        assert store.read(saved(path, 1))["loss"].size == 3
