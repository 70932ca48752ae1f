"""Rows of a small ledger, for the pages that are made from it."""

from __future__ import annotations

from book.site import ledger_page, statements
from vnlib.book import ledger as claims

RATIO = {
    "kind": "log ratio",
    "sign": "<",
    "bound": 0.8,
    "margin": [0.47, 0.2877, 0.6931],
    "band": 0.04879,
    "value": [0.5, 0.6, 0.4],
    "share": 1.0,
    "cases": False,
    "verdict": statements.HOLDS,
}
YES = RATIO | {"kind": "yes or no", "sign": "", "bound": 0.0, "margin": [1.0] * 3}
YES |= {"value": [None] * 3, "band": 0.0}
COUNT = RATIO | {"kind": "count", "sign": ">=", "bound": 8, "margin": [0.0, -1.0, 0.0]}
COUNT |= {"value": [8.0, 7.0, 8.0], "band": 0.0, "share": 0.9, "verdict": statements.UNDECIDED}


def row(**changes: object) -> dict:
    """A claim."""
    return {
        "id": "VN-X1",
        "source": "VN Fig. 9",
        "chapter": "fig2_spatial",
        "figure": "fig2-maps",
        "statement": "It works.",
        "terms": "Works: runs.",
        "definition": False,
        "verdict": claims.PARTLY,
        "verdict_controls": None,
        "missing": "",
        "numbers": {"it.ratio": 1.25},
        "fidelity": {
            "data": "given",
            "sizes": "chosen",
            "budget": "inferred",
            "inference": "given",
            "reduced": "One seed.",
        },
    } | changes


def told(claim: str = "VN-X1", place: int = 1, **changes: object) -> dict:
    """A statement of a claim: a ratio that should be below 0.8."""
    return {
        "id": f"{claim}.{place}",
        "claim": claim,
        "protocols": ["printed"],
        "says": "ratio < 0.8",
        "weight": claims.CORE,
        "verdict": statements.HOLDS,
        "contrasts": [RATIO],
        "needs": [],
        "missing": "",
        "remark": "",
        "printed": "",
        "seeds": 8,
    } | changes


def ledger_of(rows: list[dict], *found: dict) -> dict:
    """A ledger of these claims and statements."""
    return {"level": 0.95, "band": 0.05, "claims": rows, "statements": list(found)}


def page(rows: list[dict], *found: dict) -> str:
    """The ledger as a page, in Markdown."""
    return ledger_page.ledger(ledger_of(rows, *found), "fast")
