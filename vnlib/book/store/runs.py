"""Runs in datasets: the cell that each stands in, what a file says of it, and the runs of several
files as one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import xarray as xr

from vnlib.book.store.netcdf import FORMAT, REMEDY, StoreError, plain_attrs, to_json
from vnlib.book.store.variables import COMMON

Axes = dict[str, str | int | float]


@dataclass(frozen=True)
class Cell:
    """One point of a grid: a value for each axis."""

    axes: Axes

    @property
    def key(self) -> str:
        """File name of the cell, like "model=cnn2,seed=0"; equal numbers (1 and 1.0) share it."""

        def text(value: str | int | float) -> str:
            if isinstance(value, str):
                return quote(value, safe=" +")
            return str(int(value) if value == int(value) else value)

        key = ",".join(f"{name}={text(value)}" for name, value in self.axes.items())
        digest = hashlib.sha256(key.encode()).hexdigest()[:12]
        return key if len(key) <= 200 else f"{key[:180]}-{digest}"


@dataclass(frozen=True)
class Made:
    """What a file says of one finished run."""

    settings: str
    source: str
    date: str


def header(ds: xr.Dataset, axes: Mapping[str, Sequence], attrs: Mapping) -> dict:
    """Global attributes of a grid: `attrs`, and the provenance of all its runs summed up."""

    def each(name: str) -> list:
        values = ds[f"run_{name}"].values.ravel().tolist()
        return sorted({v for v in values if v == v and v != ""})  # NaN, "": cells that lack

    versions = [json.loads(text) for text in each("versions")]
    packages = {name for found in versions for name in found}
    used = {n: ", ".join(sorted({v[n] for v in versions if n in v})) for n in packages}
    dirty = each("git_dirty")
    return plain_attrs(attrs) | {
        "format": FORMAT,
        "axes": to_json({name: list(values) for name, values in axes.items()}),
        "seeds": to_json(list(axes.get("seed", ()))),
        "git_revision": ", ".join(each("git_revision")),
        # 1 if any is dirty, else -1 if any is unknown
        "git_dirty": int(1 if 1 in dirty else min(dirty)),
        "source_hash": ", ".join(each("source_hash")),
        "hardware": "; ".join(each("hardware")),
        "versions": to_json(used),
        "date": each("date")[-1],
        "wall_time_s": float(ds["run_wall_time"].sum()),
    }


def listed(keys: Collection[str]) -> str:
    """The first few cells, for messages."""
    return unquote("; ".join([*keys][:4] + [f"and {len(keys) - 4} more"] * (len(keys) > 4)))


def runs_in(ds: xr.Dataset, axes: Mapping[str, bool], path: Path) -> dict[str, Made]:
    """The runs in a dataset over axes, of texts or not, by key of their cell; else StoreError."""
    found = ds["run_settings"].dims if "run_settings" in ds else ()
    if set(found) != set(axes):
        raise StoreError(
            f"{path} is a grid over {found}, not over {tuple(axes)}; use another file, or {REMEDY}"
        )
    for name, texts in axes.items():
        if (ds[name].dtype.kind in "iuf") == texts:
            other = f"{ds[name].values.tolist()}, not {'texts' if texts else 'numbers'}"
            raise StoreError(f"{path} has {name} = {other}; {REMEDY}")
    if lacking := [name for name in COMMON if name.startswith("run_") and name not in ds]:
        raise StoreError(
            f"{path} does not say of its runs what it should ({', '.join(lacking)}); {REMEDY}"
        )
    table = ds[["run_settings", "run_source_hash", "run_date"]].transpose(*axes)
    cells = product(*(ds[name].values.tolist() for name in axes))
    columns = [table[name].values.ravel().tolist() for name in table.data_vars]
    rows = [(cell, Made(*made)) for cell, *made in zip(cells, *columns, strict=True)]
    try:
        for text in {*ds["run_settings"].values.flat, *ds["run_versions"].values.flat} - {""}:
            json.loads(text)
        found = [(Cell(dict(zip(axes, cell, strict=True))), made) for cell, made in rows]
        return {cell.key: made for cell, made in found if made.settings}
    except (TypeError, ValueError) as exc:  # numbers in place of text, no JSON, an axis with NaN
        raise StoreError(f"{path} holds no runs that can be told apart ({exc}); {REMEDY}") from exc


def wins(run: Made, merged: Made | None, wanted: str | None) -> bool:
    """Whether a run file, which is later, goes before the merged run, unless that one is wanted."""
    unwanted = merged and merged.settings != run.settings and wanted not in (None, run.settings)
    return run != merged and not unwanted


def without(replaced: Sequence[xr.Dataset], old: xr.Dataset, axes: Mapping) -> list[xr.Dataset]:
    """The old dataset without the cells of `replaced` and what those alone have, [] if empty."""
    keep = old["run_settings"] != ""
    for ds in replaced:
        keep.loc[{name: ds[name].item() for name in axes}] = False
    if not keep.any():
        return []
    old = old.where(keep)
    if replaced:
        for dim in old.indexes.keys() - axes.keys():
            users = [v for v in old.data_vars.values() if dim in v.dims]
            used = [v.notnull().any([d for d in v.dims if d != dim]) for v in users]
            old = old.isel({dim: np.any(used, axis=0)}) if used else old
        old = old.drop_vars([name for name, v in old.data_vars.items() if not v.notnull().any()])
    return [old]


def joined(parts: Sequence[xr.Dataset], path: Path) -> xr.Dataset:
    """Datasets of different cells as one; where attributes differ the first counts. StoreError
    where units differ, or the same cell says two things.
    """

    def attrs(many: Sequence[Mapping], context: object = None) -> dict:
        units = {str(a["units"]) for a in many if "units" in a}
        if len(units) > 1:
            raise ValueError(f"a variable has the units {' and '.join(sorted(units))}")
        return {name: value for a in reversed(many) for name, value in a.items()}

    try:
        # few at a time, because xarray enlarges each part to the size of the result
        while len(parts) > 1:
            parts = [
                xr.merge(parts[i : i + 8], join="outer", compat="no_conflicts", combine_attrs=attrs)
                for i in range(0, len(parts), 8)
            ]
    except ValueError as exc:
        advice = "compute them all with recompute, or use another file"
        raise StoreError(
            f"the runs of {path} do not fit together ({exc}); they are kept; {advice}"
        ) from exc
    return parts[0]
