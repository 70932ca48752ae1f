"""Tables and numbers of Fig. 3 beside those of the kit (see `benchmarks.functions.tables`)."""

from __future__ import annotations

from functools import partial

import xarray as xr

from benchmarks.baselines import tables
from benchmarks.baselines.longer import change, late_gain
from benchmarks.functions.names import MASKS, SETS
from benchmarks.functions.tables import counts, measured, paired, present
from vnlib.book.evidence import SETTLED
from vnlib.plots.frames import group, label, some
from vnlib.plots.statistics import extremes, median, short, texts
from vnlib.plots.tables import Table, if_computed, spreads

DICTIONARIES = ("vn_1", "vn_untrained", "fourier")
INFERENCES = {"mask_aware": "solved", "zero_filled": "five rounds"}


@if_computed
def ablation_table(results: xr.Dataset) -> Table:
    """Errors on hidden samples of learned, unlearned and fixed atoms, by both inferences."""
    cells = results["hidden"].sel(model=some(present(results, DICTIONARIES)))
    cells = cells.sel(protocol=list(INFERENCES))
    names = {"mask": MASKS, "set": SETS, "protocol": INFERENCES, "model": partial(label, results)}
    found = spreads({"": cells.transpose(..., "protocol", "model")}, "mask", "set", **names)
    return Table(found.swaplevel(0, 1, axis=1), name="errors by dictionary and inference")


def late_gains(results: xr.Dataset) -> xr.DataArray:
    """`late_gain` of each trained model (model, seed)."""
    return late_gain(results["curve"].sel(model=measured(results, results["curve"])))


def lengthened(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """What twice the updates leave of errors, by name (model, seed): whole signals in distribution,
    and hidden samples of Hard ones, median over masks, which networks trained with masks are told.
    """
    zeros, told = (
        results["hidden"].sel(set="hard", protocol=protocol, drop=True)
        for protocol in ("zero_filled", "mask_aware")
    )
    shown = zeros.fillna(told).median("mask")
    return {"id": change(results["mse"].sel(set="id", drop=True)), "hard": change(shown)}


def longer_table(results: xr.Dataset) -> Table:
    """What twice the updates leave of the errors of networks that had not settled."""
    names = {"id": "ID, whole", "hard": "Hard, hidden"}
    return tables.longer({names[key]: one for key, one in lengthened(results).items()})


def networks(results: xr.Dataset) -> list[str]:
    """The models that back-propagation trains, with and without masks."""
    trained = measured(results, results["curve"])
    rivals = [m for m in trained if group(results, m) in ("printed", "masked")]
    return [m for m in rivals if m != "rslds"]


def in_percent(share: float) -> str:
    """A share with two digits: "6.3 %"."""
    return f"{short(100 * share)} %" if short(share) else ""


def left(results: xr.Dataset) -> xr.DataArray:
    """What two Vector Networks leave of the zero baseline's error on hidden samples of Hard signals,
    by both inferences (protocol, model, mask, seed).
    """
    found = results["hidden"] / results["zero_baseline_hidden"]
    found = found.sel(model=some(present(results, ("vn_1", "vn_3"))), set="hard", drop=True)
    names = {"mask_aware": "solved", "zero_filled": "rounds"}
    found = found.sel(protocol=list(names)).assign_coords(protocol=list(names.values()))
    return found.transpose("protocol", "model", "mask", "seed")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose on the shipped results, by their keys."""
    solved, rounds = INFERENCES
    ours = ["vn_1"]
    ratios = {
        "learned": paired(results, ours, ["vn_untrained"], solved),
        "fixed": paired(results, ours, ["fourier"], solved),
        "learned-rounds": paired(results, ours, ["vn_untrained"], rounds),
        "fixed-rounds": paired(results, ours, ["fourier"], rounds),
        "solved": paired(results, ours, ours, solved, rounds),
    }
    gain = late_gains(results)
    gains = {"late": gain, "late-networks": extremes(gain.sel(model=networks(results)))}
    more = {}
    for name, ratio in lengthened(results).items():
        if kept := [m for m in networks(results) if m in ratio["model"].values]:
            more[name] = extremes(ratio.sel(model=kept))
    trained = {"watched": gain.sizes["model"], "unsettled": (median(gain) > SETTLED).sum()}
    return (
        counts(results, "fig3")
        | texts("fig3", ratios)
        | texts("fig3-left", left(results), in_percent)
        | texts("fig3", gains, in_percent)
        | texts("fig3-longer", more)
        | texts("fig3", trained, "{:.0f}".format)
    )
