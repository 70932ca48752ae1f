"""What a text leaves open, and the readings of a statement that this allows.

A statement can be tested only after choices that its text does not make: which data, which size,
which summary of seeds. A *reading* takes one option of every choice. All defensible readings are
asked, not the one that was thought of first (Simonsohn, Simmons and Nelson 2020, "Specification
curve analysis").
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from benchmarks.readings.arrays import Arrays
from vnlib import checks

Reading = Mapping[str, str]
"""Choice -> the option that is taken."""

KINDS = ("ratio", "difference")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One thing that is left open.

    Parameters
    ----------
    says
        What is left open, a few words.
    options
        Option -> what readers call it, two at least; the first is the book's own.
    trained
        Whether its options need runs of their own; the others only read stored results in another
        way.
    extremes
        Options that take the worst or the best of all seeds: no resample goes beyond it, so that
        resamples tell no interval.
    """

    name: str
    says: str
    options: Mapping[str, str]
    trained: bool = False
    extremes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if len(self.options) < 2:
            raise ValueError(
                f"options of the choice {self.name!r} must be two at least, got {[*self.options]}"
            )
        for option in self.extremes:
            checks.choice(f"extremes of the choice {self.name!r}", option, self.options)


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Readings that are not asked, and why: those that take, of every choice named, one of the
    options named, and of which `when` is true.
    """

    why: str
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    when: Callable[[Reading], bool] | None = None

    def holds_of(self, reading: Reading) -> bool:
        named = all(reading[name] in some for name, some in self.options.items())
        return named and (self.when is None or self.when(reading))


def fraction(choices: Sequence[Choice]) -> Exclusion:
    """Every second combination of choices that need runs, as there are too many: such that any
    options of all of them but one meet once (a half fraction; Box, Hunter and Hunter 2005, Ch. 6).

    Readings kept take an even number of second options. ValueError for a choice of more than two.
    """
    asked = [choice for choice in choices if choice.trained]
    for choice in asked:
        if len(choice.options) != 2:
            raise ValueError(f"{choice.name} must have two options, got {[*choice.options]}")

    def odd(reading: Reading) -> bool:
        return sum([*c.options].index(reading[c.name]) for c in asked) % 2 == 1

    return Exclusion(why="every second combination of what is trained is run", when=odd)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A statement, what its text leaves open, and how a reading is asked.

    Parameters
    ----------
    margin
        How far the statement is on the right side of its bound in a reading, above 0 where it
        holds: the logarithm of a ratio, or a difference (`kind`). It counts axes from the end, since
        "resample" may be the first. NaN where a condition of the statement fails, and KeyError where
        results lack what it needs: a reading that is not testable.
    weight
        How well a reading gives the numbers that the text has kept, from 0 to 1 (see
        `curve.closeness`); None where there are none.
    own
        Options of the book's own reading, where it does not take the first.
    band
        Up to which margin a value counts as equal to its bound.
    """

    id: str
    says: str
    choices: Sequence[Choice]
    margin: Callable[[Arrays, Reading], np.ndarray | float]
    weight: Callable[[Arrays, Reading], float] | None = None
    excluded: Sequence[Exclusion] = ()
    own: Reading = field(default_factory=dict)
    kind: str = "ratio"
    band: float = 0.0

    def __post_init__(self) -> None:
        checks.choice(f"kind of {self.id}", self.kind, KINDS)
        known = {choice.name: choice.options for choice in self.choices}
        if len(known) < len(self.choices):
            raise ValueError(f"choices of {self.id} must have different names, got {[*known]}")
        named = [(name, [option]) for name, option in self.own.items()]
        for name, options in [*named, *(pair for e in self.excluded for pair in e.options.items())]:
            checks.choice(f"a choice of {self.id}", name, known)
            for option in options:
                checks.choice(f"{name} of {self.id}", option, known[name])
        if any(one.holds_of(self.book) for one in self.excluded):
            raise ValueError(f"the book's own reading of {self.id} must not be excluded")

    @property
    def book(self) -> Reading:
        """The book's own reading."""
        return {choice.name: next(iter(choice.options)) for choice in self.choices} | {**self.own}


def every(statement: Statement) -> list[Reading]:
    """All readings, the options of the last choice changing first."""
    names = [choice.name for choice in statement.choices]
    options = (choice.options for choice in statement.choices)
    return [dict(zip(names, taken, strict=True)) for taken in product(*options)]


def readings(statement: Statement) -> list[Reading]:
    """All readings but those excluded."""
    return [
        one
        for one in every(statement)
        if not any(some.holds_of(one) for some in statement.excluded)
    ]


def left_out(statement: Statement) -> dict[str, int]:
    """Why readings are excluded -> how many are."""
    return {one.why: sum(map(one.holds_of, every(statement))) for one in statement.excluded}


def key(choices: Sequence[Choice], reading: Reading) -> str:
    """What the runs of a reading are called, after the choices that need runs of their own."""
    return ", ".join(f"{c.name} {reading[c.name]}" for c in choices if c.trained)


def trained(*statements: Statement) -> dict[str, Reading]:
    """The runs that the readings of statements need: their `key`, which is their coordinate along
    the dimension "trained" of results, -> the options to train with. The choices that need runs must
    be the same for all statements.
    """
    found = {}
    for one in statements:
        names = [choice.name for choice in one.choices if choice.trained]
        for reading in readings(one):
            found[key(one.choices, reading)] = {name: reading[name] for name in names}
    return found
