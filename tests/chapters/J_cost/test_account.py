"""What stored results say of their cost, against files whose cost is known; and the account of a
chapter.
"""

from __future__ import annotations

import json
import signal
import time
from contextlib import suppress
from mmap import mmap
from pathlib import Path

import forked_kernels
import numpy as np
import pytest
import xarray as xr

from chapters.J_cost import account, stored, worker
from vnlib.book import chapter, store

CPU, GPU = "A processor, 1 core", "A processor, 2 cores, A card"


def kept(
    folder,
    name,
    seconds=(1.0, 3.0),
    models=("a", "b"),
    weights=None,
    date="2026-01-02",
    hardware=(CPU, CPU),
):
    """A result file of the models (and two seeds), each of whose runs took so long there."""
    took, where = (
        (("model", "seed"), np.array([[one, one] for one in each])) for each in (seconds, hardware)
    )
    ds = xr.Dataset({"run_wall_time": took}, {"model": list(models), "seed": [0, 1]})
    ds["run_hardware"] = where[0], where[1][: len(models)]
    if weights:
        ds["n_parameters"] = (("model", "seed"), np.array([[w, w] for w in weights], float))
    ds.attrs["date"] = f"{date}T00:00:00+00:00"
    store.write(ds, folder / f"{name}.nc")


def test_all_parts_of_a_chapter_count_and_other_tasks_do_not(tmp_path):
    kept(tmp_path, "one", weights=(10, 20))
    kept(tmp_path, "one.tuning", seconds=(5.0, 0.5), weights=(10, 20), date="2026-02-03")
    kept(tmp_path, "one--n=3")
    kept(tmp_path, "one_more")
    said = stored.stored(tmp_path, "one")
    assert said["runs"] == 8 and said["seconds"] == 2 * (1 + 3 + 5 + 0.5)
    assert said["bytes"] == sum(
        (tmp_path / f"{name}.nc").stat().st_size for name in ("one", "one.tuning")
    )
    assert said["date"].startswith("2026-02-03")
    assert said["weights"] == said["selection_weights"] == 2 * 4 * (10 + 20)
    json.dumps(said)


def test_runs_that_are_not_there_do_not_count(tmp_path):
    kept(tmp_path, "one", seconds=(1.0, float("nan")), weights=(10, 20))
    said = stored.stored(tmp_path, "one")
    assert (said["runs"], said["seconds"], said["weights"]) == (2, 2.0, 2 * 4 * 10)


def test_time_with_a_gpu_is_no_time_of_a_core(tmp_path):
    kept(tmp_path, "one", hardware=(CPU, GPU))
    said = stored.stored(tmp_path, "one")
    assert (said["runs"], said["seconds"], said["gpu_runs"], said["gpu_seconds"]) == (4, 2, 2, 6)
    assert stored.table(tmp_path, ["one"])["gpu"].values.tolist() == [0, 1]


def test_weights_are_unknown_where_the_file_does_not_say_them(tmp_path):
    kept(tmp_path, "one")
    assert stored.stored(tmp_path, "one")["weights"] == -1
    assert np.isnan(account.account(stored.stored(tmp_path, "one"), {})["weights"])


@pytest.mark.parametrize("damage", ["absent", "damaged", "foreign"])
def test_what_is_missing_is_named_and_is_no_error(tmp_path, damage):
    if damage == "damaged":
        (tmp_path / "one.nc").write_bytes(b"not a result")
    elif damage == "foreign":
        store.write(xr.Dataset({"x": ((), 1.0)}), tmp_path / "one.nc")
    said = stored.stored(tmp_path, "one")
    assert list(said) == ["missing"] and "one" in said["missing"]
    line = account.account(said, {"peak": 3.0})
    assert "one" in str(line["missing"].item()) and np.isnan(line["bytes"]) and line["peak"] == 3
    assert stored.table(tmp_path, ["one"]).sizes["model"] == 0


def test_models_of_all_chapters_stand_in_one_table(tmp_path):
    kept(tmp_path, "one", weights=(10, 20))
    kept(tmp_path, "two", seconds=(7.0,), models=("c",))
    found = stored.table(tmp_path, ["one", "absent", "two"])
    assert found["model"].values.tolist() == ["a", "b", "c"]
    assert found["chapter"].values.tolist() == ["one", "one", "two"]
    assert found["seconds"].values.tolist() == [2, 6, 14] and found["median"].values.tolist() == [
        1,
        3,
        7,
    ]
    assert found["weights"].values[:2].tolist() == [10, 20] and np.isnan(found["weights"].values[2])


def test_a_chapter_that_compares_no_models_is_one(tmp_path):
    ds = xr.Dataset(
        {"run_wall_time": ("seed", [2.0, 4.0, 9.0]), "run_hardware": ("seed", [CPU] * 3)},
        {"seed": [0, 1, 2]},
        {"date": "2026"},
    )
    store.write(ds, tmp_path / "one.nc")
    found = stored.models(tmp_path, "one")
    assert found["model"].values.tolist() == ["one"]
    assert [found[name].item() for name in ("runs", "seconds", "median")] == [3, 15, 4]


# --- Measured runs --------------------------------------------------------------------------------


def report(**changes):
    entry = {
        "part": "one",
        "run": "a, 0",
        "done": 1,
        "before": 3e8,
        "peak": 5e8,
        "wall": 2.0,
        "cpu": 1.0,
        "checkpoints": 10.0,
        "device_peak": float("nan"),
    }
    return {
        "entries": [entry, {**entry, "run": "b, 0", "peak": 4e8, **changes}],
        "why": "",
        "program": 2e8,
    }


def test_the_largest_run_counts():
    most = account.largest(account.table(report(checkpoints=70.0, done=0)))
    assert most == {
        "peak": 5e8,
        "own": 3e8,
        "checkpoints": 70.0,
        "runs_measured": 2.0,
        "finished": 0.0,
    }
    assert account.largest(account.table(report(device_peak=9.0)))["device_peak"] == 9


def test_runs_of_another_chapter_do_not_count():
    """Merged with a chapter of more runs, the shorter one is filled up with NaN."""
    both = xr.concat(
        [account.table(report()), account.table(report()).isel(run=[0])],
        "chapter",
        join="outer",
    )
    assert account.largest(both.isel(chapter=1))["runs_measured"] == 1


def test_nothing_measured_is_nothing():
    assert account.largest(account.table({"entries": [], "why": "no", "program": 1.0})) == {}


def test_lengths_come_from_smoke_and_sizes_stay():
    sidecar = {
        "profiles": {
            "smoke": {"scale": 0.1, "n": 1, "net": {"steps": 2}},
            "paper": {"scale": 1.0, "n": 9, "net": {"steps": 8, "K": 5}},
        }
    }
    short = worker.cut(sidecar, "paper", ["scale", "net"])["profiles"]["paper"]
    assert short == {"scale": 0.1, "n": 9, "net": {"steps": 2, "K": 5}}
    assert sidecar["profiles"]["paper"]["scale"] == 1.0
    with pytest.raises(
        ValueError, match=r"lengths must be settings of the smoke profile, got \['other'\]"
    ):
        worker.cut(sidecar, "paper", ["other"])


def test_the_gauge_sees_memory_that_is_freed_again():
    before = worker.held()[0]
    worker.forget()
    with mmap(-1, 320_000_000) as block:  # memory of its own, whatever the process has kept
        np.frombuffer(block, np.uint8)[:] = 1
    assert worker.held()[1] >= before + 250e6


def test_the_watch_sees_files_that_are_deleted_again(tmp_path):
    watch = worker.Watch(tmp_path)
    (tmp_path / "checkpoint").write_bytes(b"x" * 1000)
    deadline = time.monotonic() + 20
    while watch.most < 1000 and time.monotonic() < deadline:
        time.sleep(0.02)
    (tmp_path / "checkpoint").unlink()
    assert watch.stop() == 1000


def order(tmp_path, **changes):
    return {
        "chapter": "fig2_spatial",
        "profile": "smoke",
        "device": "cpu",
        "results": str(tmp_path / "none"),
        "scratch": str(tmp_path / "scratch"),
        "limit": 60.0,
        "lengths": [],
        "only": {"model": ["a"]},
        **changes,
    }


def filled(axes, run):
    """A stand-in for `chapter.fill`: one grid, as a notebook asks for it."""

    def fill(name, given):
        path = Path(given["results_dir"]) / given["profile"] / f"{name}.nc"
        store.grid(run, axes, path=path, settings=lambda axes: {}, title=name)

    return fill


def test_only_the_runs_wanted_are_computed_and_the_first_of_other_axes(tmp_path, monkeypatch):
    grid, done = store.grid, []

    def run(axes, settings, workdir):
        done.append(tuple(axes.values()))
        return xr.Dataset({"x": ((), 1.0)})

    monkeypatch.setattr(
        chapter, "fill", filled({"model": ["b", "a", "c"], "seed": [4, 5], "way": ["u", "v"]}, run)
    )
    said = worker.work(order(tmp_path, only={"model": ["a", "c"], "way": ["v"]}))
    assert done == [("a", 4, "v"), ("c", 4, "v")]
    assert [entry["run"] for entry in said["entries"]] == ["a, 4, v", "c, 4, v"] and said[
        "why"
    ] == ""
    assert store.grid is grid
    json.dumps(said)


def test_where_no_value_wanted_is_on_the_axis_the_first_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr(
        chapter, "fill", filled({"model": ["x", "y"]}, lambda *_: xr.Dataset({"x": ((), 1.0)}))
    )
    assert [entry["run"] for entry in worker.work(order(tmp_path))["entries"]] == ["x"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that interrupts")
def test_a_run_that_takes_too_long_is_stopped_and_says_so(tmp_path, monkeypatch):
    def run(axes, settings, workdir):
        while True:
            # as a reader of files that tells of every error in its own words
            with suppress(Exception):
                sum(range(1000))

    monkeypatch.setattr(chapter, "fill", filled({"model": ["a"], "seed": [0]}, run))
    said = worker.work(order(tmp_path, limit=0.2))
    assert [entry["done"] for entry in said["entries"]] == [0]
    assert said["why"] == "OutOfTime: stopped after 0.2 s"


def test_what_fails_after_the_runs_is_said(tmp_path, monkeypatch):
    def fill(name, given):
        filled({"model": ["a"], "seed": [0]}, lambda *_: xr.Dataset({"x": ((), 1.0)}))(name, given)
        raise KeyError("other models")

    monkeypatch.setattr(chapter, "fill", fill)
    said = worker.work(order(tmp_path))
    assert said["entries"][0]["done"] == 1 and said["why"] == "KeyError: 'other models'"


def test_a_chapter_is_measured_in_a_process_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(account.subprocess, "run", forked_kernels.run)
    found = account.measure(
        "fig2_spatial",
        profile="smoke",
        device="cpu",
        results=tmp_path,
        lengths=["scale"],
        only={"model": ["vn_axes_1"]},
        limit=60,
    )
    assert found["label"].values.tolist() == ["fig2_spatial: vn_axes_1, 0"]
    assert found["done"].values.tolist() == [1] and found["why"].item() == ""
    assert bool((found["peak"] >= found["program"]).all())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chapter": "nothing"}, "chapter must be one of"),
        ({"lengths": ["nonsense"]}, "lengths must be settings"),
    ],
)
def test_orders_that_no_chapter_can_follow_are_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        worker.work(order(tmp_path, **change))


def test_a_process_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(account.subprocess, "run", forked_kernels.run)
    good = {"device": "cpu", "results": tmp_path, "only": {}, "lengths": [], "profile": "smoke"}
    with pytest.raises(
        RuntimeError, match=r"the process that measures nothing failed: .*chapter must be one of"
    ):
        account.measure("nothing", limit=1, **good)
    with pytest.raises(ValueError, match=r"limit must be .*got 0"):
        account.measure("fig2_spatial", limit=0, **good)
