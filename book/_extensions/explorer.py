"""Explorers: what a chapter has stored, under the reader's hand.

```{explorer} CHAPTER [RESULTS]``` puts one into a page. The chapter's `figures_explorer.explorer` tells
what there is to choose and to see, as below; here it becomes HTML and a block of data, which
`explorer.js` reads. Nothing is fetched, and where there is no JavaScript nothing is shown. It is a figure, counted with
the others, and `{numref}` finds it as `explorer-CHAPTER`; its note is the caption.

- `title`, `note`: texts.
- `choices`: of each `key`, `label`, the `values` along an axis and their `names`, which is `first`, and
  whether it is picked `as` a "list", a "slider" or a "plane", of which `parts` names the columns and the
  rows, and `labels` both sliders. `jumps` are values with a button each; with `play` it runs by itself
  for so many seconds.
- `views`: what is shown of the choices. Leading dimensions of an array are choices by their name, or by
  that which `by` names instead, with a label for each of its values where these are others; values of
  an axis that an array lacks are said to be not stored.
  - "image": `values` (..., y, x) between `low` and `high`, with eight bits; `up` where rows run upward;
    `diverging` where 0 is white in the middle; `missing` says why there is none, where there is none.
  - "map": `values` (..., axis of the choice that it `picks`), on a logarithmic scale if `log`; `outline`
    is 1 inside a line and 0 elsewhere, and `marks` are values of that choice with a dot.
  - "cells": the same as a plot with axes, labelled `x` and `y`, and without `marks`.
  - "curve": `series`, each of `values` (..., x) or of their statistics over seeds, a `name`, a `key` where
    several lines are alike, which the key tells instead, and, if it is not grey, as `hue` the choice of a
    model whose colour it has; labels `x` and `y`, `low` and `high`, `log` or `log_x`, `shade` from x to x,
    and `marks`, the choice whose value is marked; or `fit`, how many times the largest of the first series
    the axis goes from minus to plus.
  - "paths": `values` (..., step, body, axis) within plus or minus `high` of a `unit`, with eight bits, drawn
    `until` a choice of the step; a dashed `box` from minus to plus.
  - "table": `columns` and `rows`, each with a `name` and a `hue`; `values` are statistics, one for each column.

Texts in braces, such as {left}, are names of what is chosen.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from book.site.read_once import read_once
from vnlib.book import paths, store
from vnlib.plots.statistics import STATISTICS, raised, short
from vnlib.plots.style import DIVERGING, PALETTE, SEQUENTIAL, look

DATA = Path("book/extra/data")  # of the profile that the pages show
CONTENT = {
    "image": 2,
    "map": 1,
    "cells": 1,
    "curve": 1,
    "paths": 3,
    "table": 0,
}  # trailing dimensions
PLOTS = {"cells", "curve", "paths"}  # drawn by Observable Plot
DRAWINGS = ".drawings.nc"  # in the place of ".nc"
MISSING = "Not stored here."
LEVELS = 254  # of eight bits, whose 0 is kept for what is missing
COLOURS = {
    name: (mpl.colormaps[name](np.arange(256))[:, :3] * 255).round().astype(np.uint8)
    for name in (SEQUENTIAL, DIVERGING)
}


class Explorer(SphinxDirective):
    """```{explorer} CHAPTER [RESULTS]``` is of a chapter's results, or of those of another one that
    it shows; nothing where they are not there, or lack what it shows.
    """

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter, results = self.arguments[0], self.arguments[-1]
        file = Path(self.env.srcdir) / DATA / f"{results}.nc"
        for one in (file, file.with_suffix(DRAWINGS)):
            self.env.note_dependency(str(one))
        if paths.module(chapter, "figures_explorer") is None:
            raise self.error(f"{chapter} has no figures_explorer.py")
        with read_once(file.parent):
            told = offered(chapter, store.read(file), drawings(file)) if file.exists() else None
        if told is None:
            return []
        up = "../" * self.env.docname.count("/")
        return [numbered(self, f"explorer-{chapter}", page(chapter, told, up), told["note"])]


def numbered(directive: SphinxDirective, name: str, html: str, note: str) -> nodes.figure:
    """HTML as a figure of this name, so that it has a number, with a caption."""
    shown = nodes.raw("", once(directive.env, html), format="html")
    figure = nodes.figure("", shown, nodes.caption(note, note), classes=["vn-explored"])
    figure["names"].append(nodes.fully_normalize_name(name))
    directive.state.document.note_explicit_target(figure, figure)
    return figure


def once(env: BuildEnvironment, html: str) -> str:
    """HTML without the scripts that this document has already: each is run once."""
    there = env.temp_data.setdefault("scripts of explorers", set())

    def first(found: re.Match) -> str:
        new = found[0] not in there
        there.add(found[0])
        return found[0] * new

    return re.sub(r'<script src="[^"]+" defer></script>', first, html)


def drawings(file: Path) -> xr.Dataset | None:
    """What models draw, in a file of its own beside that of results, where there is one."""
    beside = file.with_suffix(DRAWINGS)
    return store.read(beside) if beside.exists() else None


def offered(
    chapter: str, results: xr.Dataset, drawn: xr.Dataset | None = None
) -> dict[str, Any] | None:
    """What a chapter offers of results, and of what models have `drawn`, to explore; None where they
    lack it.

    Where its study makes a `truth` of them, such as the paths that models should follow, it takes
    part.
    """
    study, figures = paths.module(chapter, "study"), paths.module(chapter, "figures_explorer")
    assert figures is not None
    more = [study.truth(results)] if study is not None and hasattr(study, "truth") else []
    more += [] if drawn is None else [drawn]
    try:
        return figures.explorer(results, *more)
    except KeyError:
        return None


class Data:
    """All numbers of an explorer, one array after the other, each kept once."""

    def __init__(self) -> None:
        self.parts: dict[str, list[bytes]] = {"f4": [], "u1": []}
        self.sizes = {"f4": 0, "u1": 0}
        self.joined: dict[int, tuple[xr.Dataset, xr.DataArray]] = {}
        self.known: dict[tuple, tuple[xr.DataArray, dict[str, Any]]] = {}

    def statistics(self, values: xr.Dataset) -> xr.DataArray:
        """Median, interval and number of seeds as one array, whose last dimension they are."""
        if id(values) not in self.joined:
            one = values[list(STATISTICS)].to_array("statistic").transpose(..., "statistic")
            self.joined[id(values)] = values, one  # and its id stays its own
        return self.joined[id(values)][1]

    def add(self, values: xr.DataArray, ends: tuple[float, float] | None) -> dict[str, Any]:
        """Where an array is: with eight bits between two ends, or in single precision."""
        key = (id(values), ends)
        if key not in self.known:
            kind = "f4" if ends is None else "u1"
            numbers = values.values.astype("<f4") if ends is None else levels(values.values, *ends)
            self.parts[kind].append(numbers.tobytes())
            told = {"kind": kind, "from": self.sizes[kind], "shape": list(values.shape)}
            self.sizes[kind] += values.size
            self.known[key] = values, told
        return self.known[key][1]

    def text(self) -> dict[str, Any]:
        """All of them, compressed, and how many there are of each kind; those of four bytes come
        first, the first byte of all, then the second: so they are compressed by more.
        """
        four = np.frombuffer(b"".join(self.parts["f4"]), np.uint8).reshape(-1, 4)
        whole = four.T.tobytes() + b"".join(self.parts["u1"])
        return {**self.sizes, "deflate": base64.b64encode(zlib.compress(whole, 9)).decode()}


def levels(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Numbers with eight bits: 1 at `low` and below, 255 at `high` and above, 0 for none."""
    share = np.clip((values - low) / (high - low), 0, 1)
    return np.where(np.isnan(share), 0, 1 + np.nan_to_num(share) * LEVELS).round().astype(np.uint8)


def page(chapter: str, told: Mapping[str, Any], up: str) -> str:
    """An explorer as HTML; `up` is the way to the root of the site."""
    data, choices = Data(), {one["key"]: one for one in told["choices"]}
    views = [_view(one, choices, data) for one in told["views"]]
    kept = ("key", "names", "as", "first", "parts", "play")
    block = {
        "choices": [
            {k: one[k] for k in kept if k in one} | _looks(one, told["views"])
            for one in choices.values()
        ],
        "views": views,
        "colours": [base64.b64encode(one.tobytes()).decode() for one in COLOURS.values()],
        "hues": PALETTE,
        "data": data.text(),
    }
    name = f"explorer-{escape(chapter, quote=True)}"
    controls = "".join(_control(one) for one in choices.values())
    shown = "".join(_place(number, one) for number, one in enumerate(told["views"]))
    static, plots = f"{up}_static", {one["show"] for one in views} & PLOTS
    scripts = ["explorer.js"]
    if plots:
        scripts = ["plot/d3.min.js", "plot/plot.umd.min.js", "plots.js", *scripts]
    loaded = "".join(f'<script src="{static}/{one}" defer></script>' for one in scripts)
    return (
        f'<link rel="stylesheet" href="{static}/explorer.css">'
        f'<div class="vn-explorer" id="{name}" role="group" aria-labelledby="{name}-title" hidden>'
        f'<p class="vn-explorer-title" id="{name}-title">{escape(told["title"])}</p>'
        f'<div class="vn-picks">{controls}</div><div class="vn-views">{shown}</div>'
        f'<p class="vn-unseen" role="status"></p>'
        f'<script type="application/json">{_json(block)}</script></div>'
        f"<noscript><p>With JavaScript, here is an explorer of the stored results: "
        f"{escape(told['title'])}. The figures of this page show them without.</p></noscript>"
        f"{loaded}"
    )


def _looks(choice: Mapping[str, Any], views: Sequence[Mapping[str, Any]]) -> dict[str, list]:
    """The colours of what is chosen, where a line or a row has that of its model."""
    parts = [one for view in views for one in (*view.get("series", ()), *view.get("rows", ()))]
    if choice["key"] not in {one.get("hue") for one in parts}:
        return {}
    return {"looks": [look(name)[0] for name in choice["names"]]}


def _json(block: object) -> str:
    """JSON that no text in it can end."""
    text = json.dumps(block, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _view(view: Mapping[str, Any], choices: Mapping[str, Any], data: Data) -> dict[str, Any]:
    """A view with its arrays told by where they are."""
    show = view["show"]
    bits = show in ("image", "paths")
    ends = (view.get("low", -view["high"]), view["high"]) if bits else None

    def field(values: xr.DataArray | xr.Dataset, of: Mapping[str, Any]) -> dict[str, Any]:
        content, over = CONTENT[show], isinstance(values, xr.Dataset)
        one = data.statistics(values) if isinstance(values, xr.Dataset) else values
        picked = one.dims[: one.ndim - content - over]
        by = [_picked(one, str(dim), of.get("by", {}).get(dim, dim), choices) for dim in picked]
        return {**data.add(one, None if over else ends), "by": by}

    told = {
        k: v for k, v in view.items() if k not in ("values", "by", "outline", "series", "missing")
    }
    if show == "table":
        told["rows"] = [
            {"name": row["name"], "hue": row.get("hue")}
            | {"values": [field(values, row) for values in view["values"]]}
            for row in view["rows"]
        ]
    elif show == "curve":
        told["series"] = [
            {k: v for k, v in one.items() if k not in ("values", "by")} | field(one["values"], one)
            for one in view["series"]
        ]
        first = view["series"][0]["values"]
        x = first["median"] if isinstance(first, xr.Dataset) else first
        told["at"] = x[x.dims[-1]].values.astype(float).tolist()
    else:
        told |= field(view["values"], view)
    if show in ("map", "cells"):
        values = choices[view["picks"]]["values"]
        if "outline" in view:
            one = view["outline"]
            by = [_picked(one, str(dim), dim, choices) for dim in one.dims[:-1]]
            told["outline"] = {**data.add(one, (0.0, 1.0)), "by": by}
        told["marks"] = [values.index(one) for one in view.get("marks", ())]
    elif "marks" in view:
        values = choices[view["marks"]]["values"]
        told["marks"] = {"key": view["marks"], "at": [float(one) for one in values]}
    return told


def _picked(
    values: xr.DataArray, dim: str, by: str | tuple[str, list], choices: Mapping[str, Any]
) -> list:
    """A choice, and where each of its values is along a dimension, -1 for nowhere; None for in its
    own place.
    """
    key, labels = (by, choices[by]["values"]) if isinstance(by, str) else by
    there = values[dim].values.tolist()
    found = [there.index(one) if one in there else -1 for one in labels]
    return [key, None if found == list(range(len(there))) else found]


def _control(choice: Mapping[str, Any]) -> str:
    """A list or sliders, with a label each, and buttons."""
    key, names, first = escape(choice["key"], quote=True), choice["names"], choice["first"]
    if choice["as"] == "list":
        options = "".join(
            f'<option value="{number}"{" selected" * (number == first)}>{escape(name)}</option>'
            for number, name in enumerate(names)
        )
        html = (
            f'<label>{escape(choice["label"])} <select data-key="{key}">{options}</select></label>'
        )
    elif choice["as"] == "slider":
        html = _slider(key, "", choice["label"], len(names), first)
    else:
        columns = len(choice["parts"][0])
        at = (first % columns, first // columns)
        html = "".join(
            _slider(key, part, label, len(of), start)
            for part, label, of, start in zip(
                "xy", choice["labels"], choice["parts"], at, strict=True
            )
        )
    if "play" in choice:
        html += f'<button type="button" data-play="{key}">Play</button>'
    buttons = "".join(
        f'<button type="button" data-key="{key}" data-jump="{number}">{escape(names[number])}</button>'
        for number in map(choice["values"].index, choice.get("jumps", ()))
    )
    told = f'<p class="vn-jumps">{escape(choice["jumps_are"])} {buttons}</p>' if buttons else ""
    return html + told


def _slider(key: str, part: str, label: str, count: int, first: int) -> str:
    told = f'data-key="{key}" data-part="{part}"'
    return (
        f'<label>{escape(label)}: <output {told}></output><input type="range" {told} min="0" '
        f'max="{count - 1}" step="1" value="{first}"></label>'
    )


def _place(number: int, view: Mapping[str, Any]) -> str:
    """Where a view is drawn, with its title, and the key of its colours."""
    if (show := view["show"]) == "table":
        heads = "".join(f'<th scope="col">{escape(one)}</th>' for one in view["columns"])
        inner = f"<table><thead><tr><td></td>{heads}</tr></thead><tbody></tbody></table>"
    else:
        drawn = 'div class="vn-plot"' if show in PLOTS else "canvas"
        missing = escape(view.get("missing", MISSING))
        inner = f'<{drawn} role="img"></{drawn.split()[0]}>'
        inner += f'<p class="vn-missing" hidden>{missing}</p>'
    inner += _key(view) if "key" in view else ""
    title = '<p class="vn-title"></p>'
    return f'<div class="vn-view vn-{show}" data-view="{number}">{title}{inner}</div>'


def _key(view: Mapping[str, Any]) -> str:
    """The colours from the least to the largest, and of what they are."""
    colours = COLOURS[DIVERGING if view.get("diverging") else SEQUENTIAL]
    stops = ", ".join("rgb({} {} {})".format(*colour) for colour in colours[::15])
    low, high = (raised(short(view[end])) for end in ("low", "high"))
    bar = f'<span class="vn-scale" style="background: linear-gradient(to right, {stops})"></span>'
    return f'<p class="vn-key">{escape(view["key"])}<br>{low}\N{NO-BREAK SPACE}{bar}\N{NO-BREAK SPACE}{high}</p>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx the directive."""
    app.add_directive("explorer", Explorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
