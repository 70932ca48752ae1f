"""Where a result comes from: git revision, hardware, versions, source. Nothing here ever raises."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

import xarray as xr

from vnlib.book import paths
from vnlib.book.store.source_hash import PACKAGES, source_hash


def git_state(root: Path = paths.SOURCE) -> dict[str, str | int]:
    """Revision of the checkout and whether its source has uncommitted changes.

    "revision" is 40 hex or "unknown", also of a copy that lies untracked inside another repository;
    "dirty" 1, 0, or -1 for unknown. Only `PACKAGES` count, so that fresh results dirty nothing.
    """
    # a git hook sets these for its own repository
    ours = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    env = {k: v for k, v in os.environ.items() if k not in ours} | {"GIT_OPTIONAL_LOCKS": "0"}

    def git(*args: str) -> str:
        call = ["git", "-C", str(root), *args]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=30, env=env)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "--", "vnlib/__init__.py")
        dirty = int(bool(git("status", "--porcelain", "--", *PACKAGES)))
        return {"revision": git("rev-parse", "HEAD"), "dirty": dirty}
    except (OSError, ValueError, subprocess.SubprocessError):
        return {"revision": "unknown", "dirty": -1}


def hardware(device: str = "cpu") -> str:
    """CPU model, usable cores and, for a CUDA `device`, the GPU's name: "AMD EPYC, 2 cores"."""
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))
    cores = len(usable(0))
    parts = [_cpu_model(), f"{cores} core{'s' * (cores > 1)}"]
    if str(device).startswith("cuda"):
        import torch

        try:
            parts.append(torch.cuda.get_device_name(device))
        except (RuntimeError, AssertionError, ValueError):
            parts.append(f"{device} (unavailable)")
    return ", ".join(parts)


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        named = (line for line in lines if line.startswith("model name"))
        return next(named).split(":", 1)[1].strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine() or "unknown CPU"


def versions() -> dict[str, str]:
    """Versions of python, torch, cuda ("none" in a CPU build), numpy, xarray and h5netcdf."""
    import torch  # here, because the command line asks for the other functions only

    found = {"python": platform.python_version(), "torch": torch.__version__}
    found["cuda"] = torch.version.cuda or "none"
    return found | {name: metadata.version(name) for name in ("numpy", "xarray", "h5netcdf")}


def collect(device: str = "cpu") -> dict[str, str | int]:
    """All of the above for NetCDF: `versions` is JSON, `git_dirty` 1, 0 or -1 for unknown."""
    git = {f"git_{name}": value for name, value in git_state().items()}
    return git | {"hardware": hardware(device), "versions": json.dumps(versions(), sort_keys=True)}


def facts(results: xr.Dataset, *parts: xr.Dataset) -> dict[str, str]:
    """Date, runs, time, hardware, versions and state of the library of a result file, "current" if
    all its runs come from the source that its chapter has now; `parts` count as runs and time.
    """
    a, now = results.attrs, source_hash(results.attrs.get("chapter"))
    dates = {str(one) for one in results["run_date"].values.ravel()} - {"nan"}
    made = {str(h) for h in results["run_source_hash"].values.ravel()} - {"", "nan"}
    walls = [one["run_wall_time"] for one in (results, *parts)]
    wall = float(sum(one.sum() for one in walls))
    unit, name = (3600, "h") if wall >= 6000 else (60, "min") if wall >= 100 else (1, "s")
    return {
        "date": max(dates)[:16].replace("T", " "),
        "runs": f"{sum(int(one.count()) for one in walls):,}",
        "time": f"{wall / unit:.{int(wall < 9.95 * unit)}f} {name}",
        "hardware": str(a["hardware"]),
        "versions": ", ".join(f"{k} {v}" for k, v in json.loads(a["versions"]).items() if v),
        "library": "current" if made == {now} else f"changed since ({', '.join(sorted(made))})",
    }
