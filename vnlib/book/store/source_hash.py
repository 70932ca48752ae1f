"""The source behind a chapter's results: its study with the modules that it imports, and their hash.

An edit dates results only where it could change them. So comments, docstrings and layout do not
count, nor do modules that draw, judge or store, nor `VARIABLES`, which names what is stored. A
module called `guards` only refuses bad input: neither it nor the statements that call it count. Nor
does it count where a module lies: in the place of an import stands the hash of what is imported.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vnlib.book import paths

PACKAGES = ("vnlib", "data_gen", "benchmarks", "chapters")
# Packages that only drive and present, and what does so in a chapter or a kit.
_PRESENT = re.compile(
    r"vnlib\.(book|plots)(\..*)?|\w+\.\w+\.(figures|tables|claims)(_\w+)?|\w+\.guards"
)
LONGEST_CHAIN = 32  # imports one behind the other that are followed, far more than there are
# A module can be named by a text, "vnlib.a.b" or "vnlib.a.b:Class", as for `python -m`.
_NAMED = re.compile(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)+)(:\w+)?")


class Reference(NamedTuple):
    """What a source calls something of ours, and what that is: "vnlib.fit" or, as it may be,
    "vnlib.fit.FitConfig".
    """

    bound: str
    target: str


class Source(NamedTuple):
    """A source without its imports of ours and texts that name modules, and what these refer to."""

    text: str
    references: tuple[Reference, ...]


def source_hash(chapter: str | None = None) -> str:
    """12 hex digits of the SHA-256 of the source that computes a chapter's results: its study.

    None, or a chapter without a study, stands for all that computes. Read once per process, since
    what has been imported does not change with the files.
    """
    study = paths.notebook(chapter).with_name("study.py") if chapter else None
    return _hash_once(study if study and study.is_file() else None)


@cache
def _hash_once(study: Path | None) -> str:
    return hash_of(study, paths.SOURCE)


def hash_of(study: Path | None, root: Path) -> str:
    """`source_hash` of a study with the packages below `root`."""
    start = _read(study) if study else Source("", _everything(root))
    found = closure(start.references, root)
    sources = {"": start} | {name: _read(file) for name, file in found.items()}
    aims = {
        name: sorted(
            (ref.bound, *aim) for ref in source.references if (aim := _resolved(ref.target, found))
        )
        for name, source in sources.items()
    }
    # Round by round, a module's digest takes in those of what it imports, from one step further
    # away each time. Circles do no harm.
    digests = dict.fromkeys(sources, "")
    for _ in range(LONGEST_CHAIN):
        digests = {
            name: _digest(
                source.text, *sorted(f"{b} {digests[m]} {rest}" for b, m, rest in aims[name])
            )
            for name, source in sources.items()
        }
    return digests[""][:12]


def closure(
    references: Collection[Reference], root: Path, presenting: bool = False
) -> dict[str, Path]:
    """The modules of ours behind references and behind all that these import; only those that
    compute, or also those that are `presenting`.

    A package counts where something of its own is imported, not where a module in it is.
    """
    found: dict[str, Path] = {}
    fresh = {ref.target for ref in references}
    while fresh := {name for target in fresh if (name := _module(target, root))} - found.keys():
        fresh = {name for name in fresh if presenting or not _PRESENT.fullmatch(name)}
        found |= {module: file for module in fresh if (file := _file(module, root))}
        fresh = {ref.target for module in fresh for ref in _read(found[module]).references}
    return found


def canonical(node: object) -> str:
    """A syntax tree as text, without positions, bare strings, imports of ours, and empty fields, of
    which newer Pythons have more; a text that names a module stands as the numeral sign.
    """
    if isinstance(node, ast.Constant) and _named(node):
        return "#"
    if isinstance(node, ast.AST):
        fields = [
            (name, one) for name, one in ast.iter_fields(node) if one is not None and one != []
        ]
        said = ", ".join(f"{name}={canonical(one)}" for name, one in fields)
        return f"{type(node).__name__}({said})"
    if isinstance(node, list):
        return f"[{', '.join(canonical(one) for one in node if not _passed_over(one))}]"
    return ascii(node)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _read(file: Path) -> Source:
    return parsed(file.read_text(encoding="utf-8"))


@cache
def parsed(text: str) -> Source:
    """A source once for all chapters, which share most of them."""
    try:
        return _source(ast.parse(text))
    except SyntaxError:  # in the middle of an edit; nothing here ever raises
        return Source(ascii(text), ())


def _source(tree: ast.AST) -> Source:
    references, named = set(), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            references |= {Reference(*pair) for pair in _imported(node)}
        elif isinstance(node, ast.Constant) and (name := _named(node)):
            named.append(Reference(f"#{len(named)}{name[2] or ''}", name[1]))
    return Source(canonical(tree), (*references, *named))


def _imported(node: ast.Import | ast.ImportFrom) -> list[tuple[str, str]]:
    """The names that an import binds, and what to: of `from a import b` it is a.b."""
    start = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    return [(alias.asname or alias.name, f"{start}{alias.name}") for alias in node.names]


def _named(node: ast.Constant) -> re.Match | None:
    return _NAMED.fullmatch(node.value) if isinstance(node.value, str) else None


def _everything(root: Path) -> tuple[Reference, ...]:
    files = [file for package in PACKAGES for file in (root / package).rglob("*.py")]
    names = (".".join(file.relative_to(root).with_suffix("").parts) for file in files)
    return tuple(Reference("", name.removesuffix(".__init__")) for name in names)


def _module(target: str, root: Path) -> str | None:
    """The module of ours that a target is, or is something of."""
    return next((name for name in (target, target.rpartition(".")[0]) if _file(name, root)), None)


def _resolved(target: str, found: Collection[str]) -> tuple[str, str] | None:
    """The module of a target, and what of the module; None for what is not ours or presents."""
    head, _, last = target.rpartition(".")
    return (target, "") if target in found else (head, last) if head in found else None


def _file(module: str, root: Path) -> Path | None:
    path, ours = root.joinpath(*module.split(".")), module.split(".")[0] in PACKAGES
    files = (path.with_suffix(".py"), path / "__init__.py") if ours else ()
    return next((file for file in files if file.is_file()), None)


def _passed_over(node: object) -> bool:
    """Whether a statement is a bare string, imports something of ours, or only names or refuses."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return all(target.split(".")[0] in PACKAGES for _, target in _imported(node))
    if isinstance(node, ast.Assign | ast.AnnAssign):  # names and units are no numbers
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [getattr(target, "id", "") for target in targets] == ["VARIABLES"]
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return isinstance(value.func.value, ast.Name) and value.func.value.id == "guards"
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
