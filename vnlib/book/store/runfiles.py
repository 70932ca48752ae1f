"""The files of a grid of runs, shared by any number of processes.

A grid kept in `fig.nc` uses ::

    fig.nc                 all merged runs; the only file that stays
    fig.runs/<cell>.nc     a finished run that is not merged yet
    fig.runs/<cell>.work/  the checkpoints of an unfinished run
    fig.runs/<cell>.lock   locked by the process at work; the kernel frees it when that process dies

A run file is deleted only after its run is in the merged file, hence a look-up that tries the run
file first and the merged file second cannot miss one. A lock file is deleted only by its holder:
`filelock` (from version 4) refuses a lock on a file that has lost its name.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import xarray as xr
from filelock import FileLock, Timeout

from vnlib.book.store.netcdf import REMEDY, StoreError, read, write
from vnlib.book.store.runs import Made, header, joined, listed, runs_in, wins, without


@dataclass
class RunFiles:
    """The files of the grid at `path`; `axes` holds their names and whether values are texts."""

    path: Path
    axes: Mapping[str, bool]
    _known: dict[Path, tuple] = field(default_factory=dict)  # files as last read or written here

    @property
    def folder(self) -> Path:
        return self.path.with_suffix(".runs")

    def file(self, key: str) -> Path:
        return self.folder / f"{key}.nc"

    @contextmanager
    def lock(self, key: str, *, wait: bool = False) -> Iterator[bool]:
        """Context that holds the lock of a cell; its value is False if another process has it."""
        lock = FileLock(self.folder / f"{key}.lock")
        while not lock.is_locked:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                lock.acquire(blocking=wait)
            except Timeout:
                break
            except FileNotFoundError:
                continue  # another process has just removed the empty folder
        try:
            yield lock.is_locked
        finally:
            lock.release()

    def prepare(self) -> set[tuple[str, Made]]:
        """Make the folders; what all run files say, since a damaged one should be named at once."""
        folder, advice = self.path.parent, "choose another results folder or make this one writable"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not (os.access(self.folder, os.W_OK) and os.access(folder, os.W_OK)):
                raise PermissionError("it is read-only")
        except OSError as exc:
            said = f"results folder {folder} cannot be written ({exc}); {advice}"
            raise StoreError(said) from exc
        there = {path.stem: self.run(path) for path in self.folder.glob("*.nc")}
        return {(key, run[1]) for key, run in there.items() if run}

    def merged(self) -> tuple[xr.Dataset | None, dict[str, Made]]:
        """The merged file and what it holds."""
        return self._read(self.path) or (None, {})

    def run(self, path: Path) -> tuple[xr.Dataset, Made] | None:
        """One run file; None if it is not there."""
        if (found := self._read(path)) is None:
            return None
        ds, made = found
        if made.keys() != {path.stem}:
            raise StoreError(f"{path} holds {listed(made)}, not the run of its name; {REMEDY}")
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
        folder = self.file(key).with_suffix(".work")
        mark = folder / ".owner"
        if empty or not mark.is_file() or mark.read_text(encoding="utf-8") != owner:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            mark.write_text(owner, encoding="utf-8")
        return folder

    def save(self, key: str, ds: xr.Dataset) -> None:
        """Save a finished run; its checkpoints are no longer needed."""
        self._write(ds, self.file(key))
        shutil.rmtree(self.file(key).with_suffix(".work"), ignore_errors=True)

    def merge(
        self,
        wanted: Mapping[str, str],
        attrs: Mapping,
        describe: Callable[[xr.Dataset], xr.Dataset] = lambda ds: ds,
    ) -> None:
        """Move the finished runs into the merged file, which is left alone if there are none;
        cells in `wanted` must have these settings.
        """
        with self.lock("merge", wait=True):
            for stale in self.path.parent.glob(f".{glob.escape(self.path.name)}.*.tmp"):
                stale.unlink(missing_ok=True)
            old, there = self.merged()
            fresh, spent = {}, {}
            for path in sorted(self.folder.glob("*.nc")):
                key, stat = path.stem, _stat(path)
                if (run := self.run(path)) is None:
                    continue
                ds, made = run
                if wins(made, there.get(key), wanted.get(key)):
                    fresh[key] = ds
                if key in fresh or made == there[key]:
                    spent[key] = stat
            if fresh:
                replaced = [ds for key, ds in fresh.items() if key in there]
                kept = [] if old is None else without(replaced, old, self.axes)
                ds = joined([*fresh.values(), *kept], self.path).transpose(*self.axes, ...)
                ds.attrs = header(ds, {name: ds[name].values.tolist() for name in self.axes}, attrs)
                self._write(describe(ds), self.path)
            self._clean(spent)
            with suppress(OSError):  # Windows keeps files that are open
                (self.folder / "merge.lock").unlink()
        with suppress(OSError):
            self.folder.rmdir()  # stays while another process or an unfinished run needs it

    def _read(self, path: Path) -> tuple[xr.Dataset, dict[str, Made]] | None:
        """A file and what it holds, if it is there; read again only if it has changed."""
        if (stat := _stat(path)) is None:
            return None
        if self._known.get(path, ())[:1] != (stat,):
            try:
                ds, made = _content(path, stat, tuple(self.axes.items()))
                self._known[path] = stat, (ds.copy(), {**made})  # of what is shared
            except StoreError:
                if path.exists():
                    raise
                return None
        return self._known[path][1]

    def _write(self, ds: xr.Dataset, path: Path) -> None:
        ds = write(ds, path)
        self._known[path] = _stat(path), (ds, runs_in(ds, self.axes, path))

    def _clean(self, spent: Mapping[str, tuple | None]) -> None:
        for key in spent.keys() | {path.stem for path in self.folder.glob("*.lock")} - {"merge"}:
            with self.lock(key) as mine:
                if not mine:
                    continue
                # A run file that was replaced since we read it holds a newer run.
                if key in spent and _stat(self.file(key)) == spent[key]:
                    self.file(key).unlink()
                    self._known.pop(self.file(key), None)
                    shutil.rmtree(self.file(key).with_suffix(".work"), ignore_errors=True)
                with suppress(OSError):
                    (self.folder / f"{key}.lock").unlink()


@lru_cache(maxsize=1)  # a study may ask for a few runs at a time
def _content(path: Path, stat: tuple, axes: tuple) -> tuple[xr.Dataset, dict[str, Made]]:
    return (ds := read(path)), runs_in(ds, dict(axes), path)


def _stat(path: Path) -> tuple | None:
    with suppress(OSError):
        stat = path.stat()
        return stat.st_ino, stat.st_mtime_ns, stat.st_size
    return None
