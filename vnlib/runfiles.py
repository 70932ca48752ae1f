"""The files of a grid of runs, shared by any number of processes.

A grid kept in `fig.nc` uses

    fig.nc                 all merged runs; the only file that stays
    fig.runs/<cell>.nc     a finished run that is not merged yet
    fig.runs/<cell>.work/  the checkpoints of an unfinished run
    fig.runs/<cell>.lock   locked by the process at work; the kernel frees it when that process dies

A run file is deleted only after its run is in the merged file, hence a look-up that tries the run file first
and the merged file second cannot miss a run that is merged in between. A lock file is deleted only by its
holder: `filelock` (from version 4) refuses a lock on a file that has lost its name.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from urllib.parse import quote

import numpy as np
import xarray as xr
from filelock import FileLock, Timeout

from vnlib.netcdf import FORMAT, REMEDY, StoreError, plain_attrs, read, to_json, write

Axes = dict[str, str | int | float]

STAMP = ("settings", "source_hash", "date", "versions", "wall_time", "git_revision", "git_dirty", "hardware")
"""What every file says of each of its runs, in variables `run_*`."""


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
        return key if len(key) <= 200 else f"{key[:180]}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Made:
    """What a file says of one finished run."""

    settings: str
    source: str
    date: str  # ISO, UTC, of fixed width: text order is time order


@dataclass
class RunFiles:
    """The files of the grid at `path`; `axes` holds the names and the values that are asked for."""

    path: Path
    axes: Mapping[str, tuple]
    _seen: tuple | None = None
    _merged: tuple[xr.Dataset | None, dict[str, Made]] = (None, {})

    @property
    def folder(self) -> Path:
        return self.path.with_suffix(".runs")

    def file(self, key: str) -> Path:
        return self.folder / f"{key}.nc"

    def lock(self, key: str, *, wait: bool = False) -> AbstractContextManager[bool]:
        """Context that holds the lock of a cell; its value is False if another process has it."""
        return _lock(self.folder / f"{key}.lock", wait=wait)

    def prepare(self) -> None:
        """Make the folders and read all run files: a damaged one should be named now, not after hours."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            writable = os.access(self.folder, os.W_OK) and os.access(self.path.parent, os.W_OK)
            reason = "" if writable else "it is read-only"
        except OSError as exc:
            reason = str(exc)
        if reason:
            advice = "choose another results folder or make this one writable"
            raise StoreError(f"results folder {self.path.parent} cannot be written ({reason}); {advice}")
        for path in self.folder.glob("*.nc"):
            self.run(path)

    def merged(self) -> tuple[xr.Dataset | None, dict[str, Made]]:
        """The merged file and what it holds; read again only if it has changed."""
        stat = _stat(self.path)
        if stat is None:
            return None, {}
        if stat != self._seen:
            ds = read(self.path)
            self._seen, self._merged = stat, (ds, _made(ds, self.axes, self.path))
        return self._merged

    def run(self, path: Path) -> tuple[xr.Dataset, Made] | None:
        """One run file; None if it is not there."""
        try:
            ds = read(path)
        except StoreError:
            if path.exists():
                raise
            return None
        made = _made(ds, self.axes, path)
        if made.keys() != {path.stem}:
            raise StoreError(f"{path} holds {listed(made)}, not the run it is named after; {REMEDY}")
        return ds, made[path.stem]

    def held(self, key: str) -> list[Made]:
        """What is stored of a cell, the run file first."""
        run = self.run(self.file(key))
        merged = self.merged()[1].get(key)
        return ([run[1]] if run else []) + ([merged] if merged else [])

    def workdir(self, key: str, *, owner: str, empty: bool) -> Path:
        """The cell's private folder; emptied first if `empty` or if its last owner was another."""
        for stale in self.folder.glob(f".{glob.escape(key)}.nc.*.tmp"):
            stale.unlink(missing_ok=True)
        folder = self._work(key)
        mark = folder / ".owner"
        if empty or not mark.is_file() or mark.read_text(encoding="utf-8") != owner:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            mark.write_text(owner, encoding="utf-8")
        return folder

    def save(self, key: str, ds: xr.Dataset) -> None:
        """Save a finished run; its checkpoints are no longer needed."""
        write(ds, self.file(key))
        shutil.rmtree(self._work(key), ignore_errors=True)

    def merge(self, wanted: Mapping[str, str], attrs: Mapping) -> None:
        """Move the finished runs into the merged file, which is left alone if there are none.

        wanted: settings by cell, for cells whose runs have to have these.
        """
        with self.lock("merge", wait=True):
            for stale in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.tmp"):
                stale.unlink(missing_ok=True)
            old, there = self.merged()
            fresh, spent = {}, {}
            for path in sorted(self.folder.glob("*.nc")):
                key, stat = path.stem, _stat(path)
                ds, made = self.run(path)
                if _wins(made, there.get(key), wanted.get(key)):
                    fresh[key] = ds
                if key in fresh or made.date <= there[key].date:
                    spent[key] = stat
            if fresh:
                replaced = [ds for key, ds in fresh.items() if key in there]
                kept = [] if old is None else _without(replaced, old, self.axes)
                ds = _joined([*fresh.values(), *kept], self.path).transpose(*self.axes, ...)
                ds.attrs = header(ds, {name: ds[name].values.tolist() for name in self.axes}, attrs)
                write(ds, self.path)
            self._clean(spent)
            with suppress(OSError):  # Windows keeps files that are open
                (self.folder / "merge.lock").unlink()
        with suppress(OSError):
            self.folder.rmdir()  # stays while another process or an unfinished run needs it

    def _work(self, key: str) -> Path:
        return self.folder / f"{key}.work"

    def _clean(self, spent: Mapping[str, tuple | None]) -> None:
        for key in spent.keys() | {path.stem for path in self.folder.glob("*.lock")} - {"merge"}:
            with self.lock(key) as mine:
                if not mine:
                    continue
                # A run file that was replaced since we read it holds a newer run.
                if key in spent and _stat(self.file(key)) == spent[key]:
                    self.file(key).unlink()
                    shutil.rmtree(self._work(key), ignore_errors=True)
                with suppress(OSError):
                    (self.folder / f"{key}.lock").unlink()


def header(ds: xr.Dataset, axes: Mapping[str, Sequence], attrs: Mapping) -> dict:
    """Global attributes of a grid: `attrs`, and the provenance of all its runs summed up."""

    def each(name: str) -> list:
        values = ds[f"run_{name}"].values.ravel().tolist()
        return sorted({v for v in values if v == v and v != ""})  # without NaN and "": cells that are not there

    versions = [json.loads(text) for text in each("versions")]
    packages = {name for found in versions for name in found}
    dirty = each("git_dirty")
    return plain_attrs(attrs) | {
        "format": FORMAT,
        "axes": to_json({name: list(values) for name, values in axes.items()}),
        "seeds": to_json(list(axes.get("seed", ()))),
        "git_revision": ", ".join(each("git_revision")),
        "git_dirty": int(1 if 1 in dirty else min(dirty)),  # 1 if any is dirty, else -1 if any is unknown
        "source_hash": ", ".join(each("source_hash")),
        "hardware": "; ".join(each("hardware")),
        "versions": to_json({n: ", ".join(sorted({v[n] for v in versions if n in v})) for n in packages}),
        "date": each("date")[-1],
        "wall_time_s": float(ds["run_wall_time"].sum()),
    }


def listed(keys: Collection[str]) -> str:
    """The first few cells, for messages."""
    return "; ".join(list(keys)[:4]) + (f"; and {len(keys) - 4} more" if len(keys) > 4 else "")


@contextmanager
def _lock(path: Path, *, wait: bool) -> Iterator[bool]:
    lock = FileLock(path)
    while not lock.is_locked:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=wait)
        except Timeout:
            break
        except FileNotFoundError:
            continue  # another process has just removed the empty folder
    try:
        yield lock.is_locked
    finally:
        lock.release()


def _stat(path: Path) -> tuple | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size


def _made(ds: xr.Dataset, axes: Mapping[str, tuple], path: Path) -> dict[str, Made]:
    """The runs in a dataset, by key of their cell. Raises StoreError if it is a grid over other axes, or no grid."""
    found = ds["run_settings"].dims if "run_settings" in ds else ()
    if set(found) != set(axes):
        raise StoreError(f"{path} is a grid over {found}, not over {tuple(axes)}; use another file, or {REMEDY}")
    for name, values in axes.items():
        if (ds[name].dtype.kind in "iuf") == isinstance(values[0], str):
            raise StoreError(f"{path} has {name} = {ds[name].values.tolist()}, not like {values}; {REMEDY}")
    if lacking := [f"run_{name}" for name in STAMP if f"run_{name}" not in ds]:
        raise StoreError(f"{path} does not say of its runs what it should ({', '.join(lacking)}); {REMEDY}")
    table = ds[["run_settings", "run_source_hash", "run_date"]].transpose(*axes)
    cells = product(*(ds[name].values.tolist() for name in axes))
    rows = zip(cells, *(table[name].values.ravel().tolist() for name in table.data_vars), strict=True)
    try:
        for text in {*ds["run_settings"].values.flat, *ds["run_versions"].values.flat} - {""}:
            json.loads(text)
        return {Cell(dict(zip(axes, cell, strict=True))).key: Made(*row) for cell, *row in rows if row[0]}
    except (TypeError, ValueError) as exc:  # numbers in place of text, no JSON, an axis with NaN
        raise StoreError(f"{path} holds no runs that can be told apart ({exc}); {REMEDY}") from exc


def _wins(run: Made, merged: Made | None, wanted: str | None) -> bool:
    """Whether a run file goes before the merged run: the newer one, unless only one of them is wanted."""
    if merged is None or merged.settings == run.settings or wanted is None:
        return merged is None or run.date > merged.date
    return run.settings == wanted


def _without(replaced: Sequence[xr.Dataset], old: xr.Dataset, axes: Mapping) -> list[xr.Dataset]:
    """The old dataset without the cells of `replaced`, and without labels and variables of those alone."""
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


def _joined(parts: Sequence[xr.Dataset], path: Path) -> xr.Dataset:
    """Datasets of different cells as one. Where attributes differ the first counts; units must not differ."""

    def attrs(many: Sequence[Mapping], context: object = None) -> dict:
        units = {str(a["units"]) for a in many if "units" in a}
        if len(units) > 1:
            raise ValueError(f"a variable has the units {' and '.join(sorted(units))}")
        return {name: value for a in reversed(many) for name, value in a.items()}

    try:
        while len(parts) > 1:  # few at a time, because xarray enlarges each part to the size of the result
            parts = [
                xr.merge(parts[i : i + 8], join="outer", compat="no_conflicts", combine_attrs=attrs)
                for i in range(0, len(parts), 8)
            ]
    except ValueError as exc:
        advice = "compute them all with recompute, or use another file"
        raise StoreError(f"the runs of {path} do not fit together ({exc}); they are kept; {advice}") from exc
    return parts[0]
