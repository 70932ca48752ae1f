"""The network where codes are damaged, with penalties over a wider range, added after the others: on
such codes the largest penalty of `study` was chosen, the end of its range.
"""

from __future__ import annotations

from collections.abc import Callable

import xarray as xr

from chapters.best_positions import study
from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.store.variables import Variables


def results(chapter: Chapter, found: xr.Dataset) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `wider`, in a file of their own, of tasks,
    models and seeds that the study `found`; empty where it has none of them.
    """
    return among(chapter, found, "wider", study.run, settings)


def among(
    chapter: Chapter,
    found: xr.Dataset,
    part: str,
    run: Run,
    settings: Callable[[Chapter, Axes], Settings],
    variables: Variables = study.VARIABLES,
) -> xr.Dataset:
    """Runs of the tasks and models that a part of the sidecar names, of those that the study
    `found`; empty without a task or a model.
    """
    asked = chapter.spec.sidecar[part]
    axes = {
        axis: [name for name in asked[f"{axis}s"] if name in found[axis].values]
        for axis in ("task", "model")
    }
    if not all(axes.values()):
        return xr.Dataset()
    axes["seed"] = chapter.seeds
    return chapter.grid(run, axes, settings, variables=variables, part=part)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of `study`, with other penalties."""
    same = study.settings(chapter, axes)
    penalties = {"penalties": chapter.spec.sidecar["wider"]["penalties"]}
    options = same["training"]["options"] | penalties
    return same | {"training": same["training"] | {"options": options}}
