"""Tables of appendix D, and the numbers of its prose."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from chapters.D_learning.figures import main_network
from vnlib.plots.statistics import median
from vnlib.plots.tables import Table, spread

UPKEEP = {
    "mse": "error of V a × 1000",
    "active": "active atoms",
    "dead": "dead, %",
    "idle": "idle per update, %",
    "revived": "re-drawn",
    "coherence": "coherence",
    "overlap": "r.m.s. overlap",
}


def upkeep(results: xr.Dataset) -> Table:
    """What became of the dictionary under every option, start and sparsity."""
    axes = ["upkeep_sparsity", "start", "variant"]
    cells = results[[f"upkeep_{name}" for name in UPKEEP]].stack(cell=axes)
    names = pd.MultiIndex.from_tuples(cells["cell"].values.tolist(), names=["λ", *axes[1:]])
    cells = cells.drop_vars(["cell", *axes]).assign_coords(cell=range(len(names)))
    parts = [
        spread(scale(title) * cells[f"upkeep_{name}"], "cell", title=title)
        for name, title in UPKEEP.items()
    ]
    return Table(pd.concat(parts, axis=1).set_index(names), name="upkeep of the dictionary")


def scale(title: str) -> float:
    """By what a column is multiplied, as its title says."""
    return 100.0 if title.endswith("%") else 1000.0 if title.endswith("1000") else 1.0


def meeting(results: xr.Dataset) -> Table:
    """Error, activity and overlap of every model; medians over pairs, then over seeds."""
    size = abs(results["meet_pair_cosine"]).median("pair")
    passed = results["passed_on"].rename(stepped="model").reindex(model=results["model"])
    passed = passed.assign_coords(label=results["label"])
    hurt = (passed < 0).mean("arrow").where(passed.notnull().all("arrow"))
    quantities = {
        "error × 1000": results["meet_mse"],
        "active atoms, %": results["meet_active_share"],
        "|cos| of codes": results["meet_code_cosine"],
        "|cos| of residuals": results["meet_residual_cosine"],
        "|cos| of updates × 1000": size,
        "passed on, size, %": abs(passed).median("arrow"),
        "pairs hurt, %": hurt,
    }
    parts = [
        spread(scale(title) * values, "model", title=title) for title, values in quantities.items()
    ]
    return Table(pd.concat(parts, axis=1), name="how updates meet")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the results: medians over seeds."""
    vn = main_network(results)
    idle = 100 * median(results["local_idle"].sel(optimiser="masked Adam").mean("update"))
    size = median(abs(results["meet_pair_cosine"]).median("pair"))
    errors = median(results["upkeep_mse"])
    mask = abs(errors.sel(variant="without the mask") / errors.sel(variant="as it is") - 1)
    dead = 100 * median(results["upkeep_dead"].sel(start="chance").isel(upkeep_sparsity=-1))
    last = {
        name: median(results[f"interface_{name}"].isel(stage=-1))
        for name in ("mse_from_top", "energy")
    }
    shared = median(results["shared_residual"]).values
    found = {
        "appD-idle-one": f"{float(idle[0]):.0f}",
        "appD-idle-largest": f"{float(idle[-1]):.0f}",
        "appD-largest-batch": f"{int(results['batch_size'][-1])}",
        "appD-mask": f"{100 * float(mask.max()):.1f}",
        "appD-dead": f"{float(dead.sel(variant='as it is')):.0f}",
        "appD-dead-redrawn": f"{float(dead.sel(variant='dead atoms re-drawn')):.0f}",
        "appD-zero": f"{float(median(results['mse_zero'])):.4f}",
    }
    models = {"vn": vn, "linear": "linear", "whitened": "whitened", "relu": "ReLU"}
    found |= {f"appD-cosine-{k}": f"{float(size.sel(model=m)):.5f}" for k, m in models.items()}
    for rule in ("literal", "frozen", "subspace"):
        found[f"appD-strict-{rule}"] = f"{float(last['mse_from_top'].sel(rule=rule)):.4f}"
        found[f"appD-energy-{rule}"] = f"{float(last['energy'].sel(rule=rule)):.2f}"
    for key, value in zip(("low", "middle", "high"), shared, strict=True):
        found[f"appD-shared-{key}"] = f"{value:.2f}"
    return found
