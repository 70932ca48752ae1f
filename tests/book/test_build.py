"""From chapters to pages: what is run, cleared, copied, collapsed and written, without the slow
HTML build itself.
"""

from __future__ import annotations

import base64
import io
import json
import subprocess
from collections import Counter
from pathlib import Path

import nbformat
import papermill
import pytest
import xarray as xr
from PIL import Image

from vnlib.book import build as book
from vnlib.book import chapter, paths, store
from vnlib.book import ledger as claims
from vnlib.book import ledger_page as pages
from vnlib.book.parameters import PROFILES
from vnlib.book.store import provenance
from vnlib.book.store import source_hash as source

PICTURE = io.BytesIO()
Image.new("RGB", (1440, 360)).save(PICTURE, "PNG")
PNG = base64.b64encode(PICTURE.getvalue()).decode()
PDF = base64.b64encode(b"%PDF not really").decode()


def grid(path: Path, **attrs: str) -> None:
    """A finished result file of two runs."""
    store.grid(
        lambda axes, settings, workdir: xr.Dataset({"y": ((), 1.0)}),
        {"seed": [0, 1]},
        path=path,
        settings=lambda axes: {},
        title="made up",
        progress=False,
        attrs=attrs,
    )


def row(**changes: object) -> dict:
    return {
        "id": "VN-X1",
        "source": "VN Fig. 9",
        "chapter": "fig9",
        "figure": "fig9-map",
        "statement": "It works.",
        "terms": "Works: runs.",
        "verdict": claims.PARTLY,
        "verdict_controls": None,
        "numbers": {"it.ratio": 1.25},
        "parts": [{"says": "it works", "holds": True}, {"says": "always", "holds": False}],
        "parts_controls": [],
    } | changes


# --- Pages ----------------------------------------------------------------------------------------


def test_ledger_page_holds_every_claim_with_rule_numbers_and_link():
    fair = {
        "id": "VN-X2",
        "verdict": claims.REPRODUCED,
        "verdict_controls": claims.NOT,
        "numbers": {},
    }
    fair["parts_controls"] = [{"says": "fairly", "holds": False}]
    page = pages.ledger([row(), row(**fair)], "fast")
    assert page.startswith("# ") and "`fast`" in page
    for text in (
        "VN-X1",
        "VN-X2",
        "It works.",
        "Works: runs.",
        "<br>[VN Fig. 9](#fig9-map) |",
        "*[VN Fig. 9](#fig9-map).*",
    ):
        assert text in page
    assert "`it.ratio`" in page and "1.25" in page
    for said, holds in (("it works", True), ("always", False), ("fairly", False)):
        line = next(line for line in page.splitlines() if line.endswith(f": {said}"))
        assert ("does not hold" not in line) == holds
    anchors = [
        line[1:-2] for line in page.splitlines() if line.startswith("(") and line.endswith(")=")
    ]
    assert len(set(anchors)) == 2 and all(f"](#{anchor})" in page for anchor in anchors), (
        "targets of the table's links"
    )


def test_ledger_page_says_why_a_claim_cannot_be_tested():
    page = pages.ledger(
        [row(verdict=claims.NOT_TESTABLE, parts=[], figures={}, missing="the results lack x")],
        "fast",
    )
    assert "Not testable: the results lack x." in page


def test_tables_of_the_ledger_page_have_rows_of_one_width():
    page = pages.ledger([claims.judge(one, None) for one in claims.all_claims().values()], "paper")
    widths = Counter(line.count("|") for line in page.splitlines() if line.startswith("|"))
    papers = len(pages.PAPERS)
    # Counts (not testable, not asked): a head, its rule, two protocols of each paper. Claims: head
    # and rule per paper.
    assert widths == {4: 2 + 2 * papers, 5: len(claims.all_claims()) + 2 * papers}


def test_claims_are_grouped_and_counted_by_paper():
    rows = [
        row(),
        row(id="VN-X2", verdict=claims.NOT, verdict_controls=claims.NOT),
        row(id="FR-9", verdict=claims.REPRODUCED),
    ]
    page = pages.ledger(rows, "fast")
    ours, theirs = page.index("\n## Vector Networks"), page.index("\n## Forced Rendering")
    assert (
        ours < page.index("| [VN-X2](#claim-vn-x2)") < theirs < page.index("| [FR-9](#claim-fr-9)")
    )
    for counted in (page, pages.headlines(rows, "paper")):
        assert "| claims | reproduced | partly | not reproduced | not asked |" in counted, (
            "only verdicts that occur"
        )
        assert "| Vector Networks: as printed | 0 | 1 | 1 | 0 |" in counted
        assert "| Vector Networks: with controls | 0 | 0 | 1 | 1 |" in counted
        assert "| Forced Rendering: as printed | 1 | 0 | 0 | 0 |" in counted


@pytest.mark.parametrize(("profile", "warned"), [("smoke", True), ("fast", True), ("paper", False)])
def test_headlines_warn_of_results_that_are_not_the_shipped_ones(profile, warned):
    text = pages.headlines([row()], profile)
    assert ("{warning}" in text) == warned and ("`make book`" in text) == warned
    assert "Vector Networks: as printed" in text
    assert "It works." not in text, "claims are for the ledger's own page"


def test_status_page_tells_where_results_come_from(project, tmp_path):
    page = pages.status(tmp_path, "fast")
    assert (
        "| [](../chapters/tiny.ipynb) | no results in this profile |" in page
        and "`fast` results" in page
    )
    grid(tmp_path / "tiny.nc")
    page = pages.status(tmp_path, "fast")
    line = next(line for line in page.splitlines() if "chapters/tiny.ipynb" in line)
    assert "current" in line and "../../data/tiny.nc" in line
    (machine,) = (line for line in page.splitlines() if line.startswith("- All chapters: "))
    assert provenance.hardware() in machine and f"torch {provenance.versions()['torch']}" in machine
    widths = {text.count("|") for text in page.splitlines() if text.startswith("|")}
    assert len(widths) == 1


def test_status_has_the_chapters_in_the_order_of_the_book(reader, tmp_path):
    (reader / "_toc.yml").write_text("- file: book/chapters/tiny\n- file: book/chapters/alpha\n")
    page = pages.status(tmp_path, "fast")
    assert page.index("chapters/tiny.ipynb") < page.index("chapters/alpha.ipynb")
    (reader / "_toc.yml").write_text("- file: book/chapters/alpha\n")
    page = pages.status(tmp_path, "fast")
    assert page.index("chapters/alpha.ipynb") < page.index("chapters/tiny.ipynb"), (
        "what is not listed comes last"
    )


def test_status_says_that_the_library_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "0123456789ab")
    grid(tmp_path / "x.nc")
    assert provenance.facts(store.read(tmp_path / "x.nc"))["library"] == "current"
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "ba9876543210")
    facts = provenance.facts(store.read(tmp_path / "x.nc"))
    assert facts["library"] == "changed since (0123456789ab)"
    assert facts["runs"] == "2"


def test_status_and_footer_go_by_the_source_of_the_chapter(project, vnbook):
    """An edit of what the chapter does not import leaves its results current; an edit of what it
    computes does not.
    """
    assert vnbook("run", "tiny", "--quiet").code == 0
    results = store.read(project / "results" / "smoke" / "tiny.nc")
    assert (
        results.attrs["source_hash"] == provenance.source_hash("tiny") != provenance.source_hash()
    )
    assert provenance.facts(results)["library"] == "current"
    executed = project / "results" / "executed" / "smoke" / "tiny.ipynb"
    assert f"current; its source is now {provenance.source_hash('tiny')}" in executed.read_text(
        encoding="utf-8"
    )

    study = project / "chapters" / "tiny" / "study.py"
    text = study.read_text(encoding="utf-8")
    for old, new, current in (
        ("import xarray as xr", "import xarray as xr  # labelled arrays", True),
        ("seed times width", "the width times the seed", True),
        ("> 9", "> 8", False),
    ):
        study.write_text(text.replace(old, new), encoding="utf-8")
        source._hash_once.cache_clear()  # as in a new process
        library = provenance.facts(results)["library"]
        assert (library == "current") is current and (current or "changed since" in library)


@pytest.fixture
def reader(project) -> Path:
    """A second chapter, `alpha`, that needs the results of `tiny`; returns the project."""
    (project / "chapters" / "alpha").mkdir()
    (project / "chapters" / "alpha" / "alpha.toml").write_text(
        'title = "Reads another"\nclaims = []\nneeds = ["tiny"]\n[profiles]\nsmoke = '
        "{}\nfast = {}\npaper = {}\n"
    )
    notebook = nbformat.read(project / "chapters" / "tiny" / "tiny.ipynb", as_version=4)
    notebook.cells[
        0
    ].source = 'profile = "smoke"\nseeds = None\ndevice = "cpu"\nrecompute = False\nstale = "keep"\nresults_dir = None\n'
    notebook.cells[1].source = (
        'from vnlib.book.chapter import open_chapter\nchapter = open_chapter("alpha", globals())\n'
        'print("sum", float(chapter.results_of("tiny")["y"].sum()))\n'
    )
    notebook.cells = notebook.cells[:2]
    nbformat.write(notebook, project / "chapters" / "alpha" / "alpha.ipynb")
    return project


def test_a_chapter_reads_the_results_of_another_and_runs_it_where_there_are_none(reader, capsys):
    one = chapter.Chapter(chapter.spec("alpha"), chapter.spec("alpha").check({"profile": "fast"}))
    assert one.results_of("tiny")["y"].values.tolist() == [0, 2, 4]
    assert "There are no results of tiny yet: it is run first." in capsys.readouterr().out
    # other results: they are read as they are
    grid(reader / "results" / "fast" / "tiny.nc", made="here")
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


# --- An executed notebook becomes a page ----------------------------------------------------------


@pytest.fixture
def executed(project) -> Path:
    def cell(source: str, **metadata: object) -> nbformat.NotebookNode:
        return nbformat.v4.new_code_cell(
            source, metadata={"papermill": {"duration": 1}, **metadata}
        )

    cells = [
        cell("a"),
        cell("b", tags=["hide-cell"]),
        cell("c", tags=["parameters"]),
        cell("d", mystnb={"figure": {"name": "fig9-map", "caption": "c"}}),
        cell("chapter.links()\n"),
        cell("e"),
        cell("chapter.links()\n"),
        nbformat.v4.new_markdown_cell("text", metadata={"papermill": {}}),
    ]
    for one in cells[3], cells[5]:
        drawn = {
            "image/png": PNG,
            "image/svg+xml": "<svg/>",
            "application/pdf": PDF,
            "text/plain": "<Figure>",
        }
        one.outputs = [nbformat.v4.new_output("display_data", drawn)]
    cells[2].outputs = [nbformat.v4.new_output("stream", text="2 of 2 runs already there")]
    for one in cells[4], cells[6]:
        one.outputs = [
            nbformat.v4.new_output("display_data", {"text/html": "<p>data · re-make with x</p>"})
        ]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"papermill": {"input_path": "/somewhere/x.ipynb"}}
    )
    path = project / "book" / "chapters" / "fig9.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(notebook, path)
    return path


def test_finish_collapses_code_and_keeps_what_is_hidden_already(executed):
    book.finish(executed)
    tags = [cell.metadata.get("tags", []) for cell in nbformat.read(executed, 4).cells]
    assert tags[0] == ["hide-input"] and tags[1] == ["hide-cell"]
    assert set(tags[2]) == {"parameters", "hide-cell"}, "what is printed is folded with its code"
    assert tags[4] == ["remove-input"], "links are read, not studied"
    assert tags[7] == []


def test_finish_joins_code_that_shows_nothing_to_what_follows(project):
    """One line of folded code where there were several; neither hidden cells nor what is read is
    joined.
    """

    def cell(
        source: str, *outputs: nbformat.NotebookNode, **metadata: object
    ) -> nbformat.NotebookNode:
        return nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata=metadata)

    print_ = nbformat.v4.new_output("stream", text="2 of 2 runs already there")
    table = nbformat.v4.new_output("execute_result", {"text/html": "<table></table>"})
    cells = [
        cell("a", tags=["parameters"]),
        cell("b"),
        nbformat.v4.new_markdown_cell("text"),
        cell("c"),
        cell("d", print_),
        cell("e", tags=["remove-cell"]),
        cell("f"),
        cell("words.table(x)", table),
        cell("g"),
        cell("h", table, mystnb={"figure": {"name": "fig9-map"}}),
    ]
    path = project / "fig9.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    book.finish(path)
    found = [(one.source, one.metadata.get("tags")) for one in nbformat.read(path, 4).cells]
    assert found == [
        ("a\n\nb", ["hide-input"]),
        ("text", None),
        ("c\n\nd", ["hide-cell"]),
        ("e", ["remove-cell"]),
        ("f", ["hide-input"]),
        ("words.table(x)", ["remove-input"]),
        ("g\n\nh", ["hide-input"]),
    ]


def test_finish_takes_out_named_figures(executed):
    book.finish(executed)
    assert [path.name for path in book.GENERATED.iterdir()] == ["fig9-map.png"]
    with Image.open(book.GENERATED / "fig9-map.png") as card:
        assert card.size == (720, 180), "as wide as a card needs, of the same shape"
    downloads = {path.name: path.read_bytes() for path in (book.EXTRA / "figures").iterdir()}
    assert downloads == {"fig9-map.svg": b"<svg/>", "fig9-map.pdf": base64.b64decode(PDF)}


def test_finish_links_a_named_figure_in_its_formats_for_print(executed):
    book.finish(executed)
    cells = nbformat.read(executed, 4).cells
    for name in ("fig9-map.pdf", "fig9-map.svg"):
        assert f'<a href="../../figures/{name}" download>' in cells[4].outputs[0].data["text/html"]
    assert cells[6].outputs[0].data["text/html"] == "<p>data · re-make with x</p>", (
        "the figure above has no name"
    )
    assert (
        set(cells[3].outputs[0].data)
        == set(cells[5].outputs[0].data)
        == {"image/png", "text/plain"}
    )


def test_finish_removes_the_traces_of_the_machine(executed):
    book.finish(executed)
    text = executed.read_text(encoding="utf-8")
    assert "papermill" not in text and "/somewhere" not in text
    nbformat.validate(nbformat.read(executed, 4))


# --- What a fresh build may empty -----------------------------------------------------------------


@pytest.mark.parametrize("folder", ["results", "results/reproduced/..", "./results"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_fresh_build_never_empties_the_shipped_results(project, folder, profile):
    shipped = project / "results" / profile / "tiny.nc"
    (project / "results" / "reproduced").mkdir(parents=True)
    grid(shipped)
    with pytest.raises(
        ValueError, match=r"results_dir must not be results .*such as results/reproduced"
    ):
        book.build(profile, project / folder, fresh=True)
    assert shipped.exists()


def test_clear_empties_finished_results_and_marks_the_folder(project):
    folder = project / "results" / "reproduced" / "fast"
    grid(folder / "tiny.nc")
    (folder / "ledger.json").write_text("[]")
    (folder / "tiny.runs").mkdir()
    book._clear(folder)
    assert [path.name for path in folder.iterdir()] == [book.UNFINISHED]


def test_clear_goes_on_with_an_unfinished_build_of_the_same_source(project):
    folder = project / "results" / "reproduced" / "fast"
    book._clear(folder)
    grid(folder / "tiny.nc")
    book._clear(folder)
    assert (folder / "tiny.nc").exists()


def test_clear_starts_over_when_the_source_changed(project, monkeypatch):
    folder = project / "results" / "reproduced" / "fast"
    book._clear(folder)
    grid(folder / "tiny.nc")
    monkeypatch.setattr(provenance, "source_hash", lambda name: f"another {name}")
    book._clear(folder)
    assert [path.name for path in folder.iterdir()] == [book.UNFINISHED]
    assert (folder / book.UNFINISHED).read_text() == "another tiny"


def test_clear_refuses_a_folder_with_other_files(project):
    folder = project / "elsewhere" / "fast"
    grid(folder / "tiny.nc")
    (folder / "thesis.docx").write_text("three years")
    with pytest.raises(
        ValueError, match=r"elsewhere/fast holds files that are not results \(thesis\.docx\)"
    ):
        book._clear(folder)
    assert {path.name for path in folder.iterdir()} == {"tiny.nc", "thesis.docx"}


# --- The build ------------------------------------------------------------------------------------


@pytest.fixture
def calls(project, monkeypatch) -> list:
    """A build in which chapters are stored at once and the HTML takes no time; returns what was
    asked for.
    """
    seen = []

    def run_chapter(name, given, output, **options):
        seen.append((name, dict(given), options))
        grid(Path(given["results_dir"]) / given["profile"] / f"{name}.nc")
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
    html = book.build("fast", results, jobs=3, progress=False)
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
    assert [one["id"] for one in rows] == list(claims.all_claims())
    assert (book.GENERATED / "ledger.md").read_text(encoding="utf-8") == pages.ledger(rows, "fast")
    assert "chapters/tiny.ipynb" in (book.GENERATED / "status.md").read_text(encoding="utf-8")


def test_a_fresh_build_starts_from_nothing_and_removes_its_mark(project, calls):
    results = project / "mine"
    grid(results / "fast" / "old.nc")
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
            book._jupyter_book()
        assert "x.md:3: WARNING: no such target: y" in str(caught.value)
        assert "reading sources" not in str(caught.value)
    else:
        book._jupyter_book()
    assert {"-W", "-n", "--keep-going"} <= set(seen["command"])


# --- One chapter ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "recompute", "helpers"), [(False, False, 2), (True, False, 0), (True, True, 2)]
)
@pytest.mark.parametrize("fails", [False, True])
def test_other_processes_help_only_with_work_and_end_with_it(
    project, monkeypatch, stored, recompute, helpers, fails
):
    if stored:
        grid(project / "mine" / "smoke" / "tiny.nc")
    started = []

    class Process:
        ended = False

        def terminate(self):
            self.ended = True

        def wait(self):
            assert self.ended

    def execute(source, output, **options):
        if fails:
            raise papermill.PapermillExecutionError(1, 1, "x", "ValueError", "no", [])
        nbformat.write(nbformat.v4.new_notebook(), output)

    monkeypatch.setattr(book, "_helper", lambda *args: started.append(Process()) or started[-1])
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


def test_what_is_printed_is_folded_also_beside_numbers_for_the_prose():
    record = {"application/papermill.record/text/plain": "'3'"}
    glued = nbformat.v4.new_output("display_data", data=record, metadata={"scrapbook": {}})
    shown = nbformat.v4.new_output("display_data", data={"text/html": "<p>3</p>"})
    assert book._unseen(glued) and book._unseen(nbformat.v4.new_output("stream", text="done"))
    assert not book._unseen(shown)
