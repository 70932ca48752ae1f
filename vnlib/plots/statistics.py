"""The one way to say a number over seeds: median, range, number of seeds, and a 95 % interval of
the median.

Every page takes these from here, so that two pages cannot say different things of the same results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import bootstrap

_KEY = re.compile(r"[^\w-]+|_")  # what the key of a glued text has no use for
STATISTICS = ("median", "low", "high", "ci_low", "ci_high", "n")


def over_seeds(values: xr.DataArray, dim: str = "seed") -> xr.Dataset:
    """Median, lowest, highest, 95 % interval of the median and number of the values along a
    dimension.

    Values that are NaN do not exist. The interval is a percentile bootstrap of the median; with two
    values or fewer it is NaN. Variables are those of `STATISTICS`, over the other dimensions.
    """
    values = values.astype(float)
    core = {"input_core_dims": [[dim]], "output_core_dims": [[]] * 2, "vectorize": True}
    low, high = xr.apply_ufunc(_interval, values, **core)
    return xr.Dataset(
        {
            "median": values.median(dim),
            "low": values.min(dim),
            "high": values.max(dim),
            "ci_low": low,
            "ci_high": high,
            "n": values.notnull().sum(dim),
        }
    )


def median(values: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """The median along a dimension, over the values that exist: what a point, a bar or a cell of a
    figure shows.
    """
    return values.astype(float).median(dim)


def _interval(values: np.ndarray) -> tuple[float, float]:
    values = values[np.isfinite(values)]
    if len(values) < 3:
        return float("nan"), float("nan")
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    # Seeded: a page must say the same each time it is drawn.
    found = bootstrap((values,), np.median, method="percentile", n_resamples=2000, rng=0)
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def short(value: float) -> str:
    """Three digits at most: 0.412, 1.04, 12, and 3.2e-5 for small ones; thousands as 1,230; ""
    where there is no number.
    """
    if not np.isfinite(value):
        return ""
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-3 or size >= 1e5:
        return f"{value:.1e}".replace("e-0", "e-").replace("e+0", "e+")
    if size >= 1e3:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.0f}" if size >= 10 else f"{value:.2f}" if size >= 1 else f"{value:.3f}"


def percent(share: float) -> str:
    """A share as a whole number of percent, "87 %", none as -0; "" where there is no number."""
    return f"{round(100 * float(share)) + 0.0:.0f} %" if np.isfinite(share) else ""


def texts(key: str, values: Any, form: Callable[[float], str] = short) -> dict[str, str]:
    """Numbers as the texts of prose, by keys that name the way to each: "key-model-set", without
    blanks.

    Parameters
    ----------
    values
        A number, a text, an array, of which each dimension adds the value of its coordinate, or a
        table of such things by name. Over seeds the median is said.
    """
    if isinstance(values, str):
        return {_KEY.sub("-", key): values}
    if isinstance(values, xr.DataArray) and "seed" in values.dims:
        values = median(values)
    if isinstance(values, xr.DataArray) and values.ndim:
        names = values[values.dims[0]].values.tolist()
        values = dict(zip(names, values, strict=True))
    if isinstance(values, Mapping):
        parts = [texts(f"{key}-{name}", one, form) for name, one in values.items()]
        return {name: text for part in parts for name, text in part.items()}
    return texts(key, form(float(values)))


def said(middle: float, low: float, high: float) -> str:
    """A median with its range, "0.41 [0.38, 0.44]"; the number alone where all read the same, ""
    where there is none.
    """
    texts = [short(one) for one in (middle, low, high)]
    return (
        texts[0] if len(set(texts)) == 1 or not texts[1] else f"{texts[0]} [{texts[1]}, {texts[2]}]"
    )
