"""Executed chapters are kept for as long as nothing that they show has changed."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from pathlib import Path

import nbformat
import pytest
from store_cases import stored

from book.site import build as book
from book.site import executed
from vnlib.book import chapter, ledger, paths


@pytest.fixture
def builds(reader, monkeypatch):
    """A build of `tiny` and of `alpha`, which needs it; returns the chapters that it executes."""
    results = reader / "mine" / "smoke"
    stored(results / "tiny.nc")
    (paths.CHAPTERS / "tiny" / "figures.py").write_text("def draw(): pass\n")
    seen = []

    def run_chapter(name, given, output, **options):
        seen.append(name)
        drawn = nbformat.v4.new_output("stream", text=(results / "tiny.nc").read_bytes().hex())
        cell = nbformat.v4.new_code_cell("1", id="one", outputs=[drawn])
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), output)

    def html(*args):
        seen.append("html")
        (paths.BOOK / "_build" / "html").mkdir(parents=True)

    monkeypatch.setattr(book, "run_chapter", run_chapter)
    monkeypatch.setattr(book, "_jupyter_book", html)

    def build(**options) -> list[str]:
        seen.clear()
        book.build("smoke", reader / "mine", **options)
        return list(seen)

    return build


def written() -> dict[str, object]:
    """Everything that the HTML is made from; of a notebook what its cells show."""
    files = [
        file for file in paths.BOOK.rglob("*") if file.is_file() and "_build" not in file.parts
    ]
    return {
        str(file): shown(file) if "chapters" in file.parts[-2:] else file.read_bytes()
        for file in files
    }


def shown(notebook: Path) -> list[tuple[str, str]]:
    """Source and output of every cell; a text that is printed may come in one part or in more."""
    cells = nbformat.read(notebook, as_version=4).cells
    said = ["".join(one.get("text") or str(one["data"]) for one in cell.outputs) for cell in cells]
    return [(cell.source, text) for cell, text in zip(cells, said, strict=True)]


def test_a_second_build_executes_nothing_and_writes_the_same(builds):
    assert builds() == ["tiny", "alpha", "html"]
    first = written()
    assert builds() == []
    assert written() == first


@pytest.mark.parametrize("lost", ["inputs", "html"])
def test_an_html_that_is_lost_is_built_again(builds, lost):
    builds()
    place = paths.BOOK / "_build" / lost
    place.rmdir() if place.is_dir() else place.unlink()
    assert builds() == ["html"]


@pytest.mark.parametrize("edited", ["book/page.md", "_toc.yml", "mine/smoke/other.nc"])
def test_a_build_whose_inputs_are_the_same_reads_nothing_else(builds, reader, monkeypatch, edited):
    builds()
    asked = []
    monkeypatch.setattr(book.ledger, "ledger", lambda folder: asked.append(folder) or 1 / 0)
    assert builds() == [] and not asked
    (reader / edited).write_text("new")
    with pytest.raises(ZeroDivisionError):
        builds()


def test_an_edited_figure_reruns_its_chapter_and_no_other(builds):
    builds()
    (paths.CHAPTERS / "tiny" / "figures.py").write_text("def draw(): return 2\n")
    assert builds() == ["tiny", "html"]


@pytest.mark.parametrize("part", ["tiny.toml", "study.py", "tiny.ipynb"])
def test_so_does_every_other_file_of_the_chapter(builds, part):
    builds()
    file = paths.CHAPTERS / "tiny" / part
    file.write_text(file.read_text(encoding="utf-8") + "\n")
    assert "tiny" in builds()


def test_an_edited_result_reruns_the_chapters_that_read_it(builds, reader):
    builds()
    (reader / "mine" / "smoke" / "tiny.nc").unlink()
    stored(reader / "mine" / "smoke" / "tiny.nc", made="anew")
    assert builds() == ["tiny", "alpha", "html"]


def test_a_result_that_a_sidecar_shows_reruns_the_chapter_too(builds, reader):
    file = paths.CHAPTERS / "tiny" / "tiny.toml"
    file.write_text('shows = ["other"]\n' + file.read_text(encoding="utf-8"))
    builds()
    stored(reader / "mine" / "smoke" / "other.part.nc")
    assert "tiny" in builds()


def test_a_chapter_is_executed_again_where_it_is_drawn_for_print_or_asked_for_anew(builds):
    builds()
    assert builds(prints=True) == ["tiny", "alpha", "html"]
    assert builds(prints=True) == []


def test_a_fresh_build_takes_nothing_that_was_kept(builds, reader, monkeypatch):
    builds()
    monkeypatch.setattr(book, "_clear", lambda folder: None)
    assert builds(fresh=True)[:2] == ["tiny", "alpha"]


@pytest.mark.parametrize("damage", ["", "half", "garbled", "gone", "binary"])
def test_what_is_damaged_is_not_used(builds, damage):
    builds()
    first = written()
    kept = book.CACHE / "smoke" / "tiny.ipynb"
    text = kept.read_text(encoding="utf-8")
    content = {
        "": b"",
        "half": text[: len(text) // 2].encode(),
        "garbled": text.replace("stream", "strean").encode(),
        "binary": b"\xff\xfe\x00" + text.encode(),
    }
    kept.write_bytes(content[damage]) if damage in content else kept.unlink()
    (paths.BOOK / "_build" / "inputs").unlink()  # or nothing is asked for
    assert builds() == ["tiny", "html"]
    assert written() == first and builds() == []


def test_results_that_an_execution_computes_are_of_another_page(builds, reader, monkeypatch):
    """What it drew may be of results that another process has replaced since."""
    plain = book.run_chapter

    def computes(name, given, output, **options):
        plain(name, given, output, **options)
        (reader / "mine" / "smoke" / f"{name}.nc").unlink(missing_ok=True)
        stored(reader / "mine" / "smoke" / f"{name}.nc", made=name)

    monkeypatch.setattr(book, "run_chapter", computes)
    builds()
    monkeypatch.setattr(book, "run_chapter", plain)
    assert builds()[:2] == ["tiny", "alpha"]
    assert builds() == []


def test_the_key_follows_imports_through_what_only_presents(project, monkeypatch, tmp_path):
    root = tmp_path / "source"
    for file, text in {
        "vnlib/plots/style.py": "from vnlib.plots import colours\n",
        "vnlib/plots/colours.py": "RED = 1\n",
        "vnlib/plots/maps.py": "GREY = 1\n",
    }.items():
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text(text)
    monkeypatch.setattr(paths, "SOURCE", root)
    (paths.CHAPTERS / "tiny" / "figures.py").write_text("from vnlib.plots.style import use\n")
    first = executed.key("tiny", project)
    assert executed.key("tiny", project, "more") != first
    (root / "vnlib/plots/maps.py").write_text("GREY = 2\n")
    assert executed.key("tiny", project) == first
    (root / "vnlib/plots/colours.py").write_text("RED = 2\n")
    assert executed.key("tiny", project) != first


def test_a_failed_or_killed_html_is_built_again(builds, monkeypatch):
    def fails(*args):
        raise RuntimeError("a warning")

    builds()
    html = book._jupyter_book
    monkeypatch.setattr(book, "_jupyter_book", fails)
    (paths.BOOK / "page.md").write_text("changed")
    with pytest.raises(RuntimeError, match="a warning"):
        builds()
    (paths.BOOK / "page.md").unlink()
    monkeypatch.setattr(book, "_jupyter_book", html)
    assert builds() == ["html"]


# --- Several processes ----------------------------------------------------------------------------


def builder(jobs: int) -> multiprocessing.process.BaseProcess:
    """A build in a fork of this process, which has the libraries and knows the project."""
    given = {"jobs": jobs, "progress": False}
    process = multiprocessing.get_context("fork").Process(
        target=book.build, args=("smoke", Path("mine")), kwargs=given
    )
    process.start()
    return process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_two_builds_at_a_time_by_several_processes_write_what_one_process_writes(
    reader, monkeypatch
):
    monkeypatch.chdir(reader)
    chapter.fill("tiny", {"profile": "smoke", "results_dir": "mine"})
    html = paths.BOOK / "_build" / "html"
    monkeypatch.setattr(book, "_jupyter_book", lambda *args: html.mkdir(parents=True))
    monkeypatch.setattr(ledger, "all_claims", dict)  # those that a new process finds here
    book.build("smoke", Path("mine"), progress=False)
    alone = written()
    assert {Path(file).name for file in alone} >= {"tiny.ipynb", "alpha.ipynb", "ledger.md"}
    shutil.rmtree(book.CACHE)
    both = [builder(2), builder(2)]
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    assert written() == alone


def test_a_build_killed_at_any_time_leaves_nothing_that_the_next_one_trusts(builds, monkeypatch):
    """As SIGKILL would: nothing of ours runs after it."""
    builds()
    first = written()

    def killed(*args, **options):
        raise KeyboardInterrupt

    (paths.CHAPTERS / "tiny" / "figures.py").write_text("def draw(): return 3\n")
    for part in ("run_chapter", "finish", "_jupyter_book"):
        (paths.BOOK / "page.md").write_text(part)
        with monkeypatch.context() as patch:
            patch.setattr(book, part, killed)
            with pytest.raises(KeyboardInterrupt):
                builds()
    (paths.BOOK / "page.md").unlink()
    assert builds() and written() == first
    assert not list(book.CACHE.rglob(".*"))
