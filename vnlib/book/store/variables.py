"""What a result file says of itself: long names and units, and labels along an axis."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

import numpy as np
import xarray as xr

Variables = Mapping[str, tuple[str, str]]
"""Name -> (long name, units), "1" for plain numbers and "" for texts.

A name may be a pattern, "fact_*", whose long name holds {} in the place of what the star stands
for.
"""

Labels = Mapping[str, Mapping[str, Mapping[str, str | int | float]]]
"""Axis -> value -> what to write beside it: {"model": {"vn_1": {"label": "VN-1L"}}}."""

COMMON: Variables = {
    "seed": ("random seed", "1"),
    "model": ("model", ""),
    "candidate": ("candidate setting of a model", "1"),
    "label": ("name of the model", ""),
    "group": ("group of models", ""),
    "run_settings": ("settings of the run, as JSON", ""),
    "run_source_hash": ("hash of the source that computed the run", ""),
    "run_date": ("when the run ended, UTC", ""),
    "run_versions": ("versions of the packages, as JSON", ""),
    "run_wall_time": ("wall time of the last session", "s"),
    "run_git_revision": ("git revision of the source", ""),
    "run_git_dirty": ("whether the source had uncommitted changes: 1, 0, or -1 for unknown", "1"),
    "run_hardware": ("processor, cores and accelerator", ""),
}


def described(ds: xr.Dataset, variables: Variables, labels: Labels | None = None) -> xr.Dataset:
    """A dataset with `long_name` and `units` on every variable, and coordinates such as `label`
    along its axes.

    Values of an axis that `labels` does not know keep what is written beside them already.
    ValueError for variables that `variables` does not name, and for units that differ from those
    that are there.
    """
    for axis, texts in (labels or {}).items():
        if axis in ds.dims:
            ds = ds.assign_coords(_beside(ds, axis, texts))
    known = {**COMMON, **variables}
    entries = {name: _named(str(name), known) for name in ds.variables}
    if nameless := sorted(str(name) for name, entry in entries.items() if entry is None):
        raise ValueError(f"VARIABLES must give the long name and units of {', '.join(nameless)}")
    ds = ds.copy()
    for name, entry in entries.items():
        long_name, units = entry or ("", "")
        if (there := ds[name].attrs.get("units", units)) != units:
            raise ValueError(f"units of {name} must be {units!r}, as VARIABLES says, got {there!r}")
        ds[name].attrs |= {"long_name": long_name} | ({"units": units} if units else {})
    return ds


def _named(name: str, variables: Variables) -> tuple[str, str] | None:
    """The entry of a variable: its own, or that of the first pattern that fits."""
    if name in variables:
        return variables[name]
    for pattern, (long_name, units) in variables.items():
        if "*" in pattern and fnmatchcase(name, pattern):
            start, end = pattern.split("*")
            rest = name[len(start) : len(name) - len(end)].replace("_", " ")
            return long_name.format(rest), units
    return None


def _beside(
    ds: xr.Dataset, axis: str, texts: Mapping[str, Mapping[str, str | int | float]]
) -> dict:
    """The coordinates to write along an axis."""
    names = dict.fromkeys(name for one in texts.values() for name in one)
    values = ds[axis].values.tolist()
    found = {}
    for name in names:
        known = ds[name].values.tolist() if name in ds.coords else []
        there = dict(zip(values, known, strict=False))
        missing = next((type(one[name])() for one in texts.values() if name in one), "")
        column = [texts.get(value, {}).get(name, there.get(value, missing)) for value in values]
        column = [missing if one is None or one != one else one for one in column]
        found[name] = (axis, np.asarray(column))
    return found
