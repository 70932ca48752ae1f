"""Tables of the readings of digits, and the numbers that the page quotes."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from benchmarks.readings.curve import CHOICE, by_option
from benchmarks.readings.tables import options, quoted, statements
from chapters.readings_digits.readings import CONTROLS, FIGURE, NETWORK
from vnlib.plots.statistics import percent

__all__ = ["numbers", "options", "statements"]

KEYS = {"VN-F5a": "less", "VN-F5a, tenfold": "tenfold", "VN-F5b": "motions"}
# Quoted options of choices: statement, choice, option's words -> key.
QUOTED = {
    ("VN-F5a", "rival", "autoencoder, same ID error"): "less-ae",
    ("VN-F5a", "rival", "cosines, same ID error"): "less-dct",
    ("VN-F5a", "rival", "dictionary learning"): "less-learned",
    ("VN-F5a", "network", "1 layer"): "less-one",
    ("VN-F5a", "network", "3 layers, drawn from the top"): "less-top",
    ("VN-F5a", "measure", "errors"): "less-errors",
    ("VN-F5a", "measure", "errors over those on ID"): "less-growth",
    ("VN-F5a, tenfold", "rival", "autoencoder, same ID error"): "tenfold-ae",
    ("VN-F5a, tenfold", "signs", "sums alone"): "tenfold-sums",
    ("VN-F5a, tenfold", "signs", "with differences"): "tenfold-both",
    ("VN-F5b", "rival", "autoencoder, same ID error"): "motions-ae",
    ("VN-F5b", "rival", "the same, codes optimised"): "motions-searched",
    ("VN-F5b", "rival", "cosines, same ID error"): "motions-dct",
}


def numbers(curves: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Texts for the prose: shares of readings, of all and by option, and by network beside the
    controls alone, which are matched to networks of every size and sparsity.
    """
    found = quoted(curves, KEYS, QUOTED)
    matched = curves["VN-F5a"][f"{CHOICE}rival"].isin([*CONTROLS.values()])
    beside = by_option(curves["VN-F5a"].isel(reading=matched.values))["right"].loc["network"]
    found |= {f"beside-{name}": percent(beside[NETWORK.options[name]]) for name in FIGURE}
    return {f"readings-digits-{key}": text for key, text in found.items()}
