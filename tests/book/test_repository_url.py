"""The public home: what `vnbook home` writes, and where the buttons lead."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace

import nbformat
import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager

from book.site import build as book
from book.site import repository_url
from vnlib.book import paths
from vnlib.book.store import source_hash as source

URL = "https://github.com/someone/some.book"


def cells(project) -> list:
    return nbformat.read(project / "chapters" / "tiny" / "tiny.ipynb", as_version=4).cells


def test_without_a_home_there_are_no_buttons(project):
    assert repository_url.repository() == {"url": "", "branch": "main"}
    assert repository_url.actions("tiny", repository_url.repository()) == ""


@pytest.mark.parametrize("given", [URL, f"{URL}/", f"{URL}.git"])
def test_the_home_is_named_in_the_settings_with_its_buttons(project, vnbook, given):
    assert vnbook("home", given).code == 0
    assert repository_url.repository() == {"url": URL, "branch": "main"}
    html = yaml.safe_load((project / "_config.yml").read_text())["html"]
    assert html == {"use_repository_button": True, "use_issues_button": True}


@pytest.mark.parametrize(
    "given", ["", "someone/book", "http://github.com/a/b", "https://github.com/a", f"{URL}/x"]
)
def test_other_addresses_are_refused_and_nothing_is_written(project, vnbook, given):
    before = {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}
    said = vnbook("home", given)
    assert (
        said.code == 1
        and f"url must be like https://github.com/OWNER/NAME, got {given!r}" in said.err
    )
    assert before == {path: path.read_bytes() for path in project.rglob("*.*") if path.is_file()}


def test_chapters_get_one_cell_that_installs_and_their_results_stay_current(project):
    before, sources = (
        source.hash_of(paths.notebook("tiny").with_name("study.py"), project),
        [c.source for c in cells(project)],
    )
    for url in ("https://github.com/first/place", URL):
        repository_url.move_in(url)
    now = cells(project)
    assert [c.source for c in now if repository_url.TAG not in c.metadata.tags] == sources
    (install,) = (c for c in now if repository_url.TAG in c.metadata.tags)
    assert now.index(install) == 1, "after the parameters, before all that imports"
    assert (
        f"git clone -q --depth 1 {URL} " in install.source and "first/place" not in install.source
    )
    assert (
        'if importlib.util.find_spec("vnlib") is None:' in install.source
        and "remove-cell" in install.metadata.tags
    )
    nbformat.validate(nbformat.read(project / "chapters" / "tiny" / "tiny.ipynb", as_version=4))
    assert source.hash_of(paths.notebook("tiny").with_name("study.py"), project) == before


def test_the_cell_installs_nothing_where_the_book_is(project, monkeypatch):
    repository_url.move_in(URL)
    (install,) = (c for c in cells(project) if repository_url.TAG in c.metadata.tags)
    code = TransformerManager().transform_cell(install.source)
    asked = []
    kernel = SimpleNamespace(
        system=asked.append, run_line_magic=lambda *words: asked.append(" ".join(words))
    )
    exec(code, {"get_ipython": lambda: kernel})
    assert not asked
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    exec(code, {"get_ipython": lambda: kernel})
    assert [words.split()[0] for words in asked] == ["git", "cd", "pip"] and URL in asked[0]


def test_actions_lead_to_the_chapter_as_it_is_in_the_repository(project, tmp_path):
    line = repository_url.actions("tiny", {"url": URL, "branch": "next"})
    assert (
        f"({URL}/edit/next/chapters/tiny/tiny.ipynb)" in line
        and f"({URL}/issues/new?title=tiny%3A%20)" in line
    )
    assert (
        "(https://mybinder.org/v2/gh/someone/some.book/next?labpath=chapters%2Ftiny%2Ftiny.ipynb)"
        in line
    )
    assert (
        "(https://colab.research.google.com/github/someone/some.book/blob/next/chapters/tiny/tiny.ipynb)"
        in line
    )
    page = tmp_path / "page.ipynb"
    nbformat.write(
        nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_markdown_cell(t) for t in ("# Title", "end")]
        ),
        page,
    )
    book.finish(page, line)
    assert [c.source for c in nbformat.read(page, as_version=4).cells] == ["# Title", line, "end"]
