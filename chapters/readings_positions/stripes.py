"""The readings of FR-4: stripes teach a network to compose, from the results of FR Fig. 4."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Exclusion, Reading, Statement
from benchmarks.readings.curve import above, below, closeness
from chapters.readings_positions.common import BAND, SEEDS, summed

NETWORK = Choice(
    name="network",
    says="network and hold-out",
    options={
        "cnn": "CNN, corner",
        "cnn_square": "CNN, square",
        "cnn_bright": "CNN, corner, bright images",
        "cnn_deep": "CNN, corner, two blocks more",
        "cnn_ramp": "CNN, corner, ramp code",
    },
)
SQUARE = Choice(name="network", says="hold-out", options={"cnn": "corner", "cnn_square": "square"})
PLACE = Choice(
    name="place",
    says="what it is to hit",
    options={
        "hit": "peak within 1 px in x and y",
        "marginal": "in x and in y, each by itself",
        "bump_hit": "both, and more like a bump than a cross",
    },
)
BOUND = Choice(name="bound", says="share asked for", options={"0.8": "0.8", "0.5": "0.5"})
CROSS = Choice(
    name="cross",
    says="what a cross is",
    options={
        "cross_share": "more like a cross than a bump, at 0.8",
        "like_cross": "correlation with a cross, 0.8 or more",
        "line": "ink of a cross, 0.5 or more",
    },
)
BUMPS = Choice(
    name="bumps",
    says="bumps beside the stripes",
    options={"100": "100", "50": "50", "25": "25", "all": "all"},
)
DRAWN = Choice(
    name="drawn",
    says="what it is to draw a bump",
    options={
        "bump_hit": "hit, and more like a bump, at 0.8",
        "hit": "hit, at 0.8",
        "error": "half of the zero baseline's error or less",
    },
)
ALONE = Choice(
    name="bumps", says="bumps alone", options={"100": "100", "50": "50", "25": "25", "all": "all"}
)
FAILED = Choice(
    name="failed",
    says="what it is not to suffice",
    options={
        "hit": "hits, 0.5 or less",
        "bump_hit": "drawn hits, 0.5 or less",
        "error": "half of the zero baseline's error or more",
    },
)
ONE_DIET = Exclusion(
    options={
        "network": ["cnn_square", "cnn_bright", "cnn_deep", "cnn_ramp"],
        "bumps": ["25", "50", "all"],
    },
    why="trained with 100 bumps beside the stripes only",
)
TWO_DIETS = Exclusion(
    options={"network": ["cnn_square"], "bumps": ["25", "50"]},
    why="trained with 100 bumps and with all only",
)
REGION = Choice(name="region", says="held out", options={"none": "nothing", "corner": "a corner"})
PLACES = Choice(
    name="places",
    says="where bumps lie",
    options={"anywhere": "anywhere", "pixels": "on pixels"},
)
MEASURE = Choice(
    name="measure",
    says="accuracy",
    options={"joint": "x and y", "marginal": "each by itself", "drawn": "a bump at x and y"},
)
TARGET = Choice(name="target", says="accuracy wanted", options={"0.8": "0.8", "0.5": "0.5"})
NEED = Choice(
    name="seeds",
    says="summary of seeds",
    options={"median": "lower median", "least": "best seed", "mean": "geometric mean"},
    extremes=("least",),
)
SIDES = Choice(
    name="sides",
    says="image sizes that count",
    options={"all": "all, each must get there", "reached": "those that do, three at least"},
)


def gathered(results: xr.Dataset) -> xr.Dataset:
    """What margins read of the results of FR Fig. 4: accuracies over (model, diet, seed)."""
    names = ("hit_ood", "bump_hit_ood", "hit_x_ood", "hit_y_ood", "cross_share_ood")
    names += ("like_cross_ood", "line_ood", "mse_ood", "zero_baseline_ood")
    there = [name for name in NETWORK.options if name in results["model"].values]
    return results[[*names]].sel(model=there).reset_coords(drop=True)


def needed(results: xr.Dataset) -> xr.Dataset:
    """The data `need`ed by every reading, over (model, seed), inf where a run does not get there;
    `side` of each model [px].
    """
    models = [name for name in results["model"].values.tolist() if name.startswith("side_")]
    if "need" not in results or not models:
        return xr.Dataset({"side": ("model", [])})
    need = results["need"].sel(model=models).dropna("seed", how="all").fillna(np.inf)
    side = ("model", [float(name.removeprefix("side_")) for name in models])
    return xr.Dataset({"need": need.reset_coords(drop=True), "side": side})


def _runs(r: Arrays, reading: Reading, diet: str) -> Callable[..., np.ndarray]:
    """The runs of a network on a diet: their arrays by name."""
    return partial(r, model=reading["network"], diet=diet)


def hits(r: Arrays, reading: Reading) -> np.ndarray:
    """With stripes alone it draws something at the right place."""
    runs, place = _runs(r, reading, "stripes+0"), reading["place"]
    names = ("hit_x", "hit_y") if place == "marginal" else (place,)
    shares = [summed(runs(f"{name}_ood"), reading, high=True) for name in names]
    return above(np.min(shares, 0).clip(1e-3), float(reading["bound"]))


def crosses(r: Arrays, reading: Reading) -> np.ndarray:
    """With stripes alone that is a cross."""
    name, bound = reading["cross"], 0.5 if reading["cross"] == "line" else 0.8
    values = _runs(r, reading, "stripes+0")(f"{name}_ood")
    return above(summed(values, reading, high=True).clip(1e-3), bound)


def draws(r: Arrays, reading: Reading) -> np.ndarray:
    """With stripes and a few bumps it draws bumps."""
    runs = _runs(r, reading, f"stripes+{reading['bumps']}")
    if reading["drawn"] == "error":
        over_zero = runs("mse_ood") / runs("zero_baseline_ood")
        return below(summed(over_zero, reading, high=False), 0.5)
    share = summed(runs(f"{reading['drawn']}_ood"), reading, high=True)
    return above(share.clip(1e-3), 0.8)


def insufficient(r: Arrays, reading: Reading) -> np.ndarray:
    """As many bumps alone do not suffice."""
    runs = _runs(r, reading, f"bumps+{reading['bumps']}")
    if reading["failed"] == "error":
        over_zero = runs("mse_ood") / runs("zero_baseline_ood")
        return above(summed(over_zero, reading, high=True), 0.5)
    share = summed(runs(f"{reading['failed']}_ood"), reading, high=False)
    return below(share.clip(1e-3), 0.5)


def _need(r: Arrays, reading: Reading, kind: str) -> np.ndarray:
    """The data needed, over (model, seed)."""
    where = {name: reading[name] for name in ("region", "places", "measure")}
    return r("need", **where, kind=kind, target=float(reading["target"]))


def exponent(r: Arrays, reading: Reading, kind: str) -> np.ndarray:
    """The slope of the logarithm of the data needed in that of the side; NaN where sizes that count
    do not get there. KeyError where fewer than three sizes were run.
    """
    models = len(r.labels["model"])
    if models < 3:
        raise KeyError("the models of three image sizes")
    need = _need(r, reading, kind)
    if reading["seeds"] == "median":
        amount = np.log(np.quantile(need, 0.5, axis=-1, method="lower"))
    else:
        amount = over(np.log(need), {"least": "min", "mean": "mean"}[reading["seeds"]])
    reached = np.isfinite(amount)
    x, y = (np.where(reached, one, np.nan) for one in (np.log(r("side")), amount))
    x, y = (one - over(one, "mean")[..., None] for one in (x, y))
    with np.errstate(invalid="ignore"):  # no size gets there
        slope = np.nansum(x * y, -1) / np.nansum(x**2, -1)
    wanted = models if reading["sides"] == "all" else 3
    return np.where(reached.sum(-1) >= wanted, slope, np.nan)


def at_once(r: Arrays, reading: Reading) -> np.ndarray:
    """The share of runs that the stripes alone bring there: then the need is 2 N by
    construction.
    """
    return (_need(r, reading, "stripes") <= 2 * r("side")[:, None]).mean((-2, -1))


def cubic(r: Arrays, reading: Reading) -> np.ndarray:
    """The exponent of bumps alone is 3, give or take a half."""
    return 0.5 - np.abs(exponent(r, reading, "bumps") - 3)


def linear(r: Arrays, reading: Reading) -> np.ndarray:
    """With stripes it is at most 1.5, and not by construction."""
    known = at_once(r, reading) <= 0.5
    return 1.5 - np.where(known, exponent(r, reading, "stripes"), np.nan)


def _with_stripes(r: Arrays, reading: Reading) -> float:
    """How near a reading comes to the exponent with stripes that FR say, 1."""
    return closeness(float(exponent(r, reading, "stripes")), 1.0)


def _without(r: Arrays, reading: Reading) -> float:
    """How near it comes to that without them, 3."""
    return closeness(float(exponent(r, reading, "bumps")), 3.0)


LAW = (REGION, PLACES, MEASURE, TARGET, NEED, SIDES)
STATEMENTS = (
    Statement(
        id="FR-4 places",
        says="With stripes alone a network draws at the right place, where it never saw a bump",
        choices=(NETWORK, PLACE, BOUND, SEEDS),
        margin=hits,
        band=BAND,
    ),
    Statement(
        id="FR-4 crosses",
        says="What it draws there is a cross",
        choices=(NETWORK, CROSS, SEEDS),
        margin=crosses,
        band=BAND,
    ),
    Statement(
        id="FR-4 bumps",
        says="With stripes and a few bumps a network draws bumps where it never saw one",
        choices=(NETWORK, BUMPS, DRAWN, SEEDS),
        margin=draws,
        excluded=(ONE_DIET,),
        band=BAND,
    ),
    Statement(
        id="FR-4 alone",
        says="Bumps alone do not teach a network to compose",
        choices=(SQUARE, ALONE, FAILED, SEEDS),
        margin=insufficient,
        excluded=(TWO_DIETS,),
        band=BAND,
    ),
)
LAWS = (
    Statement(
        id="FR-4 cubic",
        says="Bumps alone: the data needed grow like the third power of the side",
        choices=LAW,
        margin=cubic,
        weight=_with_stripes,
        kind="difference",
    ),
    Statement(
        id="FR-4 linear",
        says="With stripes the data needed grow like the side",
        choices=LAW,
        margin=linear,
        weight=_without,
        kind="difference",
    ),
)
