"""Which claims, and how many statements, hold, found in the ledger: whatever their chapter and prefix."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from IPython.display import HTML

from chapters.summary.tables import NONE_YET
from vnlib.book import html, ledger, paths
from vnlib.plots.tables import caption

PROTOCOLS = {
    "as printed": ("verdict", "printed"),
    "with controls": ("verdict_controls", "controls"),
}
WORDS = (
    ledger.REPRODUCED,
    ledger.PARTLY,
    ledger.NOT,
    ledger.UNDECIDED,
    ledger.NOT_TESTABLE,
)
ALL, OTHERS = "all", "other chapters"


def read(folder: Path) -> list[dict]:
    """The claims of the ledger in a folder of results, each with its statements; none where there is
    no ledger yet.
    """
    path = folder / "ledger.json"
    if not path.exists():
        return []
    told = json.loads(path.read_text(encoding="utf-8"))
    statements: dict[str, list[dict]] = {}
    for one in told["statements"]:
        statements.setdefault(one["claim"], []).append(one)
    return [
        row | {"statements": statements.get(row["id"], [])}
        for row in told["claims"]
        if row["verdict"] or row["verdict_controls"]
    ]


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
    """How many claims that were asked have each verdict, and how many of their core statements
    hold.
    """
    key, name = PROTOCOLS[protocol]
    asked = [row for row in rows if row[key] and row["statements"]]
    core = [
        one["verdict"] == "holds"
        for row in asked
        for one in row["statements"]
        if name in one["protocols"] and one["weight"] == ledger.CORE
    ]
    found = {word: sum(row[key] == word for row in asked) for word in WORDS}
    return {"claims": len(asked)} | found | {"statements": len(core), "hold": sum(core)}


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
    whole = ledger.REPRODUCED
    return [
        row["id"]
        for row in rows
        if row["verdict"] == whole and row["verdict_controls"] not in (whole, None)
    ]


def by_verdict(rows: Sequence[Mapping]) -> HTML:
    """The claims of these rows of the ledger by verdict, a line for each protocol."""
    if not rows:
        return caption(NONE_YET)
    lines = []
    for protocol, (key, _) in PROTOCOLS.items():
        found = {
            word: [html.claim(row["id"]) for row in rows if row[key] == word] for word in WORDS
        }
        told = "; ".join(f"{word} {', '.join(ids)}" for word, ids in found.items() if ids)
        lines.append(f"<li><b>{protocol.capitalize()}:</b> {told or 'none'}.</li>")
    return HTML(f"<ul>{''.join(lines)}</ul>")
