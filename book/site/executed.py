"""Executed chapters, kept outside of git for as long as nothing that they show has changed: the
chapter's folder and what it imports, the results that it reads and what judges them, the packages.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path

import nbformat

from vnlib.book import chapter, paths
from vnlib.book.store import source_hash


def key(name: str, results: Path, *more: str) -> str:
    """Hash of all that a chapter's page is made from: `results` is their folder, `more` what else
    tells pages apart.
    """
    folder, needs = paths.notebook(name).parent, chapter.spec(name).needs
    cells = nbformat.read(paths.notebook(name), as_version=4).cells
    texts = [cell.source for cell in cells if cell.cell_type == "code"]
    texts += [file.read_text(encoding="utf-8") for file in folder.glob("*.py")]
    imports = {ref for text in texts for ref in source_hash.parsed(text).references}
    imports |= {source_hash.Reference("", f"chapters.{one}.claims") for one in needs}
    shown = chapter.spec(name).sidecar.get("shows", [])
    files = [file for one in (name, *needs, *shown) for file in results.glob(f"{one}*.nc")]
    files += [] if chapter.spec(name).stores else [results / "ledger.json"]
    files += [*folder.iterdir(), *map(paths.sidecar, needs), paths.BOOK / "models.toml"]
    site = paths.SOURCE / "book" / "site"
    files += [*site.glob("in_place*.py"), *site.glob("phone*.py"), site / "moved.py"]
    files += source_hash.closure(imports, paths.SOURCE, presenting=True).values()
    return digest(*more, *paths.in_order(paths.chapters()), *digests(files))


def digests(files: Iterable[Path]) -> list[str]:
    """Path and SHA-256 of each of these that is a file, and the versions of what is installed."""
    there = sorted(file for file in set(files) if file.is_file())
    return [f"{one} {hashlib.sha256(one.read_bytes()).hexdigest()}" for one in there] + _versions()


@cache
def _versions() -> list[str]:
    return [sys.version, *sorted(f"{d.name} {d.version}" for d in metadata.distributions())]


def load(path: Path, key: str) -> str | None:
    """The executed notebook in a file; None where there is none of this key, or a damaged one."""
    try:
        seal, _, text = path.read_text(encoding="utf-8").partition("\n")
    except (OSError, ValueError):
        return None
    return text if seal == digest(key, text) else None


def keep(path: Path, key: str, text: str) -> None:
    """Keep an executed notebook in a file, in one step and instead of what it held."""
    path.parent.mkdir(parents=True, exist_ok=True)
    paths.replace(path, f"{digest(key, text)}\n{text}")


def digest(*texts: str) -> str:
    """Hash of several texts."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
