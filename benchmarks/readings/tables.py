"""Tables of specification curves, and the numbers that prose quotes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr

from benchmarks.readings.choices import Statement, left_out
from benchmarks.readings.curve import by_option, deciding, shares, summary
from vnlib.plots.statistics import percent, said
from vnlib.plots.tables import Table, frame

RIGHT = "on the right side"
SHARES = {
    "right": (RIGHT, "median"),
    "low": (RIGHT, "low"),
    "high": (RIGHT, "high"),
    "weighted": "by weight",
    "sure": "surely",
    "alone": "no interval",
}
FORMATS = dict.fromkeys((RIGHT, "by weight", "surely"), percent) | dict.fromkeys(
    ("readings", "testable", "no interval"), "{:,.0f}".format
)


def statements(curves: Mapping[str, xr.Dataset]) -> Table:
    """The share of testable readings in which each statement holds, in how many of them surely, and
    the choice that decides most.
    """
    found = summary(curves)
    rows = {
        name: {"readings": one["readings"], "testable": one["testable"]}
        | _titled(one)
        | {
            "book's reading": one["own"],
            "decides most": curves[str(name)].attrs["choices"].get(one["decides"], ""),
        }
        for name, one in found.iterrows()
    }
    rows = _telling(rows, curves.values())
    return Table(frame(rows, "statement"), FORMATS, name="shares of readings, by statement")


def _titled(one: pd.Series) -> dict[Any, Any]:
    """A row of shares by what readers call them; that on the right side is shown with its interval."""
    return {title: one[name] for name, title in SHARES.items()}


def _telling(rows: dict[Any, dict[Any, Any]], curves: Iterable[xr.Dataset]) -> dict[Any, Any]:
    """Rows without shares by weight where all weights are alike, and without a column of zeros."""
    same = all((one["weight"].max() == one["weight"].min()).item() for one in curves)
    idle = {SHARES["weighted"]} if same else set()
    if not any(row[SHARES["alone"]] for row in rows.values()):
        idle.add(SHARES["alone"])
    return {name: {k: v for k, v in row.items() if k not in idle} for name, row in rows.items()}


def options(curves: Mapping[str, xr.Dataset], statement: str) -> Table:
    """Per choice and option, the share of readings in which a statement holds; where an option is
    not asked beside all others, which ones its readings are without.
    """
    found = curves[statement]
    shares = by_option(found)
    order = [name for name in deciding(found) if name in shares.index.get_level_values("choice")]
    tested = shares.index[shares["readings"] > 0].to_frame(index=False)
    asked = tested.groupby("choice")["option"].agg(list).to_dict()
    rows = {
        (found.attrs["choices"][choice], option): {"readings": one["readings"]}
        | _titled(one)
        | {"median margin": one["margin"]}
        | (
            {"not asked with": _apart(one["without"], asked) or "–"}
            if shares["without"].any()
            else {}
        )
        for choice in order
        for option, one in shares.loc[choice].iterrows()
    }
    title = f"readings of {found.attrs['id']}, by option"
    return Table(frame(_telling(rows, [found]), "choice", "option"), FORMATS, name=title)


def _apart(listed: str, options: Mapping[str, Sequence[str]]) -> str:
    """The options of a list with semicolons between them, since some have commas of their own; of a
    choice of which most are listed, those that are not, in quotes if one has a comma.
    """
    every = sorted({o for one in options.values() for o in one}, key=len, reverse=True)
    found: list[str] = []
    while listed:
        found.append(next(o for o in every if f"{listed}, ".startswith(f"{o}, ")))
        listed = listed.removeprefix(found[-1]).removeprefix(", ")
    for one in options.values():
        rest = [option for option in one if option not in found]
        if len(one) - len(rest) > max(2, 2 * len(rest)):
            first = min(found.index(option) for option in one if option in found)
            found = [option for option in found if option not in one]
            if any("," in option for option in rest):
                rest = [f"“{option}”" for option in rest]
            but = " and ".join([", ".join(rest[:-1]), rest[-1]] if rest[1:] else rest)
            found.insert(first, f"all but {but}")
    return "; ".join(found)


def exclusions(statements: Sequence[Statement]) -> Table:
    """Which readings are left out, how many, and why."""
    rows = [
        (one.id, count, why) for one in statements for why, count in left_out(one).items() if count
    ]
    left = pd.DataFrame(rows, columns=["statement", "readings", "why"]).set_index("statement")
    return Table(left, {"readings": "{:,.0f}"}, name="readings that are left out")


def numbers(curves: Mapping[str, xr.Dataset]) -> dict[str, dict[str, str]]:
    """Statement -> what prose says of it: shares, that on the right side with its interval over
    seeds, and counts.
    """
    found = {}
    for name, one in curves.items():
        plain, weighed = shares(one), shares(one, weighted=True)
        found[name] = {
            "right": said(plain["right"], plain["low"], plain["high"], form=percent),
            "surely": percent(plain["sure"]),
            "no-interval": str(plain["alone"]),
            "weighted": percent(weighed["right"]),
            "readings": str(plain["readings"]),
            "testable": str(plain["testable"]),
        }
    return found


def quoted(
    curves: Mapping[str, xr.Dataset],
    keys: Mapping[str, str],
    options: Mapping[tuple[str, str, str], str],
) -> dict[str, str]:
    """The `numbers` of statements by their key, "key-right", and the share of readings that take an
    option.

    Parameters
    ----------
    keys
        Statement -> its key.
    options
        (statement, choice, the option's words) -> the key of that share.
    """
    found = {
        f"{keys[name]}-{what}": text
        for name, one in numbers(curves).items()
        for what, text in one.items()
    }
    shares = {name: by_option(one)["right"] for name, one in curves.items()}
    for (name, choice, words), key in options.items():
        found[key] = percent(float(shares[name].loc[(choice, words)]))
    return found
