"""Networks of signals that fill in what is hidden, each in one part another than those of Fig. 3.

They see the signals and masks of chapter fig3_functions, whose results hold the networks that they
are compared with.
"""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path

import torch
import xarray as xr
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.functions.imputer import Fill, Imputer
from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.names import SETS
from benchmarks.functions.samples import BySet, Seen, by_set, dataset, observed
from vnlib.book.chapter import Axes, Chapter, Settings

POWER = "ID power"  # the mean power of training signals, which the task makes 1
BATCH = 240  # signals that are filled in at once
VARIABLES = {
    "depth": ("layers of the network", "1"),
    "recipe": ("what differs from the networks of Fig. 3", ""),
    "solver": ("rounds of imputation, or the masked problem's minimum", ""),
    "mask": ("which samples are hidden", ""),
    "set": ("set of signals", ""),
    "signal": ("number of a test signal", "1"),
    "hidden": ("mean squared error on the hidden samples of a signal", POWER),
    "fact_active": ("atoms of layer 1 in use per signal", "1"),
    "fact_active_top": ("atoms of the top layer in use per signal", "1"),
    "fact_used": ("atoms of layer 1 that any validation signal uses", "1"),
    "fact_parameters": ("learned numbers of the model", "1"),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All networks over seeds."""
    return chapter.grid(
        run, settings=partial(settings, shared=shared(chapter)), variables=VARIABLES
    )


def shared(chapter: Chapter) -> xr.Dataset:
    """The results of Fig. 3."""
    return chapter.results_of("fig3_functions")


@cache
def _signals(told: str) -> dict:
    """Which signals and masks a run of Fig. 3 saw."""
    return {key: json.loads(told)[key] for key in ("data", "masks", "mask_seeds")}


def settings(chapter: Chapter, axes: Axes, shared: xr.Dataset) -> Settings:
    """The settings of one run: a network and a seed, with the data of Fig. 3."""
    s, model = chapter.settings, chapter.model(axes["model"])
    small = s.get("sizes", {}) | {"rounds": s["rounds"]}
    if "atoms" in s:
        small["atoms"] = s["atoms"][model["recipe"]]
    own = {key: model[key] for key in ("family", "lr", "batch_size")}
    steps = max(2, round(s["scale"] * model["steps"]))
    return {
        **_signals(str(shared["run_settings"].values.flat[0])),
        "training": own | {"options": model["options"] | small, "steps": steps},
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train one network on whole signals, and have it fill in those of all sets."""
    x = by_set(dataset(**settings["data"]), device=chapter.device)
    seen = observed(x, settings["masks"], settings["mask_seeds"])
    how = {"seed": axes["seed"], "workdir": workdir, **settings["training"]}
    model = fit_imputer(x["train"], x["val"], **how)
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    return xr.Dataset({"hidden": hidden(model, x, seen)} | facts)


def hidden(model: Imputer, x: BySet, seen: Seen) -> xr.DataArray:
    """Mean squared errors on hidden samples (solver, mask, set, signal)."""
    rows = {}
    for mask, by in seen.items():  # noqa: B007 - a mask and what it leaves
        fills = {"rounds": model.zero_filled, "limit": model.mask_aware(x["val"], by["val"])}
        for solver, fill in fills.items():
            errors = [square_error(fill, x[name], by[name]) for name in SETS]
            rows.setdefault(solver, []).append(torch.stack(errors))
    values = torch.stack([torch.stack(by_mask) for by_mask in rows.values()]).cpu().numpy()
    axes = {"solver": list(rows), "mask": list(seen), "set": list(SETS)}
    axes["signal"] = list(range(values.shape[-1]))
    return xr.DataArray(values.astype("float32"), axes, tuple(axes))


@torch.no_grad()
def square_error(
    fill: Fill, x: Float[Tensor, "signal time"], seen: Bool[Tensor, "signal time"]
) -> Float[Tensor, " signal"]:
    """The mean squared error of each signal where it is hidden."""
    parts = zip(x.split(BATCH), seen.split(BATCH), strict=True)
    drawn = torch.cat([fill(*part) for part in parts])
    return torch.where(seen, 0.0, (drawn.double() - x).square()).sum(1) / (~seen).sum(1)
