"""Test cases drawn anew. All seeds share them, so they are another source of chance than seeds (see
`vnlib.book.resampling`). Where results keep none of them, an interval is of training alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

DRAWN = 200  # resamples


def retested(
    results: xr.Dataset, cases: Sequence[str], means: Mapping[str, tuple[str, Mapping[str, str]]]
) -> Iterator[xr.Dataset]:
    """Results of resampled test cases, the same for all models and seeds.

    Parameters
    ----------
    cases
        Their dimensions; of none there is no resample.
    means
        Averages over cases, by name: of which errors, and at which coordinates, where the errors
        have that dimension of these, else of the average. Errors may be kept of some seeds only;
        then all averages change by the factor by which those of these seeds do.
    """
    if not cases:
        return
    rng = np.random.default_rng(1)
    for _ in range(DRAWN):
        found = results
        for case in cases:
            size = results.sizes[case]
            found = _drawn(found, case, rng.integers(size, size=size).tolist())
        yield found.assign(
            {mean: _changed(results, found, mean, *errors) for mean, errors in means.items()}
        )


def _changed(
    results: xr.Dataset, found: xr.Dataset, mean: str, errors: str, where: Mapping[str, str]
) -> xr.DataArray:
    """An average over cases by those that were drawn, and as it was where none are kept."""
    of = {dim: value for dim, value in where.items() if dim in results[errors].dims}
    case = [dim for dim in results[errors].dims if dim not in results[mean].dims and dim not in of]
    before, after = (one[errors].sel(of).mean(case) for one in (results, found))
    factor = (after / before).mean("seed").fillna(1)
    for dim in where.keys() - of.keys():
        factor = factor.where(results[dim] == where[dim], 1)
    return (results[mean] * factor).transpose(*results[mean].dims)


def _drawn(results: xr.Dataset, unit: str, rows: Sequence[int]) -> xr.Dataset:
    """The rows under the names of those that were there, so that names stay unique."""
    return results.isel({unit: rows}).assign_coords({unit: results[unit]})
