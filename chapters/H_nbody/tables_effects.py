"""What happens to errors as bodies drop out, under feedback, and in rollouts: numbers that figures
and tables share.

`shared` are the results of VN Fig. 4; `results` those of the ablation, over model (the reading of
the input), variant and seed, with the coordinates beta, revive and kind of the variant.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.nbody.figures import error, mixed
from vnlib.plots.statistics import median

STILL = np.log10(1.5)  # log10 of the factor below which an error hardly changes
WAYS = (
    "ID up",
    "both up",
    "OOD up",
    "ID down, OOD up",
    "ID down",
    "both down",
    "OOD down",
    "ID up, OOD down",
)


def plane(shared: xr.Dataset, *, relative: bool = False) -> xr.Dataset:
    """Medians over force sets (model, seed, bodies), all forces given at once: `id` over single
    forces, `ood` over mixtures, `pool` over all of them, which is the paper's pool.

    Parameters
    ----------
    relative
        Errors over the mean square of true accelerations: fewer bodies feel weaker forces.
    """
    values, several = error(shared, relative=relative), mixed(shared).values
    # A model without numbers stays without: skipna would make a median of what is left.
    parts = {"id": values.isel(forces=~several), "ood": values.isel(forces=several), "pool": values}
    return xr.Dataset({name: one.median("forces", skipna=False) for name, one in parts.items()})


def growth(shared: xr.Dataset, *, relative: bool = False) -> xr.Dataset:
    """log10 of the factor by which `plane` grows from the most bodies to the fewest (model,
    seed).
    """
    logs = np.log10(plane(shared, relative=relative))
    return logs.sel(bodies=shared["bodies"].min()) - logs.sel(bodies=shared["bodies"].max())


def directions(shared: xr.Dataset, *, relative: bool = False) -> dict[str, str]:
    """Which way each model moves in the plane; medians over seeds."""
    moved = growth(shared, relative=relative).median("seed")
    ends = {m: moved.sel(model=m) for m in shared["model"].values.tolist()}
    return {m: direction(float(one["id"]), float(one["ood"])) for m, one in ends.items()}


def direction(ids: float, oods: float) -> str:
    """The nearest of eight directions, from the log10 of the growth along both axes; "hardly" for
    less than a factor of 1.5.
    """
    if np.hypot(ids, oods) <= STILL:
        return "hardly"
    return WAYS[int(np.rint(np.arctan2(oods, ids) / (np.pi / 4))) % 8]


def variant(results: xr.Dataset, kind: str, *, beta: float, revive: bool = False) -> xr.Dataset:
    """The results of one variant."""
    there = (results["kind"] == kind) & (results["revive"] == revive) & (results["beta"] == beta)
    return results.isel(variant=np.flatnonzero(there.values)).squeeze("variant", drop=True)


def default(results: xr.Dataset) -> float:
    """The default weight of feedback: that of the inverted variant."""
    return float(results["beta"].values[results["kind"].values == "inverted"][0])


def interaction(results: xr.Dataset, name: str = "ood_error") -> xr.Dataset:
    """What feedback is worth (model, seed), in log10 of an error: `off` and `on`, beta at its
    default against 0, without and with the revival of dead atoms, below 0 where feedback helps;
    `both` = on - off, 0 where the two effects add, above 0 where they compete.
    """
    beta = default(results)
    off, on = (
        np.log10(variant(results, "plain", beta=beta, revive=revive)[name])
        - np.log10(variant(results, "plain", beta=0.0, revive=revive)[name])
        for revive in (False, True)
    )
    return xr.Dataset({"off": off, "on": on, "both": on - off})


def changed(results: xr.Dataset, kind: str, name: str = "ood_error") -> xr.DataArray:
    """log10 of an error of the split or inverted variant over that of the default (model, seed)."""
    beta = default(results)
    own, plain = (variant(results, k, beta=beta)[name] for k in (kind, "plain"))
    return np.log10(own) - np.log10(plain)


def final_drift(shared: xr.Dataset) -> xr.DataArray:
    """Squared distance from the truth at the last step, median over starts (model, seed, panel)."""
    return median(shared["drift"].isel(step=-1), "start")


def one_step(shared: xr.Dataset) -> xr.DataArray:
    """One-step errors of five bodies over the power of accelerations (model, seed, panel)."""
    error_ = error(shared, relative=True).sel(bodies=shared["bodies"].max(), drop=True)
    panels = [p for p in shared["panel"].values.tolist() if p in shared["forces"].values]
    return error_.sel(forces=panels).rename(forces="panel")


def rank_correlations(shared: xr.Dataset) -> list[float]:
    """Spearman's coefficient of one-step error and final drift over models, by panel."""
    pair = xr.Dataset({"error": median(one_step(shared)), "drift": median(final_drift(shared))})
    frames = [pair.sel(panel=p).to_dataframe()[["error", "drift"]] for p in pair["panel"].values]
    found = [float(one.dropna().corr("spearman").iloc[0, 1]) for one in frames]
    return [value for value in found if np.isfinite(value)]
