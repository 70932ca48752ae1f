"""Results as plain arrays that are picked by name: thousands of readings are asked of them, and each
would wait longer for labelled arithmetic than for its numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable

import numpy as np
import xarray as xr


class Arrays:
    """Variables of results, called by their name and by labels along dimensions.

    Axes are in the order of the results, but "resample" is the first and "seed" the last, so that
    margins count axes from the end and need not know of resamples.

    Attributes
    ----------
    labels : dict
        Dimension -> label -> its place.
    """

    def __init__(self, results: xr.Dataset) -> None:
        self.labels = {
            str(dim): {label: place for place, label in enumerate(results[dim].values.tolist())}
            for dim in results.dims
        }
        ordered = results.transpose("resample", ..., "seed", missing_dims="ignore")
        self._axes = {name: [str(dim) for dim in one.dims] for name, one in ordered.items()}
        self._values = {name: one.values for name, one in ordered.items()}

    def __call__(self, name: str, **where: Hashable | list) -> np.ndarray:
        """The array of a variable at a label of each dimension named, or at a list of labels; all of
        it along those that it has not.

        KeyError says which label lacks.
        """
        values, axes = self._values[name], [*self._axes[name]]
        for dim, label in where.items():
            many = isinstance(label, list)
            place = [self._place(dim, one) for one in label] if many else self._place(dim, label)
            if dim in axes:
                values = values[(slice(None),) * axes.index(dim) + (place,)]
                if not many:
                    axes.remove(dim)
        return values

    def _place(self, dim: str, label: Hashable) -> int:
        if label not in self.labels[dim]:
            raise KeyError(f"the {dim} {label}")
        return self.labels[dim][label]


def over(values: np.ndarray, how: str, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """The "mean", "median", "min" or "max" of what is known along axes, seeds for one; NaN where
    nothing is.
    """
    if not np.isnan(values).any():
        return getattr(np, how)(values, axis=axis)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nothing is known
        return getattr(np, f"nan{how}")(values, axis=axis)
