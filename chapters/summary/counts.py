"""Which claims, and how many statements, hold, found in the ledger: whatever their chapter and prefix."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence

from IPython.display import HTML

from vnlib.book import html, ledger, paths

PROTOCOLS = {
    "as printed": ("verdict", "parts"),
    "with controls": ("verdict_controls", "parts_controls"),
}
DECIDED = (ledger.REPRODUCED, ledger.PARTLY, ledger.NOT)
ALL, OTHERS = "all", "other chapters"


def benchmark(name: str) -> str:
    """The benchmark of a chapter, as its settings name it; `OTHERS` where they name none."""
    return tomllib.loads(paths.sidecar(name).read_text(encoding="utf-8")).get("benchmark", OTHERS)


def claims_of(rows: Sequence[Mapping], name: str) -> list[Mapping]:
    """The rows of the ledger that chapters of a benchmark decide; of all chapters for `ALL`, of
    those without a benchmark for `OTHERS`.
    """
    owner = {one: benchmark(one) for one in {row["chapter"] for row in rows}}
    return [row for row in rows if name in (ALL, owner[row["chapter"]])]


def count(rows: Sequence[Mapping], protocol: str) -> dict[str, int]:
    """How many claims that were asked hold whole, in part or not at all, and how many of their
    statements hold.
    """
    verdict, parts = PROTOCOLS[protocol]
    asked = [row for row in rows if row[parts]]
    statements = [part["holds"] for row in asked for part in row[parts]]
    found = {word: sum(row[verdict] == word for row in asked) for word in DECIDED}
    return {"claims": len(asked)} | found | {"statements": len(statements), "hold": sum(statements)}


def by_benchmark(
    rows: Sequence[Mapping], benchmarks: Sequence[str]
) -> dict[tuple[str, str], dict[str, int]]:
    """The counts of all claims, of those of each benchmark, and of those of other chapters."""
    return {
        (name, protocol): count(own, protocol)
        for name in (ALL, *benchmarks, OTHERS)
        if (own := claims_of(rows, name))
        for protocol in PROTOCOLS
    }


def weaker(rows: Sequence[Mapping]) -> list[str]:
    """The claims that hold whole as printed and no longer with controls."""
    return [
        row["id"]
        for row in rows
        if row["parts_controls"] and row["verdict"] == DECIDED[0] != row["verdict_controls"]
    ]


def by_verdict(rows: Sequence[Mapping]) -> HTML:
    """The claims of these rows of the ledger by verdict, a line for each protocol."""
    lines = []
    for key, protocol in (("verdict", "As printed"), ("verdict_controls", "With controls")):
        found = {
            word: [html.claim(row["id"]) for row in rows if row[key] == word] for word in html.COLOR
        }
        told = "; ".join(f"{word} {', '.join(ids)}" for word, ids in found.items() if ids)
        lines.append(f"<li><b>{protocol}:</b> {told or 'none'}.</li>")
    return HTML(f"<ul>{''.join(lines)}</ul>")
