"""The explorers of the chapters: which there are, of which results, and as pages of their own."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import numpy as np
import pytest
import xarray as xr

from vnlib.book import paths, store
from vnlib.plots import statistics

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
every_explorer = pytest.mark.parametrize("name", RESULTS)


@cache
def told(chapter: str) -> dict[str, Any]:
    """What a chapter's explorer is told of the shipped results."""
    file = paths.RESULTS / "paper" / f"{RESULTS[chapter]}.nc"
    given = extension().offered(chapter, store.read(file), extension().drawings(file))
    assert given is not None, "the shipped results lack what it shows"
    return given


@cache
def shipped(chapter: str) -> str:
    """The HTML of a chapter's explorer of the shipped results, whose numbers take a second to compress."""
    return html(chapter, told(chapter))


def write(folder: Path, name: str, html: str) -> Path:
    """An explorer as a page with the book's policy, beside its script and style, and nothing around."""
    if not (folder / "_static").exists():
        (folder / "_static").symlink_to(STATIC)
    one = extension("policy")
    policy = one.META.format(one.policy(()))
    head = f'<!doctype html><html lang="en"><head><meta charset="utf-8">{policy}<title>E</title>'
    page = folder / "chapters" / f"{name}.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text(f"{head}</head><body>{html}</body></html>", encoding="utf-8")
    return page


def html(name: str, given: dict[str, Any]) -> str:
    """The HTML of an explorer of what is given."""
    return extension().page(name, given, "../")


def small() -> dict[str, Any]:
    """Two models on a plane of two by three positions, with a picture at one of them."""
    model, place = ["<b>a</b>", "b"], list(range(6))
    errors = xr.DataArray(
        10.0 ** -np.arange(12).reshape(2, 6),
        coords={"model": model, "place": place},
        dims=("model", "place"),
    )
    drawn = xr.DataArray(
        np.linspace(0, 1, 8).reshape(2, 1, 2, 2),
        coords={"model": model, "place": [4]},
        dims=("model", "place", "y", "x"),
    )
    over = statistics.over_seeds(xr.concat([errors, 2 * errors, 3 * errors], "seed"))
    names = [f"place {one} & more" for one in place]
    return {
        "title": "A <small> one", "note": "</script><img src=x onerror=alert(1)>",
        "choices": [
            {"key": "model", "label": "model", "values": model, "names": model, "as": "list", "first": 0},
            {
                "key": "place", "label": "place", "values": place, "names": names, "as": "plane", "first": 0,
                "labels": ["x", "y"], "parts": [["0", "1", "2"], ["0", "1"]], "jumps": [4], "jumps_are": "Stored:",
            },
        ],
        "views": [
            {
                "show": "map", "title": "map of {model}", "values": errors, "picks": "place", "log": True,
                "low": 1e-12, "high": 1.0, "outline": (errors[0] < 1e-3).astype(float), "marks": [4], "key": "error",
            },
            {"show": "image", "title": "drawn", "values": drawn, "low": 0.0, "high": 1.0, "up": True},
            {"show": "table", "title": "At {place}", "columns": ["error"], "rows": [{"name": "{model}"}], "values": [over]},
        ],
    }  # fmt: skip


def state(page) -> dict[str, int]:
    return page.evaluate("Object.values(vnExplorers.all)[0].then((one) => ({ ...one.state }))")


def show(page, state: dict[str, int]) -> None:
    page.evaluate(
        "state => Object.values(vnExplorers.all)[0].then((one) => { Object.assign(one.state, state); one.show(); })",
        state,
    )
