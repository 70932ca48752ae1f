"""`vnbook`: what each command does, where it says the results are, and how it refuses."""

from __future__ import annotations

import ast
import errno
import json
import os
import subprocess
import sys

import nbformat
import pytest
import xarray as xr

from book.site import build as book
from book.site import cli
from vnlib.book import chapter, paths, store
from vnlib.book import ledger as claims
from vnlib.book.parameters import PROFILES
from vnlib.book.store import provenance


def one_paragraph(text: str) -> bool:
    return bool(text.strip()) and "\n" not in text.strip() and "Traceback" not in text


@pytest.fixture
def results(tmp_path):
    """A results folder with one finished, tiny grid under the name of a real chapter."""
    store.grid(
        lambda axes, settings, workdir: xr.Dataset({"y": ((), 1.0)}),
        {"model": ["cnn2"], "seed": [0, 1]},
        path=tmp_path / "smoke" / "fig2_spatial.nc",
        settings=lambda axes: {},
        title="tiny",
        source=provenance.source_hash("fig2_spatial"),
        progress=False,
        attrs={"chapter": "fig2_spatial", "profile": "smoke"},
    )
    return tmp_path


# --- list, status, ledger -------------------------------------------------------------------------


def test_list_shows_every_chapter_with_its_parameters(vnbook):
    said = vnbook("list")
    assert said.code == 0 and not said.err
    for name in paths.chapters():
        one = chapter.spec(name)
        assert f"{name}: {one.title}" in said.out
        section = said.out.split(f"{name}: ")[1]
        for key, rule in one.parameters.items():
            assert f"  {key} = {one.defaults[key]!r}  {rule['help']}" in section
    assert "smoke, fast, paper" in said.out and "float >= 0.3 <= 6.0" in said.out


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_command(vnbook, flag):
    said = vnbook(flag)
    assert said.code == 0
    assert all(name in said.out for name in ("list", "run", "build", "status", "ledger", "export"))


@pytest.mark.parametrize("arguments", ["--help", "rnu", "run fig9", "build --profile quick"])
def test_help_and_refusals_wait_for_no_library_of_computing(arguments):
    heavy = {"torch", "xarray", "pandas", "papermill", "IPython", "matplotlib"}
    code = (
        "import atexit, sys; from book.site import cli; "
        f"atexit.register(lambda: print('loaded', sorted({heavy} & set(sys.modules)))); cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True
    )
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[-1] == "loaded []"


def test_status_tells_each_profile_and_chapter(vnbook, results):
    (results / "fast").mkdir()
    (results / "fast" / "fig2_spatial.nc").write_bytes(b"not NetCDF")
    said = vnbook("status", "--results-dir", results)
    assert said.code == 0
    lines = {tuple(line.split(":")[0].split()): line for line in said.out.splitlines()}
    with_results = {name for name in paths.chapters() if chapter.spec(name).stores}
    assert "summary" not in with_results and "fig2_spatial" in with_results
    assert set(lines) == {(p, n) for p in PROFILES for n in with_results}
    assert (
        "runs 2" in lines["smoke", "fig2_spatial"]
        and "library current" in lines["smoke", "fig2_spatial"]
    )
    assert "cannot be read" in lines["fast", "fig2_spatial"], (
        "one bad file must not hide the others"
    )
    assert "no results" in lines["paper", "fig2_spatial"]


def test_ledger_prints_and_writes_every_claim(vnbook, results):
    said = vnbook("ledger", "--profile", "smoke", "--results-dir", results)
    assert said.code == 0, said.err
    path = results / "smoke" / "ledger.json"
    rows = json.loads(path.read_text(encoding="utf-8"))["claims"]
    assert [row["id"] for row in rows] == list(claims.all_claims())
    assert str(path) in said.out
    for row in rows:
        line = next(line for line in said.out.splitlines() if line.startswith(row["id"] + " "))
        assert (row["verdict"] or "definition or theorem, not counted") in line
        assert (row["verdict"] is None) == row["definition"]
        assert row["chapter"] in line


# --- run ------------------------------------------------------------------------------------------


def test_run_keeps_results_and_notebook_and_says_where(vnbook, project, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    options = ("--jobs", 1, "--quiet")
    said = vnbook("run", "tiny", "-p", "profile", "fast", "-p", "width", "3e0", *options)
    assert said.code == 0, said.err
    result = project / "results" / "fast" / "tiny--width=3.0.nc"
    assert store.read(result)["y"].values.tolist() == [0, 3, 6]
    notebook = project / "results" / "executed" / "fast" / "tiny.ipynb"
    assert nbformat.read(notebook, as_version=4).cells[-1].outputs
    assert said.out.splitlines()[-2:] == [
        "results:  results/fast/tiny--width=3.0.nc",
        "notebook: results/executed/fast/tiny.ipynb",
    ]
    assert str(tmp_path) not in json.dumps(nbformat.read(notebook, 4).cells), (
        "pages must not name folders of the machine"
    )


def test_a_failed_cell_is_told_in_one_line_and_its_notebook_kept(vnbook, project):
    said = vnbook("run", "tiny", "-p", "width", 10, "--output", project / "out.ipynb", "--quiet")
    assert said.code == 1
    assert (
        said.err.strip().splitlines()[-1]
        == "vnbook: a cell failed with RuntimeError: the width burst"
    )
    assert "Traceback" not in said.err
    assert not (project / "out.ipynb").exists(), (
        "a failed chapter must not look like a finished one"
    )
    assert (project / "out.failed.ipynb").exists()
    assert not list((project / "results").rglob("*.nc"))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("1e-3", 0.001),
        ("0.5", 0.5),
        ("3", 3),
        ("true", True),
        ("null", None),
        ("[0, 2]", [0, 2]),
        ("cnn2,mlp", "cnn2,mlp"),
        ("cuda:0", "cuda:0"),
        ("a: b: c", "a: b: c"),
        ("", None),
    ],
)
def test_values_are_read_as_papermill_reads_them(vnbook, monkeypatch, typed, meant):
    seen = {}
    monkeypatch.setattr(
        chapter.Spec, "check", lambda self, given: seen.update(given) or dict(self.defaults)
    )
    monkeypatch.setattr(book, "run_chapter", lambda *args, **kwargs: None)
    assert vnbook("run", "fig2_spatial", "-p", "sparsity", typed).code == 0
    assert seen == {"sparsity": meant} and type(seen["sparsity"]) is type(meant)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "fig9"), ("chapter", "'fig9'", *paths.chapters())),
        (
            ("run", "fig2_spatial", "-p", "holdout", "ring"),
            ("'holdout'", "Did you mean 'hold_out'?", "encoding"),
        ),
        (("run", "fig2_spatial", "-p", "hold_out", "disc"), ("hold_out", "'disc'", "'ring'")),
        (("run", "fig2_spatial", "-p", "sigma", "9"), ("sigma", ">= 0.3", "<= 6.0", "9")),
        (("run", "fig2_spatial", "-p", "sigma", "wide"), ("sigma", "finite number", "'wide'")),
        (
            ("run", "fig2_spatial", "-p", "recompute", "yes please"),
            ("recompute", "true or false", "'yes please'"),
        ),
        (("run", "fig2_spatial", "-p", "results_dir", "5"), ("results_dir", "text", "5")),
        (("build", "--profile", "quick"), ("profile", "'quick'", "'smoke'")),
        (("ledger", "--profile", "quick"), ("profile", "'quick'", "smoke")),
        (
            ("ledger", "--profile", "smoke", "--results-dir", "/nowhere"),
            ("/nowhere/smoke", "vnbook run"),
        ),
        (("export", "fig9", "--to", "html"), ("chapter", "'fig9'", *paths.chapters())),
    ],
)
def test_refusals_are_one_paragraph_on_stderr(vnbook, arguments, words):
    said = vnbook(*arguments)
    assert said.code == 1
    assert one_paragraph(said.err) and said.err.startswith("vnbook: ")
    assert all(word in said.err for word in words), said.err
    assert not said.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rnu", "fig2_spatial"), ("No such command 'rnu'",)),
        (("run",), ("Missing argument 'NAME'",)),
        (("run", "fig2_spatial", "--jobs", "0"), ("--jobs", "0", "x>=1")),
        (("run", "fig2_spatial", "-p", "sigma"), ("-p", "2 arguments")),
        (("export", "fig2_spatial", "--to", "word"), ("--to", "'word'", "html")),
        (("list", "--all"), ("No such option", "--all")),
    ],
)
def test_wrong_usage_ends_with_2(vnbook, arguments, words):
    said = vnbook(*arguments)
    assert said.code == 2
    assert all(word in said.err for word in words) and "Traceback" not in said.err
    assert not said.out


def test_an_interrupt_says_that_finished_runs_are_kept(vnbook, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(book, "run_chapter", interrupted)
    said = vnbook("run", "fig2_spatial")
    assert said.code == 1 and "finished runs are kept" in said.err


def test_a_real_process_prints_no_traceback():
    done = subprocess.run(
        [sys.executable, "-m", "book.site.cli", "run", "fig9"], capture_output=True, text=True
    )
    assert done.returncode == 1 and not done.stdout
    assert one_paragraph(done.stderr) and "'fig9'" in done.stderr


# --- build, export --------------------------------------------------------------------------------


def test_build_hands_over_its_options_and_says_what_to_open(vnbook, monkeypatch, tmp_path):
    seen = {}

    def build(profile, results_dir, **options):
        seen.update(profile=profile, results_dir=results_dir, **options)
        return paths.BOOK / "_build" / "html"

    monkeypatch.setattr(book, "build", build)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    said = vnbook(
        "build", "--profile", "fast", "--results-dir", tmp_path, "--fresh", "--jobs", 3, "--quiet"
    )
    assert said.code == 0 and os.environ["OMP_NUM_THREADS"] == "1"
    assert seen == {
        "profile": "fast",
        "results_dir": tmp_path,
        "fresh": True,
        "jobs": 3,
        "prints": False,
        "progress": False,
    }
    assert os.path.join("book", "_build", "html", "index.html") in said.out


@pytest.mark.parametrize(
    ("profile", "jobs"), [("smoke", 1), ("fast", os.cpu_count()), ("paper", os.cpu_count())]
)
def test_without_a_wish_there_are_as_many_processes_as_cores_but_one_for_a_chapter_in_smoke(
    vnbook, monkeypatch, tmp_path, profile, jobs
):
    seen = []
    monkeypatch.setattr(
        book, "build", lambda *args, **options: seen.append(options["jobs"]) or tmp_path
    )
    monkeypatch.setattr(book, "run_chapter", lambda *args, **options: seen.append(options["jobs"]))
    assert vnbook("build", "--profile", profile).code == 0
    assert vnbook("run", "fig2_spatial", "-p", "profile", profile).code == 0
    assert seen == [max(2, os.cpu_count()), jobs]


def test_export_to_a_script_is_python(vnbook, tmp_path):
    said = vnbook("export", "fig2_spatial", "--to", "script", "--output-dir", tmp_path)
    assert said.code == 0, said.err
    script = tmp_path / "fig2_spatial.py"
    assert str(script) in said.out
    names = {
        node.id
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }
    assert {"chapter", "results", "hold_out"} <= names


def test_export_to_html_takes_the_executed_notebook_where_there_is_one(
    vnbook, tmp_path, monkeypatch
):
    monkeypatch.setattr(book, "EXECUTED", tmp_path / "executed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# As executed")])
    (tmp_path / "executed").mkdir()
    nbformat.write(notebook, tmp_path / "executed" / "fig2_spatial.ipynb")
    said = vnbook("export", "fig2_spatial", "--to", "html", "--output-dir", tmp_path)
    assert said.code == 0, said.err
    page = tmp_path / "fig2_spatial.html"
    assert str(page) in said.out
    assert "As executed" in page.read_text(encoding="utf-8")


def test_export_to_pdf_says_what_is_missing(vnbook, monkeypatch, tmp_path):
    monkeypatch.setattr(cli.shutil, "which", lambda name: None)
    said = vnbook("export", "fig2_spatial", "--to", "pdf", "--output-dir", tmp_path)
    assert said.code == 1
    assert one_paragraph(said.err) and "xelatex" in said.err and "--to html" in said.err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_with_the_path_and_what_to_do(vnbook, project, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # as a write does, without a path

    monkeypatch.setattr(book.papermill, "execute_notebook", full)
    said = vnbook("run", "tiny", "--quiet")
    assert said.code == 1 and one_paragraph(said.err) and "tiny.ipynb" in said.err
    assert "make room" in said.err and "the same command then goes on" in said.err
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.json'"):
        paths.replace(project / "a.json", "{}")
