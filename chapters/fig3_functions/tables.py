"""Tables and numbers of Fig. 3 beside those of the kit (see `benchmarks.functions.tables`)."""

from __future__ import annotations

from functools import partial

import xarray as xr

from benchmarks.functions.names import MASKS, SETS
from benchmarks.functions.tables import counts, hidden, measured, paired, present
from vnlib.plots.frames import group, label, some
from vnlib.plots.statistics import median, texts
from vnlib.plots.tables import Table, if_computed, spreads

DICTIONARIES = ("vn_1", "vn_untrained", "fourier")
INFERENCES = {"zero_filled": "imputation", "mask_aware": "masked lasso"}


@if_computed
def ablation_table(results: xr.Dataset) -> Table:
    """Errors on hidden samples of learned, unlearned and fixed atoms, by both inferences."""
    cells = results["hidden"].sel(model=some(present(results, DICTIONARIES)))
    names = {"mask": MASKS, "set": SETS, "protocol": INFERENCES, "model": partial(label, results)}
    found = spreads({"": cells.transpose(..., "protocol", "model")}, "mask", "set", **names)
    return Table(found.swaplevel(0, 1, axis=1), name="errors by dictionary and inference")


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """The share of each network's validation error that went in its last three tenths, seed by
    seed.
    """
    trained = measured(results, results["curve"])
    networks = [m for m in trained if group(results, m) in ("printed", "masked")]
    curve = results["curve"].sel(model=networks)
    late, end = (curve.sel(evaluation=at, method="nearest") for at in (0.7, 1.0))
    return 1 - end / late


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    imputed, solved = INFERENCES
    ours = ["vn_1"]
    ratios = {
        "learned": paired(results, ours, ["vn_untrained"], imputed),
        "fixed": paired(results, ours, ["fourier"], imputed),
        "solved": paired(results, ours, ours, solved, imputed),
        "solved-on": (hidden(results, ours, solved) / hidden(results, ours, imputed))
        .isel(model=0, drop=True)
        .transpose("set", "mask", "seed"),
    }
    gain = 100 * late_gain(results)
    gain = gain.sortby(median(gain))
    falling = {"falling": gain.isel(model=-1), "falling-next": gain.isel(model=-2)}
    return counts(results, "fig3") | texts("fig3", ratios) | texts("fig3", falling, "{:.0f}".format)
