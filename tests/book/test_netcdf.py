"""One result file: written in one step, read back whole, refused where NetCDF cannot keep it."""

import errno
import json
import os

import numpy as np
import pytest
import xarray as xr

from vnlib.book import store


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.nc"
    store.write(xr.Dataset({"x": 1.0}), path)
    before = path.read_bytes()

    def crash(*args):
        raise OSError(errno.EIO, "power cut")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, crash)
            with pytest.raises(store.StoreError, match=r"a\.nc cannot be written: .*power cut"):
                store.write(xr.Dataset({"x": 2.0}), path)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.nc"]


def test_write_and_read_keep_values_and_make_attributes_plain(tmp_path):
    path = tmp_path / "a.nc"
    attrs = {
        "flag": True,
        "none": None,
        "nested": {"b": [1, 2]},
        "list": ["a"],
        "n": np.int64(3),
        "bits": np.array([True]),
    }
    ds = xr.Dataset(
        {"x": ("i", np.linspace(0, 1, 5000), attrs), "s": ("i", ["é"] * 5000)},
        coords={"i": range(5000)},
        attrs=attrs,
    )
    written = store.write(ds, path)
    back = store.read(path)
    xr.testing.assert_equal(ds, back)
    xr.testing.assert_identical(written, back)
    for found in (back.attrs, back["x"].attrs):
        assert (
            found["flag"] == "true"
            and found["none"] == "null"
            and json.loads(found["nested"]) == {"b": [1, 2]}
        )
        assert (
            json.loads(found["list"]) == ["a"]
            and found["n"] == 3
            and json.loads(found["bits"]) == [True]
        )
    assert ds.attrs == attrs and ds["x"].attrs == attrs  # the caller's dataset is left alone
    assert xr.open_dataset(path, engine="h5netcdf")["x"].encoding["zlib"]
    store.write(back, path)  # a second time, with the encodings of the first
    xr.testing.assert_identical(back, store.read(path))


@pytest.mark.parametrize(
    "ds",
    [
        xr.Dataset({"x": ("i", np.array([{}, 1], object))}),
        xr.Dataset({"x": 1.0}, attrs={"f": open}),
    ],
    ids=["objects", "attribute"],
)
def test_what_netcdf_cannot_keep_is_refused(tmp_path, ds):
    with pytest.raises(store.StoreError, match=r"a\.nc cannot be written"):
        store.write(ds, tmp_path / "a.nc")
    assert not os.listdir(tmp_path)
