"""Numbers as texts and tables show them, and the tables of the settings that were tried."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from vnlib.plots.rows import label


def short(value: float) -> str:
    """Three digits at most: 0.412, 1.04, 12, and 3e-5 for small ones; "" where there is no
    number.
    """
    if not np.isfinite(value):
        return ""
    if value == 0:
        return "0"
    if abs(value) < 1e-3 or abs(value) >= 1e3:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e+")
    return f"{value:.3f}"[:5] if abs(value) < 10 else f"{value:.0f}"


def spread(values: xr.DataArray, said: Callable[[float], str] = short) -> str:
    """Median and [lowest, highest] over seeds; "" where there are none."""
    values = values.dropna("seed")
    if not values.size:
        return ""
    low, middle, high = (said(float(v)) for v in (values.min(), values.median(), values.max()))
    return f"{middle} [{low}, {high}]" if values.size > 1 else middle


def ranged(values: xr.DataArray | np.ndarray, text: str = "{:.3g}") -> str:
    """Median and [lowest, highest] of all values that exist; one number where they read the same,
    "" for nothing.
    """
    one = np.asarray(values, float)
    one = one[np.isfinite(one)]
    if not one.size:
        return ""
    # no -0
    middle, low, high = (text.format(v + 0.0) for v in (np.median(one), one.min(), one.max()))
    return middle if low == high else f"{middle} [{low}, {high}]"


def listed(parts: Sequence[str]) -> str:
    """a, b and c."""
    return (
        parts[0]
        if len(parts) == 1
        else f"{', '.join(parts[:-1])} and {parts[-1]}"
        if parts
        else "none"
    )


def trials(
    tuning: xr.Dataset | None,
    criterion: str = "criterion",
    said: Callable[[float], str] = short,
    results: xr.Dataset | None = None,
) -> pd.DataFrame | str:
    """What every model's settings differ in, and the criterion they were compared by; the chosen
    one has a `*`.

    `tuning` holds the criterion over (model, trial); None: a sentence that says so. `results`: with
    the models' names.
    """
    if tuning is None:
        return "Nothing was tuned in this profile: every model takes its first setting."
    rows = {}
    for model in tuning["model"].values:
        one = tuning.sel(model=model)
        settings = [json.loads(str(text)) for text in one["run_settings"].values]
        training = [each.get("training", each) for each in settings]
        tried = [{"lr": each["lr"]} | each.get("options", {}) for each in training]
        differ = [name for name in tried[0] if len({json.dumps(each[name]) for each in tried}) > 1]
        chosen = int(one[criterion].argmin("trial"))
        named = [", ".join(f"{name} {_value(each[name])}" for name in differ) for each in tried]
        rows[label(results, model) if results is not None else str(model)] = [
            f"{name}: {said(float(error))}{' *' * (n == chosen)}"
            for n, (name, error) in enumerate(zip(named, one[criterion].values, strict=True))
        ]
    columns = [f"setting {n}" for n in range(1, tuning.sizes["trial"] + 1)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(
        columns="model"
    )


def _value(value: float | Sequence[float]) -> str:
    """A number, or numbers in brackets."""
    return (
        f"[{', '.join(f'{one:g}' for one in value)}]" if isinstance(value, list) else f"{value:g}"
    )
