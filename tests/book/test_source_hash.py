"""The hash of a chapter's source: what dates its results and what does not, on a small project made
for the purpose.
"""

import ast
import subprocess
import sys

import pytest

from vnlib.book import paths
from vnlib.book.store import source_hash as source

MODULES = {
    "vnlib/__init__.py": "",
    "vnlib/fit.py": '"""Train."""\nfrom vnlib import seeding\n\n\n'
    'def fit(x):\n    """Fit x."""\n    return x  # as it is\n',
    "vnlib/seeding.py": "def derive(seed):\n    return seed + 1\n",
    "vnlib/lazy.py": "def late():\n    import vnlib.deep.inner as inner\n    return inner\n",
    "vnlib/deep/__init__.py": "WIDTH = 3\n",
    "vnlib/deep/inner.py": "DEPTH = 2\n",
    "vnlib/zoo/__init__.py": "from vnlib.zoo import cnn\nbuild = cnn.LAYERS\n",
    "vnlib/zoo/cnn.py": "from vnlib.zoo.base import LAYERS\n",
    "vnlib/zoo/base.py": "LAYERS = 2\n",
    "vnlib/named.py": "FAMILIES = {'far': 'vnlib.far:Far'}\n",
    "vnlib/far.py": "class Far:\n    pass\n",
    "vnlib/unused.py": "x = 1\n",
    "vnlib/book/store.py": "from vnlib import unused\n",
    "vnlib/plots/maps.py": "COLOR = 'red'\n",
    "data_gen/__init__.py": "",
    "data_gen/bumps.py": "WIDTH = 28\n",
    "benchmarks/__init__.py": "",
    "benchmarks/times.py": "from vnlib import lazy\n",
}
STUDY = """
import numpy as np
from benchmarks.times import lazy
from data_gen import bumps
from vnlib import zoo, named
from vnlib.book import store
from vnlib.fit import fit
from vnlib.plots import maps

VARIABLES = {"y": ("a number", "1")}

def run(x):
    return fit(x) * 2
"""
IMPORTED = {
    "vnlib/fit.py": "return x",
    "vnlib/seeding.py": "seed + 1",
    "vnlib/lazy.py": "return inner",
    "vnlib/deep/inner.py": "2",
    "vnlib/zoo/__init__.py": "cnn.LAYERS",
    "vnlib/zoo/cnn.py": "LAYERS",
    "vnlib/zoo/base.py": "2",
    "vnlib/named.py": "FAMILIES",
    "vnlib/far.py": "Far",
    "data_gen/bumps.py": "28",
    "benchmarks/times.py": "lazy",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "study.py").write_text(STUDY)
    return tmp_path


def behind(study, root):
    return source.closure(source._read(study).references, root)


def now(root):
    return source.hash_of(root / "study.py", root)


def edit(root, name, old, new):
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new))


def test_it_is_a_hash_of_twelve_digits(tree):
    assert len(now(tree)) == 12 and int(now(tree), 16) >= 0 and now(tree) == now(tree)


def test_the_closure_holds_what_is_imported_and_nothing_else(tree):
    found = behind(tree / "study.py", tree)
    assert {file.relative_to(tree).as_posix() for file in found.values()} == set(IMPORTED)


@pytest.mark.parametrize("name", IMPORTED)
def test_an_edit_of_what_a_chapter_imports_dates_its_results(tree, name):
    before = now(tree)
    edit(tree, name, IMPORTED[name], f"{IMPORTED[name]}0")
    assert now(tree) != before


@pytest.mark.parametrize(
    "name",
    ["vnlib/unused.py", "vnlib/book/store.py", "vnlib/plots/maps.py", "vnlib/deep/__init__.py"],
)
def test_an_edit_of_what_it_does_not_import_or_only_draws_with_does_not(tree, name):
    before = now(tree)
    (tree / name).write_text("changed = True\n")
    assert now(tree) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  # as it is", ""),
        ('"""Fit x."""', '"""Fit x to the data."""'),
        ('    """Fit x."""\n', ""),
        ('"""Train."""\n', '"""Train,\n\nand say why."""\n'),
        ("def fit(x):", "def fit(\n    x,\n):"),
        ("return x", "return (x)"),
        ("\n", "\r\n"),
        ("\n\n\n", "\n\n"),
    ],
)
def test_comments_docstrings_and_layout_date_nothing(tree, old, new):
    before = now(tree)
    edit(tree, "vnlib/fit.py", old, new)
    assert now(tree) == before


def test_guards_date_nothing_but_what_is_made_of_them_does(tree):
    before = now(tree)
    (tree / "data_gen/guards.py").write_text("def small(x):\n    return x\n")
    edit(tree, "data_gen/bumps.py", "WIDTH", "from data_gen import guards\nguards.small(3)\nWIDTH")
    assert now(tree) == before
    edit(tree, "data_gen/bumps.py", "28", "guards.small(28)")
    assert now(tree) != before


def move(root, old, new):
    """A module at another place, and all that name it changed."""
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(root / new)
    (module, name), (far, other) = (
        path.removesuffix(".py").replace("/", ".").rsplit(".", 1) for path in (old, new)
    )
    for file in root.rglob("*.py"):
        text = file.read_text().replace(f"{module}.{name}", f"{far}.{other}")
        alias = "" if name == other else f" as {name}"
        file.write_text(
            text.replace(f"from {module} import {name}", f"from {far} import {other}{alias}")
        )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vnlib/far.py", "chapters/fig/near.py"),  # named by a text
        ("vnlib/deep/inner.py", "benchmarks/kit/core.py"),  # imported under a name of its own
        ("vnlib/seeding.py", "vnlib/training/seeds.py"),  # imported from its package
        ("benchmarks/times.py", "chapters/fig/clock.py"),  # imported by the notebook
        ("vnlib/zoo/base.py", "chapters/fig/base.py"),
    ],
)
def test_where_a_module_lies_does_not_count(tree, old, new):
    before = now(tree)
    move(tree, old, new)
    assert now(tree) == before
    (tree / new).write_text((tree / new).read_text() + "more = 1\n")
    assert now(tree) != before


def test_what_is_named_and_what_is_taken_from_it_counts(tree):
    before = {now(tree)}
    (tree / "vnlib/near.py").write_text("class Far:\n    near = True\n")
    for old, new in (("vnlib.far:", "vnlib.near:"), (":Far", ":Close"), ("'far'", "'close'")):
        edit(tree, "vnlib/named.py", old, new)
        assert now(tree) not in before
        before.add(now(tree))


def test_the_order_of_imports_does_not_count_but_what_they_bind_does(tree):
    edit(tree, "vnlib/lazy.py", "    import", "    from vnlib import far, seeding\n    import")
    before = now(tree)
    edit(tree, "vnlib/lazy.py", "far, seeding", "seeding, far")
    assert now(tree) == before
    edit(tree, "vnlib/lazy.py", "seeding, far", "seeding as far, far as seeding")
    assert now(tree) != before


def test_circles_do_no_harm(tree):
    edit(tree, "vnlib/seeding.py", "def", "from vnlib import fit\ndef")
    before = now(tree)
    edit(tree, "vnlib/seeding.py", "+ 1", "+ 2")
    assert now(tree) != before


@pytest.mark.parametrize(
    ("old", "new", "dates"),
    [
        ("from vnlib.plots import maps", "from vnlib.plots import maps as m, scatter", False),
        ("import numpy", "import cupy", True),
        ("* 2", "* 3", True),
        ("* 2", "* 2  # twice", False),
        ('"a number"', '"another number"', False),
        ('"1"', '"px"', False),
        ("def run", "OTHERS = 3\n\ndef run", True),
    ],
)
def test_the_code_of_the_study_counts_and_the_names_of_its_variables_do_not(tree, old, new, dates):
    before = now(tree)
    edit(tree, "study.py", old, new)
    assert (now(tree) != before) is dates


def test_a_module_in_the_middle_of_an_edit_does_no_harm(tree):
    before = now(tree)
    edit(tree, "vnlib/far.py", "class Far:", "class Far")
    assert now(tree) != before


def test_without_a_study_it_is_all_that_computes(tree):
    before = source.hash_of(None, tree)
    (tree / "vnlib/plots/maps.py").write_text("changed = True\n")
    (tree / "vnlib/book/store.py").write_text("changed = True\n")
    assert source.hash_of(None, tree) == before
    for name in (
        "vnlib/unused.py",
        "vnlib/deep/inner.py",
        "data_gen/bumps.py",
        "benchmarks/new.py",
    ):
        (tree / name).write_text("changed = True\n")
        before, last = source.hash_of(None, tree), before
        assert before != last, name


def test_chapters_that_share_nothing_have_hashes_of_their_own():
    assert (
        source.source_hash("fig1_architecture")
        != source.source_hash("fig2_spatial")
        != source.source_hash()
    )
    assert source.source_hash("no_such_chapter") == source.source_hash()


def test_the_canonical_text_is_the_same_whatever_the_python():
    """Known from its definition: fields in the order of the grammar, none that is empty, all in
    ASCII.
    """
    tree = ast.parse(
        'class A:\n    "doc"\n    def f(self, x=None):\n        "doc"\n        return '
        'f"é{x!r:>{self.w}}"'
    )
    arguments = "args=arguments(args=[arg(arg='self'), arg(arg='x')], defaults=[Constant()])"
    width = (
        "JoinedStr(values=[Constant(value='>'), "
        "FormattedValue(value=Attribute(value=Name(id='self', ctx=Load()), "
    )
    width += "attr='w', ctx=Load()), conversion=-1)])"
    value = f"FormattedValue(value=Name(id='x', ctx=Load()), conversion=114, format_spec={width})"
    returned = f"Return(value=JoinedStr(values=[Constant(value='\\xe9'), {value}]))"
    function = f"FunctionDef(name='f', {arguments}, body=[{returned}])"
    assert source.canonical(tree) == f"Module(body=[ClassDef(name='A', body=[{function}])])"
    for node in ast.walk(tree):  # what Python 3.12 adds to a function and a class
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            node.type_params = []
            node._fields = (*node._fields, "type_params")
    assert source.canonical(tree) == f"Module(body=[ClassDef(name='A', body=[{function}])])"


def test_another_process_finds_the_same_hash():
    """Sets have no order that two processes share."""
    code = (
        "from vnlib.book.store import source_hash as source; "
        "print(source.source_hash('fig2_spatial'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=paths.SOURCE, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == source.source_hash("fig2_spatial")


@pytest.mark.parametrize("name", paths.chapters())
def test_every_chapter_computes_with_modules_of_ours(name):
    study = paths.notebook(name).with_name("study.py")
    if not study.is_file():  # a chapter that only reads what others stored
        assert "chapter.grid(" not in paths.notebook(name).read_text(encoding="utf-8")
        return
    found = behind(study, paths.SOURCE)
    assert any(module.startswith("vnlib.") for module in found)
    parts = (".figures", ".tables", ".claims", "vnlib.book", "vnlib.plots")
    assert not any(part in module for module in found for part in parts)
