"""Terms of the glossary, explained where a page first uses them.

The first use of a term on a page becomes a link into the glossary that has the entry's first paragraph as its
description; `terms.js` shows it. Headings, code, links, tables, captions and what cells show are left as they are.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

GLOSSARY = "book/glossary"
PAGES = re.compile(  # elsewhere "code" and "support" are said in their common sense
    r"book/(chapters/\w+|intro|pictures|playground|own_data|changed|machines|generated/ledger)"
)
LEFT = (
    nodes.title, nodes.rubric, nodes.reference, nodes.literal, nodes.literal_block, nodes.math,
    nodes.math_block, nodes.raw, nodes.table, nodes.figure, nodes.caption, nodes.term,
)  # fmt: skip
OUTPUT = "cell_output"  # class of what a cell shows


class term_link(nodes.Inline, nodes.TextElement):
    """The first use of a term on a page."""


class descriptions(nodes.Element):
    """What the terms of a page mean, by the name of the entry in the glossary."""


Entries = dict[str, tuple[str, str]]


def entries(env: BuildEnvironment) -> Entries:
    """The anchor and the first paragraph of each entry, by its names; empty where there is no glossary."""
    if GLOSSARY not in env.all_docs:
        return {}
    found: Entries = {}
    for glossary in env.get_doctree(GLOSSARY).findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            said = next(item.findall(nodes.paragraph)).astext()
            names = list(item.findall(nodes.term))
            for name in names:
                found[name.astext()] = (names[0]["ids"][0], " ".join(said.split()))
    return found


def pattern(names: list[str]) -> re.Pattern:
    """Finds a term, also in the plural and with a capital; abbreviations only as they are. Longer ones go first, and a
    hyphen before or after makes another word.
    """
    forms = []
    words = [name for name in names if "(" not in name]  # else in this sense only
    for name in sorted(words, key=len, reverse=True):
        if name.isupper():
            forms.append(f"(?:{name}s?)")
            continue
        first, rest = name[0], name[1:].replace(" ", r"\s+")
        many = f"(?:{rest}s?|{rest[:-1]}ies)" if name.endswith("y") else f"{rest}s?"
        forms.append(f"(?:[{first.upper()}{first.lower()}]{many})")
    return re.compile(rf"(?<![\w-])(?:{'|'.join(forms)})(?![\w-])")


def entry_of(found: str, known: Entries) -> tuple[str, str]:
    """The entry of a term as `pattern` finds it."""
    plain = " ".join(found.split())
    for one in (plain, plain[:-1], f"{plain[:-3]}y"):
        for name in (one, one[:1].upper() + one[1:]):
            if name in known:
                return known[name]
    raise KeyError(found)


class Terms(SphinxPostTransform):
    """Mark the first use of each term."""

    default_priority = 800  # links are links by then
    formats = ("html",)

    def run(self, **_: object) -> None:
        known = entries(self.env) if PAGES.fullmatch(self.env.docname) else {}
        if not known:
            return
        find, seen = pattern([*known]), {}
        for text in list(self.document.findall(nodes.Text)):
            if not left(text):
                _mark(text, find, known, seen)
        if seen:
            uri = self.app.builder.get_relative_uri(self.env.docname, GLOSSARY)
            for link in self.document.findall(term_link):
                link["refuri"] = f"{uri}#{link['entry']}"
            self.document += descriptions(said=seen)


def left(text: nodes.Node) -> bool:
    """Whether a text is to stay as it is."""
    one = text.parent
    while one is not None:
        if isinstance(one, LEFT) or OUTPUT in getattr(one, "attributes", {}).get("classes", ()):
            return True
        one = one.parent
    return False


def _mark(text: nodes.Text, find: re.Pattern, known: Entries, seen: dict[str, str]) -> None:
    """Split a text at the terms that were not `seen` before, and note them there."""
    plain, parts, end = text.astext(), [], 0
    for match in find.finditer(plain):
        entry, said = entry_of(match[0], known)
        if entry in seen:
            continue
        seen[entry] = said
        parts += [nodes.Text(plain[end : match.start()]), term_link("", match[0], entry=entry)]
        end = match.end()
    if parts:
        parts.append(nodes.Text(plain[end:]))
        text.parent.replace(text, [one for one in parts if one.astext()])


def _open(translator, node: term_link) -> None:
    entry, uri = escape(node["entry"]), escape(node["refuri"])
    translator.body.append(
        f'<a class="vn-term" href="{uri}" aria-describedby="vn-{entry}" data-term="{entry}">'
    )


def _close(translator, node: term_link) -> None:
    translator.body.append("</a>")


def _describe(translator, node: descriptions) -> None:
    told = "".join(
        f'<p class="vn-said" id="vn-{escape(entry)}" role="tooltip" hidden>{escape(said)}</p>\n'
        for entry, said in node["said"].items()
    )
    translator.body.append(told)


def setup(app: Sphinx) -> dict[str, bool]:
    """Teach Sphinx what to do with terms."""
    app.add_node(term_link, html=(_open, _close))
    app.add_node(descriptions, html=(_describe, lambda translator, node: None))
    app.add_post_transform(Terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
