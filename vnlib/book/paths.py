"""Where things are: the one module that knows the folders of the project."""

from __future__ import annotations

import os
import re
import sys
import uuid
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

# Folder of the packages that are running, and that of the project.
SOURCE = Path(__file__).resolve().parents[2]
ROOT = Path(os.environ.get("VNBOOK_ROOT") or SOURCE).expanduser().resolve()
CHAPTERS = ROOT / "chapters"
BOOK = ROOT / "book"
RESULTS = ROOT / "results"


def notebook(chapter: str) -> Path:
    """The source of a chapter: chapters/NAME/NAME.ipynb."""
    return CHAPTERS / chapter / f"{chapter}.ipynb"


def sidecar(chapter: str) -> Path:
    """What a chapter may be told, and its settings: chapters/NAME/NAME.toml."""
    return notebook(chapter).with_suffix(".toml")


def chapters() -> list[str]:
    """The chapters by name: folders that hold a notebook and a sidecar of their own name."""
    names = sorted(folder.name for folder in CHAPTERS.glob("*/"))
    return [name for name in names if notebook(name).is_file() and sidecar(name).is_file()]


def module(name: str, part: str) -> ModuleType | None:
    """The module `chapters/NAME/PART.py`, imported; None where there is no such file."""
    if not notebook(name).with_name(f"{part}.py").is_file():
        return None
    if str(ROOT) not in sys.path:  # the chapters of another project than the one that is installed
        sys.path.insert(0, str(ROOT))
    return import_module(f"chapters.{name}.{part}")


def in_order(names: Iterable[str]) -> list[str]:
    """Chapters as the book's table of contents has them; those that it lacks come last."""
    toc = ROOT / "_toc.yml"
    listed = re.findall(r"chapters/(\w+)", toc.read_text(encoding="utf-8")) if toc.is_file() else []
    return sorted(names, key=lambda name: listed.index(name) if name in listed else len(listed))


def result_file(results_dir: str | Path, profile: str, chapter: str, variant: str = "") -> Path:
    """Absolute path of a chapter's results: <results_dir>/<profile>/<chapter>[--variant].nc.

    `results_dir` may be relative. ValueError for a name that is empty or would leave the folder.
    """
    for name, value in {"profile": profile, "chapter": chapter, "variant": variant or "-"}.items():
        if not value or value.startswith(".") or set(value) & set("/\\"):
            raise ValueError(
                f"{name} must be a plain name without slashes or a leading dot, got {value!r}"
            )
    stem = f"{chapter}--{variant}" if variant else chapter
    return Path(results_dir).expanduser().resolve() / profile / f"{stem}.nc"


def parts(file: Path, chapter: str) -> list[Path]:
    """The files CHAPTER.PART.nc beside a chapter's result file, of the same variant."""
    variant, found = file.stem.partition("--")[1:], sorted(file.parent.glob(f"{chapter}.*.nc"))
    return [one for one in found if one.stem.partition("--")[1:] == variant]


def replace(path: Path, content: str | bytes) -> None:
    """Write a file in one step: a reader sees the old file or the new one, never a part of one."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with draft.open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):
            draft.unlink()


def shown(path: Path) -> str:
    """A path as it is printed: relative to the project if inside it; pages name no machine."""
    path = Path(path).absolute()
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
