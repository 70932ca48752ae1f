"""Tables of the readings of statements on positions, and the numbers that the page's prose quotes."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from benchmarks.readings import tables as readings
from benchmarks.readings.curve import by_option
from benchmarks.readings.tables import options, statements
from chapters.readings_positions import composition, failure, low_rank, stripes
from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table

__all__ = ["exclusions", "numbers", "options", "statements"]

STATEMENTS = (
    *composition.STATEMENTS,
    *failure.STATEMENTS,
    *low_rank.STATEMENTS,
    *stripes.STATEMENTS,
    *stripes.LAWS,
)
# Statement and choice whose shares by option the prose quotes -> the name of each option there.
QUOTED = {
    ("VN-F2c lowest OOD", "rivals"): composition.RIVALS,
    ("VN-F2c strongest ID", "rivals"): composition.RIVALS,
    ("VN-F2c factorised keeps", "code"): composition.TRAINED[1],
    ("FR-1 fails", "error"): failure.ERROR,
    ("FR-1 several", "network"): failure.NETWORK,
    ("FR-1 sum", "network"): failure.NETWORK,
    ("FR-1 kernel", "kernel"): failure.KERNEL,
    ("FR-3 composes", "measure"): low_rank.MEASURE,
    ("FR-4 bumps", "drawn"): stripes.DRAWN,
    ("FR-4 places", "network"): stripes.NETWORK,
    ("FR-4 bumps", "network"): stripes.NETWORK,
}


def exclusions() -> Table:
    """Which readings are left out, and why."""
    return readings.exclusions(STATEMENTS)


def numbers(curves: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """The numbers of the prose."""
    found: dict = readings.numbers(curves)
    for (name, choice), one in QUOTED.items():
        share = by_option(curves[name])["right"].loc[choice]
        words = {key: percent(share[said]) for key, said in one.options.items() if said in share}
        found[name] = found[name] | {choice: words}
    counts = {"statements": str(len(curves)), "readings": f"{_asked(curves):,}"}
    off = 0.5 - float(curves["FR-4 cubic"]["margin"].median())  # of the exponent from 3
    return texts("readpos", found | counts | {"cubic-off": off})


def _asked(curves: Mapping[str, xr.Dataset]) -> int:
    return sum(one.sizes["reading"] for one in curves.values())
