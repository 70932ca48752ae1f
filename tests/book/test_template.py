"""The order in which a chapter is read: question, example, answer, why, verdicts, an exercise; what is
looked up comes last and folded. It holds of the chapters that open with a question.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import nbformat
import pytest
import yaml

from book.site.build import SHIPPED
from vnlib.book import chapter, paths

QUESTION = ":::{div} vn-question"
PARTS = [
    "The answer",
    "Why",
    "Verdicts",
    "Change this and predict",
    "All figures and tables",
    "Choices and provenance",
]
MOST = 6  # figures and tables that are not folded
SENTENCE = r"(?:[^.!?\n]|[.](?=\d)|(?:(?<=Fig)|(?<=App))[.] |\n(?!\n))+[.]"
GLUE = re.compile(r"\{glue:text\}`[\w-]+`")


def cells_of(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(paths.notebook(name), as_version=4).cells


def asking() -> list[str]:
    return [name for name in paths.chapters() if QUESTION in cells_of(name)[0].source]


SUMMARY = "summary"  # of what other chapters decide and compute
NAMES = [name for name in asking() if name != SUMMARY]
every_chapter = pytest.mark.parametrize("name", NAMES)
every_page = pytest.mark.parametrize("name", [*NAMES, SUMMARY])


def parted(name: str) -> Iterator[tuple[str, bool, nbformat.NotebookNode]]:
    """Each cell, with the section (of level 2) in which it ends and whether it is folded there."""
    section, folds = "", False
    for cell in cells_of(name):
        if cell.cell_type == "markdown":
            fenced = False
            for line in cell.source.splitlines():
                fenced ^= line.startswith("```")
                if found := re.fullmatch(r"## (.+)", line):
                    section, folds = found[1], False
                folds |= line.startswith("```{fold}")
        yield section, folds, cell


def shows(cell: nbformat.NotebookNode) -> bool:
    return "figure" in cell.metadata.get("mystnb", {})


def test_there_are_chapters_of_this_form():
    assert {"fig2_spatial", "fig5_mnist"} <= set(NAMES)


@every_page
def test_parts_come_in_this_order(name):
    sections = list(dict.fromkeys(section for section, _, _ in parted(name)))
    own = [one for one in PARTS if name != SUMMARY or one != PARTS[3]]
    assert [one for one in sections if one in PARTS] == own
    assert sections[-1] == PARTS[-1]


@every_page
def test_a_question_of_one_sentence_and_an_example_come_before_the_answer(name):
    question = re.search(rf"{re.escape(QUESTION)}\n(.*?)\n:::", cells_of(name)[0].source, re.S)[1]
    assert question.endswith("?") and not re.search(r"[.!?] ", question)
    before = [cell for section, _, cell in parted(name) if not section]
    assert sum(map(shows, before)) == 1 and shows(before[-1])
    # What computes is one line of code, without a heading or prose of its own.
    assert all(one.cell_type == "code" for one in before[1:])


@every_page
def test_the_answer_is_three_sentences_with_a_number_each(name):
    (answer,) = [c for section, _, c in parted(name) if section == "The answer"]
    assert SHIPPED in answer.metadata.tags
    listed, after = answer.source.split("## The answer")[1].strip().rsplit("\n\n", 1)
    points = listed.removeprefix("- ").split("\n- ")
    assert [len(GLUE.findall(one)) for one in points] == [1, 1, 1]
    # A sentence each, and after them one that says of what runs the numbers are.
    for text in (*points, after):
        assert re.fullmatch(SENTENCE, text, re.S), text
    assert not any(";" in one for one in points)


@every_page
def test_few_figures_are_unfolded_and_what_is_looked_up_is_folded(name):
    parts = list(parted(name))
    assert 2 <= sum(shows(cell) and not folds for _, folds, cell in parts) <= MOST
    looked_up = re.compile(r"chapter\.(verdicts|footer)\(|candidates\(")
    calls = [
        folds
        for _, folds, cell in parts
        if cell.cell_type == "code"
        and looked_up.search(cell.source)
        and "import" not in cell.source
    ]
    assert all(calls) and (calls or not chapter.spec(name).stores)
    for section in PARTS[-2:]:
        assert any(folds for one, folds, _ in parts if one == section)


@every_chapter
def test_the_strip_of_verdicts_is_of_this_chapter(name):
    """A chapter without claims says so in its place."""
    text = "\n".join(cell.source for section, _, cell in parted(name) if section == "Verdicts")
    claims = chapter.spec(name).sidecar["claims"]
    assert re.findall(r"\{verdicts\} (\w+)", text) == ([name] if claims else [])
    assert ("No claim of the papers is decided here" in text) == (not claims)


@every_chapter
def test_the_exercise_can_be_run_and_its_solution_is_folded_and_measured(name):
    task, solution = [c for section, _, c in parted(name) if section == PARTS[3]]
    (line,) = re.findall(r"^vnbook run .*$", task.source, re.M)
    _, _, run, *rest = shlex.split(line)
    assert run == name and rest[::3] == ["-p"] * (len(rest) // 3)
    given = dict(zip(rest[1::3], map(yaml.safe_load, rest[2::3]), strict=True))
    assert chapter.spec(name).check(given)["profile"] == "fast"
    assert solution.source.startswith(":::{dropdown} Solution") and GLUE.search(solution.source)
    assert SHIPPED in solution.metadata.tags
