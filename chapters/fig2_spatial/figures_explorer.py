"""What a reader may explore of Fig. 2: any position, and two of the models."""

from __future__ import annotations

from typing import Any

import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.spatial.figures_explorer import of_two_models, positions
from chapters.fig2_spatial.figures_hold_out import middle_seed

FIRST = {"left": "cnn4", "right": "vn_full", "position": 406}  # in the middle of the hold-out


def explorer(results: xr.Dataset, drawings: xr.Dataset | None = None) -> dict[str, Any]:
    """Errors at every position, over seeds, and drawings, of each model by the seed of the median
    error inside the hold-out.
    """
    results = once(results)
    models = results["model"].values.tolist()
    samples = xr.concat(
        [
            one["sample_image"].isel(seed=middle_seed(one["mse_ood"]))
            for one in (results.sel(model=m) for m in models)
        ],
        results["model"],
        coords="minimal",
        compat="override",
    )
    told = of_two_models(results, FIRST)
    return positions(
        results,
        told,
        samples=samples,
        drawings=drawings,
        held_out=results["split"] == "ood",
        first=FIRST["position"],
        found="The CNN errs inside the hold-out far more than outside it, the full 2D VN nearly alike.",
        whose="the seed of the median error inside the hold-out",
    )
