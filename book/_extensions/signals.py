"""Signals with an interval that the reader hides, and models that fill it in, in the page.

```{signals} CHAPTER``` puts them into a page, of what the chapter's `live` keeps (see
`chapters.fig3_functions.live`); nothing where that is not there. The page computes all of it anew for every
interval (`_static/signals/fill.js`), so it needs no server, and where there is no JavaScript nothing is shown. It is a figure,
which `{numref}` finds as `signals-CHAPTER`.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from docutils import nodes
from explorer import DATA, Data, _json, numbered
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from book.site.read_once import read_once
from vnlib.book import store
from vnlib.plots.style import look

LEVELS = {
    "atom": 2047,
    "axis": 32767,
    "mean": 32767,
    "signal": 32767,
}  # from 0 to the largest of a row
SETS = {"id": "in distribution", "easy": "Easy: sums", "hard": "Hard: compositions"}
LABELS = {  # as the chapter names them, and how their lines are dashed
    "vn_1": ("VN-1L", ""),
    "fourier": ("Fixed dictionary, Fourier and bumps", "4 2"),
    "gaussian": ("Gaussian conditional mean", "14 4"),
    "linear": ("Linear interpolation", "9 2 2 2"),
    "deep_ae": ("DeepAE3", ""),
}
CHOOSING = ("vn_1", "fourier", "gaussian")
SHOWN = ("vn_1", "gaussian", "deep_ae")  # at first
HIDDEN = (0.375, 0.625)  # at first
TITLE = "Hide a part of a signal, and watch models fill it in"
NOTE = (
    "Of a Hard signal VN-1L leaves less than a tenth of zero's error in the middle quarter, and about half in the last one, by medians over the signals here; of some, more than zero does. "
    "Drag the shaded interval or one of its ends, or use the sliders. Dotted: what is hidden. VN-1L and the fixed dictionary solve the masked "
    "problem, the Gaussian gives its conditional mean; λ and the variance of its noise are those that are best on validation signals for the "
    "nearest of {intervals} intervals. DeepAE3 is shown zeros there. All are of the first seed, and computed here, for the interval that you hide. "
    "Errors: mean squares over the hidden part, in units of the mean power of ID signals. A typical case is shown first: the signal in the "
    "middle of all sums and compositions here, in the order of the share of zero's error that VN-1L leaves."
)


class Signals(SphinxDirective):
    """```{signals} CHAPTER``` is of what a chapter keeps; nothing where that is not there."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        chapter = self.arguments[0]
        file = Path(self.env.srcdir) / DATA / f"{chapter}.live.nc"
        self.env.note_dependency(str(file))
        if not file.exists():
            return []
        with read_once(file.parent):
            kept = store.read(file).isel(seed=0)
        up = "../" * self.env.docname.count("/")
        return [numbered(self, f"signals-{chapter}", page(chapter, kept, up), note(kept))]


class Levels(Data):
    """Numbers of an explorer, and others in whole steps, of eight or sixteen bits."""

    def plain(self, values: np.ndarray) -> dict[str, Any]:
        return self.add(xr.DataArray(np.asarray(values)), None)

    def bytes(self, values: np.ndarray) -> dict[str, Any]:
        """Integers of eight bits."""
        told = {"kind": "u1", "from": self.sizes["u1"], "shape": list(values.shape)}
        self.parts["u1"].append(values.astype(np.int8).tobytes())
        self.sizes["u1"] += values.size
        return told

    def rows(self, values: np.ndarray, most: int) -> dict[str, Any]:
        """Rows in steps of their largest over `most`, as differences from one number to the next:
        all low bytes, then all high ones.
        """
        steps = np.maximum(np.abs(values).max(1), 1e-12) / most
        levels = np.rint(values / steps[:, None]).astype(np.int64)
        apart = np.diff(levels, axis=1, prepend=0).astype(np.uint16)
        told = {"steps": self.plain(steps), "from": self.sizes["u1"], "shape": list(values.shape)}
        for one in (apart & 255, apart >> 8):
            self.bytes(one.astype(np.uint8).view(np.int8))
        return told


def block(kept: xr.Dataset) -> dict[str, Any]:
    """All that the page computes with; `kept` is one seed of what `live` keeps."""
    data, names = Levels(), [str(one) for one in kept["example"].values]
    maps = sorted(int(str(name)[7:]) for name in kept.data_vars if str(name).startswith("weight_"))
    one = {name: kept[name].values for name in kept.data_vars}
    return {
        "examples": [name.rsplit(" ", 1) for name in names],
        "models": [
            {
                "key": key,
                "name": label,
                "dash": dash,
                "colour": look(label)[0],
                "shown": key in SHOWN,
            }
            for key, (label, dash) in LABELS.items()
        ],
        "first": typical(kept),
        "hidden": HIDDEN,
        "intervals": np.stack([one["begin"], one["end"]], 1).tolist(),
        "chosen": {name: kept["chosen"].sel(filler=name).values.tolist() for name in CHOOSING},
        "time": [float(kept["time"][0]), float(kept["time"][-1])],
        "signal": data.rows(one["signal"], LEVELS["signal"]),
        "atom": data.rows(one["atom"], LEVELS["atom"]),
        "axis": data.rows(one["axis"], LEVELS["axis"]),
        "mean": data.rows(one["mean"][None], LEVELS["mean"]),
        "spread": data.plain(one["spread"]),
        "maps": [
            {"weight": data.bytes(one[f"weight_{n}"]), "step": data.plain(one[f"step_{n}"])}
            | ({"bias": data.plain(one[f"bias_{n}"])} if n else {})
            | {"relu": 0 < n < maps[-1] and n != len(maps) // 2}
            for n in maps
        ],
        "data": data.text(),
    }


def typical(kept: xr.Dataset) -> int:
    """The sum or composition in the middle of their order by the share of zero's error that VN-1L leaves
    where the interval that is hidden at first is; of two in the middle the one of which it leaves more.
    """
    (first,) = np.flatnonzero((kept["begin"] == HIDDEN[0]) & (kept["end"] == HIDDEN[1]))
    error = kept["error"].isel(interval=first)
    share = (error.sel(filler="vn_1") / error.sel(filler="zero_baseline")).values
    order = np.flatnonzero(kept["signal_set"] != "id")
    return int(order[np.argsort(share[order], kind="stable")][len(order) // 2])


def note(kept: xr.Dataset) -> str:
    """What is seen, and where the numbers come from."""
    return NOTE.format(intervals=kept.sizes["interval"])


def page(chapter: str, kept: xr.Dataset, up: str) -> str:
    """The whole of it as HTML; `up` is the way to the root of the site."""
    told, name = block(kept), f"signals-{escape(chapter, quote=True)}"
    static = f"{up}_static"
    scripts = ("plot/d3.min", "plot/plot.umd.min", "plots", "explorer")
    scripts += ("playground/settle", "signals/fill", "signals/signals")
    sheets = ("explorer", "signals/signals")
    links = "".join(f'<link rel="stylesheet" href="{static}/{one}.css">' for one in sheets)
    loaded = "".join(f'<script src="{static}/{one}.js" defer></script>' for one in scripts)
    return (
        f'{links}<div class="vn-explorer vn-live" id="{name}" role="group" aria-labelledby="{name}-title" hidden>'
        f'<p class="vn-explorer-title" id="{name}-title">{TITLE}</p>'
        f'<div class="vn-picks">{_signals(kept, told["first"])}{_ends()}{_models(told["models"])}</div>'
        '<div class="vn-views"><div class="vn-view vn-curve"><p class="vn-title"></p><div class="vn-field">'
        f'<div class="vn-plot" role="img"></div>{_handles()}</div></div>'
        '<div class="vn-view vn-table"><table><thead><tr><td></td><th scope="col">error on what is hidden</th>'
        '<th scope="col">over that of zero</th></tr></thead><tbody></tbody></table></div></div>'
        f'<p class="vn-unseen" role="status" aria-live="polite"></p>'
        f'<script type="application/json">{_json(told)}</script></div>'
        "<noscript><p>With JavaScript, here is a signal of which a part can be hidden, and filled in by models. The "
        f"figures of this page show it for four masks.</p></noscript>{loaded}"
    )


def _signals(kept: xr.Dataset, first: int) -> str:
    """The list of signals, by set."""
    names = [str(one).rsplit(" ", 1) for one in kept["example"].values]
    numbered = enumerate(kept["signal_set"].values.astype(str))
    groups = "".join(
        f'<optgroup label="{SETS[name]}">'
        + "".join(
            f'<option value="{n}"{" selected" * (n == first)}>{escape(", no. ".join(names[n]))}</option>'
            for n, _ in some
        )
        + "</optgroup>"
        for name, some in groupby(numbered, lambda one: one[1])
    )
    return f"<label>signal <select>{groups}</select></label>"


def _ends() -> str:
    return "".join(
        f'<label>{said}: <output data-end="{end}"></output><input type="range" data-end="{end}"></label>'
        for end, said in enumerate(("hidden from", "until"))
    )


def _models(models: list[Mapping[str, Any]]) -> str:
    """A box to check for each model, with its line."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{one["key"]}"{" checked" * one["shown"]}>'
        f'<svg class="vn-line" viewBox="0 0 30 10" aria-hidden="true"><path d="M1 5H29" stroke="{one["colour"]}" '
        f'stroke-width="2.2" stroke-dasharray="{one["dash"] or "none"}"/></svg>{escape(one["name"])}</label>'
        for one in models
    )
    return f'<fieldset class="vn-models"><legend>filled in by</legend>{boxes}</fieldset>'


def _handles() -> str:
    """What a hand drags: the whole interval, and each of its ends."""
    said = {"both": "hidden interval", "0": "begin of what is hidden", "1": "end of what is hidden"}
    return "".join(
        f'<div class="vn-handle" role="slider" tabindex="0" data-drag="{part}" aria-label="{text}" '
        'aria-orientation="horizontal"></div>'
        for part, text in said.items()
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx the directive."""
    app.add_directive("signals", Signals)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
