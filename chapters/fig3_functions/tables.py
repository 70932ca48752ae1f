"""Tables and numbers of Fig. 3 beside those of the kit (see `benchmarks.functions.tables`)."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from benchmarks.functions.tables import MASKS, SETS, counts, measured, named, present
from vnlib.plots.frames import group, label
from vnlib.plots.statistics import median
from vnlib.plots.tables import Table

DICTIONARIES = ("vn_1", "vn_untrained", "fourier")
INFERENCES = {"zero_filled": "imputation", "mask_aware": "masked lasso"}


def ablation_table(results: xr.Dataset) -> Table:
    """Errors on hidden samples of VN-1L, of its atoms before learning and of a fixed dictionary, by
    both inferences; medians over seeds.
    """
    middle = median(results["hidden"])
    columns = {
        (label(results, model), said): [
            float(middle.sel(model=model, protocol=protocol, mask=mask, set=name))
            for mask in middle["mask"].values
            for name in SETS
        ]
        for protocol, said in INFERENCES.items()
        for model in present(results, DICTIONARIES)
    }
    cells = [(MASKS[mask], title) for mask in middle["mask"].values for title in SETS.values()]
    index = pd.MultiIndex.from_tuples(cells, names=["mask", "set"])
    return Table(pd.DataFrame(columns, index=index), name="errors by dictionary and inference")


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """By which share the validation error of each network fell in the last three tenths of its
    updates; median over seeds.
    """
    networks = [
        m for m in measured(results, results["curve"]) if group(results, m) in ("printed", "masked")
    ]
    curve = median(results["curve"].sel(model=networks))
    late, end = (curve.sel(evaluation=at, method="nearest") for at in (0.7, 1.0))
    return 1 - end / late


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    if not (shared := counts(results)):
        return {}
    middle = median(results["hidden"])

    def ratio(one: tuple[str, str], other: tuple[str, str]) -> str:
        ours, theirs = (middle.sel(model=m, protocol=p) for m, p in (one, other))
        return f"{float((ours / theirs).median()):.2f}"

    imputed = ("vn_1", "zero_filled")
    gain = late_gain(results)
    own = {
        "learned": ratio(imputed, ("vn_untrained", "zero_filled")),
        "fixed": ratio(imputed, ("fourier", "zero_filled")),
        "solved": ratio(("vn_1", "mask_aware"), imputed),
        "falling": f"{100 * float(gain.max()):.0f}",
        "falling-next": f"{100 * float(gain.sortby(gain)[-2]):.0f}",
    }
    return named(shared | own, "fig3")
