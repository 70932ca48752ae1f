"""The first edition of the results, kept as data, and a page that sets its verdicts beside today's.

    python -m book.site.editions

reads the first edition from the repository's history and writes `results/first_edition.json`.
"""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from book.site import evidence_table
from vnlib.book import ledger as claims
from vnlib.book import paths, store

REVISION = "1c75c4b4e35e35d1cb2288717c49cbbb745a65d4"  # the last of that edition
NAME = "first_edition.json"
REASONS = Path(__file__).with_suffix(".toml")
VERDICTS = {"verdict": "verdict", "verdict_controls": "verdict_fair"}  # now, and as it was called
NONE = "no verdict"
NONE_KEPT = "Nothing is kept of a first edition.\n"


def first_edition() -> dict[str, Any]:
    """Verdicts and seeds of the first edition, from the history."""
    rows = json.loads(_shown("ledger.json"))
    names = sorted({row["chapter"] for row in rows})
    return {
        "revision": REVISION,
        "date": _git("show", "-s", "--format=%cs", REVISION).decode().strip(),
        "claims": {row["id"]: [row[old] for old in VERDICTS.values()] for row in rows},
        "seeds": {name: seeds(_stored(name)) for name in names},
    }


def _git(*words: str) -> bytes:
    return subprocess.run(
        ["git", *words], cwd=paths.ROOT, check=True, capture_output=True, timeout=60
    ).stdout


def _shown(name: str) -> bytes:
    return _git("show", f"{REVISION}:results/paper/{name}")


def _stored(name: str) -> xr.Dataset:
    return xr.load_dataset(_shown(f"{name}.nc"), engine="h5netcdf")


def seeds(ds: xr.Dataset) -> int:
    """How many seeds a result file has; 0 where it has none."""
    return ds.sizes.get("seed", 0)


def read() -> dict[str, Any] | None:
    """The first edition, as stored; None where it is not."""
    path = paths.RESULTS / NAME
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def main() -> None:
    """Write the first edition's verdicts and seeds."""
    text = json.dumps(first_edition(), indent=1, ensure_ascii=False) + "\n"
    paths.replace(paths.RESULTS / NAME, text)


# --- The page -------------------------------------------------------------------------------------


def page(first: Mapping | None, found: Mapping, folder: Path) -> str:
    """How many verdicts differ, each claim with a verdict that differs and why, and the chapters
    that have another number of seeds: Markdown.
    """
    if first is None:
        return NONE_KEPT
    now = {row["id"]: row for row in found["claims"] if not row["definition"]}
    both = {
        name: _both(first["claims"][name], now[name]) for name in first["claims"] if name in now
    }
    moved = [name for name, pairs in both.items() if any(old != new for old, new in pairs)]
    counts = [sum(one[which][0] != one[which][1] for one in both.values()) for which in (0, 1)]
    partly = sum(one[1][0] == claims.PARTLY for one in both.values())
    reasons, lines = why(), []
    for name in moved:
        link = f'<a href="generated/ledger.html#{evidence_table.claim_anchor(name)}">{name}</a>'
        lines.append(_line(link, *(_told(*pair) for pair in both[name]), reasons.get(name, "")))
    head = [
        f"The first edition is that of {first['date']} (revision `{first['revision'][:7]}`). Of its "
        f"{len(both)} claims, {counts[0]} have another verdict today as printed and {counts[1]} "
        f"with controls. With controls, {partly} read *partly* then.",
        "",
        f":::{{dropdown}} The {len(moved)} claims whose verdict differs, and why",
        _line("claim", "as printed", "with controls", "why"),
        "|---|---|---|---|",
        *lines,
        ":::",
        "",
        ":::{dropdown} Chapters with another number of seeds",
        _line("chapter", "seeds"),
        "|---|---|",
        *_runs(first["seeds"], folder),
        ":::",
    ]
    return "\n".join(head) + "\n"


def why() -> dict[str, str]:
    """What changed for a claim, in runs, conditions and readings."""
    table = tomllib.loads(REASONS.read_text(encoding="utf-8"))["reason"]
    found: dict[str, list[str]] = {}
    for one in table:
        for name in one["claims"]:
            found.setdefault(name, []).append(one["why"])
    return {name: " ".join(told) for name, told in found.items()}


def _both(old: Sequence[str | None], row: Mapping) -> list[tuple[str, str]]:
    """Verdicts then and now, as printed and with controls."""
    return [(was or NONE, row[name] or NONE) for was, name in zip(old, VERDICTS, strict=True)]


def _told(old: object, new: object) -> str:
    return f"{old}" if old == new else f"{old} → **{new}**"


def _runs(known: Mapping[str, int], folder: Path) -> list[str]:
    lines = []
    for name in paths.in_order(known):
        path = folder / f"{name}.nc"
        now = seeds(store.read(path)) if path.exists() else known[name]
        if now != known[name]:
            lines.append(_line(f"[](chapters/{name}.ipynb)", _told(known[name], now)))
    return lines


def _line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


if __name__ == "__main__":
    main()
