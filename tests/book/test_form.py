"""What holds of every chapter: its folder is whole, its files describe themselves, its prose says
what the shipped results say, and things have one name on all pages.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

import matplotlib.pyplot as plt
import nbformat
import pytest

from book.site.build import SHIPPED
from vnlib.book import chapter, paths, store
from vnlib.plots import tables
from vnlib.plots.tables import Table

NAMES = paths.chapters()
STORING = [name for name in NAMES if chapter.spec(name).stores]
SHIPPED_FILES = sorted((paths.RESULTS / "paper").glob("*.nc"))
GLUE = re.compile(r"\{glue:text\}`([\w-]+)`")
LABEL = re.compile(r"^\(([\w-]+)\)=", re.M)
LINK = re.compile(r"(?:\]\(#|\{(?:ref|numref)\}`(?:[^`<]*<)?)([\w-]+)")
WIDEST = 25  # lines of a code cell
BASE = tomllib.loads((paths.BOOK / "models.toml").read_text(encoding="utf-8"))["base"]

every_chapter = pytest.mark.parametrize("name", NAMES)


def cells(name: str, kind: str) -> list[nbformat.NotebookNode]:
    found = nbformat.read(paths.notebook(name), as_version=4).cells
    return [cell for cell in found if cell.cell_type == kind]


# --- The folder -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STORING)
def test_a_chapter_that_stores_has_a_study_that_fills_its_grids(name):
    study = paths.module(name, "study")
    assert callable(study.results) and study.VARIABLES
    calls = [c.source for c in cells(name, "code") if "study.results(" in c.source]
    assert len(calls) == 1, "the notebook, a slice and the terminal fill the same grids"
    assert not [c.source for c in cells(name, "code") if "chapter.grid(" in c.source]


@every_chapter
def test_what_a_page_computes_beside_its_study_is_what_the_sidecar_says(name):
    source = "\n".join(cell.source for cell in cells(name, "code"))
    asked = re.findall(r"\b(?!study\b)(\w+)\.results\(chapter\b", source)
    assert asked == chapter.spec(name).sidecar.get("beside", [])
    for part in asked:
        # `vnbook run` hands it the chapter and all that the study found.
        found = re.search(r"^([\w, ]+) = study\.results\(chapter", source, re.M)
        given = ["chapter", *(found[1].split(", ") if found else ["results"])]
        module = paths.module(name, part)
        assert module and inspect.signature(module.results).bind(*given)


@every_chapter
def test_cells_are_short_and_define_nothing(name):
    for cell in cells(name, "code"):
        assert len(cell.source.splitlines()) <= WIDEST, cell.source
        assert not re.search(r"^(def|class) ", cell.source, re.M), cell.source


@every_chapter
def test_all_of_a_chapter_lies_in_one_folder(name):
    folder, modules = paths.notebook(name).parent, {"study", "figures", "tables", "claims"}
    there = {path.stem for path in folder.glob("*.py")}
    there |= {"figures"} if any(stem.startswith("figures_") for stem in there) else set()
    wanted = modules & {"figures", *(["study"] if name in STORING else [])}
    wanted |= {"claims"} if chapter.spec(name).sidecar["claims"] else set()
    assert wanted <= there
    assert (paths.ROOT / "tests" / "chapters" / name).is_dir()


# --- Prose ----------------------------------------------------------------------------------------


@cache
def page_of(name: str) -> tuple[dict[str, str], dict]:
    """What the page glues from the shipped results, of which none may be missing, and the names its
    cells up to there define; drawn by nobody.
    """

    def attempt(self, cells, *_) -> None:
        pytest.fail(f"{name} would compute {cells[0].key} anew: its shipped file is not complete")

    def cautioned(self, *said) -> None:
        assert not said, "no caution stands on a page of shipped results"

    glued: dict[str, str] = {}
    one = chapter.spec(name)
    opened = chapter.Chapter(one, one.check({"profile": "paper", "device": "cpu"}))
    space: dict = {"chapter": opened}
    wanted = (
        r"(from|import) |\w+(, \w+)* = chapter\.(results_of|stored)\(|.*(study\.results|glue)\("
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store.store._Fill, "attempt", attempt)
        patch.setattr(chapter.Chapter, "caution", cautioned)
        patch.setattr(chapter.Chapter, "glue", lambda _, made, *given: glued.update(made(*given)))
        for cell in cells(name, "code"):
            lines = [line for line in cell.source.splitlines() if "open_chapter" not in line]
            text = "\n".join(lines)
            parameters = "parameters" in cell.metadata.get("tags", [])
            if parameters or re.match(wanted, text, re.DOTALL):
                exec(text, space)
    return glued, space


def results_for(name: str) -> dict[str, str]:
    return page_of(name)[0]


def gluing(name: str) -> bool:
    return any("chapter.glue(" in cell.source for cell in cells(name, "code"))


@pytest.mark.skipif(not SHIPPED_FILES, reason="no shipped results")
@pytest.mark.parametrize("name", [name for name in NAMES if gluing(name)])
def test_every_number_that_prose_names_is_glued_and_is_a_number_of_the_results(name):
    glued = results_for(name)
    named = {key for cell in cells(name, "markdown") for key in GLUE.findall(cell.source)}
    assert named, "numbers are glued that no sentence says"
    assert named <= set(glued), sorted(named - set(glued))
    assert all(isinstance(text, str) and text for text in (glued[key] for key in named))


@every_chapter
def test_sentences_with_numbers_of_the_shipped_results_are_marked_as_such(name):
    for cell in cells(name, "markdown"):
        if GLUE.search(cell.source):
            assert SHIPPED in cell.metadata.get("tags", []), cell.source[:80]


@every_chapter
def test_what_stays_on_every_page_links_to_nothing_that_only_the_shipped_page_has(name):
    """Or a book of any other results cannot be built."""
    prose = cells(name, "markdown")
    shipped = "\n".join(c.source for c in prose if SHIPPED in c.metadata.get("tags", []))
    kept = "\n".join(c.source for c in prose if SHIPPED not in c.metadata.get("tags", []))
    assert not set(LINK.findall(kept)) & set(LABEL.findall(shipped))


CODE = re.compile(r"^```(?:\w*\n|\{raw).*?^```|`[^`\n]+`", re.M | re.S)
POWER = re.compile(r"(?<![\w.#/-])[-+]?\d+(?:\.\d+)?e[-+]?\d+\b", re.I)  # as in 1e-6


def prose() -> Iterator[tuple[str, str]]:
    """What is read in sentences: the prose of chapters and pages without their code, captions and
    alternative texts, and the glued numbers.
    """
    for name in NAMES:
        told = [CODE.sub("", cell.source) for cell in cells(name, "markdown")]
        told += [json.dumps(cell.metadata, ensure_ascii=False) for cell in cells(name, "code")]
        yield name, "\n".join(told)
        if SHIPPED_FILES and gluing(name):
            yield f"numbers of {name}", "\n".join(results_for(name).values())
    for page in [*paths.BOOK.glob("*.md"), paths.ROOT / "README.md"]:
        yield _shown(page), CODE.sub("", page.read_text(encoding="utf-8"))


def test_powers_of_ten_are_written_out():
    """As 0.001, a millionth, or 3.2 × 10⁻⁵: code may say 1e-3, a sentence may not."""
    found = {name: hit.group() for name, text in prose() if (hit := POWER.search(text))}
    assert not found


def test_the_search_for_powers_of_ten_can_fail():
    for text in ("errors below 1e-6 are drawn there", "off by 1.1e-06 box²", "(3E5)"):
        assert POWER.search(CODE.sub("", text)), text
    for text in ("```bash\nlr=1e-3\n```", "`lr = 1e-3`", "3.2 × 10⁻⁵", "cell-1e5"):
        assert not POWER.search(CODE.sub("", text)), text


# Pages of the same results or baselines: what they name alike after their chapter's prefix is one
# quantity. With each pair, how many names it shares at least.
SAME_RESULTS = [
    ("fig2_spatial", "F_spatial", 1),
    ("fig3_functions", "G_functions", 11),
    ("fig4_nbody", "H_nbody", 0),
]


@pytest.mark.skipif(not SHIPPED_FILES, reason="no shipped results")
@pytest.mark.parametrize(("figure", "appendix", "least"), SAME_RESULTS)
def test_pages_that_state_the_same_quantity_state_the_same_number(figure, appendix, least):
    one, other = (
        {key.partition("-")[2]: text for key, text in results_for(name).items()}
        for name in (figure, appendix)
    )
    shared = one.keys() & other.keys()
    assert len(shared) >= least
    assert {key: one[key] for key in shared} == {key: other[key] for key in shared}


@pytest.mark.skipif(not SHIPPED_FILES, reason="no shipped results")
def test_a_key_is_glued_by_one_chapter_only():
    """Or two pages could say two things under it."""
    keys = [key for name in NAMES if gluing(name) for key in results_for(name)]
    assert len(set(keys)) == len(keys)


def may_lack(space: dict) -> dict[str, dict[str, FunctionType]]:
    """The figures and tables of a page that say that it was not computed where results lack
    what they show, by module; bare, so that they raise it.
    """
    modules = {key: one for key, one in space.items() if isinstance(one, ModuleType)}
    return {
        key: found
        for key, module in modules.items()
        if (found := {n: f.__wrapped__ for n, f in vars(module).items() if kept(f)})
    }


def kept(one: object) -> bool:
    return isinstance(one, FunctionType) and one.__code__ is tables.if_computed(kept).__code__


LACKING = [
    name
    for name in NAMES
    if any("@if_computed" in path.read_text() for path in paths.notebook(name).parent.glob("*.py"))
]


@pytest.mark.slow
@pytest.mark.skipif(not SHIPPED_FILES, reason="no shipped results")
@pytest.mark.parametrize("name", LACKING)
def test_shipped_pages_lack_nothing(name, monkeypatch):
    """No figure and no table of theirs says that it was not computed."""
    space = dict(page_of(name)[1])
    functions = may_lack(space)
    assert functions
    for key, bare in functions.items():
        for one, function in bare.items():
            monkeypatch.setattr(space[key], one, function)
    monkeypatch.setattr(chapter.Chapter, "show", lambda _, draw, *of, **how: draw(*of, **how))
    names = "|".join(rf"{key}\.{one}" for key in functions for one in functions[key])
    drawing = [c for c in cells(name, "code") if re.search(rf"\b({names})\b", c.source)]
    assert drawing
    for cell in drawing:
        exec(cell.source, space)
    plt.close("all")


# --- Files ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not SHIPPED_FILES, reason="no shipped results")
@pytest.mark.parametrize("path", SHIPPED_FILES, ids=lambda path: path.stem)
def test_every_variable_of_a_shipped_file_says_what_it_is(path):
    ds = store.read(path)
    for name, variable in ds.variables.items():
        assert variable.attrs.get("long_name"), name
        if variable.dtype.kind in "iufb" and name not in ("model", "candidate"):
            assert variable.attrs.get("units"), name
    if "model" in ds.dims:
        assert all(ds["label"].values.tolist()) and all(ds["group"].values.tolist())


# --- Names ----------------------------------------------------------------------------------------

LABELS = {
    (name, model): one["label"]
    for name in NAMES
    if chapter.spec(name).sidecar.get("models_are", "models") == "models"  # or tasks, ...
    for model, one in chapter.spec(name).sidecar.get("models", {}).items()
    if "label" in one
}
OTHER_NAMES = re.compile(  # of the zero baseline
    r"\bblank\b|\bzero (?:prediction|image|signal)\b|\bpredicting zero\b|\bdrawing nothing\b|\bempty image\b"
    r"|\bthe paper's protocol\b|\bfair(?:ly)? protocol\b"
)


@pytest.mark.parametrize(("name", "model"), LABELS)
def test_a_model_has_a_name_of_the_registry(name, model):
    base = LABELS[name, model].split(",")[0]
    assert base in BASE, f"{base!r} is no name in book/models.toml; take one of these, or add it"


def texts() -> list[tuple[str, str]]:
    notebooks = [
        (name, "\n".join(c.source + json.dumps(c.metadata) for c in cells(name, kind)))
        for name in NAMES
        for kind in ("markdown", "code")
    ]
    sources = [*paths.CHAPTERS.glob("*/*.py"), *(paths.ROOT / "benchmarks").glob("*/*.py")]
    pages = [path for path in paths.BOOK.glob("*.md")] + [paths.ROOT / "README.md"]
    tables = [path for path in sources if re.match(r"(figures|tables|claims)", path.stem)]
    return notebooks + [(_shown(path), path.read_text(encoding="utf-8")) for path in pages + tables]


def _shown(path: Path) -> str:
    return path.relative_to(paths.ROOT).as_posix()


def test_the_zero_baseline_and_the_protocols_have_one_name_on_all_pages():
    found = {name: hit.group() for name, text in texts() if (hit := OTHER_NAMES.search(text))}
    assert not found


def test_the_search_for_other_names_can_fail():
    assert OTHER_NAMES.search("above the error of the zero prediction") and BASE


# --- Tables ---------------------------------------------------------------------------------------


@every_chapter
def test_tables_are_frames_of_numbers(name):
    """What the functions of `tables` are said to return; a text that is composed is no table."""
    folder = paths.notebook(name).parent
    for path in folder.glob("tables*.py"):
        module = import_module(f"chapters.{name}.{path.stem}")
        for key, one in vars(module).items():
            if callable(one) and getattr(one, "__module__", "") == module.__name__:
                returned = str(getattr(one, "__annotations__", {}).get("return", ""))
                # A caption may stand in the place of a table that has nothing to say.
                assert returned != "HTML" and "DataFrame | str" not in returned, key
    assert Table
