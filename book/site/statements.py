"""The statements of a claim, each with its verdict.

A statement is a part of a rule. Its contrast is the logarithm of a value over its bound, or their
difference, above 0 on the right side, and of several values that which is nearest to failing. The
95 % interval of the contrast decides: the statement *holds* where all of it is on the right side,
*fails* where all of it is on the wrong side, is a *tie* where all of it is nearer to the bound than
5 %, and *undecided* where it is on both sides. It is *not testable* where a condition fails that it
needs, where its value does not exist, or where no result can decide it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np
import xarray as xr
from scipy import stats

from book.site import retesting
from vnlib.book import ledger as claims
from vnlib.book import paths, resampling
from vnlib.book.ledger import Claim, Contrast, Decision, Part
from vnlib.book.store import source_hash

HOLDS, FAILS, TIE = "holds", "fails", "tie"
UNDECIDED, NOT_TESTABLE = claims.UNDECIDED, claims.NOT_TESTABLE
VERDICTS = (HOLDS, FAILS, TIE, UNDECIDED, NOT_TESTABLE)
BAND = 0.05
PROTOCOLS = ("printed", "controls")


# --- Contrasts ------------------------------------------------------------------------------------


def kind(one: Contrast) -> str:
    """What is compared: whether something is so, counts, differences, or ratios by their log."""
    if not one.sign:
        return "yes or no"
    if one.values.dtype.kind in "iu":
        return "count"
    absolute = one.band is not None or one.bound <= 0 or one.limit <= one.bound
    return "difference" if absolute else "log ratio"


def band(one: Contrast) -> float:
    """Up to which contrast a value counts as equal to its bound."""
    return float(np.log(1 + BAND)) if kind(one) == "log ratio" else one.band or 0.0


def margins(one: Contrast) -> np.ndarray:
    """How far each value is on the right side of the bound."""
    if kind(one) == "yes or no":
        return np.where(one.values.astype(bool), 1.0, -1.0)
    side, values = (1.0 if one.sign[0] == ">" else -1.0), one.values.astype(float)
    if kind(one) != "log ratio":
        return side * (values - one.bound)
    if np.isfinite(one.limit):
        side, values, bound = -side, one.limit - values, one.limit - one.bound
    else:
        bound = one.bound
    with np.errstate(divide="ignore"):
        return side * np.log(np.maximum(values, 0) / bound)


def value(one: Contrast, margin: float) -> float | None:
    """The value that has this margin."""
    side = 1.0 if one.sign[:1] == ">" else -1.0
    if kind(one) == "yes or no":
        return None
    if kind(one) != "log ratio":
        return one.bound + side * margin
    with np.errstate(over="ignore"):
        if np.isfinite(one.limit):
            return one.limit - (one.limit - one.bound) * float(np.exp(-side * margin))
        return one.bound * float(np.exp(side * margin))


def exact(one: Contrast, many: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The margins at the ends of the exact interval (Clopper and Pearson 1934) of shares of runs: no
    resample of runs that all end alike has another share. Upper ends are for `many` at once.
    """
    ends, hits = [], np.round(one.values * one.of)
    for tail, worst in (
        ((1 - resampling.LEVEL) / 2, np.min),
        ((1 - resampling.LEVEL) / 2 / many, np.max),
    ):
        low = np.where(hits > 0, stats.beta.ppf(tail, hits, one.of - hits + 1), 0.0)
        high = np.where(hits < one.of, stats.beta.isf(tail, hits + 1, one.of - hits), 1.0)
        ends.append(worst([margins(replace(one, values=end)) for end in (low, high)], axis=0))
    return ends[0], ends[1]


def verdict(low: float, high: float, band: float = 0.0, *, closed: bool = False) -> str:
    """The verdict of an interval of margins; `closed` where a value at its bound keeps it. NaN for
    what does not exist.
    """
    if not low <= high:
        return NOT_TESTABLE
    if band and -band <= low and high <= band:
        return TIE
    if low > 0 or (closed and low == 0):
        return HOLDS
    if high < 0 or (not closed and high == 0):
        return FAILS
    return UNDECIDED


# The worst first: one of several contrasts decides for all.
GRAVITY = (NOT_TESTABLE, FAILS, UNDECIDED, TIE, HOLDS)


def weighed(
    one: Contrast,
    drawn: Sequence[np.ndarray],
    seeds: int,
    tested: Sequence[np.ndarray] = (),
    many: int = 1,
) -> dict:
    """A contrast with its interval and the verdict: of several values those of the one that decides
    for all, since all must keep the bound. That is the worst one, and of equally bad ones the one with
    the least lower end, or upper one where they fail.

    Parameters
    ----------
    drawn, tested
        The margins in every resample of seeds, and of test cases.
    many
        How many values the statement has: one of them fails it, so upper ends are for all at once.
    """
    point = margins(one)
    alike = all(each.shape == point.shape for each in (*drawn, *tested))
    point, *each = (
        values if alike else values.min(initial=np.inf, keepdims=True)
        for values in (point, *drawn, *tested)
    )
    table, cases = np.stack(each[: len(drawn)]), each[len(drawn) :]
    lows, highs = trained = resampling.interval(table, point, seeds, many)
    if cases:
        drawn_cases = resampling.interval(np.stack(cases), point, 0, many)
        whole = kind(one) in ("count", "yes or no")
        lows, highs = resampling.joined(point, trained, drawn_cases, whole=whole)
    if one.of:
        least, most = exact(one, many)
        lows, highs = np.minimum(lows, least), np.maximum(highs, most)
    closed, width = one.sign.endswith("="), band(one)
    if kind(one) == "yes or no" and 0 < seeds < resampling.FEW:
        # few seeds cannot show how far from the other answer this one is
        lows, highs = np.full_like(lows, -1.0), np.full_like(highs, 1.0)
    lows, highs = (np.where(np.isnan(point), np.nan, each) for each in (lows, highs))
    words = [verdict(*ends, width, closed=closed) for ends in zip(lows, highs, strict=True)]

    def gravity(n: int) -> tuple:
        return GRAVITY.index(words[n]), (highs if words[n] == FAILS else lows)[n], point[n]

    at = min(range(len(words)), key=gravity) if words else None
    word = NOT_TESTABLE if at is None else words[at]
    ends = (np.nan,) * 3 if at is None else tuple(float(v[at]) for v in (point, lows, highs))
    vary = any(not np.array_equal(each, point, equal_nan=True) for each in cases)
    right = table.min(axis=1) >= 0 if closed else table.min(axis=1) > 0
    return {
        "kind": kind(one),
        "sign": one.sign,
        "bound": one.bound,
        "margin": [rounded(end) for end in ends],
        "band": rounded(width),
        "value": [rounded(value(one, end)) for end in ends],
        "share": rounded(float(right.mean())),
        "cases": vary,
        "verdict": word,
    }


def rounded(number: float | None, digits: int = 4) -> float | None:
    """A number as the ledger keeps it; None for what is not finite."""
    return float(f"{number:.{digits}g}") if number is not None and isfinite(number) else None


# --- Statements -----------------------------------------------------------------------------------


def contrasts(part: Part) -> tuple[Contrast, ...]:
    """What a part compares; of one that only says so, whether it holds."""
    return part.contrasts or (() if part.missing else (Contrast(np.array([part.holds])),))


def parts_of(decision: Decision) -> list[Part]:
    """All parts, as printed and then with controls."""
    return [*decision.parts, *(decision.controls or ())]


def statements(one: Claim, results: xr.Dataset, decision: Decision) -> list[dict]:
    """The statements of a claim with their verdicts, each once: those with controls that are not
    among those as printed come after them.
    """
    plain, results = parts_of(decision), _read(one, results, decision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # means of nothing, where a resample lacks what it needs
        drawn = [_parts(one, some) for some in resampling.resamples(results)]
        again = retesting.retested(results, one.cases, one.means)
        tested = [_parts(one, some) for some in again]
        by_seed = [_parts(one, results.isel(seed=[n])) for n in range(_seeds(results))]
    drawn = _but_rare(drawn)
    rows: dict[tuple, dict] = {}
    for place, part in enumerate(plain):
        protocol = PROTOCOLS[place >= len(decision.parts)]
        key = (part.says, *(tuple(margins(one).tolist()) for one in contrasts(part)))
        if key in rows:
            rows[key]["protocols"].append(protocol)
            continue
        row = {"id": f"{one.id}.{len(rows) + 1}", "claim": one.id, "protocols": [protocol]}
        rows[key] = row | judged(
            part,
            _each(drawn, place),
            _each(by_seed, place),
            _each(tested, place),
        )
    return list(rows.values())


def _parts(one: Claim, results: xr.Dataset) -> list[Part] | None:
    """All parts by some results; None where the claim cannot be decided."""
    found = claims.decided(one, results)
    return None if isinstance(found, str) else parts_of(found)


def _read(one: Claim, results: xr.Dataset, decision: Decision) -> xr.Dataset:
    """The results without variables that the sources of a rule do not name, where it says the same
    without them: each resample copies what there is.
    """
    rule = source_hash.closure(
        {source_hash.Reference("", one.decide.__module__)}, paths.SOURCE, presenting=True
    )
    text = "".join(file.read_text(encoding="utf-8") for file in rule.values())
    known = set(re.findall(r"\w+", f"{text} {one.means}"))
    less = results.drop_vars([name for name in results.data_vars if str(name) not in known])
    parts = _parts(one, less)
    same = parts is not None and [_numbers(part) for part in parts] == [
        _numbers(part) for part in parts_of(decision)
    ]
    return less if same else results


def _numbers(part: Part) -> tuple:
    """What tells two parts apart, as text, in which NaN equals NaN."""
    margin = [margins(one).tolist() for one in contrasts(part)]
    return part.says, str(margin), tuple(_numbers(need) for need in part.needs)


def _but_rare(drawn: Sequence[Sequence[Part] | None]) -> list[Sequence[Part] | None]:
    """Resamples without those in which a claim cannot be decided, where these are at most
    `resampling.RARE`: where some models have fewer seeds, a few resamples have none of them.
    """
    kept: list[Sequence[Part] | None] = [parts for parts in drawn if parts is not None]
    return kept if len(kept) >= (1 - resampling.RARE) * len(drawn) else [*drawn]


def _each(decided: Sequence[Sequence[Part] | None], place: int) -> list[Part | None]:
    """The part at one place of each; None where a claim cannot be decided."""
    return [None if parts is None else parts[place] for parts in decided]


def _seeds(results: xr.Dataset) -> int:
    return int(results.sizes.get("seed", 0))


def told_by(part: Part, alone: Sequence[Part | None]) -> int:
    """How many seeds tell all values of a part by themselves: some models have fewer than others,
    or runs that learned nothing. Of what no seed tells alone, such as a spread, all count.
    """
    shapes = [one.values.shape for one in contrasts(part)]
    whole = 0
    for other in alone:
        found = contrasts(other) if other else ()
        known = not any(np.isnan(margins(one)).any() for one in found)
        whole += bool(other) and known and [one.values.shape for one in found] == shapes
    return whole or len(alone)


def judged(
    part: Part,
    drawn: Sequence[Part | None],
    alone: Sequence[Part | None] = (),
    tested: Sequence[Part | None] = (),
    many: int = 0,
) -> dict:
    """One statement: its contrasts, that which decides first, and the verdict of all of them and of
    what it needs.

    Parameters
    ----------
    drawn, tested
        The same statement in every resample of seeds, and of test cases; None where its claim cannot
        be decided.
    alone
        The same statement of every seed by itself.
    many
        How many values decide, if not those of this statement alone.
    """
    found, seeds, many = [], told_by(part, alone), many or _values(part)
    asked = [(n, need) for n, need in enumerate(part.needs) if _asked(n, part, drawn)]
    needed = sum(_values(need) for _, need in asked)
    for place, one in enumerate(contrasts(part)):
        lost = np.full(one.values.shape, np.nan)
        values, cases = (
            [lost if p is None else margins(contrasts(p)[place]) for p in each]
            for each in (drawn, tested)
        )
        found.append(weighed(one, values, seeds, cases, many))
    found.sort(key=lambda row: GRAVITY.index(row["verdict"]))
    word = found[0]["verdict"] if found else NOT_TESTABLE
    needs = [
        _needed(
            need,
            word,
            _each([p and p.needs for p in drawn], place),
            _each([p and p.needs for p in alone], place),
            _each([p and p.needs for p in tested], place),
            needed,
        )
        for place, need in asked
    ]
    unmet = [need for need in needs if need["verdict"] in (FAILS, NOT_TESTABLE)]
    missing = part.missing or "; ".join(f"it fails that {need['says']}" for need in unmet)
    if word == NOT_TESTABLE:
        missing = missing or "its value does not exist"
    if missing:
        word = NOT_TESTABLE
    elif any(need["verdict"] == UNDECIDED for need in needs):
        word = UNDECIDED
    return {
        "says": part.says,
        "weight": part.weight,
        "verdict": word,
        "contrasts": found,
        "needs": [{key: need[key] for key in ("says", "verdict")} for need in needs],
        "missing": missing,
        "remark": part.remark,
        "printed": part.printed,
        "seeds": seeds,
        "coverage": coverage(seeds) if found else None,
    }


def _needed(
    need: Part,
    word: str,
    drawn: Sequence[Part | None],
    alone: Sequence[Part | None],
    tested: Sequence[Part | None],
    many: int,
) -> dict:
    """What a statement needs. What it comes to `again` has to get its verdict, `word`, too: a tie, or
    what is undecided, is no other answer, and not the same one.
    """
    row = judged(need, drawn, alone, tested, many)
    if need.again and row["verdict"] in (HOLDS, TIE, UNDECIDED):
        later = judged(need.again, _again(drawn), _again(alone), _again(tested))["verdict"]
        if later != word:
            unsure = {TIE, UNDECIDED} & {later, word} and later != NOT_TESTABLE
            row["verdict"] = UNDECIDED if unsure else FAILS
    return row


def _again(needs: Sequence[Part | None]) -> list[Part | None]:
    return [one and one.again for one in needs]


def _asked(place: int, part: Part, drawn: Sequence[Part | None]) -> bool:
    """Whether what a statement needs is more than a detail, here or in more than rare resamples."""
    core = [other.needs[place].weight == claims.CORE for other in drawn if other]
    return part.needs[place].weight == claims.CORE or sum(core) > resampling.RARE * len(core)


def _values(part: Part) -> int:
    """How many values a statement has, any of which may fail it."""
    return max(1, sum(one.values.size for one in contrasts(part)))


def coverage(seeds: int) -> float | None:
    """How often the range of so many seeds holds the median, whatever the distribution, at most
    `LEVEL`; None where nothing varies.
    """
    return rounded(min(resampling.LEVEL, 1 - 2.0 ** (1 - seeds))) if seeds else None
