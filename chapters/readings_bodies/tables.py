"""Tables of the readings of bodies, and the numbers that the page quotes."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from benchmarks.readings.tables import options, quoted, statements

__all__ = ["numbers", "options", "statements"]

KEYS = {"VN-F4b": "error", "VN-F4c": "growth", "VN-H4": "drift"}
# Quoted options of choices: statement, choice, option's words -> key.
RIVALS = {
    "the paper's, Factorized of pairs": "pairs",
    "the paper's, Factorized dense": "dense",
    "the paper's without Factorized": "five",
    "network and regressions on tokens": "tokens",
}
QUOTED = {
    (name, "rivals", words): f"{key}-{which}"
    for name, key in KEYS.items()
    for words, which in RIVALS.items()
}
QUOTED |= {
    ("VN-F4b", "network", "1 layer, tokens"): "error-one",
    ("VN-F4b", "network", "1 layer, tokens, 2048 atoms"): "error-atoms",
    ("VN-H4", "panels", "five of six"): "drift-panels",
    ("VN-H4", "panels", "each of three mixtures"): "drift-mixtures",
}


def numbers(curves: Mapping[str, xr.Dataset]) -> dict[str, str]:
    """Texts for the prose: shares of readings, of all and by option."""
    found = quoted(curves, KEYS, QUOTED)
    return {f"readings-bodies-{key}": text for key, text in found.items()}
