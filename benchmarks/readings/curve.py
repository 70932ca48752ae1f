"""The specification curve of a statement: its margin in every reading, how sure that is, and the
share of readings in which it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.readings.arrays import Arrays
from benchmarks.readings.choices import Reading, Statement, key, readings
from vnlib.book import resampling
from vnlib.book.ledger import NOT_TESTABLE, UNDECIDED

HOLDS, FAILS, TIE = "holds", "fails", "tie"
VERDICTS = (HOLDS, TIE, UNDECIDED, FAILS, NOT_TESTABLE)
CHOICE = "choice_"  # what the coordinates of choices begin with


# --- Margins --------------------------------------------------------------------------------------


def below(values: np.ndarray | float, bound: np.ndarray | float) -> np.ndarray:
    """The margin of values that should be below a bound, log(bound / value)."""
    return -above(values, bound)


def above(values: np.ndarray | float, bound: np.ndarray | float) -> np.ndarray:
    """The margin of values that should be above a bound, log(value / bound)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.divide(values, bound))


def closeness(found: float, printed: float, factor: float = 2.0) -> float:
    """How well a reading gives a printed number, from 0 to 1: exp(-1/2) where it is off by `factor`;
    0 where it gives no number.
    """
    if not factor > 1:
        raise ValueError(f"factor must be above 1, got {factor!r}")
    if not (found > 0 and np.isfinite(found)):
        return 0.0
    return float(np.exp(-0.5 * (np.log(found / printed) / np.log(factor)) ** 2))


# --- The curve ------------------------------------------------------------------------------------


def curve(statement: Statement, results: xr.Dataset) -> xr.Dataset:
    """Every reading of a statement, the least margin first.

    Intervals are those of the ledger (see `vnlib.book.resampling`), all readings on the same resamples
    of seeds.

    Parameters
    ----------
    results
        Over "seed", without variables that no margin reads, as they are held for every resample;
        over "trained", too, where there are runs for readings (see `choices.trained`).

    Returns
    -------
    xr.Dataset
        Over "reading": `margin`, its interval `low` and `high`, NaN where there is none, `verdict`,
        `weight`, `own` (whether it is the book's), `missing` (why it is not testable), `choice_NAME` (the option's words,
        for each choice); over "resample", too: `drawn`, the margins of resampled seeds.
    """
    seeds, asked, found = results.sizes.get("seed", 0), readings(statement), []
    parts = {} if "trained" in results.dims else {"": _arrays(results)}
    for reading in asked:
        name, missing = "", ""
        try:
            if "trained" in results.dims and (name := key(statement.choices, reading)) not in parts:
                parts = {name: _arrays(_part(results, name))}  # only the last is kept
            (whole, _), *some = parts[name]
            with np.errstate(all="ignore"):
                margin = float(statement.margin(whole, reading))
                each = [np.broadcast_to(statement.margin(r, reading), n) for r, n in some]
                weight = statement.weight(whole, reading) if statement.weight else 1.0
            drawn = np.concatenate(each).astype(float)
        except KeyError as error:
            margin, drawn, weight = np.nan, np.full(_resamples(seeds), np.nan), np.nan
            missing = f"the results lack {error.args[0]}"
        if np.isnan(margin) and not missing:
            missing = "a condition of the statement fails"
        extreme = any(reading[one.name] in one.extremes for one in statement.choices)
        low, high = (np.nan, np.nan) if extreme else interval(drawn, margin, seeds)
        found.append((margin, low, high, weight, missing, drawn))
    order = np.argsort([one[0] for one in found], kind="stable")
    return _dataset(statement, [asked[n] for n in order], [found[n] for n in order], seeds)


def _part(results: xr.Dataset, name: str) -> xr.Dataset:
    """The runs of one key, without seeds that nobody ran."""
    if name not in results["trained"].values:
        raise KeyError(f"the runs {name}")
    return results.sel(trained=name, drop=True)


def _resamples(seeds: int) -> int:
    return len(resampling.subsets(seeds)) if seeds else 1


def _arrays(results: xr.Dataset) -> list[tuple[Arrays, int]]:
    """Results as they are, and with all resamples of as many seeds; how many resamples each has."""
    plain = results.drop_vars("seed", errors="ignore")
    found = [(Arrays(results), 1)]
    if not (seeds := results.sizes.get("seed", 0)):
        return 2 * found
    chosen = resampling.subsets(seeds)
    for size in np.unique(chosen.sum(1)):
        rows = [np.flatnonzero(one) for one in chosen if one.sum() == size]
        drawn = xr.DataArray(np.stack(rows), dims=("resample", "seed"))
        found.append((Arrays(plain.isel(seed=drawn)), len(rows)))
    return found


def _dataset(
    statement: Statement, asked: Sequence[Reading], found: Sequence, seeds: int
) -> xr.Dataset:
    margin, low, high, weight, missing, drawn = zip(*found, strict=True)
    verdicts = [verdict(*one, band=statement.band) for one in zip(margin, low, high, strict=True)]
    columns = {"margin": margin, "low": low, "high": high, "verdict": verdicts, "weight": weight}
    columns |= {"missing": missing, "own": [one == statement.book for one in asked]}
    words = {
        f"{CHOICE}{one.name}": [one.options[reading[one.name]] for reading in asked]
        for one in statement.choices
    }
    taken = {
        one.name: [
            said for name, said in one.options.items() if name in {r[one.name] for r in asked}
        ]
        for one in statement.choices
    }
    options = {name: said for name, said in taken.items() if len(said) > 1}  # others are excluded
    return xr.Dataset(
        {name: ("reading", np.array(values)) for name, values in columns.items()}
        | {"drawn": (("reading", "resample"), np.stack(drawn))},
        {name: ("reading", values) for name, values in words.items()},
        {
            "id": statement.id,
            "says": statement.says,
            "kind": statement.kind,
            "choices": {one.name: one.says for one in statement.choices},
            "options": options,
            "seeds": seeds,
        },
    )


def interval(drawn: np.ndarray, estimate: float, seeds: int) -> tuple[float, float]:
    """The central interval of resampled margins; NaN where there is none: of one seed, of few that
    all say the same (five that do are one, a point), and of what too many resamples lack.
    """
    if np.isnan(estimate) or seeds == 0:
        return estimate, estimate
    alike = seeds < resampling.FEW and len(np.unique(drawn[~np.isnan(drawn)])) < 2
    low, high = resampling.interval(drawn[:, None], np.array([estimate]), seeds)
    unknown = seeds == 1 or alike or (np.isinf(low) and np.isinf(high))
    return (np.nan, np.nan) if unknown else (float(low.item()), float(high.item()))


def verdict(margin: float, low: float, high: float, *, band: float = 0.0) -> str:
    """The verdict of an interval of margins, a tie where all of it is within the band."""
    if np.isnan(margin):
        return NOT_TESTABLE
    if -band <= low and high <= band and band:
        return TIE
    return HOLDS if low > 0 else FAILS if high < 0 else UNDECIDED


# --- What it says ---------------------------------------------------------------------------------


def shares(found: xr.Dataset, *, weighted: bool = False) -> dict[str, float]:
    """Of how many readings a statement is true.

    Returns
    -------
    dict
        `readings` and how many of them are `testable`, and of these how many have no interval,
        `alone`; of the testable, counted alike or by weight, the share on the right side of the
        bound, `right`, with its interval over seeds, `low` and `high`, and the share that is there
        with all of its own interval, `sure`, which no reading without one is; and to how many equal
        ones weights come, `effective`.
    """
    tested = _tested(found)
    sure, bounded = (tested["verdict"] == HOLDS).values, _bounded(tested)
    weight = tested["weight"].values if weighted else np.ones(len(sure))
    whole, counts = float(weight.sum()), {"readings": found.sizes["reading"]}
    counts |= {"testable": len(sure), "alone": int((~bounded).sum())}
    if not whole:
        return counts | dict.fromkeys(("right", "low", "high", "sure"), np.nan) | {"effective": 0}
    effective = whole**2 / float((weight**2).sum())
    right = _right(*_sides(tested), weight, found.attrs["seeds"])
    return counts | right | {"sure": weight @ sure / whole, "effective": effective}


def _sides(tested: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """1 where a reading is on the right side, else 0: of all seeds, shape (readings,), and of
    resamples, shape (readings, resamples).
    """
    margin, drawn = ((tested[name].values > 0).astype(float) for name in ("margin", "drawn"))
    return margin, drawn


def _right(
    sides: np.ndarray, drawn: np.ndarray, weight: np.ndarray, seeds: int
) -> dict[str, float]:
    """The share of readings on the right side, by weight, with its interval over seeds."""
    whole = float(weight.sum())
    if not whole:
        return dict.fromkeys(("right", "low", "high"), np.nan)
    right = np.array([weight @ sides / whole])
    low, high = resampling.interval((weight @ drawn / whole)[:, None], right, seeds)
    ends = {"low": low.clip(0, right), "high": high.clip(right, 1)}
    return {"right": float(right[0])} | {name: float(end[0]) for name, end in ends.items()}


def _tested(found: xr.Dataset) -> xr.Dataset:
    return found.isel(reading=np.flatnonzero(found["margin"].notnull()))


def _bounded(found: xr.Dataset) -> np.ndarray:
    """Which readings have an interval (see `interval`); those by the worst of all seeds have none."""
    return found["low"].notnull().values


def by_option(found: xr.Dataset) -> pd.DataFrame:
    """For every option of every choice: how many testable readings take it, and the share of them
    on the right side, `right`, with its interval over seeds, `low` and `high`, the same by weight,
    and the share there with all of their own interval; how many have none, `alone`; and `without`
    which options of other choices.
    """
    tested = _tested(found)
    bounded, margin, weight = _bounded(tested), tested["margin"].values, tested["weight"].values
    sure, sides, rows = (tested["verdict"] == HOLDS).values, _sides(tested), {}
    seeds = found.attrs["seeds"]
    for name, options in found.attrs["options"].items():
        taken = tested[f"{CHOICE}{name}"].values
        for option in options:
            takes = taken == option
            rows[name, option] = {
                "readings": int(takes.sum()),
                **_right(*sides, takes.astype(float), seeds),
                "weighted": _right(*sides, np.where(takes, weight, 0), seeds)["right"],
                "sure": sure[takes].mean() if takes.any() else np.nan,
                "alone": int((takes & ~bounded).sum()),
                "margin": np.median(margin[takes]) if takes.any() else np.nan,
                "without": _without(tested, takes, name) if takes.any() else "",
            }
    index = pd.MultiIndex.from_tuples(rows, names=["choice", "option"])
    return pd.DataFrame(list(rows.values()), index)


def _without(tested: xr.Dataset, takes: np.ndarray, name: str) -> str:
    """The options of other choices that some readings have, and none of those that take this one:
    shares are then not of the same readings.
    """
    lacking = []
    for other, options in tested.attrs["options"].items():
        if other != name:
            one = tested[f"{CHOICE}{other}"].values
            lacking += [o for o in options if o in one and o not in one[takes]]
    return ", ".join(lacking)


def deciding(found: xr.Dataset) -> dict[str, float]:
    """By how much the share of readings on the right side changes with each choice, from the option
    with the least to that with the largest: the choice that decides most comes first.
    """
    frame = by_option(found)["right"]
    known = {str(name): one.dropna() for name, one in frame.groupby("choice")}
    spread = {name: float(np.ptp(one)) if len(one) else 0.0 for name, one in known.items()}
    return dict(sorted(spread.items(), key=lambda one: -one[1]))


def falls_apart(found: xr.Dataset) -> dict[str, bool]:
    """Choice -> whether one of its options alone turns the book's own reading around."""
    own = found.isel(reading=np.flatnonzero(found["own"]))
    names = [*found.attrs["options"]]
    turned = {}
    for name in names:
        same = np.ones(found.sizes["reading"], bool)
        for other in names:
            if other != name:
                same &= (found[f"{CHOICE}{other}"] == own[f"{CHOICE}{other}"].item()).values
        sides = {bool(one > 0) for one in found["margin"].values[same] if not np.isnan(one)}
        turned[name] = len(sides) > 1
    return turned


def summary(curves: Mapping[str, xr.Dataset]) -> pd.DataFrame:
    """`shares` of all statements, plain and by weight, a row for each."""
    rows = {}
    for name, found in curves.items():
        plain, weighed = shares(found), shares(found, weighted=True)
        own = found.isel(reading=np.flatnonzero(found["own"]))
        rows[name] = plain | {
            "weighted": weighed["right"],
            "effective": weighed["effective"],
            "own": str(own["verdict"].item()),
            "decides": next(iter(deciding(found)), "") if plain["testable"] else "",
        }
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), name="statement"))
