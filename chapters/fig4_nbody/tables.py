"""Force composition in tables, and the numbers of the prose; all are medians over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from benchmarks.baselines import tables
from benchmarks.baselines.failures import failures
from benchmarks.baselines.longer import change, late_gain
from benchmarks.nbody.figures import LAWS, MEAN, by_number, error, in_order, inside_and_out, mixed
from chapters.fig4_nbody.claims import BASELINES, FITS, READINGS, TOKENS, several
from vnlib.book.evidence import SETTLED
from vnlib.plots.statistics import ahead, extremes, median, short, sides, texts
from vnlib.plots.tables import Table, spreads

EXACT = 1e-6  # gap between joint and passes of a model that adds up forces, but for rounding
MEASURES = {"MSE": False, "relative MSE": True}
WITHOUT = [m for m in BASELINES if m != "factorized"]  # models that are told forces by a code
SAME_TOKENS = {"mlp": "token_mlp", "rbf": "rbf_tokens", "ridge": "linear_tokens"}
SIMULATED = {
    "exact": "distance from the closed form, 5 s [box]",
    "energy": "relative change of energy, median of 16 trajectories",
    "energy_worst": "relative change of energy, worst of 16 trajectories",
    "momentum": "change of total momentum under gravity and springs [box/s]",
    "superposition": "accelerations of mixtures minus sums [box/s²]",
    "order": "order of convergence",
    "boundary": "first step outside the box, deviation from 0.98 and 0.9 [box]",
}

FAILS = 0.5  # relative error on single forces above which a run has learned nothing


def cells(results: xr.Dataset, *, relative: bool = False) -> xr.DataArray:
    """Median errors (model, number, bodies), means over the sets of each number of forces."""
    return median(by_number(error(results, relative=relative)))


def errors_table(results: xr.Dataset) -> Table:
    """Errors with five bodies by number of forces, and mean OOD over mean ID error."""
    one = results.sel(model=in_order(results, mean=True))
    every = {name: by_number(error(one, relative=yes)) for name, yes in MEASURES.items()}
    columns = {name: values.sel(bodies=5) for name, values in every.items()}
    inside, outside = inside_and_out(error(one))
    columns["OOD / ID", ""] = outside / inside
    fits, _ = inside_and_out(error(one, relative=True))
    columns["failed"] = failures((fits > FAILS).where(fits.notnull()))
    rows = spreads(columns, "model", number=lambda count: f"{count} force{'s' * (count > 1)}")
    return Table(rows, name="errors by number of forces")


def dropout(results: xr.Dataset, *, relative: bool) -> dict[str, xr.DataArray]:
    """Errors with three bodies over errors with five, of single forces and of mixtures (model,
    seed).
    """
    found = by_number(error(results, relative=relative))
    parts = {"single forces": found.sel(number=1), "mixtures": several(found).mean("number")}
    return {name: one.sel(bodies=3) / one.sel(bodies=5) for name, one in parts.items()}


def dropout_table(results: xr.Dataset) -> Table:
    """Errors with three bodies over errors with five, plain and relative."""
    one = results.sel(model=in_order(results, mean=True))
    columns = {
        (what, name): ratio
        for name, relative in MEASURES.items()
        for what, ratio in dropout(one, relative=relative).items()
    }
    return Table(spreads(columns, "model"), name="errors with three bodies over errors with five")


def simulator_table(results: xr.Dataset) -> Table:
    """What was measured of the simulator."""
    sim, rows = results.isel(model=0, seed=0), {}
    for name, says in SIMULATED.items():
        value = sim[f"sim_{name}"]  # of all laws at once, or for each
        each = value.to_series() if value.ndim else {}
        rows |= {f"{_joined(laws)}: {says}": one for laws, one in each.items()} or {
            says: float(value)
        }
    return Table(pd.DataFrame({"measured": rows}), name="the simulator")


def _joined(laws: str) -> str:
    """A set of forces to read: "gravity + Lorentz"."""
    return " + ".join(LAWS[law] for law in laws.split("+"))


def late_gains(results: xr.Dataset) -> xr.DataArray:
    """`late_gain` of trained models (model, seed); of a Vector Network while its readout learned."""
    gain = late_gain(results["curve"].sel(model=in_order(results)), "share")
    return gain.dropna("model", how="all")


def unconverged(results: xr.Dataset, most: float = SETTLED) -> Table:
    """The models whose training had not settled: the gain of the last fifth of their steps."""
    rows = spreads({"fell by": late_gains(results)}, "model")
    rows = rows[rows["fell by", "median"] > most]
    return Table(rows, {"fell by": in_percent}, name="models that had not settled")


def lengthened(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """What twice the updates leave of errors on single forces and on mixtures, by name (model, seed)."""
    return {
        k: change(one) for k, one in zip(("id", "ood"), inside_and_out(error(results)), strict=True)
    }


def longer_table(results: xr.Dataset) -> Table:
    """What twice the updates leave of the errors of models that had not settled."""
    names = {"id": "single forces", "ood": "mixtures"}
    return tables.longer({names[key]: one for key, one in lengthened(results).items()})


def in_percent(share: float) -> str:
    """A share with two digits: "3.4 %"."""
    return f"{short(100 * share)} %" if np.isfinite(share) else ""


def won(results: xr.Dataset, model: str, others: Sequence[str]) -> xr.DataArray:
    """Whether a model has surely less error on mixtures than each of the others (-1), more than one
    of them (1), or neither (0), paired by seed (number, bodies).
    """
    joint = several(by_number(error(results)))
    return sides(joint.sel(model=model, drop=True) / joint.sel(model=list(others))).max("model")


def fits(results: xr.Dataset) -> xr.DataArray:
    """Relative error of the paper's trained models on single forces of five bodies (model, seed)."""
    single = by_number(error(results, relative=True)).sel(number=1, bodies=5)
    return single.sel(model=in_order(results, ("vn", "printed")))


def kept_in_passes(results: xr.Dataset) -> xr.DataArray:
    """What one pass per force leaves of the error on mixtures, of models told forces by a code
    (model, seed).
    """
    both = (inside_and_out(error(results, inference=one))[1] for one in ("joint", "passes"))
    joint, passes = (one.sel(model=WITHOUT) for one in both)
    return passes / joint


def gaps(results: xr.Dataset) -> xr.DataArray:
    """How far each model is from superposition on mixtures of five bodies, as a share of power
    (model, seed).
    """
    found = results["gap"].where(mixed(results)).mean("forces")
    return found.sel(model=in_order(results))


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results."""
    shown, single, gap = in_order(results), fits(results), gaps(results)
    exact, late = median(gap) < EXACT, late_gains(results)
    rivals = [m for m in late["model"].values if not m.startswith("vn")]
    inside, outside = (one.sel(model=MEAN) for one in inside_and_out(error(results)))
    power = several(by_number(results["power"].isel(model=0, seed=0))).mean("number")
    counts = {
        "trained": single.sizes["model"],
        "fit": (median(single) <= FITS).sum(),
        "cells": several(cells(results)).isel(model=0).size,
        "models": len(shown),
        "seeds": results.sizes["seed"],
        "watched": late.sizes["model"],
        "unsettled": (median(late) > SETTLED).sum(),
        "superpose": exact.sum(),
        "less": {key: ahead(won(results, model, [TOKENS])) for key, model in SAME_TOKENS.items()},
    }
    for key, model in READINGS.items():
        counts[f"won-{key}"] = ahead(won(results, model, BASELINES))
        counts[f"won-{key}-without"] = ahead(won(results, model, WITHOUT))
    for tag in ("", "-relative"):
        five = by_number(error(results, relative=bool(tag))).sel(model=shown, bodies=5)
        counts[f"rise{tag}"] = (sides(five / five.shift(number=1)) > 0).sum("number") == 3
        mixtures = dropout(results, relative=bool(tag))["mixtures"]
        counts[f"harder{tag}"] = sides(mixtures.sel(model=shown)) > 0
    counts |= {key: one.sum() for key, one in counts.items() if getattr(one, "ndim", 0)}
    sizes = {
        "worst-fit": extremes(single)["most"],
        "gated-fit": single.sel(model="vn_gated_3") if "vn_gated_3" in single["model"] else "",
        "power-three": power.sel(bodies=3) / power.sel(bodies=5),
        "power-ratio": outside / inside,
        "passes": extremes(kept_in_passes(results)),
        "gap": extremes(gap.isel(model=np.flatnonzero(~exact))),
    }
    more = {
        name: extremes(ratio.sel(model=[m for m in ratio["model"].values if m in rivals]))
        for name, ratio in lengthened(results).items()
        if ratio.size
    }
    gains = {"late": late, "late-rivals": extremes(late.sel(model=rivals))}
    return (
        texts("fig4", counts, "{:.0f}".format)
        | texts("fig4", sizes)
        | texts("fig4-longer", more)
        | texts("fig4", gains, in_percent)
    )
