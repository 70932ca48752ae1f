"""One registry of how models look, `book/models.toml`: it names all, and no figure has its own."""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from benchmarks.baselines import figures
from vnlib.book import chapter, paths
from vnlib.plots.style import look

KNOWN = tomllib.loads((paths.BOOK / "models.toml").read_text(encoding="utf-8"))
HUES, LOOKS = KNOWN["hues"], KNOWN["looks"]
MODELS = {name: chapter.spec(name).sidecar.get("models", {}) for name in paths.chapters()}
LABELS = sorted(
    {
        one["label"]
        for own in MODELS.values()
        for one in own.values()
        if one.get("label", "").split(",")[0] in KNOWN["base"]  # others are tasks
    }
)
# What draws or shows: figures and tables of chapters and kits, pages.
DRAWING = sorted(
    path
    for pattern in ("chapters/*/*.py", "benchmarks/*/*.py", "book/**/*.py")
    for path in paths.SOURCE.glob(pattern)
    if path.is_relative_to(paths.SOURCE / "book") or re.match("(figures|tables)", path.stem)
)
MARKS = frozenset("osD^v<>PX*pdhH8x+")
COLOR = re.compile(r"#[0-9a-fA-F]{6}|C\d|tab:\w+")


# --- The registry ---------------------------------------------------------------------------------


def matching(name: str) -> list[str]:
    return [shape for shape in LOOKS if fnmatchcase(name, shape)]


@pytest.mark.parametrize("name", LABELS)
def test_every_model_has_a_look(name):
    assert matching(name), f"{name!r} has no look in book/models.toml"
    hue, marker = LOOKS[matching(name)[0]]
    assert look(name) == (HUES[hue], marker) and marker in Line2D.filled_markers


def test_every_look_is_used():
    shown = {name for path in DRAWING for name in strings(path) if len(name) < 50}
    first = {matching(name)[0] for name in shown.union(LABELS) if matching(name)}
    assert set(LOOKS) == first


def strings(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and _text(n.value)]


def _text(value: object) -> bool:
    return isinstance(value, str) and "\n" not in value


# Machado et al. (2009): what eyes without red-sensitive, or without green-sensitive, cones see.
EYES = {
    "all": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}
XYZ = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
]


def lab(color: str, eye: str) -> np.ndarray:
    """The place of a colour in CIELAB, as an eye sees it."""
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = np.array(XYZ) @ np.clip(np.array(EYES[eye]) @ linear, 0, 1) / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eye", EYES)
def test_all_hues_can_be_told_apart(eye):
    for one, other in itertools.combinations(HUES, 2):
        apart = np.linalg.norm(lab(HUES[one], eye) - lab(HUES[other], eye))
        assert apart > 8, f"{one} and {other} are {apart:.1f} apart (2 is just visible)"


def test_the_distance_of_hues_can_fail():
    assert np.linalg.norm(lab("#882255", "no green") - lab("#4d4d4d", "no green")) < 8


# --- No other -------------------------------------------------------------------------------------


def private(source: str, own: set[str]) -> list[str]:
    """Where a source gives models a look: colours written out, a table from models (`own`, their
    short names and groups) to colours or markers, or colours dealt out by number.
    """
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [f"{node.lineno}: {node.value}"] * bool(COLOR.fullmatch(node.value))
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                named = set(_constants(key)) if key else set()
                models = named & own or {n for n in named | {*_constants(value)} if _model(n)}
                if models and _looks(value):
                    found.append(f"{node.lineno}: {ast.unparse(value)} of {min(models)}")
        elif isinstance(node, ast.Tuple | ast.List):
            direct = [n.value for n in node.elts if isinstance(n, ast.Constant) and _text(n.value)]
            table = any(map(_model, direct)) and any(map(_colors, node.elts))
            found += [f"{node.lineno}: {ast.unparse(node)}"] * table
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("zip", "enumerate", "cycle"):
            said = [ast.unparse(one) for one in node.args]
            dealt = any(map(_colors, node.args)) and re.search(r"model|name|label", " ".join(said))
            found += [f"{node.lineno}: {ast.unparse(node)}"] * bool(dealt)
        elif isinstance(node, ast.Subscript) and re.search(
            r"% (len\(|\d)", ast.unparse(node.slice)
        ):
            of = ast.unparse(node.value)
            found += [f"{node.lineno}: {ast.unparse(node)}"] * bool(
                re.search(r"PALETTE|COLOR|MARK|palette|looks", of)
            )
    return found


def _constants(node: ast.AST) -> list[str]:
    every = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    return [value for value in every if isinstance(value, str)]


def _model(name: str) -> bool:
    return name in LABELS or any(name == shape.rstrip("*") for shape in LOOKS)


def _colors(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Name) and n.id == "PALETTE" for n in ast.walk(node))


def _looks(node: ast.AST) -> bool:
    """Whether a value is, or has beside others, a colour or a marker."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    texts = [one.value for one in parts if isinstance(one, ast.Constant)]
    return _colors(node) or any(t in MARKS or COLOR.fullmatch(t) for t in texts if _text(t) and t)


def owned(path: Path) -> set[str]:
    """The short names and groups of a chapter's models, or, outside of chapters, of all."""
    mine = MODELS.get(path.parent.name, {}) if "chapters" in path.parts else {}
    every = [mine] if "chapters" in path.parts else MODELS.values()
    return {n for own in every for m, one in own.items() for n in (m, one.get("group", m))}


def test_figures_are_looked_through():
    assert len(DRAWING) > 80
    assert paths.SOURCE / "chapters" / "FR3_low_rank" / "figures.py" in DRAWING


@pytest.mark.parametrize("path", DRAWING, ids=lambda p: "-".join(p.parts[-2:]))
def test_no_figure_has_looks_of_its_own(path):
    found = private(path.read_text(encoding="utf-8"), owned(path))
    assert not found, "take `vnlib.plots.style.look`, and book/models.toml"


@pytest.mark.parametrize(
    "source",
    [
        'LOOKS = {"vn": (PALETTE[0], "o")}',
        'GROUPS = {"vn": ("Vector Network", PALETTE[0], "o")}',
        'MARKERS = {"vn_1": "P"}',
        'COLORS = {"vn_1": "#003f5c"}',
        'LOOKS = {("vn_1", "own"): ("anything", PALETTE[3], "s")}',
        'SOLVERS = {"restart": ("FISTA, restarted", PALETTE[0], "o")}',
        'for name, color in (("ISTA", PALETTE[0]), ("FISTA", PALETTE[1])): pass',
        "for model, color in zip(models, PALETTE): pass",
        "looks = dict(zip(results['model'].values, PALETTE))",
        "color = COLORS[number % len(COLORS)]",
        "color = PALETTE[number % 10]",
        'ax.plot(x, y, color="#d55e00")',
    ],
)
def test_the_search_for_private_looks_can_fail(source):
    assert private(source, {"vn", "vn_1"})


@pytest.mark.parametrize(
    "source",
    [
        'LINES = {"vn": "-", "control": ":"}',
        'SPLITS = {"training": ("train", PALETTE[7], "o")}',
        'SOLVERS = {"restart": ("FISTA, restarted", *look("FISTA, restarted"))}',
        "color = PALETTE[body]",
        'ax.axvline(1, color="0.3")',
    ],
)
def test_what_is_no_look_of_a_model_may_stay(source):
    assert not private(source, {"vn", "vn_1"})


# --- Legends --------------------------------------------------------------------------------------


def results() -> xr.Dataset:
    coords = {
        "model": ["a", "b", "c"],
        "label": ("model", ["VN-1L", "VN-3L", "CNN"]),
        "group": ("model", ["vn", "vn", "entangled"]),
    }
    return xr.Dataset(coords=coords)


def test_a_group_stands_in_a_legend_with_the_marks_of_its_members():
    names = {"vn": "Vector Networks", "none": "nobody", "entangled": "others"}
    one, other = figures.of_groups(results(), ["a", "b", "c"], names)
    assert (one.get_label(), other.get_label()) == ("Vector Networks", "others")
    assert [mark.get_color() for mark in one] == [look("VN-1L")[0], look("VN-3L")[0]]


def test_a_legend_names_models_with_their_looks():
    first, *_ = found = figures.of_models(results(), ["a", "c"], ls="-")
    assert [line.get_label() for line in found] == ["VN-1L", "CNN"]
    assert (first.get_color(), first.get_marker(), first.get_linestyle()) == (*look("VN-1L"), "-")
    assert isinstance(first, Line2D)
