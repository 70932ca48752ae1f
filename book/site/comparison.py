"""The same statements of two folders of results, such as those of two machines: their numbers, how
far apart these are in units of what a change of seed makes, and the verdicts.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from book.site import ledger, statements
from vnlib.book import ledger as claims


@dataclass(frozen=True)
class Compared:
    """One statement in both: value and verdict of each, and their distance in seed spreads.

    Parameters
    ----------
    distance
        Difference of the margins over the standard deviation of the margin over the seeds of the
        first; NaN where only one seed is there, or the seeds do not differ.
    """

    id: str
    says: str
    values: tuple[float | None, float | None]
    distance: float
    verdicts: tuple[str, str]

    @property
    def same(self) -> bool:
        return self.verdicts[0] == self.verdicts[1]

    def __str__(self) -> str:
        first, second = (f"{one:.4g}" if one is not None else "-" for one in self.values)
        far = "" if np.isnan(self.distance) else f" ({self.distance:+.2g} seed spreads)"
        word = "same verdict" if self.same else "ANOTHER VERDICT"
        told = " | ".join(dict.fromkeys(self.verdicts))
        return f"{self.id}: {first} | {second}{far}, {word}: {told}; {self.says}"


def compared(first: Path, second: Path, chapter: str | None = None) -> Iterator[Compared]:
    """The statements that both folders, <results_dir>/<profile>, can tell of (one chapter's) claims.
    StoreError for files that cannot be read.
    """
    here, there = (ledger.ledger(one, chapter)["statements"] for one in (first, second))
    others = {(one["claim"], one["says"], *one["protocols"]): one for one in there}
    for one in here:
        other = others.get((one["claim"], one["says"], *one["protocols"]))
        if other:
            verdicts = (one["verdict"], other["verdict"])
            lead, twin = _same_contrast(one, other)
            values = (lead["value"][0] if lead else None, twin["value"][0] if twin else None)
            distance = _distance(first, one, lead, twin) if lead and twin else np.nan
            yield Compared(one["id"], one["says"], values, distance, verdicts)


def _key(contrast: Mapping) -> tuple:
    return contrast["kind"], contrast["sign"], contrast["bound"]


def _same_contrast(one: Mapping, other: Mapping) -> tuple[dict | None, dict | None]:
    """The contrast that decides first, and the same of the other statement."""
    lead = one["contrasts"][0] if one["contrasts"] else None
    twins = [row for row in other["contrasts"] if lead and _key(row) == _key(lead)]
    return lead, twins[0] if twins else None


def _distance(folder: Path, one: Mapping, lead: Mapping, twin: Mapping) -> float:
    """The difference of two margins in units of the spread over the seeds of the first."""
    ends = (lead["margin"][0], twin["margin"][0])
    spread = _spread(folder, one["claim"], one["says"], _key(lead))
    if None in ends or not spread > 0:
        return np.nan
    return (ends[1] - ends[0]) / spread


def _spread(folder: Path, name: str, says: str, key: tuple) -> float:
    """The standard deviation over seeds of the margin of a contrast; NaN of fewer than two."""
    claim, margins = claims.all_claims()[name], []
    results = ledger.results_of(claim, folder)
    if results is None:
        return np.nan
    results = claim.of_all(results)
    for seed in range(results.sizes.get("seed", 0)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # means of nothing, where a seed lacks a model
            decision = claims.decided(claim, results.isel(seed=[seed]))
        parts = [] if isinstance(decision, str) else statements.parts_of(decision)
        found = [row for part in parts if part.says == says for row in statements.contrasts(part)]
        same = [row for row in found if _key({"kind": statements.kind(row)} | vars(row)) == key]
        margins += [float(statements.margins(row).min(initial=np.inf)) for row in same[:1]]
    known = [margin for margin in margins if np.isfinite(margin)]
    return float(np.std(known, ddof=1)) if len(known) > 1 else np.nan
