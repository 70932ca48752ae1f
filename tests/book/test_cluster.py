"""The Snakefile: which jobs it makes of the chapters, what it refuses, and that a kill loses
nothing.

`tests/tools/cluster/slurm.sh` does the last on a real SLURM, if VNBOOK_TEST_SLURM is set; else the jobs
are processes here.
"""

from __future__ import annotations

import contextlib
import importlib.util
import math
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from vnlib.book import chapter, paths, store

CLUSTER = paths.SOURCE / "tests" / "tools" / "cluster"
needs_snakemake = pytest.mark.skipif(
    importlib.util.find_spec("snakemake") is None,
    reason="snakemake is not installed (the extra `cluster`)",
)

SIDECAR = """
title = "A chapter"
claims = []
{needs}
[profiles]
smoke = {{ seeds = 2 }}
fast = {{ seeds = 3, models = ["a"] }}
paper = {{ seeds = 5 }}
[models.a]
[models.b]
"""
STUDY = """
import time
import xarray as xr
from vnlib.book import paths

VARIABLES = {"y": ("a number", "1")}

def run(chapter, axes, settings, workdir):
    cell = axes["model"] + str(axes["seed"])
    with (paths.ROOT / "log").open("a") as log:
        log.write(cell + "\\n")
    while (paths.ROOT / ("hold-" + cell)).exists():
        time.sleep(0.05)
    return xr.Dataset({"y": settings["factor"] * (1.0 + axes["seed"])})

def results(chapter):
    settings = lambda chapter, axes: {"factor": len(axes["model"])}
    return chapter.grid(run, settings=settings, variables=VARIABLES)
"""
CELLS = (
    'profile = "smoke"\nseeds = None\nmodels = None\ndevice = "cpu"\nrecompute = False\n'
    'stale = "keep"\nresults_dir = None\n',
    "from chapters.{name} import study\nfrom vnlib.book import paths\n"
    "from vnlib.book.chapter import open_chapter\n"
    "chapter = open_chapter({name!r}, globals())\n"
    "results = study.results(chapter)\nchapter.footer(results)\n",
    "assert list(results['model'].values) == list(chapter.models), 'the page needs all models'\n"
    "(paths.ROOT / 'drawn').touch()\n",
)


@pytest.fixture
def chapters(project: Path) -> Path:
    """A project of two chapters, `first` and `second`, which needs it; a run waits while
    `hold-<cell>` exists.
    """
    shutil.rmtree(project / "chapters" / "tiny")
    for name, needs in (("first", ""), ("second", 'needs = ["first"]')):
        (project / "chapters" / name).mkdir()
        (project / "chapters" / name / f"{name}.toml").write_text(
            SIDECAR.format(needs=needs), encoding="utf-8"
        )
        (project / "chapters" / name / "study.py").write_text(STUDY, encoding="utf-8")
        notebook = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        )
        notebook.metadata["language_info"] = {"name": "python"}
        sources = [CELLS[0], CELLS[1].format(name=name), CELLS[2]]
        notebook.cells = [
            nbformat.v4.new_code_cell(source, metadata={"tags": []}) for source in sources
        ]
        notebook.cells[0].metadata.tags.append("parameters")
        nbformat.write(notebook, project / "chapters" / name / f"{name}.ipynb")
    return project


def arguments(project: Path, *config: str) -> list[str]:
    """What snakemake is told, by which it runs one job at a time."""
    given = ["profile=smoke", f"results_dir={project / 'results'}", "device=cpu", *config]
    where = ["--snakefile", str(paths.SOURCE / "Snakefile"), "--directory", str(project)]
    return [*where, "--cores", "1", "--config", *given]


@pytest.fixture
def dry_run(monkeypatch, capfd) -> Callable[..., tuple[int, str]]:
    """Snakemake's code and words of what it would do, in this process: a new one would spend
    seconds on its imports.
    """

    def run(project: Path, *config: str, flags: tuple[str, ...] = ()) -> tuple[int, str]:
        from snakemake.cli import main

        monkeypatch.chdir(project)  # which is where snakemake goes, and stays if it fails
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main([*arguments(project, *config), "--dry-run", *flags])
        return end.value.code, "".join(capfd.readouterr())

    return run


def jobs(said: str) -> dict[str, set[str]]:
    """Job -> the jobs it waits for, by the stems of their files."""
    found = {}
    for block in re.findall(r"^rule (?:slice|page|book):\n(?:    .*\n)+", said, re.M):
        of = dict(re.findall(r"^    (input|output): (.*)$", block, re.M))
        (job,) = stems(of["output"])
        found[job] = stems(of.get("input", ""))
    return found


def stems(files: str) -> set[str]:
    """`.../slices/first/a-seed0.done` is "first/a-seed0", `.../first.ipynb` is "first"."""
    found = (Path(file) for file in files.split(", ") if file)
    found = (f for f in found if f.parent.parent.name != "chapters")  # the sources
    return {
        f"{f.parent.name}/{f.stem}" if f.parent.parent.name == "slices" else f.stem for f in found
    }


# --- a slice --------------------------------------------------------------------------------------


def test_a_slice_computes_what_it_is_told_and_draws_nothing(chapters, vnbook):
    said = vnbook(
        "run", "first", "-p", "models", '["b"]', "-p", "seeds", "[1]", "--no-page", "--quiet"
    )
    assert said.code == 0, said.err
    results = store.read(chapters / "results" / "smoke" / "first.nc")
    assert results["model"].values.tolist() == ["b"] and results["seed"].values.tolist() == [1]
    assert results["y"].item() == 2.0  # 1 letter times (1 + seed)
    assert not (chapters / "drawn").exists() and not (chapters / "results" / "executed").exists()


BESIDE = """
import xarray as xr

def results(chapter, found):
    run = lambda chapter, axes, settings, workdir: xr.Dataset({"z": found["y"].sum()})
    return chapter.grid(run, {"of": ["all"]}, {}, variables={"z": ("sum", "1"), "of": ("what", "")}, part="more")
"""


def test_what_stands_beside_a_study_is_computed_with_all_of_it(chapters, vnbook):
    """Without a page, too, but by no slice."""
    folder, stored = chapters / "chapters" / "first", chapters / "results" / "smoke"
    (folder / "extra.py").write_text(BESIDE, encoding="utf-8")
    sidecar = folder / "first.toml"
    sidecar.write_text('beside = ["extra"]\n' + sidecar.read_text(encoding="utf-8"))
    for some in (("models", "b"), ("seeds", "[1]")):
        said = vnbook("run", "first", "-p", *some, "--no-page", "--quiet")
        assert said.code == 0 and not (stored / "first.more.nc").exists(), said.err
    said = vnbook("run", "first", "--no-page", "--quiet")
    assert said.code == 0, said.err
    every = store.read(stored / "first.nc")["y"]
    assert every.size == 4 and store.read(stored / "first.more.nc")["z"].item() == every.sum()


def test_a_slice_refuses_what_a_chapter_refuses(chapters, vnbook):
    said = vnbook("run", "first", "-p", "models", "c", "--no-page")
    assert said.code == 1 and "each of models must be one of 'a', 'b', got 'c'" in said.err
    said = vnbook("run", "first", "--no-page", "--jobs", "2")
    assert said.code == 1 and "leave out --output and --jobs" in said.err
    assert not (chapters / "results").exists()


# --- jobs -----------------------------------------------------------------------------------------


@needs_snakemake
def test_jobs_are_the_slices_and_pages_in_the_order_they_need(chapters, dry_run):
    own = {"a-seed0", "a-seed1", "b-seed0", "b-seed1"}
    expected = {
        "first/a-seed0": set(),
        "first/a-seed1": {"first/a-seed0"},  # which has chosen the settings of the model
        "first/b-seed0": set(),
        "first/b-seed1": {"first/b-seed0"},
        "first": {f"first/{one}" for one in own},
        "second/a-seed0": {"first"},
        "second/a-seed1": {"first", "second/a-seed0"},
        "second/b-seed0": {"first"},
        "second/b-seed1": {"first", "second/b-seed0"},
        "second": {"first", *(f"second/{one}" for one in own)},
    }
    code, said = dry_run(chapters, "chapters=second")
    assert code == 0, said
    assert jobs(said) == expected  # with what it needs


@needs_snakemake
def test_jobs_follow_the_profile_and_the_size_of_a_slice(chapters, dry_run):
    _, said = dry_run(
        chapters, "chapters=first", "profile=fast", "seeds_per_slice=2", flags=("--printshellcmds",)
    )
    assert jobs(said).keys() == {"first/a-seed0+1", "first/a-seed2", "first"}
    # The first seed, which is there by then, goes along: a chapter may treat it in its own way.
    assert sorted(re.findall(r"seeds '(\[.*?\])'", said)) == ["[0, 1]", "[0, 2]"]


@needs_snakemake
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("profle=fast", "there is no config value 'profle'. Did you mean 'profile'?"),
        ("profile=quick", "profile must be one of 'smoke', 'fast', 'paper', got 'quick'"),
        ("chapters=third", "each of chapters must be one of 'first', 'second', got 'third'"),
        ("chapters=[]", "each of chapters must be one of 'first', 'second', got ''"),
        ("device=gpu", "device must be auto, cpu, cuda or cuda:N, got 'gpu'"),
        ("results_dir=5", "results_dir must be text, got 5"),
        ("seeds_per_slice=0", "seeds_per_slice must be an integer >= 1, got 0"),
    ],
)
def test_config_that_is_not_allowed_is_refused_before_anything_runs(
    chapters, dry_run, given, expected
):
    code, said = dry_run(chapters, given)
    assert code == 1 and expected in said
    assert not (chapters / "results").exists()


@needs_snakemake
def test_a_book_of_some_chapters_is_refused(chapters, dry_run):
    code, said = dry_run(chapters, "chapters=first", flags=("book",))
    assert code == 1 and "the book needs all chapters, and second is left out" in said
    code, said = dry_run(chapters, flags=("book",))
    assert code == 0 and jobs(said)["book"] == {"first", "second"}


# --- the chapters of the book ---------------------------------------------------------------------


@needs_snakemake
def test_slices_of_the_paper_profile_are_its_models_and_seeds(tmp_path, dry_run):
    code, said = dry_run(tmp_path, "profile=paper")
    assert code == 0, said
    expected = set(paths.chapters())
    for name in paths.chapters():
        expected |= {f"{name}/{one}" for one in sidecar_slices(name)}
    assert jobs(said).keys() == expected


def sidecar_slices(name: str) -> set[str]:
    sidecar = tomllib.loads((paths.sidecar(name)).read_text(encoding="utf-8"))
    paper = sidecar.get("settings", {}) | sidecar["profiles"]["paper"]
    known = chapter.spec(name).parameters
    seeds = range(paper["seeds"]) if sidecar.get("stores", True) else ()
    models = (
        [f"{one}-" for one in paper.get("models", sidecar["models"])] if "models" in known else [""]
    )
    return {f"{model}seed{seed}" for model in models for seed in seeds}


def test_the_page_says_how_many_slices_there_are():
    many = Counter(
        (name, one.partition("seed")[0])
        for name in paths.chapters()
        for one in sidecar_slices(name)
    )
    each, together = (sum(math.ceil(seeds / step) for seeds in many.values()) for step in (1, 8))
    page = (paths.SOURCE / "book" / "cluster.md").read_text(encoding="utf-8")
    assert f"about {round(each, -2):,}, or {round(together, -1)} with `seeds_per_slice=8`" in page


class Computes(Exception):
    """Raised in place of a run."""


def fills(name: str, given: dict) -> bool:
    """Whether these runs of a chapter are stored, each with the settings that it would have now."""
    try:
        chapter.fill(name, given)
    except Computes:
        return False
    return True


@pytest.mark.parametrize("name", paths.chapters())
def test_a_slice_asks_for_the_runs_of_the_whole_chapter(name, tmp_path, monkeypatch):
    """Beside the shipped results it computes nothing: were a setting another in a slice, its page
    would start again.
    """
    if not (shipped := sorted((paths.RESULTS / "paper").glob(f"{name}.*nc"))):
        pytest.skip("no results of this chapter are shipped")
    if not (names := sorted(sidecar_slices(name))):
        pytest.skip("a chapter that only reads has no slices")
    (tmp_path / "paper").mkdir()
    for path in shipped:
        (tmp_path / "paper" / path.name).symlink_to(path)

    def attempt(*_):
        raise Computes

    monkeypatch.setattr(store.store._Fill, "attempt", attempt)
    whole = {"profile": "paper", "device": "cpu", "results_dir": str(tmp_path)}
    model, _, seed = names[-1].rpartition("seed")
    every = {"seeds": [0, int(seed)]}
    part = every | ({"models": [model.removesuffix("-")]} if model else {})
    if not (fills(name, whole | part) and fills(name, whole | every)):
        assert not fills(name, whole), "a slice would compute what the whole chapter has"
        pytest.skip("the shipped results are of other settings than the chapter has now")


# --- a kill ---------------------------------------------------------------------------------------


@needs_snakemake
@pytest.mark.slow
def test_a_killed_run_goes_on_and_ends_with_the_same_results(chapters, monkeypatch):
    held = chapters / "hold-a1"
    held.touch()
    log = chapters / "log"
    command = [
        sys.executable,
        "-m",
        "snakemake",
        *arguments(chapters, "chapters=first", "profile=fast"),
    ]
    with (chapters / "first.txt").open("w") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
        end = time.monotonic() + 900  # only so that a fault ends the test
        while "a1" not in (log.read_text() if log.exists() else "") and time.monotonic() < end:
            assert process.poll() is None, (chapters / "first.txt").read_text()
            time.sleep(0.1)
        os.killpg(process.pid, signal.SIGKILL)  # snakemake and the job that waits
        process.wait()
    kept = log.read_text().split()
    assert kept[0] == "a0" and kept[-1] == "a1" and not (chapters / "drawn").exists()

    held.unlink()
    with contextlib.suppress(SystemExit), monkeypatch.context() as here:
        from snakemake.cli import main

        here.chdir(chapters)
        main([*command[3:], "--unlock"])
    done = subprocess.run(
        [*command, "--rerun-incomplete"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    runs = log.read_text().split()
    assert sorted(runs) == ["a0", "a1", "a1", "a2"]  # once each, and the killed one again
    assert (chapters / "drawn").exists() and not list((chapters / "results").rglob("*.runs"))

    chapter.fill("first", {"profile": "fast", "results_dir": str(chapters / "plain")})
    compare = runpy.run_path(str(CLUSTER / "same.py"))["main"]
    compare(chapters / "plain" / "fast", chapters / "results" / "fast")
    found = store.read(chapters / "results" / "fast" / "first.nc")
    assert found["y"].sel(model="a").sortby("seed").values.tolist() == [1.0, 2.0, 3.0]


@needs_snakemake
@pytest.mark.slow
@pytest.mark.skipif(
    "VNBOOK_TEST_SLURM" not in os.environ, reason="VNBOOK_TEST_SLURM=1 starts a SLURM of one node"
)
def test_the_same_on_a_real_slurm():
    script = [str(CLUSTER / "slurm.sh")]
    done = subprocess.run(
        script, env=os.environ | {"PYTHON": sys.executable}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
