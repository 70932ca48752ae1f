"""The rotated digits in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import xarray as xr

from benchmarks.spatial.errors import late_gain
from chapters.FR5_rotation.claims import middle_of_gap
from vnlib.plots.statistics import percent, texts
from vnlib.plots.tables import Table, if_computed, spreads

EXPLAINED = {"blend": "a blend", "rotation": "a rotation", "truth": "the true image"}
RUNS = ("digit", "seed")


def explained(results: xr.Dataset, by: str) -> xr.DataArray:
    """Share of the output's squared distance from the mean training image that the best blend, the
    nearest rotation or the true image explains, in the middle half of the gap.
    """
    rest = middle_of_gap(results)
    return 1 - rest[f"rest_{by}"] / rest["rest_mean"]


@if_computed
def models(results: xr.Dataset) -> Table:
    """Errors, and what explains the outputs: median and range over digits and seeds. The late gain
    is the share of the validation error that the last fifth of the updates took away.
    """
    columns = {"ID test error": results["mse_id"], "error in the gap": results["mse_ood"]}
    columns |= {f"explained by {name}": explained(results, by) for by, name in EXPLAINED.items()}
    runs = xr.Dataset(columns).rename(seed="run").stack(seed=("digit", "run"))
    once = {"late gain": late_gain(results).median(RUNS)}
    once["parameters"] = results["n_parameters"].max(RUNS)
    formats = {"late gain": percent, "parameters": "{:,.0f}"}
    return Table(
        spreads({**runs, **once}, "model"), formats, name="errors and explanations per model"
    )


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the models: medians over digits and seeds."""
    blend, rotation = (explained(results, by) for by in ("blend", "rotation"))
    shares = {"blend": blend.median(RUNS), "rotation": rotation.median(RUNS)}
    shares["nearer"] = (blend > rotation).mean(RUNS)
    hump = (results["mse_ood"] / results["mse_id"]).median(RUNS)
    first = results.isel(model=0)
    gap = first.sel(angle=first["gap_angle"].values).mean("angle")
    guesses = {
        "zero": gap["error_zero_baseline"].median(),
        "mean": gap["error_mean"].median(),
        "blend": first["blend_error"].mean("gap_angle").median(),
    }
    return {
        **texts("fr5-hump", hump, "{:.0f}".format),
        **texts("fr5", shares, percent),
        **texts("fr5-error", guesses),
    }
