"""Tables of the readings of signals, and the numbers that the page quotes."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import xarray as xr

from benchmarks.functions.names import MASKS, SETS
from benchmarks.readings.arrays import Arrays
from benchmarks.readings.tables import options, quoted, statements
from chapters.readings_signals.readings import NETWORK, SOLVER, SURVIVORS, network
from vnlib.plots.statistics import short
from vnlib.plots.tables import Table

__all__ = ["numbers", "options", "statements", "weights"]

KEYS = {"VN-F3c": "less", "VN-F3c, stable": "stable"}
# Quoted options of choices: statement, choice, option's words -> key.
QUOTED = {
    ("VN-F3c", "rivals", "the paper's eight, which read zeros"): "less-printed",
    ("VN-F3c", "rivals", "networks trained with masks"): "less-masked",
    ("VN-F3c", "rivals", "rules and statistics, told the mask"): "less-told",
    ("VN-F3c", "rivals", "same inference, other atoms"): "less-atoms",
    ("VN-F3c", "network", "1 layer, half the updates"): "less-half",
    ("VN-F3c", "network", "1 layer, half, λ / 4"): "less-sparsity",
    ("VN-F3c", "network", "1 layer, half, 512 atoms"): "less-wide",
    ("VN-F3c", "mask", "each of the four"): "less-each",
    ("VN-F3c", "mask", "mean of the four"): "less-mean",
    ("VN-F3c, stable", "mask", "last quarter, as in Fig. 3c"): "stable-quarter",
    ("VN-F3c, stable", "mask", "geometric mean of the four"): "stable-geometric",
}


def numbers(curves: Mapping[str, xr.Dataset], read: xr.Dataset) -> dict[str, str]:
    """Texts for the prose: shares of readings, of all and by option, and which network gives the six
    numbers best.
    """
    found = quoted(curves, KEYS, QUOTED)
    found["closest"] = short(float(read["close"].max()))
    found["closest-hard"] = short(float(read["close"].sel(set="hard").max()))
    return {f"readings-signals-{key}": text for key, text in found.items()}


def weights(read: xr.Dataset) -> Table:
    """The six numbers beside those of each network in the set of signals that fits best, and how
    close they are.
    """
    r = Arrays(read)
    rows = {("Table 6", "", ""): {MASKS[mask]: number for mask, number in SURVIVORS}}
    for (one, words), (solver, how) in (
        (a, b) for a in NETWORK.options.items() for b in SOLVER.options.items()
    ):
        known = read["close"].sel(network=one, solver=solver)
        if known.notnull().any():
            fits = str(known.idxmax("set").item())
            reading = {"network": one, "solver": solver, "set": fits, "average": "mean"}
            errors = network(r, reading).tolist()
            rows[words, how, SETS[fits]] = {
                **dict(zip(MASKS.values(), errors, strict=True)),
                "weight": float(known.max()),
            }
    index = pd.MultiIndex.from_tuples(rows, names=["network", "masked problem", "signals"])
    return Table(pd.DataFrame(list(rows.values()), index), name="weights of readings")
