"""Work in several processes: all of it is done, apart from each other, and failures are told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import forked_kernels
import psutil
import pytest

from book.site import processes
from vnlib.book import paths

CALLS = []


def note(folder: Path, number: int) -> None:
    """Leave a file that says which process this is, and what was called in it before."""
    CALLS.append(number)
    (folder / f"{number}").write_text(f"{os.getpid()} {CALLS}")


def fail(folder: Path) -> None:
    raise ValueError("a cell failed")


def end(folder: Path) -> None:
    os._exit(3)


def unsendable(folder: Path) -> None:
    raise ValueError(lambda: "nothing that pickle takes")


def test_each_call_has_a_process_of_its_own(tmp_path):
    processes.each({f"{n}": partial(note, tmp_path, n) for n in range(5)}, jobs=2)
    told = [(tmp_path / f"{number}").read_text().partition(" ") for number in range(5)]
    assert len({pid for pid, *_ in told} | {str(os.getpid())}) == 6
    assert [calls for *_, calls in told] == [f"[{number}]" for number in range(5)]


def test_one_job_is_done_here(tmp_path):
    processes.each({"0": partial(note, tmp_path, 0)}, jobs=1)
    assert (tmp_path / "0").read_text().split()[0] == str(os.getpid())


def test_what_is_made_meanwhile_is_there_for_those_that_begin_later(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "CALLS", [])
    calls = {f"{number}": partial(note, tmp_path, number) for number in range(3)}
    processes.each(calls, jobs=2, meanwhile=lambda: CALLS.append("made"))
    told = [(tmp_path / name).read_text().partition(" ")[2] for name in calls]
    assert told == ["[0]", "['made', 1]", "['made', 2]"]


def look(folder: Path, name: str) -> None:
    """Leave a file that says which others were there."""
    seen = sorted(one.name for one in folder.iterdir())
    time.sleep(0.1)
    (folder / name).write_text(" ".join(seen))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_call_waits_for_those_that_it_comes_after(tmp_path, jobs):
    calls = {name: partial(look, tmp_path, name) for name in "abcd"}
    processes.each(calls, jobs=jobs, after={"a": ["d", "none"], "b": ["a", "c"]})
    seen = {name: (tmp_path / name).read_text().split() for name in "abcd"}
    assert "d" in seen["a"] and {"a", "c"} <= {*seen["b"]}


@pytest.mark.parametrize("jobs", [1, 2])
def test_calls_that_wait_for_each_other_are_refused(tmp_path, jobs):
    calls = {name: partial(look, tmp_path, name) for name in "ab"}
    with pytest.raises(ValueError, match="after must let one of a, b begin"):
        processes.each(calls, jobs=jobs, after={"a": ["b"], "b": ["a"]})


@pytest.mark.parametrize(
    ("broken", "error", "said"),
    [
        (fail, ValueError, "a cell failed"),
        (end, RuntimeError, "status 3"),
        (unsendable, RuntimeError, "status 1"),
    ],
)
def test_a_failure_is_told_and_what_has_not_begun_does_not(tmp_path, broken, error, said):
    calls = {name: partial(broken, tmp_path) for name in "ab"}
    calls |= {f"{n}": partial(note, tmp_path, n) for n in range(40)}
    with pytest.raises(error, match=said):
        processes.each(calls, jobs=2)
    assert len(list(tmp_path.iterdir())) < 40


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for the threads of a process")
def test_what_is_forked_for_chapters_has_one_thread():
    """A lock that another thread holds stays held in a fork for good."""
    asked = (
        "import os; from book.site import build; build._import_shared(); "
        "print(*(len(os.listdir(f'/proc/{one}/task')) for one in (os.getpid(), os.getppid())))"
    )
    told = forked_kernels.python(asked).stdout.split()  # of most libraries its parent tells
    assert told == ["1", "1"]


@pytest.mark.skipif(sys.platform != "linux", reason="forks")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(tmp_path, kind):
    """Whatever it ends of, and though it takes SIGTERM for an interrupt."""
    code = (
        "import os, signal, sys, time; from functools import partial; from pathlib import Path\n"
        "from book.site import processes\n"
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "def work(n): Path(sys.argv[1], str(n)).write_text(f'{os.getpid()} '); time.sleep(100)\n"
        "processes.each({'a': partial(work, 0), 'b': partial(work, 1)}, jobs=2)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=paths.SOURCE, stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + 60
    files = [tmp_path / "0", tmp_path / "1"]
    while not all(one.exists() and one.read_text().endswith(" ") for one in files):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.02)
    workers = [psutil.Process(int(one.read_text())) for one in files]
    process.send_signal(kind)
    process.wait()
    gone, alive = psutil.wait_procs(workers, timeout=30)
    for one in alive:
        one.kill()
    assert len(gone) == 2
