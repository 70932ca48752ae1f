"""What readers call chapters, models and runs, from the settings of the chapters.

The files are read as they are: `vnlib.book.chapter.spec`, which checks them, needs torch, and what
shows results does without.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

CHAPTERS = Path(__file__).parents[1]


@cache
def sidecar(chapter: str) -> dict[str, Any]:
    """The settings of a chapter."""
    file = CHAPTERS / chapter / f"{chapter}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def title(chapter: str) -> str:
    """What readers call a chapter."""
    return sidecar(chapter).get("title", chapter)


def brief(chapter: str) -> str:
    """The same as short as a row of a figure has it: which figure or appendix it is, if one."""
    full = title(chapter)
    place = re.search(r"\((.*)\)$|^Appendix (\w)", full)
    return (
        (place[1] or f"VN App. {place[2]}")
        if place
        else re.sub(r"^(Beyond|The best)[^:]*: ", "", full)
    )


def labels(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What readers call chapters and their models; of models with one label also which one it is."""
    models = [sidecar(chapter).get("models", {}) for chapter, _ in rows]
    said = [
        one.get(name, {}).get("label", title(name))
        for one, (_, name) in zip(models, rows, strict=True)
    ]
    many = Counter(zip((chapter for chapter, _ in rows), said, strict=True))
    return [
        (
            title(chapter),
            f"{label} ({name.replace('_', ' ')})" * (many[chapter, label] > 1) or label,
        )
        for (chapter, name), label in zip(rows, said, strict=True)
    ]


def measured_run(chapter: str, label: str) -> str:
    """What readers call a measured run: "part: model, condition, seed" with the model's name."""
    known = sidecar(chapter).get("models", {})
    words = label.split(": ", 1)[-1].split(", ")
    words = ["first seed" if word == "0" else word for word in words]
    return ", ".join(known.get(one, {}).get("label", one.replace("_", " ")) for one in words)
