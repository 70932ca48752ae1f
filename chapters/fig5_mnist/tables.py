"""Image composition in words and tables; everything said is computed from the results, as medians
over seeds.

Errors are shown in 10⁻³ ink².
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from chapters.fig5_mnist.figures import (
    FAMILIES,
    error,
    in_order,
    inside,
    main,
    number,
    power,
    sets_of,
)
from chapters.fig5_mnist.figures_parts import MATCHED
from vnlib.plots import texts
from vnlib.plots.rows import label

NOTHING = "Not computed in this profile."
MILLI = 1e3
WORST = 2  # sets in which an autoencoder errs most


def spread(values: xr.DataArray, unit: float = MILLI) -> str:
    """Median and [lowest, highest] over seeds."""
    return texts.spread(unit * values, number)


def mean(values: xr.DataArray) -> xr.DataArray:
    """Geometric mean over sets."""
    return np.exp(np.log(values).mean("set"))


def here(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    return [m for m in models if m in results["model"].values]


def outside(results: xr.Dataset, benchmark: str) -> list[str]:
    return [name for name in sets_of(results, benchmark) if name != inside(benchmark)]


def listed(results: xr.Dataset, values: dict[str, float], unit: float = 1.0) -> str:
    return ", ".join(f"{label(results, m)} {number(unit * v)}" for m, v in values.items())


def summary(results: xr.Dataset) -> str:
    """What came out, as Markdown."""
    lines = [line for benchmark in FAMILIES for line in _benchmark(results, benchmark)]
    return "\n".join(lines) or NOTHING


def _benchmark(results: xr.Dataset, benchmark: str) -> list[str]:
    vn, ae = MATCHED[benchmark]
    others = [m for m in main(results, benchmark) if m != vn]
    if vn not in results["model"].values or not others:
        return []
    own = error(results, benchmark).median("seed")
    name, sets = benchmark.capitalize(), outside(results, benchmark)
    ids = {m: float(own.sel(model=m, set=inside(benchmark))) for m in [vn, *others]}
    growth = {m: float(mean(own.sel(model=m, set=sets) / ids[m])) for m in [vn, *others]}
    lines = [
        f"- **{name}, in distribution** (10⁻³ ink²): {listed(results, ids, MILLI)}.",
        f"- **{name}, growth** from there, geometric mean over {len(sets)} sets: "
        f"{listed(results, growth)}.",
    ]
    if ae in others:
        ratio = (own.sel(model=ae) / own.sel(model=vn)).sel(set=sets)
        low, high = (
            str(ratio["set"].values[int(pick)])
            for pick in (ratio.argmin("set"), ratio.argmax("set"))
        )
        lines.append(
            f"- **{name}, {label(results, ae)} over {label(results, vn)}:** from "
            f"{number(float(ratio.min()))} ({low}) to {number(float(ratio.max()))} ({high}), "
            f"{number(float(mean(ratio)))} in the geometric mean."
        )
    lower = [m for m in in_order(results, benchmark, ("control",)) if _below(own, m, vn, sets)]
    if lower:
        lines.append(
            f"- **{name}, controls with less error than {label(results, vn)}** in the geometric "
            f"mean over these sets: {', '.join(label(results, m) for m in lower)}."
        )
    return lines


def _below(own: xr.DataArray, model: str, other: str, sets: Sequence[str]) -> bool:
    return bool(
        mean(own.sel(model=model, set=list(sets)) / own.sel(model=other, set=list(sets))) < 1
    )


def matching(results: xr.Dataset, benchmark: str = "digits") -> pd.DataFrame | str:
    """What is matched: ID errors over that of VN-1L, on validation and test images, and units."""
    vn, _ = MATCHED[benchmark]
    models = in_order(results, benchmark)
    if vn not in models:
        return NOTHING
    own, held, rows = error(results, benchmark).sel(set=inside(benchmark)), results["criterion"], {}
    for m in models:
        test, validation = (
            float(v.sel(model=m).median("seed") / v.sel(model=vn).median("seed"))
            for v in (own, held)
        )
        one = results.get("active")
        units = (
            one.sel(model=m, layer=1, set=inside(benchmark)).median("seed")
            if one is not None
            else np.nan
        )
        rows[label(results, m)] = {
            "ID error, test": spread(own.sel(model=m)),
            "over VN-1L, test": number(test),
            "over VN-1L, validation": number(validation),
            "within 5 %": "yes" if abs(test - 1) <= 0.05 else "",
            "units, layer 1": number(float(units)),
        }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def numbers(results: xr.Dataset, benchmark: str = "digits") -> pd.DataFrame | str:
    """Errors per model: ID as median and [lowest, highest] over seeds; growth by family of sets;
    mean over all sets.
    """
    models = in_order(results, benchmark, blank=True)
    if not models:
        return NOTHING
    own, rows = error(results, benchmark), {}
    there = sets_of(results, benchmark)
    for m in models:
        one = own.sel(model=m)
        start = one.sel(set=inside(benchmark))
        rows[label(results, m)] = {"ID": spread(start)}
        for family, sets in list(FAMILIES[benchmark].items())[1:]:
            if kept := [s for s in sets if s in there]:
                rows[label(results, m)][f"growth, {family}"] = spread(
                    mean(one.sel(set=kept) / start), 1.0
                )
        rows[label(results, m)]["mean OOD error"] = spread(
            mean(one.sel(set=outside(results, benchmark)))
        )
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def worst_said(results: xr.Dataset, benchmark: str = "digits") -> str:
    """Where each autoencoder errs most, and how it compares there with VN-1L."""
    vn, _ = MATCHED[benchmark]
    models = [
        m
        for m in in_order(results, benchmark, ("printed", "control"))
        if "ae" in m.split("_") or "ksparse" in m
    ]
    if vn not in results["model"].values or not models:
        return NOTHING
    own, said = error(results, benchmark).median("seed").sel(set=outside(results, benchmark)), []
    for m in models:
        one = own.sel(model=m)
        sets = [str(s) for s in one.sortby(one, ascending=False)["set"].values[:WORST]]
        ratios = (one / own.sel(model=vn)).sel(set=sets)
        said.append(
            f"{label(results, m)}: "
            f"{' and '.join(f'{s} {number(float(ratios.sel(set=s)))}' for s in sets)}"
        )
    return (
        f"The {WORST} sets in which each autoencoder errs most, with its error there over that of "
        f"{label(results, vn)}: {'; '.join(said)}."
    )


def cases_said(results: xr.Dataset, benchmark: str = "digits") -> str:
    """On which share of images VN-1L has less error than the matched autoencoder (first seed)."""
    vn, ae = MATCHED[benchmark]
    if "case" not in results or not {vn, ae} <= set(results["model"].values):
        return NOTHING
    case = results["case"].isel(seed=0)
    one, other = (case.sel(model=m).dropna("sample", how="all") for m in (vn, ae))
    share = (one < other).mean("sample")
    said = ", ".join(
        f"{s} {100 * float(share.sel(set=s)):.0f} %" for s in sets_of(results, benchmark)
    )
    return (
        f"Image by image, in the first seed, {label(results, vn)} has less error than "
        f"{label(results, ae)} on these shares of them: {said}."
    )


def readings_said(results: xr.Dataset, benchmark: str, reading: str) -> str:
    """How much more (or less) error another reading has, in and out of distribution."""
    first, second = (
        error(results, benchmark, reading=name).median("seed") for name in ("own", reading)
    )
    models = [m for m in in_order(results, benchmark) if bool(second.sel(model=m).notnull().any())]
    if not models:
        return NOTHING
    ratio = second / first
    sets = outside(results, benchmark)
    said = "; ".join(
        f"{label(results, m)} {number(float(ratio.sel(model=m, set=inside(benchmark))))} on ID, "
        f"{number(float(mean(ratio.sel(model=m, set=sets))))} outside"
        for m in models
    )
    blank = power(results, benchmark)
    worse = [
        f"{label(results, m)} in {int((second.sel(model=m, set=sets) > blank.sel(set=sets)).sum())}"
        for m in models
        if bool((second.sel(model=m, set=sets) > blank.sel(set=sets)).any())
    ]
    what = {
        "top": "Drawn from the code of the top layer alone",
        "searched": "With codes optimised for every image",
    }
    tail = f" Worse than drawing nothing, of {len(sets)} sets: {', '.join(worse)}." if worse else ""
    return (
        f"{what[reading]}, errors are these multiples of a model's own drawing (geometric "
        f"means): {said}.{tail}"
    )


def active_said(results: xr.Dataset, benchmark: str = "digits") -> str:
    """How the support of the first layer grows with what is drawn."""
    if "active" not in results:
        return NOTHING
    units = results["active"].sel(layer=1).median("seed")
    said, sets = [], outside(results, benchmark)
    for m in in_order(results, benchmark):
        one = units.sel(model=m)
        start = float(one.sel(set=inside(benchmark)))
        if not np.isfinite(start) or bool((one.sel(set=sets) == start).all()):
            continue
        top = str(one.sel(set=sets).idxmax("set").item())
        said.append(
            f"{label(results, m)} from {number(start)} to {number(float(one.sel(set=top)))} ({top})"
        )
    if not said:
        return "No model that is there lets its number of active units depend on the image."
    return f"Active units of layer 1, from ID to the set that uses most: {'; '.join(said)}."


def rises_said(results: xr.Dataset) -> str:
    """How errors grow from the smallest to the largest motion, and how much of it is the power of
    the signals.
    """
    models, ends = main(results, "motions"), ("RTS_x3", "RTS_x2_3d")
    if not models or not set(ends) <= set(results["set"].values):
        return NOTHING
    own, blank = error(results, "motions", relative=True).median("seed"), power(results, "motions")
    said = [
        f"{name}: {listed(results, {m: float(own.sel(model=m, set=name)) for m in models})}; the "
        "power of the signals "
        f"{number(float(blank.sel(set=name) / blank.sel(set=inside('motions'))))}"
        for name in ends
    ]
    return f"Growth of errors from single moves at the two extremes. {'. '.join(said)}."


def levelled(results: xr.Dataset, most: float = 0.1) -> str:
    """Which models still improved: whose validation error fell by more than `most` after 0.7 of the
    checks.
    """
    models = [
        m
        for b in FAMILIES
        for m in in_order(results, b)
        if bool(results["curve"].sel(model=m).notnull().any())
    ]
    if not models:
        return NOTHING
    curve = results["curve"].median("seed")
    late, end = (curve.sel(check=at, method="nearest") for at in (0.7, 1.0))
    gain = {m: 1 - float(end.sel(model=m) / late.sel(model=m)) for m in models}
    moving = [
        f"{label(results, m)} on {results['benchmark'].sel(model=m).item()} ({100 * gain[m]:.0f} %)"
        for m in models
        if gain[m] > most
    ]
    said = f"by more than {100 * most:.0f} % in the last three tenths of the checks"
    if not moving:
        return f"No model's validation error fell {said}."
    return (
        f"The validation error still fell {said} of {', '.join(moving)}: with more updates "
        "these would fit better."
    )


def trials(tuning: xr.Dataset | None) -> pd.DataFrame | str:
    """Validation error in 10⁻³ ink² of every setting that was tried; the chosen one has a `*`."""
    return texts.trials(
        None if tuning is None else tuning.assign(criterion=MILLI * tuning["criterion"])
    )


def formulas(known: Mapping[str, str]) -> str:
    """The sets of digits and what they are made of, as a table in Markdown."""
    rows = [f"| `{name}` | {formula} |" for name, formula in known.items()]
    return "\n".join(["| set | image |", "|---|---|", *rows])
