"""Result store: a grid of runs over named axes, saved run by run, resumed, and merged into one
NetCDF file.

`runfiles` says which files there are and how processes share them, `runs` what they say; `netcdf`
reads and writes one.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from vnlib import checks
from vnlib.book.store import provenance
from vnlib.book.store.netcdf import ROOM, WHOLE, StoreError, is_full, of, plain_attrs, tidy, to_json
from vnlib.book.store.runfiles import RunFiles
from vnlib.book.store.runs import Axes, Cell, Made, header, listed

Run = Callable[[Axes, dict, Path], xr.Dataset]
Describe = Callable[[xr.Dataset], xr.Dataset]
STALE = ("keep", "recompute")

_POLL = 0.2  # seconds between two looks at cells that other processes hold


@dataclass(frozen=True)
class GridResult:
    """The runs asked for, and a note per group of runs: what was skipped or computed, and why."""

    dataset: xr.Dataset
    notes: tuple[str, ...]
    older: tuple[str, ...] = ()
    """The runs among them that another source computed than the one that is here."""


def grid(
    run: Run,
    axes: Mapping[str, Sequence],
    *,
    path: Path,
    settings: Callable[[Axes], dict],
    title: str,
    source: str | None = None,
    device: str = "cpu",
    recompute: bool = False,
    stale: str = "keep",
    progress: bool = True,
    attrs: Mapping | None = None,
    describe: Describe = lambda ds: ds,
    together: Callable[[Axes], Hashable | None] = lambda axes: None,
) -> GridResult:
    """Compute the runs of a grid that are not there yet, merge them into `path`, which may hold
    more, and return those asked for. Each run carries its provenance in variables `run_*`, which
    the global attributes sum up.

    Parameters
    ----------
    run
        `run(axes, settings, workdir)` returns one cell as a dataset without the axes. `workdir` is
        private to the cell and outlives a crash while settings and source stay the same:
        checkpoints belong there. Global attributes of the dataset are dropped. An exception passes
        through, with the cell's name added.
    axes
        Values per axis (texts or finite numbers); the grid is their product.
    settings
        The settings of a cell, as JSON values. A stored run counts only if its settings are the
        same.
    source
        Hash of the source that computes, None for that of the whole library (see
        `vnlib.book.store.source_hash`). Another hash does not recompute a run; `GridResult.older` names it.
    device
        For the record of the hardware only.
    recompute
        Compute all cells asked for, whatever is stored.
    stale
        What becomes of stored runs of another source: "keep" or "recompute".
    attrs
        Global attributes to add to the file and to the returned dataset.
    describe
        Gives the merged dataset its names and units (see `vnlib.book.store.variables`).
    together
        The group of a cell, None for a cell by itself. Cells of one group that are missing and that
        no other process holds are computed side by side, and what they train alike in one batch
        (see `vnlib.fit_many`). Each is stored as if by itself; its wall time is its share.

    Raises
    ------
    ValueError
        For bad axes, settings or results of a run.
    StoreError
        For files or folders that cannot be used; such files are never overwritten.
    """
    axes = _checked_axes(axes)
    cells = [Cell(dict(zip(axes, values, strict=True))) for values in product(*axes.values())]
    chosen = {cell.key: settings(dict(cell.axes)) for cell in cells}
    wanted = {key: _canonical(key, value) for key, value in chosen.items()}
    textual = {name: isinstance(values[0], str) for name, values in axes.items()}
    files = RunFiles(Path(path).absolute(), textual)
    of(files.merged()[0], files.path, **(attrs or {}))
    attrs = plain_attrs({**(attrs or {}), "title": title})
    checks.choice("stale", stale, STALE)
    source, renew = source or provenance.source_hash(), stale == "recompute"
    merged = files.merged()[1]
    fill = _Fill(files, wanted, recompute, source, renew, describe, {*merged.items()})
    todo = [cell for cell in cells if not fill.skip(cell.key, merged.get(cell.key))]
    if todo:
        fill.before |= files.prepare() | {*files.merged()[1].items()}
        origin = {"source_hash": fill.source, **provenance.collect(device)}
        with tqdm(total=len(todo), desc=title, unit="run", disable=not progress) as bar:
            while todo:
                left, groups = [], defaultdict(list)
                for cell in todo:
                    group = together(dict(cell.axes))
                    groups[cell.key if group is None else (group,)].append(cell)
                for cells in groups.values():
                    bar.set_postfix_str(listed([cell.key for cell in cells]))
                    held = fill.attempt(cells, run, chosen, origin)
                    bar.update(len(cells) - len(held))
                    left += held
                if len(left) == len(todo):
                    time.sleep(_POLL)
                todo = left
    # It is there where this call, or a process that was killed, filled it.
    if os.access(files.folder, os.W_OK):
        files.merge(wanted, attrs, describe)
    ds, made = files.merged()
    foreign = [key for key in wanted if key not in made or made[key].settings != wanted[key]]
    if foreign or ds is None:
        said = f"another process fills {path} with other settings ({listed(foreign)})"
        raise StoreError(f"{said}; use another file")
    ds = tidy(ds.sel({name: list(values) for name, values in axes.items()}))
    ds.attrs = header(ds, axes, attrs)
    return GridResult(describe(ds), fill.notes(), fill.older(made))


def _checked_axes(axes: Mapping[str, Sequence]) -> dict[str, tuple]:
    if not axes:
        raise ValueError("axes must name an axis with its values, as {'seed': [0, 1]}, got none")
    checked = {}
    for name, values in axes.items():
        if not (isinstance(name, str) and name.isidentifier()) or name.startswith("run_"):
            raise ValueError(
                f"an axis name must be an identifier that does not begin with run_, got {name!r}"
            )
        if isinstance(values, str) or not hasattr(values, "__iter__"):
            raise ValueError(f"axis {name} must be a list of values, got {values!r}")
        values = tuple(v.item() if isinstance(v, np.generic) else v for v in values)
        texts = all(isinstance(v, str) for v in values)
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
        if not values or not (texts or (numbers and all(map(math.isfinite, values)))):
            wanted = "texts only or finite numbers only, at least one"
            raise ValueError(f"axis {name} must hold {wanted}, got {values}")
        if len(set(values)) < len(values):
            raise ValueError(f"axis {name} must hold each value once, got {values}")
        checked[name] = values
    return checked


def _canonical(key: str, settings: dict) -> str:
    if not isinstance(settings, Mapping):
        raise ValueError(f"settings of {key} must be a dict, got {settings!r}")
    try:
        return to_json(settings)
    except (TypeError, ValueError) as exc:
        raise ValueError(
            f"settings of {key} must hold JSON values, such as numbers and texts: {exc}"
        ) from exc


@dataclass
class _Fill:
    """One call of `grid`: decides cell by cell what to skip, computes the rest, remembers why."""

    files: RunFiles
    wanted: Mapping[str, str]
    recompute: bool
    source: str
    renew: bool
    describe: Describe
    before: set[tuple[str, Made]]  # stored when the call began: clocks are not to be trusted
    waited: set[str] = field(default_factory=set)
    reasons: dict[str, str] = field(default_factory=dict)

    def skip(self, key: str, made: Made | None) -> bool:
        """Whether a stored run will do. With `recompute` only one that is new will."""
        if made is None or made.settings != self.wanted[key]:
            return False
        renewed = self.recompute or (self.renew and made.source != self.source)
        if renewed and (key, made) in self.before:
            return False
        elsewhere = key in self.waited or self.recompute
        reasons = ("already there, skipped", "made by another process meanwhile")
        self.reasons[key] = reasons[elsewhere]
        return True

    def attempt(
        self, cells: Sequence[Cell], run: Run, chosen: Mapping[str, dict], origin: Mapping
    ) -> list[Cell]:
        """Compute those cells that are not there, side by side; returns what other processes hold."""
        from vnlib.fit_many import side_by_side  # here, since reading results takes no torch

        with ExitStack() as locks:
            mine = [one for one in cells if locks.enter_context(self.files.lock(one.key))]
            others = [one for one in cells if one not in mine]
            self.waited |= {one.key for one in others}
            held = {one.key: self.files.held(one.key) for one in mine}
            todo = [c for c in mine if not any(self.skip(c.key, made) for made in held[c.key])]
            begin, calls = time.perf_counter(), []
            try:
                for one in todo:
                    owner = self.wanted[one.key] + self.source
                    workdir = self.files.workdir(one.key, owner=owner, empty=self.recompute)
                    calls.append(partial(run, dict(one.axes), chosen[one.key], workdir))
                for number, ds in side_by_side(calls):
                    key, seconds = todo[number].key, (time.perf_counter() - begin) / len(todo)
                    stamp = {"settings": self.wanted[key], **origin}
                    self.files.save(key, self.describe(_stamped(ds, todo[number], stamp, seconds)))
                    self.reasons[key] = self._why(held[key], self.wanted[key])
            except Exception as exc:
                lost = " or ".join(one.key for one in todo if one.key not in self.reasons)
                exc.add_note(f"in run {lost} of {self.files.path}; runs finished before are kept")
                if is_full(exc):
                    raise StoreError(f"{self.files.path} lacks {lost}: {exc}; {ROOM}") from exc
                raise
        return others

    def _why(self, held: Sequence[Made], settings: str) -> str:
        """Why a cell was computed of which so much was there."""
        if self.recompute or not held:
            return "computed anew as asked" if self.recompute else "computed"
        if any(made.settings == settings for made in held):
            return "stale, computed anew"
        return f"computed anew, settings changed: {_difference(held[0].settings, settings)}"

    def older(self, made: Mapping[str, Made]) -> tuple[str, ...]:
        """The cells asked for whose runs came from another source."""
        return tuple(key for key in self.wanted if key in made and made[key].source != self.source)

    def notes(self) -> tuple[str, ...]:
        groups = defaultdict(list)
        for key, reason in self.reasons.items():
            groups[reason].append(key)
        of = f"of {len(self.wanted)} runs"
        return tuple(f"{len(keys)} {of} {what} ({listed(keys)})" for what, keys in groups.items())


def _stamped(ds: xr.Dataset, cell: Cell, origin: Mapping, seconds: float) -> xr.Dataset:
    """A run's result with its axes and its provenance."""
    if not isinstance(ds, xr.Dataset):
        raise ValueError(f"a run must return an xarray.Dataset, got {type(ds).__name__}")
    names = sorted(map(str, {*ds.variables, *ds.dims}))
    if taken := [name for name in names if name in cell.axes or name.startswith("run_")]:
        raise ValueError(f"a run's dataset must not use names of the axes or run_*, got {taken}")
    stamp = {f"run_{k}": np.int8(v) if isinstance(v, int) else v for k, v in origin.items()}
    stamp["run_date"] = datetime.now(UTC).isoformat(timespec="microseconds")
    units = {"units": "s", "long_name": "wall time of the last session"}
    stamp["run_wall_time"] = xr.Variable((), seconds, units)
    ds = ds.drop_attrs(deep=False).assign(stamp)
    counts = {n: v for n, v in ds.data_vars.items() if v.dtype.kind in "iub"}
    whole = {n: v.assign_attrs({WHOLE: str(v.dtype)}) for n, v in counts.items()}
    if large := [n for n, v in whole.items() if v.size and abs(v.astype(float)).max() > 2**53]:
        raise ValueError(f"integers above 2**53 lose digits in partial grids; give {large} as text")
    return ds.assign(whole).expand_dims({name: [value] for name, value in cell.axes.items()})


def _difference(old: str, new: str) -> str:
    """What differs between two settings: "lr 0.1 -> 0.2"."""
    was, now = ({k: to_json(v)[:40] for k, v in json.loads(text).items()} for text in (old, new))
    names = sorted(k for k in was | now if was.get(k) != now.get(k))
    return ", ".join(f"{k} {was.get(k, 'unset')} -> {now.get(k, 'unset')}" for k in names)
