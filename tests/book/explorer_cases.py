"""The explorers of the chapters: which there are, of which results, and as pages of their own."""

from __future__ import annotations

import re
import shutil
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat

from vnlib.book import paths, store

EXTENSIONS = paths.SOURCE / "book" / "_extensions"
STATIC = paths.SOURCE / "book" / "_static"
SAID = re.compile(r"^```\{explorer\} (\w+)(?: (\w+))?$", re.MULTILINE)


def extension(name: str = "explorer") -> ModuleType:
    """A module of the folder of extensions, which is no package."""
    sys.path.insert(0, str(EXTENSIONS))
    try:
        return import_module(name)
    finally:
        sys.path.remove(str(EXTENSIONS))


def asked() -> dict[str, str]:
    """The chapters whose notebook has an explorer, and the chapter of its results."""
    found = {}
    for name in paths.chapters():
        cells = nbformat.read(paths.notebook(name), as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
        for chapter, results in SAID.findall(text):
            assert chapter == name and name not in found, "one in a page, of its own chapter"
            found[chapter] = results or chapter
    return found


RESULTS = asked()


@cache
def told(chapter: str) -> dict[str, Any]:
    """What a chapter's explorer is told of the shipped results."""
    file = paths.RESULTS / "paper" / f"{RESULTS[chapter]}.nc"
    given = extension().offered(chapter, store.read(file), extension().drawings(file))
    assert given is not None, "the shipped results lack what it shows"
    return given


def write(folder: Path, name: str, html: str) -> Path:
    """An explorer as a page with the book's policy, beside its script and style, and nothing around."""
    (folder / "_static").mkdir(parents=True, exist_ok=True)
    for file in ("explorer.js", "explorer.css", "plots.js"):
        shutil.copy(STATIC / file, folder / "_static")
    shutil.copytree(STATIC / "plot", folder / "_static" / "plot", dirs_exist_ok=True)
    one = extension("policy")
    policy = one.META.format(one.policy(()))
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8">{policy}<title>E</title>'
    page = folder / "chapters" / f"{name}.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"{head}</head><body>{html}</body></html>", encoding="utf-8")
    return page
