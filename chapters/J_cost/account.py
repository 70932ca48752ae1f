"""What the runs of chapters take: memory and disk, measured in a process of their own (VN
App. J).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from vnlib import checks
from vnlib.book import paths

TEXTS = {
    "before": ("memory that the process held when the run began", "B"),
    "peak": (
        "most memory that the process held during the run, the program and its libraries included",
        "B",
    ),
    "wall": ("time by the clock", "s"),
    "cpu": ("time of the processor", "s"),
    "checkpoints": ("most that the run's checkpoints took on disk, seen ten times a second", "B"),
    "device_peak": ("most memory that tensors held on a GPU during the run; NaN without one", "B"),
    "done": ("whether the run came to its end", "1"),
}


def measure(
    chapter: str,
    *,
    profile: str,
    device: str,
    results: Path | str,
    lengths: Sequence[str],
    only: Mapping[str, Sequence],
    limit: float,
) -> xr.Dataset:
    """Compute a few runs of a chapter and measure each; nothing is stored.

    Parameters
    ----------
    results
        Folder of stored results, for chapters that read others'.
    lengths
        Settings whose values are those of `smoke`, such as numbers of updates, on which memory does
        not depend; sizes stay those of `profile`.
    only
        The values wanted per axis, the first of every other.
    limit
        Seconds of the processor after which it ends.

    Returns
    -------
    xr.Dataset
        The variables of `TEXTS` and `label`, which run it was (run); `program`, bytes held before
        anything of the chapter; and `why` the work ended early, "" if it did not: what a chapter
        does after its runs may not suit so few of them.

    Raises
    ------
    ValueError
        For a bad limit.
    RuntimeError
        For a process that fails, which says why.
    """
    checks.number("limit", limit, above=0)
    with tempfile.TemporaryDirectory(prefix="vnbook-") as scratch:
        order = {
            "chapter": chapter,
            "profile": profile,
            "device": device,
            "results": str(results),
            "scratch": str(Path(scratch) / "results"),
            "lengths": list(lengths),
            "limit": limit,
            "only": {name: list(values) for name, values in only.items()},
        }
        command = [sys.executable, "-m", "chapters.J_cost.worker", json.dumps(order)]
        env = os.environ | {"OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=paths.SOURCE, env=env)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["nothing was said"]
        raise RuntimeError(f"the process that measures {chapter} failed: {said[-1]}")
    return table(json.loads(done.stdout.splitlines()[-1]))


def table(report: Mapping[str, Any]) -> xr.Dataset:
    """What a worker reports, as a dataset (see `measure`)."""
    entries = report["entries"]
    ds = xr.Dataset(
        {name: ("run", np.array([entry[name] for entry in entries], float)) for name in TEXTS},
        {"run": np.arange(len(entries))},
    )
    labels = np.array([f"{entry['part']}: {entry['run']}" for entry in entries], str)
    ds["label"] = "run", labels
    return ds.assign(program=float(report["program"]), why=report["why"])


def largest(measured: xr.Dataset) -> dict[str, float]:
    """The most of everything over the runs of one chapter, as JSON values; {} where no run was
    measured.

    own: the most that a run held beyond the bare program.
    """
    runs = measured.where(measured["peak"].notnull(), drop=True)
    if not runs.sizes["run"]:
        return {}
    most = {name: float(runs[name].max()) for name in ("peak", "checkpoints", "device_peak")}
    own = float((runs["peak"] - runs["program"]).max())
    return {
        **{name: value for name, value in most.items() if np.isfinite(value)},
        "own": own,
        "runs_measured": float(runs.sizes["run"]),
        "finished": float(runs["done"].min()),
    }


NUMBERS = {
    "runs": ("stored runs", "1"),
    "seconds": ("time of all runs without a GPU on one core", "s"),
    "gpu_runs": ("stored runs with a GPU", "1"),
    "gpu_seconds": ("time by the clock of all runs with a GPU, which shared it", "s"),
    "bytes": ("size of the result files", "B"),
    "weights": ("weights of all models of all seeds, in single precision", "B"),
    "selection_weights": ("weights of the models that were only tried", "B"),
    "peak": ("most memory that a measured process held, its libraries included", "B"),
    "own": ("most memory that a measured run held beyond the bare program", "B"),
    "checkpoints": ("most that the checkpoints of a measured run took on disk", "B"),
    "device_peak": ("most memory that tensors held on a GPU", "B"),
    "runs_measured": ("runs that were measured", "1"),
    "finished": ("whether all measured runs came to their end", "1"),
}


def account(stored: Mapping[str, Any], measured: Mapping[str, float]) -> xr.Dataset:
    """One chapter's line in the account of the book: `NUMBERS`, NaN where unknown; `missing` says
    what lacks.
    """
    known = {**stored, **measured}
    if known.get("weights", -1.0) < 0:
        known.pop("weights", None)
    ds = xr.Dataset({name: float(known.get(name, np.nan)) for name in NUMBERS})
    return ds.assign(missing=str(stored.get("missing", "")))
