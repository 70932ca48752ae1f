"""An executed notebook becomes a page: what is folded, joined, taken out and removed."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import nbformat
import pytest
from PIL import Image

from book.site import build as book

PICTURE = io.BytesIO()
Image.new("RGB", (1440, 360)).save(PICTURE, "PNG")
PNG = base64.b64encode(PICTURE.getvalue()).decode()
PDF = base64.b64encode(b"%PDF not really").decode()


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
        cell("chapter.show(d)\n", mystnb={"figure": {"name": "fig9-map", "caption": "c"}}),
        cell("chapter.show(e)\n"),
        nbformat.v4.new_markdown_cell("text", metadata={"papermill": {}}),
    ]
    for one in cells[3], cells[4]:
        drawn = {
            "image/png": PNG,
            "image/svg+xml": "<svg/>",
            "application/pdf": PDF,
            "text/plain": "<Figure>",
        }
        links = {"text/html": "<p>data · re-make with x</p>"}
        one.outputs = [nbformat.v4.new_output("display_data", data) for data in (drawn, links)]
    cells[2].outputs = [nbformat.v4.new_output("stream", text="2 of 2 runs already there")]
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"papermill": {"input_path": "/somewhere/x.ipynb"}}
    )
    path = project / "book" / "chapters" / "fig9.ipynb"
    path.parent.mkdir(parents=True)
    (project / "book" / "intro.md").write_text(":img-top: generated/fig9-map.*\n")
    nbformat.write(notebook, path)
    return path


def test_finish_collapses_code_and_keeps_what_is_hidden_already(executed):
    book.finish(executed)
    tags = [cell.metadata.get("tags", []) for cell in nbformat.read(executed, 4).cells]
    assert tags[0] == ["hide-input"] and tags[1] == ["hide-cell"]
    assert set(tags[2]) == {"parameters", "hide-cell"}, "what is printed is folded with its code"
    assert tags[3] == ["hide-input"] and "remove-input" in tags[4], "links are read, not studied"
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
    with Image.open(book.GENERATED / "fig9-map.png") as picture:
        assert picture.size == (1440, 360), "as sharp as in its chapter"
    downloads = {path.name: path.read_bytes() for path in (book.EXTRA / "figures").iterdir()}
    assert downloads == {"fig9-map.svg": b"<svg/>", "fig9-map.pdf": base64.b64decode(PDF)}


def test_finish_writes_only_what_a_page_shows(executed, project):
    (project / "book" / "intro.md").write_text(":img-top: generated/fig9.*\n")
    book.finish(executed)
    assert not list(book.GENERATED.iterdir())


def test_finish_leaves_a_drawing_in_the_place_of_a_picture(executed):
    notebook = nbformat.read(executed, 4)
    for kind in ("image/png", "application/pdf"):
        del notebook.cells[3].outputs[0].data[kind]
    nbformat.write(notebook, executed)
    book.finish(executed)
    assert [path.name for path in book.GENERATED.iterdir()] == ["fig9-map.svg"]
    assert (book.GENERATED / "fig9-map.svg").read_text() == "<svg/>"
    cells = nbformat.read(executed, 4).cells
    assert cells[3].outputs[0].data == {"image/svg+xml": "<svg/>", "text/plain": "<Figure>"}
    assert "figure as" not in cells[4].outputs[0].data["text/html"]


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


def test_what_is_printed_is_folded_also_beside_numbers_for_the_prose():
    record = {"application/papermill.record/text/plain": "'3'"}
    glued = nbformat.v4.new_output("display_data", data=record, metadata={"scrapbook": {}})
    shown = nbformat.v4.new_output("display_data", data={"text/html": "<p>3</p>"})
    assert book._unseen(glued) and book._unseen(nbformat.v4.new_output("stream", text="done"))
    assert not book._unseen(shown)
