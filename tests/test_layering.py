"""Who may import whom, read from the source; and words that have no place in the project."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import nbformat
import pytest

from vnlib.book import paths

ROOT = paths.SOURCE
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
    """Dotted names of all that a source imports, wherever in it: `from vnlib import checks` gives
    vnlib.checks.
    """
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


def test_the_reader_of_imports_sees_them_all():
    source = (
        "import vnlib.fit as f\ndef g():\n  from vnlib import checks, seeding\n  from "
        "vnlib.settle.steps import X"
    )
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


def test_benchmarks_as_data_know_no_models():
    for path in modules("data_gen/**/*.py"):
        names = imported(path.read_text(encoding="utf-8"))
        assert not {name.split(".")[0] for name in names} & {"vnlib", "benchmarks", "chapters"}, (
            path.name
        )


def test_chapters_wire_and_do_not_compute():
    """A loop over epochs or a backward pass belongs into vnlib."""
    for path in modules("chapters/*/*.ipynb"):
        cells = nbformat.read(path, as_version=4).cells
        source = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        assert not re.search(r"\.backward\(|torch\.optim|for \w*(epoch|step)\w* in", source), (
            path.name
        )
        ours_only = {name.split(".")[0] for name in imported(source, path.name)}
        assert {"vnlib", "data_gen"} <= ours_only, path.name


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
