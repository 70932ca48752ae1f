"""What pages need to be read in the right order: schematics, parts that are folded away, and a strip of
verdicts.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from book.schematics import DRAWINGS, HEADS

PICTURES = "book/pictures"  # the page with all schematics
LEDGER = Path("book/extra/data/ledger.json")  # of the profile that the pages show
MARKS = {"reproduced": "●", "partly": "◐", "not reproduced": "○", "undecided": "?"}


class folded(nodes.Element):
    """What follows it in its section is shown when the reader asks for it."""


class Schematic(SphinxDirective):
    """```{schematic} NAME``` draws one, with the content as its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        if name not in DRAWINGS:
            raise self.error(f"no schematic {name!r}; there are: {', '.join(DRAWINGS)}")
        figure = nodes.container(classes=["vn-drawn"])
        figure += nodes.raw("", DRAWINGS[name]().svg(), format="html")
        caption = nodes.container(classes=["vn-caption"])
        self.state.nested_parse(self.content, self.content_offset, caption)
        if caption.children:
            figure += caption
        figure["ids"] = [f"schematic-{name}"]
        return [figure]


class Fold(SphinxDirective):
    """```{fold} TITLE``` folds the rest of its section away."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        return [folded(title=self.arguments[0])]


class Folding(SphinxTransform):
    """Put what is to be folded into the node that folds it, and the small schematic at a page's head."""

    default_priority = 880

    def apply(self, **_: object) -> None:
        for mark in list(self.document.findall(folded)):
            rest = mark.parent.children[mark.parent.index(mark) + 1 :]
            for one in rest:
                mark.parent.remove(one)
            mark.extend(rest)
        name = HEADS.get(Path(self.env.docname).name)
        section = next(self.document.findall(nodes.section), None)
        if name and section is not None and not _opens_with(section, name):
            up = "../" * self.env.docname.count("/")
            drawn = DRAWINGS[name]().svg(small=True)
            link = f'<a class="vn-head" href="{up}{PICTURES}.html#schematic-{name}">{drawn}</a>'
            section.insert(1, nodes.raw("", link, format="html"))


def _opens_with(section: nodes.section, name: str) -> bool:
    """Whether a page shows a schematic in full before its first subsection."""
    parts = (one for one in section.children if isinstance(one, nodes.container))
    return any(f"schematic-{name}" in one["ids"] for one in parts)


class Verdicts(SphinxDirective):
    """```{verdicts} CHAPTER``` is a line for each claim of a chapter, by the ledger; nothing where
    there is none yet.
    """

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        file = Path(self.env.srcdir) / LEDGER
        self.env.note_dependency(str(file))
        if not file.exists():
            return []
        claims = json.loads(file.read_text(encoding="utf-8"))["claims"]
        up = "../" * (self.env.docname.count("/") - 1)
        lines = [strip(one, up) for one in claims if one["chapter"] == self.arguments[0]]
        return [nodes.raw("", f'<ul class="vn-strip">{"".join(lines)}</ul>', format="html")]


def strip(claim: dict, up: str) -> str:
    """A claim with its two verdicts, which leads to its rule; `up` is the way to the book's folder."""
    told = (("as printed", claim["verdict"]), ("with controls", claim["verdict_controls"]))
    chips = "".join(
        f'<span class="vn-chip">{said}: <b>{MARKS.get(verdict, "–")} {escape(verdict)}</b></span>'
        for said, verdict in told
        if verdict
    )
    if claim.get("definition"):
        chips = (
            f'<span class="vn-chip">as printed: definition or theorem, not counted</span>{chips}'
        )
    link = f'<a href="{up}generated/ledger.html#claim-{claim["id"].lower()}">{claim["id"]}</a>'
    return f"<li>{link} <span>{escape(claim['statement'])}</span> {chips}</li>"


def _open(translator, node: folded) -> None:
    title = escape(node["title"])
    translator.body.append(f'<details class="vn-fold"><summary>{title}</summary>\n')


def _close(translator, node: folded) -> None:
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx the directives."""
    app.add_node(folded, html=(_open, _close))
    for name, one in {"schematic": Schematic, "fold": Fold, "verdicts": Verdicts}.items():
        app.add_directive(name, one)
    app.add_transform(Folding)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
