"""Who may import whom, read from the source; and words that have no place in the project."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import nbformat
import pytest

from vnlib.book import paths

ROOT = paths.SOURCE
PACKAGES = ("data_gen", "vnlib", "benchmarks", "chapters", "book/site", "book/schematics")
TEXT = {
    ".py",
    ".md",
    ".toml",
    ".yml",
    ".yaml",
    ".txt",
    ".cff",
    ".ipynb",
    ".json",
    ".css",
    ".bib",
    ".sh",
    "",
}


def modules(*patterns: str) -> list[Path]:
    found = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
    assert found, patterns
    return found


def imported(source: str, package: str = "") -> set[str]:
    """Dotted names of all that a source imports, wherever in it: `from vnlib import checks` gives vnlib.checks."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, (
                f"relative imports hide the layers: {ast.unparse(node)} in {package}"
            )
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


ALL = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in modules(*(f"{package}/**/*.py" for package in PACKAGES))
}


def ours(name: str) -> set[str]:
    """The modules of the project that one of them imports, at its head or in a function."""
    names = imported(ALL[name].read_text(encoding="utf-8"), name)
    # `from a import b` names a.b as well as a: a package counts only where nothing in it is a module.
    found = {one for one in names if one in ALL}
    return {one for one in found if not any(other.startswith(f"{one}.") for other in found)} - {
        name
    }


def room(name: str) -> str:
    """What a module belongs to: data_gen, vnlib, a kit, or a chapter."""
    package, *rest = name.split(".")
    return package if package in ("data_gen", "vnlib") else ".".join([package, *rest[:1]])


@cache
def imports() -> dict[str, set[str]]:
    """What each module imports; asked for by tests, since whoever collects tests need not know it."""
    return {name: ours(name) for name in ALL}


def test_the_reader_of_imports_sees_them_all():
    source = "import vnlib.fit as f\ndef g():\n  from vnlib import checks, seeding\n  from vnlib.settle.steps import X"
    assert imported(source) == {
        "vnlib.fit",
        "vnlib",
        "vnlib.checks",
        "vnlib.seeding",
        "vnlib.settle.steps",
        "vnlib.settle.steps.X",
    }
    with pytest.raises(AssertionError, match="relative"):
        imported("from . import store")


def allowed(name: str, other: str) -> bool:
    """Data goes up: data_gen, vnlib, parts of baselines, a kit, a chapter; the first two know
    nothing of each other.
    """
    above = {
        "data_gen": (),
        "vnlib": (),
        "benchmarks": ("data_gen", "vnlib"),
        "chapters": ("data_gen", "vnlib", "benchmarks"),
        "book": ("vnlib",),
    }
    parts = name.startswith("benchmarks.") and room(other) == "benchmarks.baselines"
    return room(other) == room(name) or parts or other.split(".")[0] in above[name.split(".")[0]]


@pytest.mark.parametrize(
    ("name", "other", "may"),
    [
        ("data_gen.bumps", "data_gen.guards", True),
        ("data_gen.bumps", "vnlib.checks", False),
        ("vnlib.fit", "data_gen.bumps", False),
        ("vnlib.fit", "benchmarks.spatial.cnn", False),
        ("benchmarks.spatial.cnn", "vnlib.fit", True),
        ("benchmarks.spatial.cnn", "benchmarks.nbody.bodies", False),
        ("benchmarks.spatial.cnn", "benchmarks.baselines.parts", True),
        ("benchmarks.baselines.parts", "vnlib.checks", True),
        ("benchmarks.baselines.parts", "benchmarks.spatial.cnn", False),
        ("chapters.fig2_spatial.study", "benchmarks.spatial.cnn", True),
        ("chapters.fig2_spatial.study", "chapters.FR1_failure.study", False),
        ("benchmarks.spatial.cnn", "chapters.fig2_spatial.study", False),
        ("book.site.build", "vnlib.book.chapter", True),
        ("book.site.build", "chapters.fig2_spatial.study", False),
        ("vnlib.book.chapter", "book.site.build", False),
    ],
)
def test_what_is_allowed_is_as_the_house_is_built(name, other, may):
    assert allowed(name, other) is may


@pytest.mark.parametrize(
    "name", [name for name in ALL if re.fullmatch(r"chapters\.\w+\.study", name)]
)
def test_a_run_reads_its_settings_and_not_those_of_its_chapter(name):
    """Only the settings that it is handed are stored with it, so only they can date it."""
    tree = ast.parse(ALL[name].read_text(encoding="utf-8"))
    runs = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "run"]
    for run in runs:
        read = {
            node.attr
            for node in ast.walk(run)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "chapter"
        }
        assert read <= {"device", "profile"}, read


@pytest.mark.parametrize("name", ALL)
def test_data_goes_up(name):
    assert not [other for other in imports()[name] if not allowed(name, other)]


def test_nothing_imports_in_a_circle():
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


@pytest.mark.parametrize("name", [name for name in ALL if room(name) == "vnlib"])
def test_the_method_knows_nothing_of_the_book(name):
    if not name.startswith(("vnlib.book", "vnlib.plots")):
        assert not [
            other for other in imports()[name] if other.startswith(("vnlib.book", "vnlib.plots"))
        ]


def test_the_library_stays_small():
    texts = [path.read_text(encoding="utf-8") for path in modules("vnlib/**/*.py")]
    assert sum(text.count("\n") for text in texts) < 8000


SHOWING = [
    name for name in ALL if re.search(r"\.(figures|tables|claims)(_\w+)?$|^vnlib\.plots", name)
]


def test_what_shows_and_judges_loads_no_torch():
    """Whatever it imports, and they in turn: the names are looked for after the imports."""
    code = (
        f"import sys\nfor name in {SHOWING}:\n    __import__(name)\nprint('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]


SHOWS = re.compile(r"(vnlib\.plots\..*|(chapters|benchmarks)\.\w+\.(figures|tables)(_\w+)?)")


def drawn_with(name: str, found: frozenset[str] = frozenset()) -> frozenset[str]:
    """A module with all of its own chapter or kit that it imports, directly or not."""
    found |= {name}
    for other in imports()[name]:
        if other not in found and room(other) == room(name) != "vnlib":
            found |= drawn_with(other, found)
    return found


@pytest.mark.parametrize("name", [name for name in ALL if SHOWS.fullmatch(name)])
def test_figures_and_tables_show_and_compute_nothing(name):
    """They take a dataset: they must not be able to train, settle or read files.

    What the rules of the chapter compute is shown as they compute it.
    """
    for one in drawn_with(name):
        text = ALL[one].read_text(encoding="utf-8")
        assert "torch" not in {other.split(".")[0] for other in imported(text)}, one
        behind = {other for other in imports()[one] if not SHOWS.fullmatch(other)}
        ours = {other for other in behind if room(other) == room(name)}
        kit = {other for other in behind if other.startswith("benchmarks.")}
        for other in kit - ours:
            assert all("torch" not in ALL[k].read_text("utf-8") for k in drawn_with(other)), other
        allowed = {"vnlib.plots", "vnlib.metrics", "vnlib.book.evidence", "vnlib.book.ledger"}
        allowed |= {"vnlib.checks", "vnlib.book.resampling"}  # of names and numbers, without torch
        allowed |= {"data_gen.bumps"}  # a formula: what decoders are asked for
        assert behind - ours - kit <= allowed, one


@pytest.mark.parametrize(
    "name", [name for name in ALL if re.fullmatch(r"chapters\.\w+\.claims", name)]
)
def test_rules_read_results_and_nothing_else(name):
    """Nor does what they share with tables and figures: names and measures of their kit or folder."""
    own = ("benchmarks.", f"{name.rpartition('.')[0]}.")
    shared, fresh = set(), {name}
    while fresh := {other for one in fresh for other in imports()[one] if other.startswith(own)}:
        fresh -= shared
        shared |= fresh
    for one in {name, *shared}:
        assert imports()[one] - shared <= {"vnlib.book.ledger", "vnlib.book.evidence"}, one


def test_chapters_wire_and_do_not_compute():
    """A loop over epochs or a backward pass belongs into vnlib."""
    for path in modules("chapters/*/*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        assert not re.search(r"\.backward\(|torch\.optim|for \w*(epoch|step)\w* in", source), (
            path.name
        )
        assert "vnlib" in {name.split(".")[0] for name in imported(source, path.name)}, path.name


def tracked() -> list[Path]:
    """Files that are in the repository or would be; all that look like text if there is no git."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split(
            "\0"
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in listed if name]
    return [path for path in files if path.suffix in TEXT and path.is_file()]


# Folders of single machines and of what lies beside a checkout; the system's own paths are fine.
FOREIGN = re.compile(
    r"""(?<![\w./~$}-])/(?:work|root|home/\w+|Users/\w+|tmp/\w+)(?=[/\s"'`,)]|$)|\.\./"""
    + r"shared\b",
    re.M,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cd /" + "work/main", True),
        ("'/" + "home/ann/data'", True),
        ("/" + "tmp/w/venv", True),
        ("see ../" + "shared/spec", True),
        ("https://example.org/" + "work/1", False),
        ("book/" + "root/x.nc", False),
        ("$HOME/" + "work", False),
        ("../" + "data/ledger.json", False),
    ],
)
def test_the_search_for_foreign_folders_can_fail(text, found):
    assert bool(FOREIGN.search(text)) is found


def test_no_text_names_a_folder_outside_the_project():
    allowed = ROOT / ".ci" / "run"  # looks for a data folder beside the checkout
    texts = {
        p.relative_to(ROOT): p.read_text(encoding="utf-8", errors="replace")
        for p in tracked()
        if p != allowed
    }
    found = {
        str(name): hit.group() for name, text in texts.items() if (hit := FOREIGN.search(text))
    }
    assert not found
