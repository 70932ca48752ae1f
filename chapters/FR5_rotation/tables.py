"""The rotated digits in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from chapters.FR5_rotation.claims import middle_of_gap
from vnlib.plots.statistics import short
from vnlib.plots.tables import Table, spread

EXPLAINED = {"blend": "a blend", "rotation": "a rotation", "truth": "the true image"}
RUNS = ("digit", "seed")


def explained(results: xr.Dataset, by: str) -> xr.DataArray:
    """Share of the output's squared distance from the mean training image that the best blend, the
    nearest rotation or the true image explains, in the middle half of the gap.
    """
    rest = middle_of_gap(results)
    return 1 - rest[f"rest_{by}"] / rest["rest_mean"]


def models(results: xr.Dataset) -> Table:
    """Errors, and what explains the outputs: median and range over digits and seeds."""
    columns = {"ID test error": results["mse_id"], "error in the gap": results["mse_ood"]}
    columns |= {f"explained by {name}": explained(results, by) for by, name in EXPLAINED.items()}
    frame = pd.concat(
        [
            spread(values.stack(run=RUNS), "model", title=name, dim="run")
            for name, values in columns.items()
        ],
        axis=1,
    )
    frame["parameters", ""] = results["n_parameters"].max(RUNS).values
    return Table(frame, formats={"parameters": "{:,.0f}"}, name="errors and explanations per model")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the models: medians over digits and seeds."""
    shares = {by: explained(results, by) for by in ("blend", "rotation")}
    hump = results["mse_ood"] / results["mse_id"]
    found = {}
    for model in results["model"].values.tolist():
        key = f"fr5-{model.replace('_', '-')}"
        found[f"{key}-hump"] = f"{float(hump.sel(model=model).median()):.0f}"
        one = {by: share.sel(model=model) for by, share in shares.items()}
        for by, share in one.items():
            found[f"{key}-{by}"] = f"{100 * float(share.median()):.0f} %"
        found[f"{key}-nearer"] = f"{100 * float((one['blend'] > one['rotation']).mean()):.0f} %"
    first = results.isel(model=0)
    guesses = {
        "zero": first["error_zero_baseline"].sel(angle=results["gap_angle"].values).mean("angle"),
        "mean": first["error_mean"].sel(angle=results["gap_angle"].values).mean("angle"),
        "blend": first["blend_error"].mean("gap_angle"),
    }
    return found | {f"fr5-error-{n}": short(float(v.median())) for n, v in guesses.items()}
