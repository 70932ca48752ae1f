"""Image composition in tables of numbers, and the numbers of the prose.

Errors are shown in 10⁻³ ink², as medians over seeds with their range.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from chapters.fig5_mnist.figures import (
    FAMILIES,
    errors_of,
    inside,
    main_models,
    power,
    present_models,
    sets_of,
)
from chapters.fig5_mnist.figures_parts import MATCHED
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, short
from vnlib.plots.tables import Table, caption, spread

NOTHING = "Not computed in this profile."
MILLI = 1e3
EXTREMES = ("RTS_x3", "RTS_x2_3d")  # the largest motions: of one digit, and of three
NEAREST = 1.05  # ID errors within this factor are equal
UNCONVERGED = 0.1  # share of its error that a model still loses late in training


def geometric_mean(values: xr.DataArray) -> xr.DataArray:
    """Geometric mean over sets."""
    return np.exp(np.log(values).mean("set"))


def outside(results: xr.Dataset, benchmark: str) -> list[str]:
    """The sets out of distribution."""
    return [name for name in sets_of(results, benchmark) if name != inside(benchmark)]


def growth(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """Geometric mean over sets out of distribution of the growth of median errors (model)."""
    own = median(errors_of(results, benchmark))
    found = own.sel(set=outside(results, benchmark)) / own.sel(set=inside(benchmark), drop=True)
    return geometric_mean(found)


def over_vn(results: xr.Dataset, benchmark: str, *, reading: str = "own") -> xr.DataArray:
    """Median errors of all models over those of VN-1L, on sets out of distribution (model, set).

    Raises
    ------
    KeyError
        Where there is no VN-1L.
    """
    own, other = (median(errors_of(results, benchmark, reading=r)) for r in ("own", reading))
    found = other / own.sel(model=MATCHED[benchmark][0], drop=True)
    return found.sel(set=outside(results, benchmark))


def better_images(results: xr.Dataset, benchmark: str) -> xr.DataArray:
    """The share of images on which VN-1L errs less than the matched autoencoder, first seed
    (set).
    """
    vn, ae = MATCHED[benchmark]
    case = results["case"].isel(seed=0).sel(set=sets_of(results, benchmark))
    one, other = (case.sel(model=m, drop=True).dropna("sample", how="all") for m in (vn, ae))
    return (one < other).mean("sample")


def other_reading(results: xr.Dataset, benchmark: str, reading: str) -> xr.Dataset:
    """Another reading over a model's own: `id` and `ood`, the geometric mean, and in how many sets
    it is `worse` than the zero baseline (model), of the models that have it.
    """
    first, second = (median(errors_of(results, benchmark, reading=r)) for r in ("own", reading))
    models = [m for m in present_models(results, benchmark) if second.sel(model=m).notnull().any()]
    ratio = (second / first).sel(model=models)
    sets = outside(results, benchmark)
    worse = second.sel(model=models, set=sets) > power(results, benchmark).sel(set=sets)
    return xr.Dataset(
        {
            "id": ratio.sel(set=inside(benchmark), drop=True),
            "ood": geometric_mean(ratio.sel(set=sets)),
            "worse": worse.sum("set"),
        }
    )


def late_gain(results: xr.Dataset) -> xr.DataArray:
    """The share of the validation error that went in the last three tenths of training (model)."""
    curve = median(results["curve"])
    late, end = (curve.sel(check=at, method="nearest", drop=True) for at in (0.7, 1.0))
    return (1 - end / late).dropna("model")


def errors_table(results: xr.Dataset, benchmark: str = "digits") -> Table | HTML:
    """ID error, growth by family of sets, and mean OOD error of every model."""
    models = present_models(results, benchmark, with_zero=True)
    if not models:
        return caption(NOTHING)
    own = errors_of(results, benchmark).sel(model=models)
    start, there = own.sel(set=inside(benchmark)), set(sets_of(results, benchmark))
    parts = [spread(MILLI * start, "model", title="ID error")]
    for family, sets in list(FAMILIES[benchmark].items())[1:]:
        if kept := [name for name in sets if name in there]:
            grown = geometric_mean(own.sel(set=kept) / start)
            parts.append(spread(grown, "model", title=f"growth, {family}"))
    mean = geometric_mean(own.sel(set=outside(results, benchmark)))
    parts.append(spread(MILLI * mean, "model", title="mean OOD error"))
    return Table(pd.concat(parts, axis=1), name=f"errors of {benchmark}")


def matching_table(results: xr.Dataset, benchmark: str = "digits") -> Table | HTML:
    """What is matched: ID errors and their ratios to VN-1L's, and active units."""
    vn, _ = MATCHED[benchmark]
    models = present_models(results, benchmark)
    if vn not in models:
        return caption(NOTHING)
    start = inside(benchmark)
    own = errors_of(results, benchmark).sel(set=start, model=models)
    frame = spread(MILLI * own, "model", title="ID error, test")
    held = results["criterion"].sel(model=models)
    for title, values in (("over VN-1L, test", own), ("over VN-1L, validation", held)):
        middle = median(values)
        frame[title, ""] = (middle / middle.sel(model=vn)).values
    if "active" in results:
        units = median(results["active"].sel(model=models, set=sets_of(results, benchmark)))
        frame["units, ID", ""] = units.sel(layer=1, set=start).values
        frame["units, most of any set", ""] = units.sel(layer=1).max("set").values
    return Table(frame, name=f"what is matched, {benchmark}")


def sets_table(results: xr.Dataset, benchmark: str = "digits") -> Table | HTML:
    """Set by set: the matched autoencoder's error over VN-1L's, the images on which VN-1L errs
    less, and the growth of the power.
    """
    vn, ae = MATCHED[benchmark]
    if "case" not in results or not {vn, ae} <= set(results["model"].values):
        return caption(NOTHING)
    own = median(errors_of(results, benchmark))
    ratio = own.sel(model=ae, drop=True) / own.sel(model=vn, drop=True)
    frame = ratio.to_dataframe("AE error over VN-1L's")[["AE error over VN-1L's"]]
    frame["VN-1L better [% of images]"] = 100 * better_images(results, benchmark).values
    frame["power over ID"] = power(results, benchmark, relative=True).values
    formats = {"VN-1L better [% of images]": "{:.0f}"}
    return Table(frame, formats, name=f"VN-1L and the matched autoencoder by set, {benchmark}")


def readings_table(results: xr.Dataset, benchmark: str, reading: str) -> Table | HTML:
    """How much more (or less) error another reading has, in and out of distribution."""
    found = other_reading(results, benchmark, reading)
    if not found.sizes["model"]:
        return caption(NOTHING)
    frame = pd.DataFrame(
        {
            "error over own drawing's, ID": found["id"].values,
            "OOD, geometric mean": found["ood"].values,
            "sets worse than the zero baseline": found["worse"].values,
        },
        index=pd.Index(found["label"].values.astype(str), name="model"),
    )
    return Table(frame, name=f"readings of {benchmark}: {reading}")


def convergence_table(results: xr.Dataset) -> Table | HTML:
    """How much of its validation error each model still lost late in training."""
    gain = late_gain(results)
    if not gain.sizes["model"]:
        return caption(NOTHING)
    frame = pd.DataFrame(
        {
            "images": gain["benchmark"].values.astype(str),
            "lost in the last 3/10 [%]": 100 * gain.values,
        },
        index=pd.Index(gain["label"].values.astype(str), name="model"),
    )
    whole = {"lost in the last 3/10 [%]": lambda share: f"{round(share) + 0.0:.0f}"}  # no -0
    return Table(frame, whole, name="convergence")


def formulas_table(formulas: Mapping[str, str]) -> Table:
    """The sets of digits and what they are made of."""
    frame = pd.DataFrame({"image": formulas}).rename_axis("set")
    return Table(frame, name="formulas of the sets of digits")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """The numbers of the prose; as many as the models that were asked for allow."""
    found: dict[str, str] = {}
    for benchmark, (vn, ae) in MATCHED.items():
        start, key = inside(benchmark), f"fig5-{benchmark}"
        for model in main_models(results, benchmark):
            name = f"{key}-{model.removeprefix('m_').replace('_', '-')}"
            error = median(errors_of(results, benchmark).sel(model=model, set=start))
            found[f"{name}-id"] = short(MILLI * float(error))
            found[f"{name}-growth"] = short(float(growth(results, benchmark).sel(model=model)))
        if {vn, ae} <= set(results["model"].values):
            found |= _matched(results, benchmark)
        for reading in ("top", "searched"):
            other = other_reading(results, benchmark, reading)
            for model in other["model"].values.tolist():
                name = f"{key}-{model.removeprefix('m_').replace('_', '-')}-{reading}"
                one = other.sel(model=model)
                found |= {f"{name}-{part}": short(float(one[part])) for part in ("id", "ood")}
                found[f"{name}-worse"] = str(int(one["worse"]))
    if set(EXTREMES) <= set(results["set"].values):
        for model in main_models(results, "motions"):
            name = model.removeprefix("m_").replace("_", "-")
            grown = median(errors_of(results, "motions", relative=True).sel(model=model))
            for end in EXTREMES:
                found[f"fig5-{name}-{end}"] = short(float(grown.sel(set=end)))
        for end in EXTREMES:
            grown = power(results, "motions", relative=True).sel(set=end)
            found[f"fig5-power-{end}"] = short(float(grown))
    still = late_gain(results)
    still = still[still > UNCONVERGED]
    return found | {
        "fig5-unconverged": str(still.size),
        "fig5-unconverged-most": f"{100 * float(still.max()):.0f} %" if still.size else "",
    }


def _matched(results: xr.Dataset, benchmark: str) -> dict[str, str]:
    """How the matched autoencoder compares with VN-1L, and which controls err less than VN-1L."""
    _, ae = MATCHED[benchmark]
    ratios = over_vn(results, benchmark)
    ratio = ratios.sel(model=ae).sortby(ratios.sel(model=ae))
    controls = present_models(results, benchmark, ("control",))
    mean = geometric_mean(ratios)
    lower = [label(results, m) for m in controls if float(mean.sel(model=m)) < 1]
    key = f"fig5-{benchmark}"
    found = {
        f"{key}-ratio-least": short(float(ratio[0])),
        f"{key}-ratio-second": short(float(ratio[-2])),
        f"{key}-ratio-most": short(float(ratio[-1])),
        f"{key}-ratio-most-set": str(ratio["set"].values[-1]),
        f"{key}-ratio-mean": short(float(mean.sel(model=ae))),
        f"{key}-lower": " and ".join(lower) or "none",
        f"{key}-sets": str(ratio.size),
    }
    if "case" in results:
        share = better_images(results, benchmark).sel(set=outside(results, benchmark))
        found[f"{key}-images-least"] = f"{100 * float(share.min()):.0f} %"
    return found
