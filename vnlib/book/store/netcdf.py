"""One result file: written in one step, read whole, refused with a clear error when damaged."""

from __future__ import annotations

import errno
import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import xarray as xr

from vnlib.book import paths

FORMAT = "vnbook-results-1"  # value of the attribute `format` that marks our files
WHOLE = "whole_dtype"  # attribute: the type of whole numbers, kept as float while parts are missing
MOST_PER_BYTE = 1032  # bytes that one byte of a compressed file can stand for, as zlib says
SEAL = b"vnbook-sha256:"  # follows the data, with their checksum; readers of NetCDF pass over it
REMEDY = "move it away or delete it, then run again"
ROOM = "make room, or raise quota or limit; the same command then goes on, finished runs are kept"


class StoreError(RuntimeError):
    """A result file or folder cannot be used; the message names it and says what to do."""


def write(ds: xr.Dataset, path: Path) -> xr.Dataset:
    """Write a dataset in one step: a reader sees the old file or the new one, never a part. Returns
    what a reader sees.

    Attributes that NetCDF does not know (bool, None, list, dict) become JSON. StoreError, leaving
    the old file as it was, where NetCDF cannot keep what it holds or nothing can be written.
    """
    try:
        ds = tidy(ds.drop_encoding())
        ds.attrs = plain_attrs(ds.attrs | {"format": FORMAT})
        for variable in ds.variables.values():
            variable.attrs = plain_attrs(variable.attrs)
        # Compression needs chunks, which cost more than they save below a few kilobytes.
        large = [n for n, v in ds.variables.items() if v.dtype.kind in "fiub" and v.nbytes > 4096]
        encoding = {name: {"zlib": True, "complevel": 4, "shuffle": True} for name in large}
        # In memory, because HDF5 crashes the process when a file on the disk cannot grow.
        paths.replace(Path(path), sealed(ds.to_netcdf(engine="h5netcdf", encoding=encoding)))
    except (OSError, TypeError, ValueError) as exc:
        reason = f"{exc}; {ROOM}" if is_full(exc) else exc
        raise StoreError(f"{path} cannot be written: {reason}") from exc
    return ds


def sealed(data: bytes | memoryview) -> bytes:
    """NetCDF data with their checksum."""
    return b"".join((data, SEAL, hashlib.sha256(data).digest()))


def is_full(error: Exception) -> bool:
    """Whether a disk, a quota or a limit of file sizes is full, which safetensors says in words."""
    codes = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return getattr(error, "errno", 0) in codes or any(f"os error {c})" in str(error) for c in codes)


def read(path: Path) -> xr.Dataset:
    """Load a file into memory and close it. StoreError if it is missing, damaged or foreign."""
    path = Path(path)
    try:
        _check_seal(path)
        _check_size(path)
        ds = tidy(xr.load_dataset(path, engine="h5netcdf"))
    except FileNotFoundError as exc:
        said = f"{path} does not exist; compute it first, or check the results folder"
        raise StoreError(said) from exc
    except Exception as exc:  # a damaged file surfaces as nearly any error of the HDF5 library
        said = f"{path} cannot be read, it may be truncated or not NetCDF ({exc}); {REMEDY}"
        raise StoreError(said) from exc
    if ds.attrs.get("format") != FORMAT:
        raise StoreError(f"{path} is no result file: it lacks format={FORMAT!r}; {REMEDY}")
    return ds


def of(results: Any, path: Path, **attrs: Any) -> Any:
    """Results from a file. StoreError where they say that their chapter or profile is another."""
    said = {} if results is None else results.attrs
    for name, value in attrs.items():
        if (there := said.get(name, value)) != value:
            raise StoreError(f"{path} holds results of {name} {there}, not {value}; {REMEDY}")
    return results


def _check_seal(path: Path) -> None:
    """ValueError if a file was changed: HDF5 may read damaged data as if right, or for ever."""
    data = path.read_bytes()
    if data != sealed(data[: -len(SEAL) - 32]):
        raise ValueError("its checksum lacks or is not that of its content")


def _only_a_length(scale: h5py.Dataset) -> bool:
    """Whether this is a dimension without coordinates, of which NetCDF stores no values."""
    return b"dimension but not a netCDF variable" in np.bytes_(scale.attrs.get("NAME", b""))


def _check_size(path: Path) -> None:
    """ValueError if a file cannot hold what it says: no memory is taken for a damaged header."""
    with h5py.File(path, "r") as file:  # of which h5netcdf would look up every dimension
        held = (v for v in file.values() if isinstance(v, h5py.Dataset) and not _only_a_length(v))
        shapes = [(v.shape, v.dtype.itemsize) for v in held]
    claimed = sum(math.prod(shape) * size for shape, size in shapes)
    size = path.stat().st_size
    if claimed > MOST_PER_BYTE * size:
        raise ValueError(f"it claims to hold {claimed} bytes in a file of {size}")


def tidy(ds: xr.Dataset) -> xr.Dataset:
    """Text as fixed-width strings, "" where it lacks; whole numbers as such unless some lack."""
    tidied = {}
    for name, variable in ds.data_vars.items():
        values, whole = variable.values, variable.attrs.get(WHOLE)
        missing = pd.isnull(values)
        if whole is not None:
            tidied[name] = variable.astype(float if missing.any() else whole)
        elif values.dtype == object and all(isinstance(v, str) for v in values[~missing]):
            tidied[name] = variable.copy(data=np.where(missing, "", values).astype(str))
    return ds.assign(tidied)


def to_json(value: object) -> str:
    """Canonical JSON: equal values give equal text. TypeError for what JSON cannot say."""

    def unwrap(other: Any) -> object:
        if hasattr(other, "tolist"):  # numpy and torch
            return other.tolist()
        raise TypeError(f"{other!r} is not a JSON value")

    return json.dumps(value, sort_keys=True, default=unwrap)


def plain_attrs(attrs: Mapping) -> dict:
    """Attributes as NetCDF takes them: text and numbers stay, anything else becomes JSON."""

    def known(value: object) -> bool:
        if isinstance(value, np.ndarray | np.generic):
            return value.dtype.kind in "iufU"
        return isinstance(value, str | int | float) and not isinstance(value, bool)

    return {str(name): value if known(value) else to_json(value) for name, value in attrs.items()}
