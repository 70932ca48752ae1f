"""The reference pages: every module stands on one, and docstrings are in numpydoc form, name real
parameters, and survive their way into HTML.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import io
import re
from pkgutil import resolve_name
from textwrap import indent

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import roles
from numpydoc.docscrape import NumpyDocString
from sphinx.ext.napoleon import Config, NumpyDocstring

from book.site import reference
from vnlib.book import paths

ROOT = paths.SOURCE
MODULES = list(reference.modules())
KINDS = {"Module": "module", "ClassDef": "class", "FunctionDef": "function"}


def docstrings(module: str) -> dict[str, tuple[str, str]]:
    """Name within a module -> kind and docstring, of everything that has one."""
    file = ROOT.joinpath(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    found = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        kind = KINDS.get(type(node).__name__)
        if kind and (text := ast.get_docstring(node)):
            found[getattr(node, "name", "")] = (kind, text)
    return found


# --- The pages ------------------------------------------------------------------------------------


def test_every_module_stands_on_one_page(tmp_path):
    reference.write(tmp_path)
    included = [
        name
        for page in sorted((ROOT / "book" / "api").glob("*.md"))
        for name in re.findall(
            r"^```\{include\} \.\./generated/modules/(\S+)$", page.read_text(), re.MULTILINE
        )
    ]
    assert sorted(included) == sorted(path.name for path in tmp_path.iterdir())
    text = "".join((tmp_path / name).read_text(encoding="utf-8") for name in included)
    described = re.findall(r"^\.\. automodule:: (\S+)$", text, re.MULTILINE)
    assert re.findall(r"^## `(\S+)`$", text, re.MULTILINE) == described
    assert sorted(described) == sorted(MODULES) and len(set(MODULES)) == len(MODULES)


def test_chapters_come_by_family_and_packages_before_what_is_in_them():
    pages = reference.pages()
    assert "chapters.FR1_failure.figures" in pages["chapters_forced_rendering"]
    assert "chapters.summary.figures" in pages["chapters_beyond"]
    assert pages["vnlib.settle"][:2] == ["vnlib.settle", "vnlib.settle.choice"]
    assert "vnlib.fit" in pages["vnlib"] and "vnlib.book.store.runs" in pages["vnlib.book"]


def test_every_page_is_in_the_table_of_contents():
    listed = re.findall(r"file: book/api/(\w+)", (ROOT / "_toc.yml").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(page.stem for page in (ROOT / "book" / "api").glob("*.md"))


# --- Docstrings -----------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def roles_of_sphinx():
    """Outside Sphinx its roles do not exist."""

    def role(name, raw, text, line, inliner, options=None, content=None):
        return [nodes.literal(raw, text)], []

    for name in ("py:obj", "class", "exc"):
        roles.register_local_role(name, role)


def warnings_of(rest: str) -> str:
    log = io.StringIO()
    publish_doctree(
        f".. default-role:: py:obj\n\n{rest}",
        settings_overrides={"warning_stream": log, "report_level": 1},
    )
    return log.getvalue()


def test_every_docstring_is_read_without_a_warning():
    """All of a module at once, each as the item of a list: to begin a document costs more than to
    read one.
    """
    config, warned = Config(napoleon_use_ivar=True), {}
    for module in MODULES:
        items = []
        for kind, text in docstrings(module).values():
            rest = str(NumpyDocstring(text, config, None, kind))
            items.append(f"* {indent(rest, '  ').strip()}\n\n")
        if said := warnings_of("".join(items)):
            warned[module] = said
    assert not warned


@pytest.mark.parametrize("text", ["`a", "a\n  b\n c", "**a", "|x|", "a::\n\nb"])
def test_a_docstring_that_would_warn_is_found_among_others(text):
    assert warnings_of(f"* fine\n\n* {indent(text, '  ').strip()}\n\n* fine\n\n")


@pytest.mark.parametrize("module", MODULES)
def test_parameters_in_docstrings_exist(module):
    """PR02 of numpydoc, whose lint sees no fields of dataclasses."""
    wrong = {}
    for thing in vars(importlib.import_module(module)).values():
        own = getattr(thing, "__module__", None) == module
        members = vars(thing).values() if own and inspect.isclass(thing) else ()
        for part in [thing, *filter(inspect.isfunction, members)] if own else ():
            given = [
                name.lstrip("*")
                for entry in NumpyDocString(inspect.getdoc(part) or "")["Parameters"]
                for name in entry.name.split(", ")
            ]
            if given:
                wrong[part.__qualname__] = set(given) - inspect.signature(part).parameters.keys()
    assert not any(wrong.values()), wrong


def test_code_in_docstrings_that_names_something_of_ours_is_right():
    wrong = {}
    for module in MODULES:
        for name, (_, text) in docstrings(module).items():
            for code in re.findall(r"`((?:vnlib|data_gen|benchmarks|chapters)(?:\.\w+)+)`", text):
                try:
                    resolve_name(code)
                except (ImportError, AttributeError):
                    wrong[f"{module}:{name}"] = code
    assert not wrong
