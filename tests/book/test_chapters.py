"""The form of chapters: what notebooks hold, and how their figures are told apart."""

from __future__ import annotations

import re
from collections import Counter

import nbformat
import pytest

from vnlib.book import chapter, paths, store

NAMES = paths.chapters()

every_chapter = pytest.mark.parametrize("name", NAMES)


def read(name: str) -> nbformat.NotebookNode:
    notebook = nbformat.read(paths.notebook(name), as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(name: str) -> list[nbformat.NotebookNode]:
    return [cell for cell in read(name).cells if cell.cell_type == "code"]


def figure(cell: nbformat.NotebookNode) -> dict:
    return cell.metadata.get("mystnb", {}).get("figure", {})


def test_there_are_chapters_and_all_have_a_sidecar():
    for kind in ("ipynb", "toml"):
        assert {path.stem for path in paths.CHAPTERS.glob(f"*/*.{kind}")} == set(NAMES)


@every_chapter
def test_source_holds_no_outputs_and_starts_with_its_title(name):
    for cell in code_cells(name):
        assert cell.outputs == []
        assert cell.execution_count is None
    first = read(name).cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")


@every_chapter
def test_kernel_is_python3(name):
    assert read(name).metadata.kernelspec.name == "python3"


@every_chapter
def test_page_and_list_of_chapters_say_the_same_of_its_time(name):
    times = chapter.spec(name).sidecar["runtime"]
    (said,) = [
        found[1]
        for cell in read(name).cells
        if (found := re.search(r"^\*\*Time\.\*\* (.*)", cell.source, re.M))
    ]
    assert said.startswith("Seconds") or all(f"`{p}` {time}," in said for p, time in times.items())


@every_chapter
def test_the_time_of_paper_is_half_of_what_its_runs_took(name):
    """Within a quarter, or a minute; two cores compute two runs at once. Runs with a GPU say nothing."""
    file = paths.RESULTS / "paper" / f"{name}.nc"
    files = [store.read(one) for one in (file, *paths.parts(file, name)) if one.exists()]
    seconds = sum(float(one["run_wall_time"].sum()) for one in files) / 2
    number, unit = chapter.spec(name).sidecar["runtime"]["paper"].split()
    said = int(number) * {"s": 1, "min": 60, "h": 3600}[unit]
    if files and " cores, " in files[0].attrs["hardware"]:
        assert said > seconds
    else:
        assert seconds / 1.25 - 60 <= said <= 1.25 * seconds + 60


@every_chapter
def test_one_cell_is_tagged_parameters_and_comes_first(name):
    tagged = [
        i
        for i, cell in enumerate(code_cells(name))
        if "parameters" in cell.metadata.get("tags", [])
    ]
    assert tagged == [0]


@every_chapter
def test_every_figure_has_caption_label_and_alt_text(name):
    drawing = [cell for cell in code_cells(name) if "chapter.show(" in cell.source or figure(cell)]
    assert drawing
    for cell in drawing:
        assert figure(cell).get("caption", "").rstrip().endswith((".", ")")), cell.id
        start = name.split("_")[0]
        start = f"app{start}" if len(start) == 1 else start  # an appendix
        assert re.fullmatch(rf"{start}-[a-z0-9-]+", figure(cell).get("name", "")), cell.id
        if "chapter.show(" in cell.source:
            alt = cell.metadata.mystnb.get("image", {}).get("alt", "")
            assert len(alt) > 20 and alt != figure(cell)["caption"], cell.id


def test_labels_are_unique_over_the_book():
    """Of figures and of sections; Sphinx does not tell upper from lower case."""
    labels = Counter(
        figure(cell)["name"].lower() for name in NAMES for cell in code_cells(name) if figure(cell)
    )
    texts = (
        cell.source for name in NAMES for cell in read(name).cells if cell.cell_type == "markdown"
    )
    labels.update(
        found.lower() for text in texts for found in re.findall(r"^\(([\w-]+)\)=$", text, re.M)
    )
    assert labels and max(labels.values()) == 1, labels.most_common(3)
