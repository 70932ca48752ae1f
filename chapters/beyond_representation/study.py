"""Are codes of two factors linear and orthogonal, and does that go along with composing? Models of
four benchmarks are trained, and read all combinations of two factors.
"""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from chapters.beyond_representation import grids, models
from chapters.beyond_representation.codes import VARIABLES as MEASURED
from chapters.beyond_representation.codes import measured
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import Training

VARIABLES = MEASURED | {"benchmark": ("benchmark of the model", "")}
# benchmark -> its grid, and what trains a model on it
BENCHMARKS = {
    "spatial": (grids.spatial, models.decoder),
    "functions": (grids.functions, models.autocoder),
    "forces": (grids.forces, models.dynamics),
    "digits": (grids.digits, models.autocoder),
}


def results(chapter: Chapter) -> xr.Dataset:
    """All models over seeds, each with the label, group and benchmark of the sidecar."""
    return chapter.grid(run, settings=settings, variables=VARIABLES)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run: a model with one seed; sizes of the profile are laid over it."""
    s, model = chapter.settings, chapter.model(axes["model"])
    benchmark = model["benchmark"]
    data = s["data"][benchmark] | {"seed": s["data_seed"]}
    data |= {name: s[name] for name in ("n_values", "n_states") if name in data}
    if benchmark == "digits":
        data["real"] = chapter.profile == "paper"
    return {
        "benchmark": benchmark,
        "data": data,
        "training": {
            "lr": model["lr"],
            "steps": max(2, round(s["scale"] * model["steps"])) if model["steps"] else 0,
            "batch_size": model["batch_size"],
        },
        "family": model["family"],
        "options": model["options"] | s.get("sizes", {}).get(axes["model"], {}),
        "details": bool(model.get("shown")) and axes["seed"] == chapter.seeds[0],
    }


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train one model with one seed, on the CPU, and measure its codes (see `codes.measured`)."""
    make, train = BENCHMARKS[settings["benchmark"]]
    grid = make(**settings["data"])
    training = Training(seed=axes["seed"], workdir=workdir, **settings["training"])
    model = train(
        grid.train, grid.validation, training, family=settings["family"], **settings["options"]
    )
    return measured(model, grid, details=settings["details"])
