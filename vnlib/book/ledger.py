"""What the papers claim, and the rule that decides each claim.

A claim is decided from the results of one chapter, its own or the one that it `reads`, and from
nothing else. Its rule is a list of parts, statements that results bear out or do not, and is told
in no other words than theirs: those of the experiment as printed, and those with our controls and
equally tuned baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from vnlib.book import paths

REPRODUCED, PARTLY, NOT = "reproduced", "partly", "not reproduced"
UNDECIDED, NOT_TESTABLE = "undecided", "not testable"
CORE, DETAIL = "core", "detail"


@dataclass(frozen=True)
class Contrast:
    """Values and the bound that all should keep; without a sign, whether a statement holds.

    Values count as equal to the bound within `band` (None: 5 % of it); with a `limit`, the largest
    value that there can be, distances from it are compared; shares are `of` so many runs.
    """

    values: np.ndarray
    sign: str = ""
    bound: float = 0.0
    band: float | None = None
    limit: float = np.inf
    of: int = 0


@dataclass(frozen=True)
class Part:
    """One statement of a rule: whether it holds by the medians, and the numbers it rests on.

    It `needs` others to be testable, one perhaps what it is `again`; `missing` says what no result can
    replace, `remark` what else decides, `printed` what the paper prints; a `detail` counts nowhere.
    """

    says: str
    holds: bool
    numbers: Mapping[str, float] = field(default_factory=dict)
    contrasts: tuple[Contrast, ...] = field(default=(), compare=False)
    weight: str = CORE
    needs: tuple[Part, ...] = ()
    again: Part | None = field(default=None, compare=False)
    missing: str = ""
    remark: str = ""
    printed: str = ""

    def __and__(self, other: Part) -> Part:
        """Both statements as one."""
        return replace(
            self,
            says=f"{self.says}; {other.says}",
            holds=self.holds and other.holds,
            numbers={**self.numbers, **other.numbers},
            contrasts=self.contrasts + other.contrasts,
            needs=self.needs + other.needs,
        )


@dataclass(frozen=True)
class Decision:
    """The parts of the experiment as printed, and those with controls where there are any."""

    parts: Sequence[Part]
    controls: Sequence[Part] | None = None


@dataclass(frozen=True)
class Claim:
    """One claim: `statement` in our words, `terms` what its rule's words mean, `decide` the rule on
    the results of `reads` and its `parts`; `cases` are dimensions of test cases in them, `means` the
    averages over cases: of which errors, where; `of_all` adds what all seeds tell. A `definition` is no claim.
    """

    id: str
    source: str
    chapter: str
    figure: str
    statement: str
    decide: Callable[[xr.Dataset], Decision]
    terms: str = ""
    reads: str = ""
    parts: Sequence[str] = ()
    cases: Sequence[str] = ()
    means: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    of_all: Callable[[xr.Dataset], xr.Dataset] = lambda results: results
    definition: bool = False

    @property
    def results(self) -> str:
        """The chapter whose results decide: `reads`, or the claim's own."""
        return self.reads or self.chapter


_entered: dict[str, Claim] = {}


def claim(**fields: Any) -> Callable:
    """Enter the decorated decision of `chapters/NAME/claims.py` into the ledger."""

    def enter(decide: Callable[[xr.Dataset], Decision]) -> Callable[[xr.Dataset], Decision]:
        chapter = decide.__module__.split(".")[1]
        _entered[fields["id"]] = Claim(**fields, chapter=chapter, decide=decide)
        return decide

    return enter


@cache
def all_claims() -> Mapping[str, Claim]:
    """All claims by id, in the order of the book: those that `chapters/NAME/claims.py` enter."""
    order = paths.in_order(paths.chapters())
    for name in order:
        paths.module(name, "claims")
    return {one.id: one for name in order for one in _entered.values() if one.chapter == name}


def known(results: xr.Dataset) -> xr.Dataset:
    """Results without variables that hold no number at all: such cannot decide a statement."""
    floats = [name for name, values in results.items() if values.dtype.kind == "f"]
    return results.drop_vars([name for name in floats if not results[name].notnull().any()])


def decided(one: Claim, results: xr.Dataset | None) -> Decision | str:
    """What a rule makes of results; where they are missing or lack a model, which."""
    if results is None:
        return "the chapter has no results in this profile"
    try:
        return one.decide(results)
    except KeyError as error:
        # xarray adds a list of what there is.
        lacks = str(error.args[0]).split(". ")[0].removeprefix("No variable named ")
        return f"the results lack {lacks}"
