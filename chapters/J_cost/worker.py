"""A process that computes a few runs of a chapter and says what they took (see `account`).

`python -m chapters.J_cost.worker ORDER`: ORDER is JSON. The last line printed is JSON, too:
one entry per run, and why the work ended before all runs were done, if it did.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from vnlib.book import chapter, paths, store


class OutOfTime(BaseException):
    """The work was not done in time; no Exception, which a reader of files or a store of runs takes
    for its own.
    """


def held() -> tuple[float, float]:
    """Bytes of memory that this process holds, and the most since the last `forget`.

    Without /proc: ever, twice.
    """
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        sizes = {
            line.split(":")[0]: 1024.0 * int(line.split()[1])
            for line in lines
            if line.startswith("Vm")
        }
        return sizes["VmRSS"], sizes["VmHWM"]
    except (OSError, KeyError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1.0 if sys.platform == "darwin" else 1024.0
        )
        return most, most


def forget() -> None:
    """Begin the count of the most memory held anew, where the system lets us."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def on_disk(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Watch:
    """Looks, ten times a second, how much a folder holds: checkpoints are deleted when a run is
    done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.most, self._over = folder, 0, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            with suppress(OSError):  # a file that was there a moment ago
                self.most = max(self.most, on_disk(self.folder))

    def stop(self) -> int:
        """The most bytes that were seen."""
        self._over.set()
        self._thread.join()
        return self.most


def cut(sidecar: Mapping[str, Any], profile: str, lengths: Sequence[str]) -> dict[str, Any]:
    """A sidecar whose `profile` takes the settings named in `lengths` from `smoke`.

    Raises
    ------
    ValueError
        For others.
    """
    smoke, wanted = sidecar["profiles"]["smoke"], sidecar["profiles"][profile]
    if unknown := [name for name in lengths if name not in smoke]:
        raise ValueError(
            f"lengths must be settings of the smoke profile, got {unknown}; it has "
            f"{', '.join(smoke)}"
        )
    short = chapter.overlay(wanted, {name: smoke[name] for name in lengths})
    return {**sidecar, "profiles": {**sidecar["profiles"], profile: short}}


class Gauge:
    """Stands in for `store.grid`: computes the runs wanted, one by one, and measures each."""

    def __init__(self, only: Mapping[str, Sequence]) -> None:
        self.only, self.entries, self.grid = only, [], store.grid

    def __call__(
        self, run: Callable, axes: Mapping[str, Sequence], **options: Any
    ) -> store.GridResult:
        wanted = {
            name: [v for v in values if v in self.only.get(name, values[:1])]
            for name, values in axes.items()
        }
        # another part's axis
        chosen = {name: values or list(axes[name][:1]) for name, values in wanted.items()}
        for cell in product(*chosen.values()):
            one = {name: [value] for name, value in zip(chosen, cell, strict=True)}
            result = self.grid(
                self._measured(run, options["path"]), one, **options | {"progress": False}
            )
        if len(list(product(*chosen.values()))) == 1:
            return result
        return self.grid(run, chosen, **options | {"progress": False})

    def _measured(self, run: Callable, path: Path) -> Callable:
        def measured(axes: dict, settings: dict, workdir: Path) -> xr.Dataset:
            forget()
            before, begin, begin_cpu = held()[0], time.perf_counter(), time.process_time()
            done, watch = False, Watch(workdir)
            try:
                result = run(axes, settings, workdir)
                done = True
                return result
            finally:
                wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
                entry = {
                    "part": path.stem,
                    "run": ", ".join(map(str, axes.values())),
                    "done": int(done),
                    "before": before,
                    "peak": held()[1],
                    "wall": wall,
                    "cpu": cpu,
                    "checkpoints": float(watch.stop()),
                    "device_peak": float("nan"),
                }
                if torch.cuda.is_available():
                    entry["device_peak"] = float(torch.cuda.max_memory_allocated())
                self.entries.append(entry)

        return measured


def work(order: Mapping[str, Any]) -> dict[str, Any]:
    """Do what an order says, whose entries are the arguments of `account.measure` and
    `scratch`, a new folder.

    Raises
    ------
    ValueError
        For a chapter, or lengths, that do not exist.
    """
    name, profile = order["chapter"], order["profile"]
    original = chapter.spec

    def shortened(one: str) -> chapter.Spec:
        spec = original(one)
        return (
            replace(spec, sidecar=cut(spec.sidecar, profile, order["lengths"]))
            if one == name
            else spec
        )

    shortened(name)  # refuses names that it does not know, before anything is done
    folder = Path(order["scratch"]) / profile
    folder.mkdir(parents=True)
    for needed in original(name).needs:
        if (stored := Path(order["results"]) / profile / f"{needed}.nc").exists():
            shutil.copy(stored, folder)
    gauge = Gauge(order["only"])
    given = {"profile": profile, "device": order["device"], "results_dir": order["scratch"]}
    if "models" in original(name).parameters and "model" in order["only"]:
        given["models"] = list(order["only"]["model"])

    def out_of_time(*_: object) -> None:
        raise OutOfTime(f"stopped after {order['limit']:g} s")

    why = ""
    chapter.spec, store.grid = shortened, gauge
    timed = hasattr(signal, "setitimer")
    if timed:  # processor time: a busy machine must not cut a run short
        signal.signal(signal.SIGPROF, out_of_time)
        signal.setitimer(signal.ITIMER_PROF, order["limit"])
    try:
        torch.set_num_threads(1)
        start = held()[0]
        chapter.fill(name, given)
    except (Exception, OutOfTime) as error:
        # What the chapter does with so few runs is not what is measured; that it ended early is
        # recorded.
        why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0)
        chapter.spec, store.grid = original, gauge.grid
    return {"entries": gauge.entries, "why": why, "program": start}


def main() -> None:
    order = json.loads(sys.argv[1])
    order.setdefault("results", str(paths.RESULTS))
    print(json.dumps(work(order)))


if __name__ == "__main__":
    main()
