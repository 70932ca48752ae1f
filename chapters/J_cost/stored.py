"""What stored results say of their own cost: runs, time, bytes on disk, weights; per chapter and
per model.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from vnlib.book import store

WEIGHTS = ("n_parameters", "fact_parameters", "n_weights")
"""Names under which chapters keep how many weights a model has."""
BYTES = 4  # of a weight in single precision


def files(folder: Path, chapter: str) -> list[Path]:
    """The result files of a chapter, its own first, then its parts; without those of other tasks
    (`--`).
    """
    parts = sorted(path for path in folder.glob(f"{chapter}.*.nc") if "--" not in path.name)
    return [path for path in (folder / f"{chapter}.nc", *parts) if path.exists()]


def _read(path: Path) -> xr.Dataset:
    """A file's results, read once for as long as it is the same."""
    return _read_once(path, path.stat().st_mtime_ns) if path.exists() else store.read(path)


@cache
def _read_once(path: Path, _changed: int) -> xr.Dataset:
    return store.read(path)


def stored(folder: Path, chapter: str) -> dict[str, Any]:
    """What the files of a chapter say, as JSON values, or {"missing": reason}.

    runs; seconds, by the clock and summed over runs, each of which has one thread; gpu_runs and
    gpu_seconds, the same of runs on a machine with a GPU, which may have shared it; bytes on disk;
    date of the newest run; weights: bytes of the weights of all models, seed by seed, -1 where the
    chapter does not say them; selection_weights: of the models in its parts, which were only tried.
    """
    try:
        found = [(path, _read(path)) for path in files(folder, chapter)]
        if not found:
            return {"missing": f"no results of {chapter}"}
        times = [took(ds) for _, ds in found]
        core, gpu = (np.concatenate(each) for each in zip(*times, strict=True))
        return {
            "runs": len(core) + len(gpu),
            "seconds": round(float(core.sum()), 3),
            "gpu_runs": len(gpu),
            "gpu_seconds": round(float(gpu.sum()), 3),
            "bytes": sum(path.stat().st_size for path, _ in found),
            "date": max(str(ds.attrs["date"]) for _, ds in found),
            "weights": weights(found[0][1]),
            "selection_weights": sum(max(weights(ds), 0.0) for _, ds in found[1:]),
        }
    except (store.StoreError, KeyError, OSError) as error:
        return {"missing": f"{chapter}: {error}".splitlines()[0][:200]}


def took(results: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the runs in a file, of those on a CPU and of those with a GPU."""
    seconds = results["run_wall_time"].values.ravel()
    gpu = on_gpu(results).values.ravel()
    return tuple(times[~np.isnan(times)] for times in (seconds[~gpu], seconds[gpu]))


def on_gpu(results: xr.Dataset) -> xr.DataArray:
    """Which runs had a GPU: their hardware names one after the cores of the CPU."""
    return results["run_hardware"].astype(str).str.contains(" cores?, ")


def weights(results: xr.Dataset) -> float:
    """Bytes of the weights of all runs in a file, -1 where it does not say how many there are."""
    name = next((name for name in WEIGHTS if name in results), None)
    if name is None:
        return -1.0
    missing = results["run_wall_time"].isnull()
    per_run = results[name].broadcast_like(results["run_wall_time"]).where(~missing)
    extra = [dim for dim in per_run.dims if dim not in missing.dims]
    return float(BYTES * per_run.max(extra).sum())


def models(folder: Path, chapter: str) -> xr.Dataset:
    """Runs, seconds (total and median of a run), share of runs with a GPU, and weights of every
    model of a chapter (model).

    Where a chapter compares no models, its runs are one model of its own name.

    Raises
    ------
    StoreError
        For a missing or damaged file.
    """
    ds = _read(folder / f"{chapter}.nc")
    took, gpu = ds["run_wall_time"], on_gpu(ds).where(ds["run_wall_time"].notnull())
    along = next((dim for dim in ("model", "variant") if dim in took.dims), None)
    if along is None:
        along, labels = "model", [chapter]
        took, gpu = (one.expand_dims(model=labels) for one in (took, gpu))
    else:
        labels = [str(value) for value in ds[along].values]
    rest = [dim for dim in took.dims if dim != along]
    name = next((name for name in WEIGHTS if name in ds and along in ds[name].dims), None)
    many = np.full(len(labels), np.nan)
    if name:
        many = ds[name].max([dim for dim in ds[name].dims if dim != along]).values
    return xr.Dataset(
        {
            "runs": ("model", took.count(rest).values, {"units": "1"}),
            "seconds": ("model", took.sum(rest).values, {"units": "s"}),
            "median": ("model", took.median(rest).values, {"units": "s"}),
            "gpu": ("model", gpu.mean(rest).values, {"units": "1"}),
            "weights": ("model", many, {"units": "1"}),
        },
        {"model": labels},
    )


def table(folder: Path, chapters: Sequence[str]) -> xr.Dataset:
    """`models` of all chapters that have results, one after the other, with a coordinate `chapter`
    (model).
    """
    parts = []
    for chapter in chapters:
        with suppress(store.StoreError, KeyError):
            found = models(folder, chapter)
            parts.append(found.assign_coords(chapter=("model", [chapter] * found.sizes["model"])))
    if not parts:
        names = ("runs", "seconds", "median", "gpu", "weights")
        empty = {name: ("model", np.zeros(0)) for name in names}
        return xr.Dataset(
            empty, {"model": np.array([], "U1"), "chapter": ("model", np.array([], "U1"))}
        )
    return xr.concat(parts, "model")
