"""Tables of specification curves, and the numbers that prose quotes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import xarray as xr

from benchmarks.readings.choices import Statement, left_out
from benchmarks.readings.curve import by_option, deciding, shares, summary
from vnlib.plots.statistics import percent
from vnlib.plots.tables import Table

SHARES = {
    "right": "on the right side",
    "weighted": "by weight",
    "sure": "surely",
    "alone": "no interval",
}


def statements(curves: Mapping[str, xr.Dataset]) -> Table:
    """The share of readings in which each statement holds, surely of those that have an interval,
    and the choice that decides most.
    """
    found = summary(curves)
    frame = found[["readings", "testable"]].copy()
    for name, title in SHARES.items():
        frame[title] = found[name]
    frame["book's reading"] = found["own"]
    frame["decides most"] = [
        curves[name].attrs["choices"].get(choice, "") for name, choice in found["decides"].items()
    ]
    whole = dict.fromkeys(("readings", "testable", "no interval"), "{:.0f}".format)
    formats = dict.fromkeys(SHARES.values(), percent) | whole
    return Table(frame, formats, name="shares of readings, by statement")


def options(curves: Mapping[str, xr.Dataset], statement: str) -> Table:
    """Per choice and option, the share of readings in which a statement holds; where an option is
    not asked beside all others, which ones its readings are without.
    """
    found = curves[statement]
    frame = by_option(found)
    spread = deciding(found)
    order = [name for name in spread if name in frame.index.get_level_values("choice")]
    frame = pd.concat([frame.loc[[name]] for name in order])
    frame.index = pd.MultiIndex.from_tuples(
        [(found.attrs["choices"][name], option) for name, option in frame.index],
        names=["choice", "option"],
    )
    titles = {"readings": "readings", "share": "on the right side", "weighted": "by weight"}
    titles |= {"sure": "surely", "alone": "no interval", "margin": "median margin"}
    frame = frame.rename(columns=titles)
    if not frame["without"].any():
        frame = frame.drop(columns="without")
    shown = ("on the right side", "by weight", "surely")
    whole = dict.fromkeys(("readings", "no interval"), "{:.0f}".format)
    formats = dict.fromkeys(shown, percent) | whole
    return Table(frame, formats, name=f"readings of {found.attrs['id']}, by option")


def exclusions(statements: Sequence[Statement]) -> Table:
    """Which readings are left out, how many, and why."""
    rows = [
        (one.id, count, why) for one in statements for why, count in left_out(one).items() if count
    ]
    frame = pd.DataFrame(rows, columns=["statement", "readings", "why"]).set_index("statement")
    return Table(frame, {"readings": "{:.0f}"}, name="readings that are left out")


def numbers(curves: Mapping[str, xr.Dataset]) -> dict[str, dict[str, str]]:
    """Statement -> what prose says of it: shares, counts, the verdict of the book's reading."""
    found = {}
    for name, one in curves.items():
        plain, weighed = shares(one), shares(one, weighted=True)
        found[name] = {
            "right": percent(plain["right"]),
            "low": percent(plain["low"]),
            "high": percent(plain["high"]),
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
    shares = {name: by_option(one)["share"] for name, one in curves.items()}
    for (name, choice, words), key in options.items():
        found[key] = percent(float(shares[name].loc[(choice, words)]))
    return found
