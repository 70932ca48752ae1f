"""What a reader may explore of FR Fig. 1: any position, and two of the models."""

from __future__ import annotations

from typing import Any

import xarray as xr

from benchmarks.spatial.figures_explorer import of_two_models, positions
from chapters.FR1_failure.figures import with_images, within

FIRST = {"left": "cnn_bump", "right": "factorised"}
POSITION = 406  # in the middle of the square


def explorer(results: xr.Dataset, drawings: xr.Dataset | None = None) -> dict[str, Any]:
    """Errors at every position with the square held out, over seeds, and drawings of the first seed."""
    own = within(results, "square")
    kept = with_images(own)["shown_image"].sel(panel="output", drop=True)
    return positions(
        own,
        of_two_models(own, FIRST),
        samples=kept,
        drawings=None if drawings is None else drawings.sel(hold_out="square"),
        held_out=own["held_out"].isel(model=0, seed=0) == 1,
        first=POSITION,
        found="The CNN errs inside the hold-out far more than outside it, the factorised decoder nearly alike.",
        quantity="ink",
    )
