"""Result files of a folder are read once, by one process for all that are forked from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import xarray as xr

from vnlib.book import store
from vnlib.book.store import runfiles


@contextmanager
def read_once(folder: Path) -> Iterator[None]:
    """Meanwhile a file of the folder is read once for as long as it is the same; its arrays are
    shared, so nobody may write into them.
    """
    before, read, real_folder = (store.read, runfiles.read), store.read, folder.resolve()

    @cache
    def kept(path: Path, changed: int) -> xr.Dataset:
        ds = read(path)
        for variable in ds.variables.values():
            variable.values.flags.writeable = False
        return ds

    def reading(path: Path) -> xr.Dataset:
        real = Path(path).resolve()
        if real.parent != real_folder or not real.is_file():
            return read(path)
        return kept(real, real.stat().st_mtime_ns).copy()

    store.read = runfiles.read = reading
    try:
        yield
    finally:
        store.read, runfiles.read = before
