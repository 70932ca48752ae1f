"""From labelled arrays to seaborn: long frames, names of models, and what stands for a missing figure."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

NOT_COMPUTED = "Not computed in this run: other models or another profile have it."


def long_frame(values: xr.DataArray, name: str = "value") -> pd.DataFrame:
    """One row per value that exists, with a column for each coordinate: what seaborn draws from."""
    return values.rename(name).to_dataframe().reset_index().dropna(subset=[name])


def label(results: xr.Dataset | xr.DataArray, model: str) -> str:
    """How readers call a model."""
    return str(results["label"].sel(model=model).item())


def group(results: xr.Dataset | xr.DataArray, model: str) -> str:
    """Which group of the chapter a model belongs to."""
    return str(results["group"].sel(model=model).item())


def in_groups(results: xr.Dataset, *groups: str) -> list[str]:
    """The models of these groups in the order of the results; of all where none is named."""
    models, of = results["model"].values, results["group" if groups else "model"].values
    return [str(m) for m, one in zip(models, of, strict=True) if not groups or one in groups]


def empty(said: str) -> Figure:
    """A figure that says why there is none: the reader asked for other models."""
    fig, ax = plt.subplots(figsize=(5, 0.6))
    ax.text(0, 0.5, said, va="center")
    ax.set_axis_off()
    return fig


def some(found: Any) -> Any:
    """The models that are there, of those a figure shows; KeyError where none is."""
    if not len(found):
        raise KeyError("none of them")
    return found


def otherwise(say: Callable[[str], Any]) -> Callable[[Callable], Callable]:
    """A decorator: where results lack what is shown, which is a KeyError, `say` says so."""

    def decorate(show: Callable) -> Callable:
        @wraps(show)
        def shown(*args: Any, **kwargs: Any) -> Any:
            try:
                return show(*args, **kwargs)
            except KeyError:
                return say(NOT_COMPUTED)

        return shown

    return decorate


if_computed = otherwise(empty)
