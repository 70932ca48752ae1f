"""The ledger as a picture and as a table: a dot and a row per statement, in groups by claim."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

import jinja2

from book.site import effects, statements
from vnlib.book import chapter, html, paths
from vnlib.book import ledger as claims
from vnlib.plots.statistics import raised

TEMPLATE = Path(__file__).with_name("evidence_table.html.jinja")
ASKED = {"printed": "as printed", "controls": "with controls"}
# What can be given, inferred or chosen of an experiment.
TAKEN = ("data", "sizes", "budget", "inference")


def anchor(name: str) -> str:
    """Where a statement stands on the page: VN-F3c.2 at vn-f3c-2."""
    return name.lower().replace(".", "-")


def claim_anchor(name: str) -> str:
    """Where a claim stands on the page."""
    return f"claim-{anchor(name)}"


def figure(row: Mapping) -> str:
    """The address of the figure that shows a claim."""
    return f"../chapters/{row['chapter']}.html#{row['figure'].lower()}"


def rule(name: str) -> str:
    """A link to the source of a claim's rule; nothing for a claim that no chapter has."""
    one = claims.all_claims().get(name)
    return html.code("rule", one.decide.__module__, one.decide.__qualname__) if one else ""


def given(fidelity: Mapping[str, str]) -> str:
    """What of an experiment the paper gives, in short."""
    names = [key for key in TAKEN if fidelity.get(key) == "given"]
    return "all given" if len(names) == len(TAKEN) else f"given: {', '.join(names) or 'nothing'}"


def seeds(rows: Sequence[Mapping]) -> str:
    """Over how many seeds the statements of a claim are."""
    numbers = sorted({one["seeds"] for one in rows} - {0})
    return f"{' or '.join(map(str, numbers))} seeds." if numbers else ""


def origins(fidelity: Mapping[str, str]) -> str:
    """How an experiment stands to the paper's, in full."""
    if not fidelity:
        return ""
    parts = ", ".join(f"{key} {fidelity[key]}" for key in TAKEN)
    return f"{parts[0].upper()}{parts[1:]}. {fidelity['reduced']}".strip()


def remarks(one: Mapping) -> list[str]:
    """What decides a statement besides its first contrast."""
    found = [f"needs: {need['says']} ({need['verdict']})" for need in one["needs"]]
    found += [text for text in (one["missing"], one["remark"]) if text]
    for more in one["contrasts"][1:]:
        bound = f", wanted {effects.wanted(more)}" if effects.wanted(more) else ""
        found.append(f"also {effects.told(more, one['says'])}{bound}: {more['verdict']}")
    return [raised(f"{text[0].upper()}{text[1:].rstrip('.')}.") for text in found]


def chapters(rows: Sequence[Mapping]) -> dict[str, str]:
    """The titles of the chapters that decide these claims, by name, as far as they are in the
    checkout.
    """
    names = dict.fromkeys(row["chapter"] for row in rows)
    return {name: chapter.spec(name).title for name in names if name in paths.chapters()}


@cache
def _template() -> jinja2.Template:
    """The template with what it calls."""
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(TEMPLATE.parent),
    )
    environment.filters |= {"raised": raised, "indexed": indexed}
    called = (anchor, claim_anchor, figure, given, origins, remarks, rule, seeds)
    environment.globals |= {one.__name__: one for one in called}
    environment.globals |= {"effects": effects, "ASKED": ASKED, "VERDICTS": statements.VERDICTS}
    return environment.get_template(TEMPLATE.name)


def _part(name: str, **values: object) -> str:
    """One macro of the template as a block of HTML in Markdown."""
    return f"```{{raw}} html\n{getattr(_template().module, name)(**values).strip()}\n```"


def matrix(papers: Mapping[str, Sequence[Mapping]], found: Mapping) -> str:
    """All statements at a glance: a cell per claim, a dot per statement, pale where it counts
    nowhere: of a definition or theorem, as printed.
    """
    defined = {row["id"] for row in found["claims"] if row["definition"]}
    pale = [
        one["id"]
        for one in found["statements"]
        if one["claim"] in defined and statements.PROTOCOLS[1] not in one["protocols"]
    ]
    return _part("matrix", papers=papers, statements=_by_claim(found), pale=pale)


def indexed(text: str) -> str:
    """HTML of a text with symbols such as F_A and d_head as readers know them, with an index."""
    return re.sub(r"\b([A-Za-z])_([A-Za-z]+)\b", r"<i>\1</i><sub>\2</sub>", escape(text))


def filters(papers: Mapping[str, Sequence[Mapping]], found: Mapping) -> str:
    """What chooses among the statements; without JavaScript it is not shown."""
    return _part(
        "filters",
        papers=papers,
        chapters=chapters(found["claims"]),
        count=len(found["statements"]),
    )


def groups(paper: str, rows: Sequence[Mapping], found: Mapping) -> str:
    """The claims of a paper, each with the rows of its statements."""
    return _part("groups", paper=paper, rows=rows, statements=_by_claim(found))


def _by_claim(found: Mapping) -> dict[str, list[Mapping]]:
    """The statements of each claim, of which some have none."""
    kept: dict[str, list[Mapping]] = {row["id"]: [] for row in found["claims"]}
    for one in found["statements"]:
        kept[one["claim"]].append(one)
    return kept
