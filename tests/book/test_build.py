"""The build of the book, without the slow HTML: what is run, cleared, copied and written."""

from __future__ import annotations

import io
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import nbformat
import papermill
import pytest
from store_cases import stored

from book.site import build as book
from book.site import ledger_page
from vnlib.book import chapter, paths
from vnlib.book import ledger as claims
from vnlib.book.parameters import PROFILES
from vnlib.book.store import provenance

# --- A chapter that needs another -----------------------------------------------------------------


def test_a_chapter_reads_the_results_of_another_and_runs_it_where_there_are_none(reader, capsys):
    one = chapter.Chapter(chapter.spec("alpha"), chapter.spec("alpha").check({"profile": "fast"}))
    assert one.results_of("tiny")["y"].values.tolist() == [0, 2, 4]
    assert "There are no results of tiny yet: it is run first." in capsys.readouterr().out
    # other results: they are read as they are
    stored(reader / "results" / "fast" / "tiny.nc", made="here")
    assert one.results_of("tiny").attrs["made"] == "here"
    assert "it is run first" not in capsys.readouterr().out


def test_only_a_chapter_that_is_needed_can_be_read(reader):
    one = chapter.Chapter(
        chapter.spec("alpha"), {"profile": "smoke", "device": "cpu", "results_dir": None}
    )
    with pytest.raises(ValueError, match="name must be one of 'tiny', got 'alpha'"):
        one.results_of("alpha")


def test_a_build_runs_what_others_need_first(reader, calls):
    assert paths.chapters() == ["alpha", "tiny"]
    book.build("fast", reader / "mine", progress=False)
    assert [call[0] for call in calls[:-1]] == ["tiny", "alpha"]


# --- What a fresh build may empty -----------------------------------------------------------------


@pytest.mark.parametrize("folder", ["results", "results/reproduced/..", "./results"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_fresh_build_never_empties_the_shipped_results(project, folder, profile):
    shipped = project / "results" / profile / "tiny.nc"
    (project / "results" / "reproduced").mkdir(parents=True)
    stored(shipped)
    with pytest.raises(
        ValueError, match=r"results_dir must not be results .*such as results/reproduced"
    ):
        book.build(profile, project / folder, fresh=True)
    assert shipped.exists()


def test_clear_empties_finished_results_and_marks_the_folder(project):
    folder = project / "results" / "reproduced" / "fast"
    stored(folder / "tiny.nc")
    (folder / "ledger.json").write_text("[]")
    (folder / "tiny.runs").mkdir()
    book._clear(folder)
    assert [path.name for path in folder.iterdir()] == [book.UNFINISHED]


def test_clear_goes_on_with_an_unfinished_build_of_the_same_source(project):
    folder = project / "results" / "reproduced" / "fast"
    book._clear(folder)
    stored(folder / "tiny.nc")
    book._clear(folder)
    assert (folder / "tiny.nc").exists()


def test_clear_starts_over_when_the_source_changed(project, monkeypatch):
    folder = project / "results" / "reproduced" / "fast"
    book._clear(folder)
    stored(folder / "tiny.nc")
    monkeypatch.setattr(provenance, "source_hash", lambda name: f"another {name}")
    book._clear(folder)
    assert [path.name for path in folder.iterdir()] == [book.UNFINISHED]
    assert (folder / book.UNFINISHED).read_text() == "another tiny"


def test_clear_refuses_a_folder_with_other_files(project):
    folder = project / "elsewhere" / "fast"
    stored(folder / "tiny.nc")
    (folder / "thesis.docx").write_text("three years")
    with pytest.raises(
        ValueError, match=r"elsewhere/fast holds files that are not results \(thesis\.docx\)"
    ):
        book._clear(folder)
    assert {path.name for path in folder.iterdir()} == {"tiny.nc", "thesis.docx"}


# --- The build ------------------------------------------------------------------------------------


@pytest.fixture
def calls(project, monkeypatch) -> list:
    """A build in which chapters are stored at once, the HTML takes no time, and the claims of the
    book are of the one chapter, and have no results; returns what was asked for.
    """
    seen = []
    owned = {
        name: replace(one, chapter="tiny", reads="none")
        for name, one in claims.all_claims().items()
    }
    monkeypatch.setattr(claims, "all_claims", lambda: owned)

    def run_chapter(name, given, output, **options):
        seen.append((name, dict(given), options))
        stored(Path(given["results_dir"]) / given["profile"] / f"{name}.nc")
        output.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]), output)
        return given

    monkeypatch.setattr(book, "run_chapter", run_chapter)
    monkeypatch.setattr(book, "_jupyter_book", lambda *args: seen.append("html"))
    return seen


def test_build_runs_every_chapter_and_collects_pages_data_and_notebooks(project, calls):
    for folder in (book.EXECUTED, book.GENERATED, book.EXTRA):
        folder.mkdir(parents=True)
        (folder / "stale.txt").write_text("of an earlier build")
    results = project / "mine"
    html = book.build("fast", results, progress=False)
    assert html == project / "book" / "_build" / "html"
    assert [call[0] for call in calls[:-1]] == paths.chapters() and calls[-1] == "html"
    assert calls[0][1] == {"profile": "fast", "results_dir": str(results)}
    assert calls[0][2]["progress"] is False
    assert not list((project / "book").rglob("stale.txt"))
    assert nbformat.read(book.EXECUTED / "tiny.ipynb", 4).cells[0].metadata.tags == ["hide-input"]
    assert (book.EXTRA / "notebooks" / "tiny.ipynb").exists()
    assert (book.EXTRA / "data" / "tiny.nc").read_bytes() == (
        results / "fast" / "tiny.nc"
    ).read_bytes()
    rows = json.loads((book.EXTRA / "data" / "ledger.json").read_text(encoding="utf-8"))
    assert rows == json.loads((results / "fast" / "ledger.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in rows["claims"]] == list(claims.all_claims())
    jsonschema.Draft202012Validator.check_schema(
        json.loads((book.EXTRA / "data" / "ledger.schema.json").read_text(encoding="utf-8"))
    )
    assert (book.GENERATED / "ledger.md").read_text(encoding="utf-8") == ledger_page.ledger(
        rows, "fast"
    )
    assert "chapters/tiny.ipynb" in (book.GENERATED / "status.md").read_text(encoding="utf-8")


def test_a_fresh_build_starts_from_nothing_and_removes_its_mark(project, calls):
    results = project / "mine"
    stored(results / "fast" / "old.nc")
    book.build("fast", results, fresh=True)
    assert {path.name for path in (results / "fast").iterdir()} == {"tiny.nc", "ledger.json"}


def test_a_fresh_build_that_fails_can_go_on(project, calls, monkeypatch):
    def fails(*args):
        raise RuntimeError("jupyter-book failed: a warning")

    monkeypatch.setattr(book, "_jupyter_book", fails)
    with pytest.raises(RuntimeError, match="a warning"):
        book.build("fast", project / "mine", fresh=True)
    made = (project / "mine" / "fast" / "tiny.nc").stat().st_mtime_ns
    monkeypatch.setattr(book, "_jupyter_book", lambda *args: None)
    book.build("fast", project / "mine", fresh=True)
    assert (project / "mine" / "fast" / "tiny.nc").stat().st_mtime_ns == made


def test_a_failed_cell_stops_the_build(project, calls, monkeypatch):
    def fails(*args, **kwargs):
        raise papermill.PapermillExecutionError(1, 1, "x", "ValueError", "no", [])

    monkeypatch.setattr(book, "run_chapter", fails)
    with pytest.raises(papermill.PapermillExecutionError):
        book.build("fast", project / "mine")
    assert "html" not in calls


@pytest.mark.parametrize("code", [0, 1])
def test_jupyter_book_is_strict_and_its_warnings_are_told(project, monkeypatch, code):
    seen = {}

    def run(command, **options):
        seen["command"] = command
        return subprocess.CompletedProcess(
            command, code, "reading sources\nx.md:3: WARNING: no such target: y\n", ""
        )

    monkeypatch.setattr(book.subprocess, "run", run)
    if code:
        with pytest.raises(RuntimeError) as caught:
            book._jupyter_book(1)
        assert "x.md:3: WARNING: no such target: y" in str(caught.value)
        assert "reading sources" not in str(caught.value)
    else:
        book._jupyter_book(1)
    assert {"-W", "-n", "--keep-going"} <= set(seen["command"])


# --- One chapter ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finished", "recompute", "helpers"), [(False, False, 2), (True, False, 0), (True, True, 2)]
)
@pytest.mark.parametrize("fails", [False, True])
def test_other_processes_help_only_with_work_and_end_with_it(
    project, monkeypatch, finished, recompute, helpers, fails
):
    if finished:
        stored(project / "mine" / "smoke" / "tiny.nc")
    started = []

    class Process:
        ended = False  # it takes no notice of the end of its input

        def __init__(self):
            self.stdin = io.BytesIO()

        def kill(self):
            assert self.stdin.closed
            self.ended = True

        def wait(self, patience=None):
            if patience is not None:  # it would go on for long
                raise subprocess.TimeoutExpired("helper", patience)
            assert self.ended

    def execute(source, output, **options):
        if fails:
            raise papermill.PapermillExecutionError(1, 1, "x", "ValueError", "no", [])
        nbformat.write(nbformat.v4.new_notebook(), output)

    monkeypatch.setattr(
        book.helpers, "begin", lambda *args: started.append(Process()) or started[-1]
    )
    monkeypatch.setattr(papermill, "execute_notebook", execute)
    given = {"results_dir": str(project / "mine"), "recompute": recompute}
    output = project / "out" / "tiny.ipynb"
    if fails:
        with pytest.raises(papermill.PapermillExecutionError):
            book.run_chapter("tiny", given, output, jobs=3)
    else:
        assert book.run_chapter("tiny", given, output, jobs=3)["profile"] == "smoke"
    assert len(started) == helpers and all(process.ended for process in started)
    assert [path.name for path in output.parent.iterdir()] == ([] if fails else ["tiny.ipynb"])
