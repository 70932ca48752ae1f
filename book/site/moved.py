"""Figures that phones show by moving them sideways, as no drawing for a phone would be better."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import nbformat

PARTS = "its parts are figures of their own, which are to be seen beside each other"
LONG = "its many panels of the same rows would be scrolled through for more than three screens"
MOVED = {
    "appA-inferred": PARTS,
    "appA-updates": PARTS,
    "appB-adaptive": PARTS,
    "appI-example": PARTS,
    "appC-speed": LONG,
    "beyond-init-saved": LONG,
    "beyond-representation-codes": LONG,
    "fig5-errors": LONG,
    "FR4-vn-samples": LONG,
    "beyond-cont-example": "the entries of its legends are wider than its panels",
    "house": "its parts are joined by arrows across its whole width",
    "FR2-plane": "a picture of so many curves would weigh more than a megabyte",
}
"""Figures of the book without a drawing for phones, and why it is better to move them sideways."""


def unaccounted(pages: Iterable[Path], drawn: Path) -> list[str]:
    """The named figures of executed chapters that have no drawing for phones in a folder, and no
    reason in `MOVED`.
    """
    found = []
    for page in pages:
        for cell in nbformat.read(page, as_version=4).cells:
            name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name", "")
            kinds = {kind for one in cell.get("outputs", ()) for kind in one.get("data", {})}
            if name and name not in MOVED and kinds & {"image/png", "image/svg+xml"}:
                found += [] if (drawn / f"{name.lower()}.phone.svg").exists() else [name]
    return sorted(found)
