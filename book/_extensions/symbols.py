r"""Symbols of formulas, explained at the pointer and to those who reach a formula by keys.

`book/symbols.toml` says what each means: `book` what the book means by it, a page's own table which of these the page uses
and what else stands there. Formulas stay as they are written; beside them a page has the same ones with
`\class{vn-symbol-3}{V}` around each symbol, which `terms.js` hands to MathJax, and a text for each symbol.
"""

from __future__ import annotations

import json
import re
import tomllib
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

MEANINGS = Path(__file__).resolve().parent.parent / "symbols.toml"
BOOK, USES, GLOSSARY = "book", "uses", "glossary"
MARK = "vn-symbol-"
EXEMPT = {r"\pi"}
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|\s+|.", re.DOTALL)
_WORDS = {r"\text", r"\mathrm", r"\operatorname", r"\begin", r"\end"}
_ACCENTS = {r"\hat": "\u0302", r"\bar": "\u0304"}
_TAKES = {
    r"\frac": 2, r"\tfrac": 2, r"\sqrt": 1, r"\overline": 1, r"\underbrace": 1, r"\stackrel": 2,
}  # fmt: skip
_NORM, _MEAN = r"\|", r"\langle"
_SAME = {r"\rVert": _NORM, "|": _NORM, r"\rangle": _MEAN}
_SIGNS = {_NORM: "‖ ‖", _MEAN: "⟨ ⟩", r"\ell": "ℓ", r"\mathbb E": "𝔼"}
_SYMBOL = re.compile(r"(?:(\\hat|\\bar) )?([A-Za-z]|\\[A-Za-z]+)")
_WORD = re.compile(r"\\(?:text|mathrm)\{(\w+)\}|\\[A-Za-z]+ ?|'")
_TIMES = r"\times"
_PLACES = {
    "fig1_architecture": "Fig. 1", "C_inference": "Appendix C", "D_learning": "Appendix D", "E_theory": "Appendix E",
    "FR2_manifold": "FR Fig. 2",
}  # fmt: skip
_READ = {r"\infty": "∞", "'": "′"}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Symbol:
    """A symbol of a formula.

    Attributes
    ----------
    start, end : int
        Where it stands, without what stands above or below it.
    names : tuple of str
        By which its meaning may be found, the most special one first.
    bare : bool
        Whether it is the argument of a command and has no braces.
    """

    start: int
    end: int
    names: tuple[str, ...]
    bare: bool


class symbols_of_page(nodes.Element):
    """What the symbols of a page mean, and its formulas with each of them marked."""


def symbols(tex: str, start: int = 0, end: int | None = None) -> Iterator[Symbol]:
    """The symbols of a formula: letters with their accents, norms and means.

    What stands below a symbol belongs to it; words and names of functions are none.

    Parameters
    ----------
    tex : str
        The formula.
    start, end : int, optional
        The part to look at.
    """
    at, end, takes = start, len(tex) if end is None else end, 0  # arguments that a command takes
    while at < end:
        token = _token(tex, at)
        after = at + len(token)
        if token == r"\rm":
            return
        if token.isspace():
            at = after
            continue
        if token in _WORDS:
            at = _argument(tex, after)
        elif token in _TAKES:
            at, takes = after, _TAKES[token]
            continue
        elif token == "{":
            at = _argument(tex, at)
            yield from symbols(tex, after, at - 1)
        elif token in ("_", "^"):
            at = _argument(tex, after)
            yield from symbols(tex, after, at)
        else:
            after = _argument(tex, after) if token in _ACCENTS or token == r"\mathbb" else after
            base = _plain(tex[at:after])
            base = _SAME.get(base, base)
            below, above, behind = _scripts(tex, after)
            if read(base) and (below or base != _NORM):
                yield Symbol(at, after, _names(tex, base, below, above, behind), takes > 0)
                for part in above:
                    yield from symbols(tex, *part)
                after = behind
            at = after
        takes = max(takes - 1, 0)


def read(symbol: str) -> str:
    """A symbol without what stands above and below, as it is read; nothing where it is none."""
    if symbol in _SIGNS:
        return _SIGNS[symbol]
    match = _SYMBOL.fullmatch(symbol)
    if not match:
        return ""
    letter = unescape(f"&{match[2][1:]};") if match[2].startswith("\\") else match[2]
    greek = len(letter) == 1 and unicodedata.name(letter).startswith("GREEK")
    return letter + _ACCENTS.get(match[1], "") if greek or letter == match[2] else ""


def _token(tex: str, at: int) -> str:
    match = _TOKEN.match(tex, at)
    return match[0] if match else ""


def _argument(tex: str, at: int) -> int:
    """Where an argument ends that begins here: a group, a command with its own, or one character."""
    token = _token(tex, at)
    after = at + len(token)
    if token.isspace() or token in _WORDS or token in _ACCENTS:
        return _argument(tex, after)
    return _closed(tex, at, "{}") if token == "{" else after


def _closed(tex: str, at: int, pair: str) -> int:
    """Where brackets close that open here."""
    depth, end = 0, at
    while end < len(tex):
        token = _token(tex, end)
        depth += (token == pair[0]) - (token == pair[1])
        end += len(token)
        if not depth:
            break
    return end


def _scripts(tex: str, at: int) -> tuple[str, list[tuple[int, int]], int]:
    """What stands below, where that stands which is above, and where both end."""
    below, above = "", []
    while (token := _token(tex, at)) in ("_", "^", "'"):
        start = at if token == "'" else at + 1
        at = _argument(tex, start)
        if token == "_":
            below = f"_{_plain(tex[start:at])}"
        else:
            above.append((start, at))
    return below, above, at


def _names(
    tex: str, base: str, below: str, above: list[tuple[int, int]], behind: int
) -> tuple[str, ...]:
    """The symbol with all around it, with one thing, and alone."""
    raised = "".join(_plain(tex[slice(*part)]) for part in above)
    raised = raised if set(raised) <= {"'"} else f"^{raised}"
    argument = tex[behind : _closed(tex, behind, "()")] if tex[behind : behind + 1] == "(" else ""
    parts = dict.fromkeys(filter(None, (below + raised, below, raised, argument)))
    return (*(base + part for part in parts), base)


def _plain(tex: str) -> str:
    """A part of a formula as names have it: single characters without braces, no more spaces than needed."""
    tex = re.sub(r"\s+", " ", tex).strip()
    tex = re.sub(r"^(\\(?:hat|bar|mathbb))\s*\{(\\?\w+)\}$", r"\1 \2", tex)
    return re.sub(r"^\{(\\?[A-Za-z0-9]|\\[A-Za-z]+|\*)\}$", r"\1", tex)


@cache
def tables() -> dict[str, dict[str, Any]]:
    """What `book/symbols.toml` says, by page."""
    return tomllib.loads(MEANINGS.read_text(encoding="utf-8"))


def meanings(page: str) -> dict[str, Any]:
    """What symbols mean on a page, by their names: a text, or the entry of the book."""
    book = tables()[BOOK]
    if page == GLOSSARY:
        return book
    own = dict(tables().get(page, {}))
    return {name: book[name] for name in own.pop(USES, ())} | own


def marked(tex: str, known: dict[str, Any], seen: dict[str, int]) -> tuple[str, list[str]]:
    """A formula with each symbol marked whose meaning is known, and the names of all others.

    Parameters
    ----------
    tex : str
        The formula.
    known : dict of str to Any
        What has a meaning.
    seen : dict of str to int
        The number of each name, to which those are added that were not seen.
    """
    parts, end, others = [], 0, []
    for one in symbols(tex):
        name = next((name for name in one.names if name in known), None)
        if name is None:
            others += [] if one.names[-1] in EXEMPT else [one.names[0]]
            continue
        mark = rf"\class{{{MARK}{seen.setdefault(name, len(seen))}}}{{{tex[one.start : one.end]}}}"
        parts += [tex[end : one.start], f"{{{mark}}}" if one.bare else mark]
        end = one.end
    return "".join([*parts, tex[end:]]), others


def shown(name: str) -> str:
    """The name of a symbol in HTML."""
    one = next(symbols(name))
    base = _SAME.get(name[: one.end], name[: one.end])
    below, above, behind = _scripts(name, one.end)
    raised = "".join(name[slice(*part)] for part in above)
    parts = (("sub", below[1:]), ("sup", raised), ("", name[behind:]))
    html = _SIGNS.get(base) or f"<i>{read(base)}</i>"
    for tag, tex in parts:
        tex = tex[1:-1] if tex.startswith("{") else tex
        text = escape(_WORD.sub(lambda word: word[1] or _READ.get(word[0]) or read(word[0]), tex))
        html += f"<{tag}>{text}</{tag}>" if tag and text else text
    return html


def said(meaning: str | dict[str, str], page: str = "") -> str:
    """What is said of a symbol, with the place that defines it unless that is the page itself."""
    if isinstance(meaning, str):
        return meaning
    size, chapter = meaning.get("size"), meaning["chapter"]
    told = [meaning["means"], f"Size {size}." if size else ""]
    told.append("" if chapter == page else f"See {_PLACES[chapter]}.")
    return " ".join(filter(None, told))


class Symbols(SphinxPostTransform):
    """Note what the symbols of a page mean."""

    default_priority = 810
    formats = ("html",)

    def run(self, **_: object) -> None:
        page = Path(self.env.docname).name
        known, seen, formulas = meanings(page), {}, {}
        for node in self.document.findall(
            lambda one: isinstance(one, (nodes.math, nodes.math_block))
        ):
            tex = " ".join(node.astext().split())
            formulas[tex], others = marked(tex, known, seen)
            for other in others:
                log.warning(
                    "book/symbols.toml does not say what %s means on %s", other, page, location=node
                )
        if seen:
            told = {name: said(known[name], page) for name in seen}
            self.document += symbols_of_page(said=told, formulas=formulas)


class SymbolTable(SphinxDirective):
    """The symbols of the whole book."""

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(str(MEANINGS))
        lines = ["| symbol | meaning | size | defined in |", "|---|---|---|---|"]
        for name, one in meanings(GLOSSARY).items():
            size = f"${one['size'].replace('×', _TIMES)}$" if "size" in one else ""
            cells = (f"${one.get('tex', name)}$", one["means"], size, _PLACES[one["chapter"]])
            lines.append(f"| {' | '.join(cells)} |")
        table = nodes.container()
        self.state.nested_parse(StringList(lines, source=str(MEANINGS)), self.content_offset, table)
        return table.children


def _tell(translator: HTML5Translator, node: symbols_of_page) -> None:
    told = "".join(
        f'<p class="vn-said" id="{MARK}{number}" role="tooltip" hidden>{shown(name)}: {escape(text)}</p>\n'
        for number, (name, text) in enumerate(node["said"].items())
    )
    data = json.dumps(node["formulas"], ensure_ascii=False).replace("<", "\\u003c")
    translator.body.append(
        f'{told}<script type="application/json" id="vn-formulas">{data}</script>\n'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx what to do with symbols."""
    text = MEANINGS.read_text(encoding="utf-8")
    app.add_config_value("symbols", text, "html")  # another text writes all pages anew
    app.add_node(symbols_of_page, html=(_tell, lambda translator, node: None))
    app.add_post_transform(Symbols)
    app.add_directive("symbols", SymbolTable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
