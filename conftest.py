"""What all tests share: the chapters as tests, one thread, no network, the command line and a small
project at hand.

`pytest --nbmake chapters` runs every chapter as a parameterised copy in a temporary folder: the
profile is `smoke`, and nothing is written into `results/`. One folder has the results of all, so that
what a chapter needs of others is computed once.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import forked_kernels
import hypothesis
import nbformat
import papermill
import pytest
import remembered
import torch
from nbmake.pytest_items import NotebookItem

from book.site import build as book
from book.site import cli
from book.site.read_once import read_once
from vnlib.book import chapter, ledger, paths

# Data that are already here are used; a download would make a test wait for a network that may not
# be there.
os.environ.setdefault("VNBOOK_OFFLINE", "1")
torch.set_num_threads(1)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the processes that tests start
# The same examples every time, and no verdict by the clock of a busy machine.
hypothesis.settings.register_profile(
    "book", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("book")
# Thousands of tests and what they import are no garbage, and figures are made of many small objects.
gc.set_threshold(50_000)
forked_kernels.install()
chapter.spec = remembered.remembering(chapter.spec)  # before anyone imports it
SMOKE = "VNBOOK_SMOKE"  # the variable that names the folder of what chapters compute in a test run


def pytest_configure(config: pytest.Config) -> None:
    """Make the folder in which the chapters of all workers keep their results: what several read is
    computed once.
    """
    if SMOKE not in os.environ:  # a worker has that of its controller
        os.environ[SMOKE] = folder = tempfile.mkdtemp(prefix="vnbook-smoke-")
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
        config.add_cleanup(partial(os.environ.pop, SMOKE))
    # Many tests, and some modules when they are collected, read the shipped results, each of which
    # takes up to a second to load; their arrays are shared, so nobody may write into them.
    shipped = ExitStack()
    shipped.enter_context(read_once(paths.RESULTS / "paper"))
    config.add_cleanup(shipped.close)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the modules that take long, by a slow test or by many: at the end one worker would
    have them for itself.
    """
    long = {item.path for item in items if item.get_closest_marker("slow")}
    many = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path not in long, -many[item.path]))


def pytest_collection_finish() -> None:
    """Let no look for garbage go through what was collected."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Hand nbmake a copy of the chapter with parameters in it; the test keeps the name of the
    chapter itself.
    """
    if not (isinstance(item, NotebookItem) and item.path.is_relative_to(paths.CHAPTERS)):
        return (yield)
    source = item.filename
    # The copy lies outside the project: a chapter must not depend on the folder it runs in.
    with (
        tempfile.TemporaryDirectory(prefix="vnbook-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        item.filename = str(Path(folder) / item.path.name)
        patch.setenv(forked_kernels.COARSE, "1")
        given = {"profile": "smoke", "results_dir": os.environ[SMOKE]}
        papermill.execute_notebook(
            source, item.filename, given, prepare_only=True, progress_bar=False
        )
        try:
            return (yield)
        finally:
            item.filename = source


@dataclass(frozen=True)
class Said:
    """What a command said, and the code it ended with."""

    code: int
    out: str
    err: str


@pytest.fixture
def vnbook(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """`vnbook` with these arguments, in this process: a new one would spend seconds on its
    imports.
    """

    def command(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["vnbook", *map(str, arguments)])
        code, last = 0, ""
        capfd.readouterr()
        try:
            cli.main()
        except SystemExit as end:
            # A text is what Python prints on stderr before it ends with 1.
            code, last = (1, f"{end.code}\n") if isinstance(end.code, str) else (end.code or 0, "")
        out, err = capfd.readouterr()
        return Said(code, out, err + last)

    return command


CONFIG = """\
repository:
  url: ""
  branch: main
html:
  use_repository_button: false
  use_issues_button: false
"""
TINY = """
title = "A tiny chapter"
claims = []
[parameters.width]
type = "float"
above = 0.0
variant = true
help = "a factor"
[profiles]
smoke = { seeds = 2 }
fast = { seeds = 3 }
paper = { seeds = 4 }
"""
TINY_STUDY = """
import xarray as xr

VARIABLES = {"y": ("seed times width", "1")}

def run(chapter, axes, settings, workdir):
    if settings["width"] > 9: raise RuntimeError("the width burst")
    return xr.Dataset({"y": ((), axes["seed"] * settings["width"])})

def results(chapter):
    settings = {"width": chapter.parameters["width"]}
    return chapter.grid(run, settings=settings, variables=VARIABLES)
"""
TINY_CELLS = (
    'profile = "smoke"\nseeds = None\ndevice = "cpu"\nrecompute = False\nstale = "keep"\n'
    "results_dir = None\nwidth = 2.0\n",
    "from chapters.tiny import study\nfrom vnlib.book.chapter import open_chapter\n"
    'chapter = open_chapter("tiny", globals())\n',
    "results = study.results(chapter)\n",
    "chapter.footer(results)\n",
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one chapter, `tiny`, whose runs take no time; the command and its kernels work
    there.
    """
    ledger.all_claims()  # found once in a process: those of the book, not of this project
    root = tmp_path / "project"
    (root / "chapters" / "tiny").mkdir(parents=True)
    (root / "chapters" / "tiny" / "tiny.toml").write_text(TINY, encoding="utf-8")
    (root / "chapters" / "tiny" / "study.py").write_text(TINY_STUDY, encoding="utf-8")
    (root / "_config.yml").write_text(CONFIG, encoding="utf-8")
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    notebook.metadata["language_info"] = {"name": "python"}
    notebook.cells = [
        nbformat.v4.new_code_cell(source, metadata={"tags": []}) for source in TINY_CELLS
    ]
    notebook.cells[0].metadata.tags.append("parameters")
    nbformat.write(notebook, root / "chapters" / "tiny" / "tiny.ipynb")
    monkeypatch.setenv("VNBOOK_ROOT", str(root))
    monkeypatch.syspath_prepend(root)
    made = ("chapters.tiny", "chapters.first", "chapters.second")  # by this and other projects
    for name in [name for name in sys.modules if name.startswith(made)]:
        monkeypatch.delitem(sys.modules, name)
    for name, folder in {
        "ROOT": "",
        "CHAPTERS": "chapters",
        "BOOK": "book",
        "RESULTS": "results",
    }.items():
        monkeypatch.setattr(paths, name, root / folder)
    for name, folder in {
        "EXECUTED": "chapters",
        "GENERATED": "generated",
        "EXTRA": "extra",
    }.items():
        monkeypatch.setattr(book, name, root / "book" / folder)
    monkeypatch.setattr(book, "CACHE", root / ".cache" / "book")
    return root
