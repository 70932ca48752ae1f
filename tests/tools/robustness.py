"""What if?

Runs are killed, parameters and files are garbage, disks are full, processes meet, the network is gone.

    python tests/tools/robustness.py --kills 50 --parameters 200 --files 100 --seed 0 --json report.jsonl

prints what broke and a summary of each part, and ends with 1 if something broke. Names of parts as
arguments choose some of them; `--help` lists them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import product
from pathlib import Path

import nbformat
import psutil
import xarray as xr
from fuzz_files import files
from fuzz_parameters import Case, good_sets, parameters
from tqdm import tqdm
from vulnerabilities import audit

from vnlib.book import paths, store

SMALL = "FR5_rotation"
"""A chapter whose smoke run takes about ten seconds of one core."""

HELPED = "I_mnist"
"""A chapter of one result file whose `fast` runs take two processes less than a minute."""

OFFLINE = (SMALL, "A_predictive_coding", "fig5_mnist")
"""A chapter without images, one with and one that falls back on other digits where there is no
MNIST.
"""

OWN = ("run_date", "run_wall_time", "run_git_revision", "run_git_dirty")
"""What two runs of the same thing need not share: their time, and what was committed between
them.
"""


@contextmanager
def temporary() -> Iterator[Path]:
    # An orphaned kernel may still write while the folder is removed.
    with tempfile.TemporaryDirectory(prefix="robustness-", ignore_cleanup_errors=True) as name:
        yield Path(name)


def command(chapter: str, folder: Path, *more: str) -> list[str]:
    """`vnbook run` in smoke, with a results folder of its own."""
    return [
        sys.executable,
        "-m",
        "book.site.cli",
        "run",
        chapter,
        "-p",
        "results_dir",
        str(folder),
        "--quiet",
        *more,
    ]


def begin(command: Sequence[str], folder: Path, **environment: str | None) -> subprocess.Popen:
    """Start a command; what it says goes to `folder`/said.

    An environment variable that is None is taken away.
    """
    folder.mkdir(parents=True, exist_ok=True)
    env = {k: v for k, v in (os.environ | environment).items() if v is not None} | {
        "OMP_NUM_THREADS": "1"
    }
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(command, cwd=paths.ROOT, env=env, stdout=said, stderr=said)


def said(folder: Path) -> str:
    """The last line that a command said."""
    return (
        (folder / "said").read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""]
    )[-1]


def results(folder: Path, chapter: str, profile: str = "smoke") -> xr.Dataset:
    """The results of a run without what is its own."""
    return store.read(folder / profile / f"{chapter}.nc").drop_vars(OWN, errors="ignore")


def difference(found: xr.Dataset, wanted: xr.Dataset) -> str:
    """Which variables or coordinates of two results are not the same to the bit."""
    names = sorted({*map(str, found.variables), *map(str, wanted.variables)})
    bad = [n for n in names if n not in found.variables or n not in wanted.variables]
    bad += [n for n in names if n not in bad and not found[n].identical(wanted[n])]
    return f"not as without interruption: {', '.join(bad)}" if bad else ""


def damaged(folder: Path) -> str:
    """The first result file or notebook that is there and cannot be read."""
    for path in sorted({*folder.rglob("*.nc"), *folder.rglob("*.ipynb")}):
        try:
            if path.suffix == ".nc":
                store.read(path)
            elif not path.name.startswith("."):  # a draft
                nbformat.validate(nbformat.read(path, as_version=4))
        except Exception as error:
            if path.exists():  # else it was merged in the meantime
                return f"{path.name}: {error}"
    return ""


# --- kill -9 --------------------------------------------------------------------------------------


def kill_at(moment: float, command: Sequence[str], folder: Path, *, family: bool) -> int | None:
    """Kill a command after `moment` seconds, its kernel too if `family`; the code it ended with if
    it was earlier.
    """
    process = begin(command, folder)
    try:
        return process.wait(moment)
    except subprocess.TimeoutExpired:
        victims = [
            process,
            *(psutil.Process(process.pid).children(recursive=True) if family else []),
        ]
        for victim in victims:
            with suppress(psutil.NoSuchProcess):
                victim.send_signal(signal.SIGKILL)
        process.wait()
        return None


def killed(
    chapter: str,
    moments: Sequence[float],
    folder: Path,
    wanted: xr.Dataset,
    seed: int,
    profile: str = "smoke",
    jobs: int = 1,
) -> Iterator[Case]:
    """Kill a chapter at each of these seconds and go on in the same results folder until they are
    complete, then in a new one; run the last to its end.

    About every second time the kernel is left alone: until it notices, it works beside the run that
    follows.
    """
    rng, home, held = random.Random(seed), folder / "0", set[Path]()
    more = ("-p", "profile", profile, "--jobs", str(jobs))
    for number, moment in enumerate(moments, 1):
        code = kill_at(moment, command(chapter, home, *more), home, family=rng.random() < 0.5)
        there = set(home.glob(f"{profile}/*.runs/*.nc"))
        # nor merged
        lost = sorted(
            path.name for path in held - there if not path.parent.with_suffix(".nc").exists()
        )
        complete = (home / profile / f"{chapter}.nc").exists() and not list(
            home.glob(f"{profile}/*.runs")
        )
        wrong = (
            said(home) if code else damaged(home) or (f"lost: {', '.join(lost)}" if lost else "")
        )
        wrong = wrong or (difference(results(home, chapter, profile), wanted) if complete else "")
        stage = "results complete" if complete else f"{len(there)} runs saved"
        yield Case(
            f"{number} after {moment:.1f} s",
            f"{'killed' if code is None else 'ended'}, {stage}",
            wrong,
        )
        home, held = (folder / str(number), set()) if complete else (home, there)
    code = begin(command(chapter, home, *more), home).wait()
    yield Case(
        "to the end",
        f"ended with {code}",
        said(home) if code else difference(results(home, chapter, profile), wanted),
    )


def kill(
    chapter: str = SMALL, times: int = 50, seed: int = 0, profile: str = "smoke", jobs: int = 1
) -> Iterator[Case]:
    """kill -9 at random moments of a chapter's time, every second one after its runs have begun,
    where there is more to lose; it goes on, and ends with the same results.
    """
    rng = random.Random(seed)
    with temporary() as folder:
        whole, start = folder / "whole", time.perf_counter()
        more = ("-p", "profile", profile, "--jobs", str(jobs))
        process, began = begin(command(chapter, whole, *more), whole), None
        while process.poll() is None:
            if began is None and (whole / profile).exists():
                began = time.perf_counter() - start
            time.sleep(0.02)
        took = time.perf_counter() - start
        if process.returncode or began is None:
            yield Case("uninterrupted run", "failed", said(whole))
            return
        yield Case(f"uninterrupted run of {took:.0f} s", "finished")
        moments = [rng.uniform(began if number % 2 else 0.1, took) for number in range(times)]
        wanted = results(whole, chapter, profile)
        yield from killed(chapter, moments, folder, wanted, seed, profile, jobs)


# --- Parameters that are good, for real -----------------------------------------------------------


def explained(text: str) -> bool:
    """Whether a command that failed says in its last line what was wrong with its input, and shows
    no traceback.
    """
    last = (text.strip().splitlines() or [""])[-1]
    ours = re.match("vnbook: (?!a cell failed with (?!ValueError|StoreError))", last)
    return bool(ours) and "Traceback" not in text


def runs(times: int = 8, seed: int = 0) -> Iterator[Case]:
    """Random parameters that the check accepts, run in smoke with one seed: results, or an error
    that explains.
    """
    for number, (chapter, given) in enumerate(good_sets(times, seed)):
        with temporary() as folder:
            pairs = [
                word for name, value in given.items() for word in ("-p", name, json.dumps(value))
            ]
            code = begin(command(chapter, folder, *pairs), folder).wait()
            refused = f"refused, {said(folder)[:200]}" if code else ""
            wrong = "" if explained((folder / "said").read_text(errors="replace")) else refused
            yield Case(
                f"{number}: {chapter} {given}",
                refused or "finished",
                wrong if code else damaged(folder),
            )


# --- Two at a time --------------------------------------------------------------------------------


def meeting(
    chapter: str, folder: Path, commands: Sequence[Sequence[str]], wanted: xr.Dataset
) -> Case:
    """What comes of runs of a chapter that begin at the same time, in one results folder."""
    processes = [begin(command, folder) for command in commands]
    ends = [process.wait() for process in processes]
    wrong = (
        said(folder)
        if any(ends)
        else damaged(folder) or difference(results(folder, chapter), wanted)
    )
    left = [path.name for path in (folder / "smoke").glob("*") if path.suffix != ".nc"]
    return Case(
        f"{folder.name} at a time",
        f"ended with {ends}",
        wrong or (f"left behind: {left}" if left else ""),
    )


def together(chapter: str = SMALL) -> Iterator[Case]:
    """Two and three runs of a chapter at the same time, and one with a process of its own: the
    results of one.
    """
    with temporary() as folder:
        begin(command(chapter, folder / "1"), folder / "1").wait()
        alone = results(folder / "1", chapter)
        for name, many in {"2": 2, "3": 3}.items():
            yield meeting(chapter, folder / name, [command(chapter, folder / name)] * many, alone)
        jobs = folder / "--jobs 2"
        yield meeting(chapter, jobs, [command(chapter, jobs, "--jobs", "2")], alone)


# --- A full disk ----------------------------------------------------------------------------------

FULL = """
mount -t tmpfs -o size=$1 none "$2" || exit 99
disk=$2; shift 2
"$@"; echo $? > "$disk.code"
mount -o remount,size=64m "$disk"
"$@"; code=$?
cp -r "$disk"/. "$disk.kept"; exit $code
"""


def full(chapter: str = SMALL, sizes: Sequence[str] = ("8k", "40k")) -> Iterator[Case]:
    """A disk too small for a chapter's results, with its page and without: a refusal that says what
    to do; the same command then goes on where there is room, to the same results.
    """
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        yield Case("file system of its own", "SKIPPED: no namespace")
        return
    with temporary() as folder:
        begin(command(chapter, folder / "whole"), folder / "whole").wait()
        wanted = results(folder / "whole", chapter)
        for number, (size, more) in enumerate(product(sizes, [[], ["--no-page"]])):
            log, disk = folder / str(number), folder / str(number) / "disk"
            disk.mkdir(parents=True)
            script = [*alone, "sh", "-c", FULL, "sh", size, str(disk)]
            code = begin([*script, *command(chapter, disk, *more)], log).wait()
            lines = (log / "said").read_text(encoding="utf-8", errors="replace")
            first = (log / "disk.code").read_text().strip()
            wrong = "" if "make room" in lines and "Traceback" not in lines else lines[-300:]
            wrong = f"ended with {first}" if first != "1" else wrong
            kept = log / "disk.kept"
            wrong = wrong or (said(log) if code else difference(results(kept, chapter), wanted))
            yield Case(" ".join([size, *more]), f"refused, ended with {code}", wrong)


# --- No network -----------------------------------------------------------------------------------

CUT_OFF = """
import fcntl, os, socket, struct, sys
# A new network namespace has a loopback device, which is off, and no other.
with socket.socket() as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
ALONE = ("unshare", "--user", "--map-root-user", "--net", sys.executable, "-c", CUT_OFF)


def no_namespace() -> str:
    """Why a process cannot be cut off from the network here; "" if it can."""
    try:
        done = subprocess.run([*ALONE, "-c", ""], capture_output=True, text=True)
        return done.stderr.strip()[-200:] if done.returncode else ""
    except OSError as error:
        return str(error)


def cut_off(arguments: Sequence[str], folder: Path) -> int:
    """Run Python with these arguments, without a network and without MNIST; returns the code it
    ends with.
    """
    unset: dict[str, str | None] = {"VNBOOK_OFFLINE": None, "VNBOOK_DATA": None}
    return begin([*ALONE, *arguments], folder, XDG_CACHE_HOME=str(folder / "cache"), **unset).wait()


def offline(chapters: Sequence[str] = OFFLINE) -> Iterator[Case]:
    """Chapters without any network, where nothing says so, and without MNIST."""
    if reason := no_namespace():
        yield Case("network namespace", f"SKIPPED: {reason}")
        return
    for chapter in chapters:
        with temporary() as folder:
            code = cut_off(command(chapter, folder)[1:], folder)
            yield Case(chapter, f"ended with {code}", said(folder) if code else damaged(folder))


# --- All of it ------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Case]]] = {
    "parameters": lambda o: parameters(o.parameters, o.seed),
    "files": lambda o: files(o.files, o.seed),
    "audit": lambda o: audit(),
    "together": lambda o: together(o.chapter),
    "offline": lambda o: offline(),
    "runs": lambda o: runs(o.runs, o.seed),
    "full": lambda o: full(o.chapter),
    "kill": lambda o: kill(o.chapter, o.kills, o.seed, o.profile, o.jobs),
    "helpers": lambda o: kill(HELPED, o.kills, o.seed, "fast", jobs=2),
}


def options(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; all if none is named"
    )
    parser.add_argument(
        "--chapter", default=SMALL, help="the chapter that is killed and run twice (%(default)s)"
    )
    parser.add_argument(
        "--kills", type=int, default=50, help="moments of each part that kills (%(default)s)"
    )
    parser.add_argument("--profile", default="smoke", help="of these runs (%(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="of these runs (%(default)s)")
    parser.add_argument(
        "--parameters", type=int, default=200, help="sets of parameters, good and bad (%(default)s)"
    )
    parser.add_argument("--runs", type=int, default=8, help="good sets that are run (%(default)s)")
    parser.add_argument(
        "--files", type=int, default=100, help="files damaged at random (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="where every case goes, as JSON, one in a line")
    chosen = parser.parse_args(words)
    if unknown := sorted(set(chosen.parts) - PARTS.keys()):
        parser.error(f"no part is called {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    return chosen


def main(words: Sequence[str] | None = None) -> int:
    """Try the parts, show what broke and how often what came of them; 1 if something broke."""
    chosen = options(words)
    report: dict[str, list[Case]] = {}
    with open(chosen.json or os.devnull, "w", encoding="utf-8") as lines:
        for part in chosen.parts or PARTS:
            cases = report[part] = []
            for case in tqdm(PARTS[part](chosen), desc=part, unit="case"):
                cases.append(case)
                print(json.dumps({"part": part} | asdict(case)), file=lines, flush=True)
                if case.wrong:
                    tqdm.write(f"BROKEN {part}: {case.name}: {case.came}: {case.wrong}")
    for part, cases in report.items():
        came = Counter(
            "BROKEN" if case.wrong else re.split("[,:]| with", case.came)[0] for case in cases
        )
        print(f"{part}: {', '.join(f'{number} {what}' for what, number in sorted(came.items()))}")
    return int(any(case.wrong for cases in report.values() for case in cases))


if __name__ == "__main__":
    sys.exit(main())
