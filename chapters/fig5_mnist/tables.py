"""Image composition in tables of numbers, and the numbers of the prose.

Errors are shown in 10⁻³ ink², as medians over seeds with their intervals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.baselines import tables
from benchmarks.baselines.longer import change, once
from chapters.fig5_mnist.curves import late_gain
from chapters.fig5_mnist.figures import errors_of, inside, power, present_models
from chapters.fig5_mnist.figures_parts import MATCHED
from chapters.fig5_mnist.names import said
from chapters.fig5_mnist.sets import EXTREMES, FAMILIES, SETS
from vnlib.book.evidence import SETTLED
from vnlib.plots.frames import label
from vnlib.plots.statistics import ahead, median, percent, short, sides, texts
from vnlib.plots.tables import Table, if_computed, spreads

MILLI = 1e3


def geometric_mean(values: xr.DataArray) -> xr.DataArray:
    """Geometric mean over sets."""
    return np.exp(np.log(values).mean("set"))


def growth(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """The growth of errors in the median set out of distribution (model, seed), which no single
    set decides.
    """
    own = errors_of(results, benchmark)
    return (own.sel(set=SETS[benchmark][1:]) / own.sel(set=inside(benchmark))).median("set")


def over_vn(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """Errors of all models over those of VN-1L, on sets out of distribution (model, seed, set)."""
    own = errors_of(results, benchmark).sel(set=SETS[benchmark][1:])
    return own / own.sel(model=MATCHED[benchmark][0], drop=True)


def better_images(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """The share of images on which VN-1L errs less than the autoencoder, first seed (set)."""
    case = results["case"].isel(seed=0).sel(set=SETS[benchmark])
    vn, ae = (case.sel(model=m, drop=True) for m in MATCHED[benchmark])
    return (vn < ae).mean("sample")


def other_reading(results: xr.Dataset, benchmark: str, reading: str) -> xr.Dataset:
    """Another reading over a model's own (model, seed), and in how many sets it is surely `worse`
    than zero (model).
    """
    own = errors_of(results, benchmark)
    other = errors_of(results, benchmark, reading=reading).dropna("model", how="all")
    ratio, sets = other / own, SETS[benchmark][1:]
    return xr.Dataset(
        {
            "id": ratio.sel(set=inside(benchmark), drop=True),
            "ood": ratio.sel(set=sets).median("set"),
            "worse": (sides(other / power(results, benchmark)) > 0).sel(set=sets).sum("set"),
        }
    )


@if_computed
def errors_table(results: xr.Dataset, benchmark: str = "digits") -> Table:
    """ID error, growth by family of sets, and the error on the median set of every model."""
    own = errors_of(results, benchmark)
    start, (_, *families) = own.sel(set=inside(benchmark)), FAMILIES[benchmark].items()
    columns = {"ID error": MILLI * start}
    for family, sets in families:
        columns[f"growth, {family}"] = geometric_mean(own.sel(set=list(sets)) / start)
    columns["median OOD error"] = MILLI * own.sel(set=SETS[benchmark][1:]).median("set")
    return Table(spreads(columns, "model"), name=f"errors of {benchmark}")


@if_computed
def matching_table(results: xr.Dataset, benchmark: str = "digits") -> Table:
    """What is matched: ID errors and their ratios to VN-1L's, and active units."""
    (vn, _), start = MATCHED[benchmark], inside(benchmark)
    models = present_models(results, benchmark)
    own = errors_of(results, benchmark).sel(model=models, set=start)
    held = results["criterion"].sel(model=models)
    units = results["active"].sel(model=models, set=SETS[benchmark], layer=1)
    columns = {
        "ID error, test": MILLI * own,
        "over VN-1L, test": own / own.sel(model=vn, drop=True),
        "over VN-1L, validation": held / held.sel(model=vn, drop=True),
        "units, ID": units.sel(set=start),
        "units, most of any set": units.max("set"),
    }
    return Table(spreads(columns, "model"), name=f"what is matched, {benchmark}")


@if_computed
def sets_table(results: xr.Dataset, benchmark: str = "digits") -> Table:
    """VN-1L and the matched autoencoder, set by set, and the growth of the power; images are the
    first seed's.
    """
    own = errors_of(results, benchmark)
    vn, ae = (own.sel(model=m, drop=True) for m in MATCHED[benchmark])
    columns = {
        "AE error over VN-1L's": ae / vn,
        "VN-1L better [% of images]": 100 * better_images(results, benchmark),
        "power over ID": power(results, benchmark, relative=True),
    }
    formats = {"VN-1L better [% of images]": "{:.0f}"}
    frame = spreads(columns, "set", set=said)
    return Table(frame, formats, name=f"VN-1L and the matched autoencoder by set, {benchmark}")


@if_computed
def readings_table(results: xr.Dataset, benchmark: str, reading: str) -> Table:
    """How much more (or less) error another reading has, in and out of distribution."""
    found = other_reading(results, benchmark, reading)
    columns = {
        "error over own drawing's, ID": found["id"],
        "OOD, median of sets": found["ood"],
        "sets surely worse than the zero baseline": found["worse"],
    }
    return Table(spreads(columns, "model"), name=f"readings of {benchmark}: {reading}")


def convergence_table(results: xr.Dataset) -> Table:
    """How much of its validation error each model still lost in the last fifth of its updates."""
    gain = late_gain(once(results))
    columns = {"images": gain["benchmark"], "lost in the last fifth": gain}
    return Table(
        spreads(columns, "model"), {"lost in the last fifth": in_percent}, name="convergence"
    )


def lengthened(results: xr.Dataset, benchmark: str) -> dict[str, xr.DataArray]:
    """What twice the updates leave of the error in distribution and on the median set outside, by
    name (model, seed); nothing where no model of the benchmark has them.
    """
    own = results["mse"].sel(reading="own", drop=True)
    own = change(own.sel(model=own["benchmark"] == benchmark))
    if not own.size:
        return {}
    inner, outer = own.sel(set=inside(benchmark), drop=True), own.sel(set=SETS[benchmark][1:])
    return {"ID": inner, "OOD, median of sets": outer.median("set")}


def longer_table(results: xr.Dataset, benchmark: str = "digits") -> Table:
    """What twice the updates leave of the errors of models that had not settled."""
    return tables.longer(lengthened(results, benchmark))


def in_percent(share: float) -> str:
    """A share with two digits: "6.3 %"."""
    return f"{short(100 * share)} %" if np.isfinite(share) else ""


def formulas_table(formulas: Mapping[str, str]) -> Table:
    """The sets of digits and what they are made of."""
    frame = pd.DataFrame(
        {"image": {said(name): one for name, one in formulas.items()}}
    ).rename_axis("set")
    return Table(frame, name="formulas of the sets of digits")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose."""
    found: dict[str, str] = {}
    for benchmark, (_, ae) in MATCHED.items():
        ratios = over_vn(results, benchmark)
        middle, ratio = ratios.median("set"), ratios.sel(model=ae)
        ratio, less = ratio.sortby(median(ratio)), sides(middle) < 0
        start = "m_" if benchmark == "motions" else ""
        controls = present_models(results, benchmark, ("control",))
        better = better_images(results, benchmark).drop_sel(set=inside(benchmark))
        values = {
            "id": MILLI * errors_of(results, benchmark).sel(set=inside(benchmark)),
            "growth": growth(results, benchmark),
            "ratio-median": middle.sel(model=ae),
            "ratio-least": ratio.isel(set=0),
            "ratio-most": ratio.isel(set=-1),
            "ratio-second": ratio.isel(set=-2),
            "lower": " and ".join(f"“{label(results, m)}”" for m in controls if less.sel(model=m)),
            "sets": ahead(sides(1 / ratios.sel(model=ae))),
            "deep-sets": _ahead_of(ratios, f"{start}vn_3", ae),
            "dct-sets": _ahead_of(ratios, f"{start}dct", MATCHED[benchmark][0]),
            "images-least": percent(better.min()),
        }
        for reading in ("top", "searched"):
            values[reading] = other_reading(results, benchmark, reading)[["id", "ood"]]
        found |= texts(f"fig5-{benchmark}", values)
    gain = late_gain(once(results))
    still = gain.isel(model=np.flatnonzero(median(gain) > SETTLED))
    longer = {b: lengthened(results, b) for b in MATCHED}
    more = {"shorter-units": _less(results, "vn_1", "ksparse")}
    more["longer-units"] = _less(results, "vn_1_longer", "ksparse_longer")
    own, grown_digits = (errors_of(results, "digits", relative=yes) for yes in (False, True))
    grown = errors_of(results, "motions", relative=True).sel(set=list(EXTREMES))
    return found | {
        **texts("fig5-growth", grown),
        **texts("fig5-half-black", MILLI * own.sel(set="occlude0")),
        **texts("fig5-difference", grown_digits.sel(set="sub2")),
        **texts("fig5-late", gain, in_percent),
        **texts("fig5-longer", longer),
        **texts("fig5", more),
        "fig5-seeds": str(results.sizes["seed"]),
        "fig5-watched": str(gain.sizes["model"]),
        "fig5-unsettled": str(still.sizes["model"]),
    }


def _less(results: xr.Dataset, model: str, other: str) -> str:
    """On how many sets of digits outside a model surely has less error than another."""
    own = results["mse"].sel(reading="own", set=SETS["digits"][1:])
    return _ahead_of(own, model, other)


def _ahead_of(ratios: xr.DataArray, model: str, other: str) -> str:
    """On how many sets a model surely has less error than another; "" where one is not there."""
    if not {model, other} <= {*ratios["model"].values}:
        return ""
    return ahead(sides(ratios.sel(model=model, drop=True) / ratios.sel(model=other, drop=True)))
