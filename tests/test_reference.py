"""The reference pages: every module stands on one, docstrings survive their way into HTML, and own_data.md runs."""

from __future__ import annotations

import ast
import importlib.util
import io
import re
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace

import pytest
import torch
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import roles

from vnlib import paths

ROOT = paths.SOURCE
_spec = importlib.util.spec_from_file_location("library_reference", ROOT / "book" / "_ext" / "library_reference.py")
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

# What only one chapter draws or claims is told on that chapter's page, the command line in how_to_run.md.
ELSEWHERE = re.compile(r"vnlib\.cli|vnlib\.(figures|claims)(\.(?!style$|ledger$)\w+)?")
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for package in ("vnlib", "data_gen")
    for file in sorted((ROOT / package).rglob("*.py"))
}


def docstrings() -> dict[str, str]:
    """Where -> docstring, of everything that has one."""
    found = {}
    for module, file in MODULES.items():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                found[f"{module}:{getattr(node, 'name', '')}"] = text
    return found


# --- The pages ------------------------------------------------------------------------------------------------------


def test_every_module_stands_on_one_page():
    described = []
    for page in sorted((ROOT / "book" / "api").glob("*.md")):
        text = [page.read_text(encoding="utf-8")]
        reference._source(None, page.stem, text)
        assert "% modules" not in text[0]
        modules = re.findall(r"^\.\. automodule:: (\S+)$", text[0], re.MULTILINE)
        assert re.findall(r"^## `(\S+)`$", text[0], re.MULTILINE) == modules, "each under its name"
        described += modules
    wanted = {module for module in MODULES if not ELSEWHERE.fullmatch(module)}
    assert not wanted - set(described), "list new modules in book/api, where they belong"
    assert sorted(described) == sorted(wanted)


def test_a_star_is_the_rest_of_a_package():
    names = reference.expanded(["vnlib.prox", "vnlib.settle.steps", "vnlib.settle.*"])
    assert names[:2] == ["vnlib.prox", "vnlib.settle.steps"] and len(set(names)) == len(names)
    assert set(names[1:]) == {module for module in MODULES if module.startswith("vnlib.settle.")}


def test_what_a_module_only_hands_on_is_described_elsewhere():
    from vnlib import settle, store

    def skipped(module, obj, what="module"):
        app = SimpleNamespace(env=SimpleNamespace(temp_data={"autodoc:module": module}))
        return reference._skip(app, what, "", obj, False, None)

    assert skipped("vnlib.settle", settle.Settler) and skipped("vnlib.store", store.Cell)
    assert skipped("vnlib.settle.settler", settle.Settler) is None and skipped("vnlib.store", store.grid) is None
    assert skipped("vnlib.settle.settler", settle.Settler, "class") is None and skipped("vnlib.store", "text") is None


def test_code_in_docstrings_that_names_something_of_ours_is_right():
    wrong = {}
    for where, text in docstrings().items():
        for name in re.findall(r"`((?:vnlib|data_gen)(?:\.\w+)+)`", text):
            try:
                resolve_name(name)
            except (ImportError, AttributeError):
                wrong[where] = name
    assert not wrong


# --- Docstrings as reStructuredText ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def links() -> list[str]:
    """Targets of all links that were made, by a role that outside Sphinx does not exist."""
    made: list[str] = []

    def role(name, raw, text, line, inliner, options=None, content=None):
        made.append(text)
        return [nodes.literal(raw, text.split(" <")[0])], []

    roles.register_local_role("py:obj", role)
    return made


def parsed(lines: list[str]) -> tuple[nodes.document, str]:
    warnings = io.StringIO()
    return publish_doctree("\n".join(lines), settings_overrides={"warning_stream": warnings, "report_level": 1}), (
        warnings.getvalue()
    )


def test_every_docstring_of_the_library_is_read_without_a_warning(links):
    warned = {}
    for where, text in docstrings().items():
        _, warning = parsed(reference.to_rest(text.split("\n")))
        if warning:
            warned[where] = warning
    assert not warned


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("E = 1/2 |x - V a|^2 + |a|_1", "E = 1/2 |x - V a|^2 + |a|_1"),
        ("m * (x - V a) and a * b, atoms_ and x_l", "m * (x - V a) and a * b, atoms_ and x_l"),
        (r"a backslash \ stays", r"a backslash \ stays"),
        ("V'V and e_a' are transposes, Adam's is not", "V′V and e_a′ are transposes, Adam's is not"),
        ("`code`s and (`a * b`)", "codes and (a * b)"),
        ('"l1" is a value, "two words" are none', '"l1" is a value, "two words" are none'),
    ],
)
def test_mathematics_is_text_and_not_markup(links, text, shown):
    tree, warning = parsed(reference.to_rest([text]))
    assert not warning and tree.astext() == shown


def test_code_is_code_and_names_are_links(links):
    links.clear()
    tree, _ = parsed(reference.to_rest(["See `vnlib.settle.SettleConfig`, `fit` and", "`a + b`, `x", "y`."]))
    assert [node.astext() for node in tree.findall(nodes.literal)] == [
        "vnlib.settle.SettleConfig",
        "fit",
        "a + b",
        "x\ny",
    ]
    assert links == ["vnlib.settle.SettleConfig <vnlib.settle.config.SettleConfig>", "fit <fit>"]


def test_parameters_are_marked_where_they_are_explained(links):
    text = "n_atoms: as many. lr, top_k: rates of lr. It is a lie: top_k counts, lr does; stop_k not."
    tree, _ = parsed(reference.to_rest([text], ["n_atoms", "lr", "top_k", "a"]))
    assert [node.astext() for node in tree.findall(nodes.literal)] == ["n_atoms", "lr", "top_k", "top_k"]


def test_lists_hanging_lines_and_blocks(links):
    tree, warning = parsed(
        reference.to_rest(
            [
                "Summary.", "", "axes: values", "settings: of a cell,", "    also those `of", "    many`.", "",
                "In this order:", "1. first,", "   with more;", "2. second.", "", "- one", "- two,", "  and more", "",
                "The rule is", "", "    min_a |x|_1", "      over a", "", "and that is all.",
            ]
        )
    )  # fmt: skip
    assert not warning
    assert [type(child).__name__ for child in tree.children] == [
        "paragraph", "bullet_list", "paragraph", "enumerated_list", "bullet_list", "paragraph", "literal_block",
        "paragraph",
    ]  # fmt: skip
    hanging, numbered, dashed = (tree.children[i] for i in (1, 3, 4))
    assert [item.astext() for item in hanging] == ["axes: values", "settings: of a cell,\nalso those of\nmany."]
    assert [item.astext() for item in numbered] == ["first,\nwith more;", "second."]
    assert [item.astext() for item in dashed] == ["one", "two,\nand more"]
    assert tree.children[6].astext() == "min_a |x|_1\n  over a"


def test_signatures_that_sphinx_can_read():
    from vnlib.settle import Stop

    def signature(obj, text):
        return reference._signature(None, "class", "", obj, None, text, None)

    assert signature(dict, "(*, settle: SettleConfig = <factory>)") == ("(*, settle: SettleConfig = ...)", None)
    assert signature(Stop, "(value, names=None)") == ("", None)
    assert reference._signature(None, "module", "", reference, None, None, None) == (None, None)


# --- Use it on your own data ----------------------------------------------------------------------------------------


def test_the_code_for_a_readers_own_data_runs_and_does_what_the_text_says(tmp_path, monkeypatch):
    page = (ROOT / "book" / "own_data.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in blocks:
        assert max(map(len, block.splitlines())) < 80, "longer lines are cut off on the page"
        exec(compile(block, "own_data.md", "exec"), names)
    x, x_hat = names["x"][:100], names["x_hat"]
    assert [code.shape for code in names["codes"]] == [(100, 64), (100, 32)]
    assert (x - x_hat).square().mean() < 0.1 * (x - x.mean(0)).square().mean()
    assert 0 < names["share"] <= 1 and names["W"].shape == (100, 32, 64)
    assert names["from_top"].shape == x.shape and len(names["active"]) == 2
    assert names["code"].shape == (1797, 64) and names["X_hat"].shape == names["X"].shape
    assert names["model"].score(names["X"], names["y"]) > 0.9
    for name, tensor in names["network"].state_dict().items():
        assert torch.equal(names["again"].state_dict()[name], tensor)
    assert {path.name for path in Path().iterdir()} == {"digits.safetensors", "coder.safetensors"}


def test_what_the_page_names_exists():
    page = (ROOT / "book" / "own_data.md").read_text(encoding="utf-8")
    from vnlib import estimator, fit, learner, network, settle

    for name in ("VectorNetworkCoder", "VNConfig", "SettleConfig", "LocalLearner", "fit"):
        assert f"`{name}`" in page
        assert any(hasattr(module, name) for module in (estimator, fit, learner, network, settle))
