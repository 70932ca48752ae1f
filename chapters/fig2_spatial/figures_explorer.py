"""What a reader may explore of Fig. 2: any position, and two of the models."""

from __future__ import annotations

from typing import Any

import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.spatial.figures_explorer import of_two_models, positions
from chapters.fig2_spatial.figures_hold_out import middle_seed

FIRST = {"left": "cnn4", "right": "vn_full", "position": 406}  # in the middle of the hold-out


def explorer(results: xr.Dataset) -> dict[str, Any]:
    """Errors at every position, over seeds; drawings where they are stored, of each model by the
    seed of the median error inside the hold-out.
    """
    results = once(results)
    models = results["model"].values.tolist()
    drawn = xr.concat(
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
        drawn=drawn.rename(sample="position"),
        target=results["target_image"].rename(sample="position"),
        held_out=results["split"] == "ood",
        first=FIRST["position"],
        more="Drawings are those of the seed of the median error inside the hold-out.",
    )
