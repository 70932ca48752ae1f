"""What the reference pages of `book/api` include: every module of ours, for autodoc to describe.

Modules are found in the folders, so that a new one is described without being listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from vnlib.book import paths

# Chapters come by family, since a page of all of them would be large; the first that fits counts.
FAMILIES = {"figures": r"fig\d", "forced_rendering": r"FR\d", "appendices": "[A-Z]_", "beyond": ""}

_MODULE = """## `{0}`

```{{eval-rst}}
.. automodule:: {0}{1}
```
"""
# The rule of a claim has no docstring, since its parts say it; its source is to be read all the same.
_RULES = "\n   :undoc-members:\n   :private-members:"


def write(folder: Path) -> None:
    """Write a file of Markdown for each package, and one for each family of chapters."""
    folder.mkdir(parents=True, exist_ok=True)
    for page, modules in pages().items():
        parts = [_MODULE.format(m, _RULES if m.endswith(".claims") else "") for m in modules]
        (folder / f"{page}.md").write_text("\n".join(parts), encoding="utf-8")


def pages() -> dict[str, list[str]]:
    """The modules of each file that `write` makes."""
    found: dict[str, list[str]] = {}
    for module in modules():
        found.setdefault(_page(module), []).append(module)
    return found


def modules() -> Iterator[str]:
    """All modules of ours by name, a package before what is in it."""
    for top in ("vnlib", "book/site", "data_gen", "benchmarks", "chapters"):
        for file in sorted((paths.SOURCE / top).rglob("*.py"), key=lambda file: file.parts):
            name = ".".join(file.relative_to(paths.SOURCE).with_suffix("").parts)
            if file.stat().st_size:
                yield name.removesuffix(".__init__")


def _page(module: str) -> str:
    top, _, rest = module.partition(".")
    if top == "chapters":
        return f"chapters_{next(name for name, start in FAMILIES.items() if re.match(start, rest))}"
    package = (paths.SOURCE / top / rest.partition(".")[0]).is_dir()
    return f"{top}.{rest.partition('.')[0]}" if rest and package else top
