"""The ledger: what the papers claim, the rule that decides each claim, and the verdict that the
results give.

A claim is decided from one result file, that of its chapter or of the one it `reads`, and from
nothing else. Its rule is a list of parts, each a statement that holds or does not, and is told in
no other words than theirs: all hold -> reproduced, some -> partly, none -> not reproduced.
`verdict` is of the experiment as printed; `verdict_controls` adds our controls and equally tuned
baselines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path

import xarray as xr

from vnlib.book import paths, store
from vnlib.book.store.netcdf import REMEDY

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
NOT_TESTABLE = "not testable"


@dataclass(frozen=True)
class Part:
    """One statement of a rule with its bound: whether it holds, and the numbers it rests on."""

    says: str
    holds: bool
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __and__(self, other: Part) -> Part:
        """Both statements as one."""
        numbers = {**self.numbers, **other.numbers}
        return Part(f"{self.says}; {other.says}", self.holds and other.holds, numbers)


@dataclass(frozen=True)
class Decision:
    """The parts of the experiment as printed, and those with controls where there are any."""

    parts: Sequence[Part]
    controls: Sequence[Part] | None = None


@dataclass(frozen=True)
class Claim:
    """One claim: `statement` in our words, `terms` what the words of its rule mean, `decide` the
    rule on the results of `reads`.
    """

    id: str
    source: str
    chapter: str
    figure: str
    statement: str
    decide: Callable[[xr.Dataset], Decision]
    terms: str = ""
    reads: str = ""

    @property
    def results(self) -> str:
        """The chapter whose results decide: `reads`, or the claim's own."""
        return self.reads or self.chapter


_entered: dict[str, Claim] = {}


def claim(**fields: str) -> Callable:
    """Enter the decorated decision of `chapters/NAME/claims.py` into the ledger."""

    def enter(decide: Callable[[xr.Dataset], Decision]) -> Callable[[xr.Dataset], Decision]:
        chapter = decide.__module__.split(".")[1]
        _entered[fields["id"]] = Claim(**fields, chapter=chapter, decide=decide)
        return decide

    return enter


@cache
def all_claims() -> Mapping[str, Claim]:
    """The claims of all chapters by id, in the order of the book: those that
    `chapters/NAME/claims.py` enter.
    """
    order = paths.in_order(paths.chapters())
    for name in order:
        paths.module(name, "claims")
    return {one.id: one for name in order for one in _entered.values() if one.chapter == name}


def verdict(parts: Sequence[Part]) -> str:
    """The word for a list of decided parts."""
    held = sum(part.holds for part in parts)
    return REPRODUCED if held == len(parts) else PARTLY if held else NOT


def judge(one: Claim, results: xr.Dataset | None) -> dict:
    """One row of the ledger.

    Results that are missing or lack a model make the claim not testable, with the reason.
    """
    keys = ("id", "source", "chapter", "figure", "statement", "terms")
    row = {key: getattr(one, key) for key in keys}
    empty = row | {"verdict_controls": None, "parts": [], "parts_controls": [], "numbers": {}}
    empty |= {"verdict": NOT_TESTABLE, "missing": "the chapter has no results in this profile"}
    if results is None:
        return empty
    try:
        decision = one.decide(results)
    except KeyError as error:
        # xarray adds a list of what there is.
        lacks = str(error.args[0]).split(". ")[0].removeprefix("No variable named ")
        return empty | {"missing": f"the results lack {lacks}"}
    controls = decision.controls
    numbers, more = (
        {name: value for part in parts for name, value in part.numbers.items()}
        for parts in (decision.parts, controls or [])
    )
    # The same measure with controls is another number, unless it has the same value.
    numbers |= {n if numbers.get(n, v) == v else f"{n} (controls)": v for n, v in more.items()}
    return row | {
        "verdict": verdict(decision.parts),
        "verdict_controls": verdict(controls) if controls is not None else None,
        "parts": [{"says": p.says, "holds": bool(p.holds)} for p in decision.parts],
        "parts_controls": [{"says": p.says, "holds": bool(p.holds)} for p in controls or []],
        # Those that do not exist, such as a slope that could not be fitted, are left out.
        "numbers": {n: float(f"{float(v):.4g}") for n, v in numbers.items() if isfinite(v)},
    }


def ledger(folder: Path, chapter: str | None = None) -> list[dict]:
    """All rows (of one chapter), from the result files in `folder`, which is
    <results_dir>/<profile>.

    Raises
    ------
    StoreError
        For a result file that cannot be read, or is not of the form that a rule reads.
    """
    rows, files = [], {}
    for one in all_claims().values():
        if chapter in (None, one.chapter):
            path = folder / f"{one.results}.nc"
            if one.results not in files:
                files[one.results] = store.read(path) if path.exists() else None
            try:
                rows.append(judge(one, files[one.results]))
            except (IndexError, TypeError, ValueError) as error:
                said = f"{path} has not the form that the rule of {one.id} reads ({error})"
                raise store.StoreError(f"{said}; {REMEDY}") from error
    return rows


def write_ledger(rows: Sequence[Mapping], path: Path) -> None:
    """Write the ledger as JSON, in one step."""
    paths.replace(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
