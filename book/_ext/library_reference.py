"""The reference pages: the modules that a page asks for, and our docstrings as reStructuredText.

A line "% modules: vnlib.prox vnlib.settle.*" in a page stands for these modules, each described
once: a star means those of a package that the line does not name. Docstrings are prose, in which *,
| and _ are mathematics and `x` is code.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection, Iterable
from enum import Enum
from importlib import import_module
from pkgutil import iter_modules, resolve_name
from typing import Any

PACKAGES = ("vnlib", "data_gen", "benchmarks")
_ITEM = re.compile(r"(-|\d+\.) ")
_CODE = re.compile(r"`([^`]+)`")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
# V'V is a transpose, not a quotation
_PRIME = re.compile(r"(?<![A-Za-z0-9])([A-Za-z](?:_\w)?)'(?!s\b)")


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", _source)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}


def _source(app: Any, page: str, source: list[str]) -> None:
    source[0] = re.sub(
        r"^% modules: (.+)$",
        lambda line: "\n".join(
            f"## `{module}`\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"
            for module in expanded(line[1].split())
        ),
        source[0],
        flags=re.MULTILINE,
    )


def expanded(names: Iterable[str]) -> list[str]:
    """Names of modules without stars."""
    found = dict.fromkeys(name for name in names if not name.endswith(".*"))
    for package in (name.removesuffix(".*") for name in names if name.endswith(".*")):
        inside = iter_modules(import_module(package).__path__)
        found |= dict.fromkeys(f"{package}.{one.name}" for one in inside)
    return list(found)


def _skip(app: Any, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """What a module only hands on is described where it is defined."""
    home = str(getattr(obj, "__module__", None))
    elsewhere = home.split(".")[0] in PACKAGES and home != app.env.temp_data.get("autodoc:module")
    return True if what == "module" and elsewhere else None


def _docstring(
    app: Any, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    try:
        names = list(inspect.signature(obj).parameters)
    except (TypeError, ValueError):  # a module, or a class without a signature
        names = []
    lines[:] = to_rest(lines, names)


def _signature(
    app: Any,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """One that Sphinx can read: the default of a field that is made anew each time is "..."; none
    for enums.
    """
    if inspect.isclass(obj) and issubclass(obj, Enum):
        return "", None
    return signature and signature.replace("<factory>", "..."), returns


def to_rest(lines: Iterable[str], names: Collection[str] = ()) -> list[str]:
    """The lines of a docstring as reStructuredText; names: the parameters that it explains as
    "name: what it is".

    Lines that start with a dash or a number are a list. Where lines hang under others, each of the
    others starts an entry. A paragraph that is indented as a whole is shown as it is.
    """
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        begins_list = paragraphs[-1] and _ITEM.match(line) and not _ITEM.match(paragraphs[-1][0])
        if begins_list or not line.strip():
            paragraphs.append([])
        if line.strip():
            paragraphs[-1].append(line.rstrip())
    text = []
    for paragraph in filter(None, paragraphs):
        listed = _ITEM.match(paragraph[0])
        if paragraph[0].startswith(" "):
            text += [
                "::",
                "",
                *textwrap.indent(textwrap.dedent("\n".join(paragraph)), "    ").split("\n"),
            ]
        elif listed or any(line.startswith(" ") for line in paragraph):
            head, below = ("", " " * len(listed[0])) if listed else ("- ", "  ")
            for entry in re.split(r"\n(?! )", "\n".join(paragraph)):
                entry = _inline(re.sub(r"\n +", "\n", entry), names)
                text += (head + entry).replace("\n", f"\n{below}").split("\n")
        else:
            text += _inline("\n".join(paragraph), names).split("\n")
        text.append("")
    return text


def _home(name: str) -> str:
    """Where a name of ours is described: at the module that defines it, also if another one hands
    it on.
    """
    try:
        named = resolve_name(name) if name.split(".")[0] in PACKAGES else None
        return f"{named.__module__}.{named.__qualname__}"
    except (AttributeError, ImportError, ValueError):
        return name


def _inline(text: str, names: Collection[str]) -> str:
    """One stretch of prose: code marked as such, with a link where it names something of ours, the
    rest escaped.
    """
    pieces = _CODE.split(text)
    pieces[::2] = (_marked(piece, names) for piece in pieces[::2])
    pieces[1::2] = (f"`{piece}`" for piece in pieces[1::2])
    pieces = _CODE.split("".join(pieces))
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = (
                f":py:obj:`{piece} <{_home(piece)}>`" if _NAME.fullmatch(piece) else f"``{piece}``"
            )
        else:
            piece = re.sub(r"([\\*|_])", r"\\\1", _PRIME.sub(r"\1′", piece))
            # Markup must not touch a letter; an escaped blank keeps them apart and leaves no trace.
            before = "\\ " * (index > 0 and piece[:1].strip() != "")
            after = "\\ " * (index + 1 < len(pieces) and piece[-1:].strip() != "")
            pieces[index] = before + piece + after
    return "".join(pieces)


def _marked(prose: str, names: Collection[str]) -> str:
    """Prose with backticks around values ("l1") and parameters: those before a colon, and names
    like top_k anywhere.
    """
    prose = re.sub(r'"[\w.]+"', r"`\g<0>`", prose)
    if known := "|".join(names):
        explained = rf"(?:{known})(?=(?:(?:, | and )(?:{known}))*:\s)"
        patterns = "|".join([explained, *(name for name in names if "_" in name)])
        prose = re.sub(rf"(?<![\w`\".])(?:{patterns})(?!\w)", r"`\g<0>`", prose)
    return prose
