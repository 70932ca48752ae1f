"""Models compared over seeds, each with the candidate settings that do best on validation data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.store.variables import Variables


def compared(
    chapter: Chapter,
    run: Run,
    settings: Callable[[Chapter, Axes, int, bool], Settings],
    variables: Variables,
    criterion: str | Callable[[xr.Dataset], xr.DataArray] = "criterion",
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """The reported runs over (model, seed), and those behind them over (model, candidate), None
    where there is nothing to choose.

    A model's section of the sidecar lists its `candidates`, tables that are laid over its settings.
    Where the profile has `candidates` above 1, that many are tried with the seed `selection_seed`,
    which is never reported, and the one with the least `criterion`, which must be measured on
    in-distribution validation data, makes the reported runs. A model that is `like` another takes
    that one's choice unless it `chooses`. Otherwise it is the first candidate.

    Runs and variables are those of `Chapter.grid`. A run's settings are `settings(chapter, axes,
    candidate, selecting)`; the axes of a selecting run lack the seed.
    """

    def selecting(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
        seed = chapter.settings["selection_seed"]
        return run(chapter, {"model": axes["model"], "seed": seed}, settings, workdir)

    models = chapter.models.items()
    chooser = {name: name if one.get("chooses") else one.get("like", name) for name, one in models}
    names = dict.fromkeys(chooser.values())
    names = [name for name in names if len(chapter.model(name)["candidates"]) > 1]
    selection, best = None, {}
    if names and (count := chapter.settings.get("candidates", 1)) > 1:
        selection = chapter.grid(
            selecting,
            {"model": names, "candidate": list(range(count))},
            lambda chapter, axes: settings(chapter, axes, axes["candidate"], True),
            variables=variables,
            part="selection",
        )
        values = selection[criterion] if isinstance(criterion, str) else criterion(selection)
        best = {name: int(values.sel(model=name).idxmin("candidate")) for name in names}
    results = chapter.grid(
        run,
        {"model": list(chapter.models), "seed": chapter.seeds},
        lambda chapter, axes: settings(chapter, axes, best.get(chooser[axes["model"]], 0), False),
        variables=variables,
    )
    return results, selection


def with_candidate(
    model: Mapping[str, Any], candidate: int, sizes: Mapping[str, Any] | None = None
) -> tuple[float, dict[str, Any]]:
    """Learning rate and options of a model: over its own are laid the profile's `sizes`, and one of
    its candidates over both.
    """
    one = dict(model["candidates"][candidate])
    rate = one.pop("lr", model.get("lr"))
    return rate, {**model.get("options", {}), **(sizes or {}), **one}


def training(chapter: Chapter, name: str, candidate: int, selecting: bool) -> dict[str, Any]:
    """How a model trains: its family and batch size, learning rate and options (the profile's
    `sizes` are of families or models), and steps: `scale` of its own, at least `least` where it has
    any, in runs that select a `selection_share` of these.
    """
    s, model = chapter.settings, chapter.model(name)
    sizes = s.get("sizes", {})
    small = sizes.get(model["family"], {}) | sizes.get(name, {})
    lr, options = with_candidate(model, candidate, small)
    steps = s["scale"] * (s["selection_share"] if selecting else 1) * model["steps"]
    steps = max(s["least"], round(steps)) if model["steps"] else 0
    own = {key: model[key] for key in ("family", "batch_size")}
    return own | {"options": options, "lr": lr, "steps": steps}
