"""The source behind a chapter's results: the modules that its notebook imports, and their hash.

An edit dates results only where it could change them. So comments, docstrings and layout do not count, nor do modules
that draw, judge or store, nor what a notebook does after its last grid of runs: that is drawn anew for every page.
A module called `guards` only refuses bad input: neither it nor the statements that call it count.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from vnlib import paths

PACKAGES = ("vnlib", "data_gen", "benchmarks")
_PRESENT = {"figures", "claims", "panels", "pages", "weight", "home", "book", "parameters", "chapter", "cli"}
_DRIVE = {"paths", "provenance", "source", "store", "runfiles", "runs", "netcdf"}
# A registry names its modules by strings: "vnlib.a.b", "vnlib.a.b:Class", or f"vnlib.a.{name}", which means all of a.
_REGISTERED = re.compile(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)*\.?)(?::\w+)?")


def source_hash(chapter: str | None = None) -> str:
    """12 hex digits of the SHA-256 of the source that computes a chapter's results.

    None, or a chapter without a notebook, stands for all that computes. Read once per process, since what has been
    imported does not change with the files.
    """
    notebook = paths.CHAPTERS / f"{chapter}.ipynb"
    return _hash_once(notebook if chapter and notebook.is_file() else None)


@cache
def _hash_once(notebook: Path | None) -> str:
    return hash_of(notebook, paths.SOURCE)


def hash_of(notebook: Path | None, root: Path) -> str:
    """`source_hash` of a notebook with the packages below `root`."""
    code = computing(notebook) if notebook else ast.Module([], [])
    names = _imported(code) if notebook else {f"{package}." for package in PACKAGES}
    texts = {"notebook": canonical(code)} | {name: _read(file)[1] for name, file in closure(names, root).items()}
    return hashlib.sha256("\0".join(f"{name}\0{texts[name]}" for name in sorted(texts)).encode()).hexdigest()[:12]


def computing(notebook: Path) -> ast.Module:
    """The statements of a notebook down to the last that fills a grid, without its parameters and drawing imports."""
    statements = []
    for text in code_cells(notebook):
        with suppress(SyntaxError):  # such a cell cannot have computed anything
            statements += ast.parse(text).body
    end, fillers = 0, {"grid"}
    for index, statement in enumerate(statements, 1):
        nodes = list(ast.walk(statement))
        if fillers & {getattr(node, "attr", getattr(node, "id", None)) for node in nodes}:
            end = index
            fillers |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return ast.Module([one for one in statements[:end] if not _imports_to_draw(one)], [])


def code_cells(notebook: Path) -> Iterator[str]:
    """The code of a notebook as plain Python, cell by cell, without its parameters and what installs the book."""
    from IPython.core.inputtransformer2 import TransformerManager  # knows magics and shell commands

    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code" and not {"parameters", "install"} & set(cell["metadata"].get("tags", ())):
            yield TransformerManager().transform_cell("".join(cell["source"]))


def closure(names: Collection[str], root: Path) -> dict[str, Path]:
    """The modules of ours behind `names`, with their packages and all that they import; none that only presents.

    "vnlib.fit" is a module, "vnlib.fit.fit" something in it, "vnlib.models." every module of a package.
    """
    found: dict[str, Path] = {}
    queue = set(names)
    while queue:
        name = queue.pop()
        if name.endswith("."):
            files = (root / name.replace(".", "/")).glob("*")
            queue |= {f"{name}{file.stem}{'.' * file.is_dir()}" for file in files if not file.name.startswith("__")}
        parts = name.rstrip(".").split(".")
        for module in (".".join(parts[:depth]) for depth in range(1, len(parts) + 1)):
            file = _file(module, root)
            if file and module not in found and not _presents(module):
                found[module] = file
                queue |= _read(file)[0]
    return found


def canonical(node: object) -> str:
    """A syntax tree as text, without positions, bare strings and empty fields, of which newer Pythons have more."""
    if isinstance(node, ast.AST):
        fields = {name: value for name, value in ast.iter_fields(node) if value is not None and value != []}
        return f"{type(node).__name__}({', '.join(f'{name}={canonical(value)}' for name, value in fields.items())})"
    if isinstance(node, list):
        return f"[{', '.join(canonical(one) for one in node if not (_is_bare_string(one) or _guards(one)))}]"
    return ascii(node)


def _read(file: Path) -> tuple[frozenset[str], str]:
    return _parsed(file.read_text(encoding="utf-8"))


@cache
def _parsed(text: str) -> tuple[frozenset[str], str]:
    """What a source imports, and its canonical text: chapters share most modules."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # in the middle of an edit; nothing here ever raises
        return frozenset(), ascii(text)
    return frozenset(_imported(tree)), canonical(tree)


def _imported(tree: ast.AST) -> set[str]:
    """Dotted names that a source imports, wherever in it; of `from a import b` it is a.b, module or not."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= {named[1]} if (named := _REGISTERED.fullmatch(node.value)) else set()
    return names


def _file(module: str, root: Path) -> Path | None:
    path = root.joinpath(*module.split("."))
    files = (path.with_suffix(".py"), path / "__init__.py") if module.split(".")[0] in PACKAGES else ()
    return next((file for file in files if file.is_file()), None)


def _presents(module: str) -> bool:
    package, _, rest = module.partition(".")
    mere = package == "vnlib" and rest.split(".")[0] in _PRESENT | _DRIVE
    return mere or package == "IPython" or rest == "guards"


def _imports_to_draw(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom) and all(map(_presents, _imported(statement)))


def _is_bare_string(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _guards(node: object) -> bool:
    """Whether a statement only imports `guards`, or only calls a function of it."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return all(name.partition(".")[2] == "guards" for name in _imported(node))
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name) and called.value.id == "guards"
