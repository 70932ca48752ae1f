"""The network where codes are damaged, with penalties over a wider range, added after the others: on
such codes the largest penalty of `study` was chosen, the end of its range.
"""

from __future__ import annotations

import xarray as xr

from chapters.best_positions import study
from vnlib.book.chapter import Axes, Chapter, Settings


def results(chapter: Chapter, found: xr.Dataset) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `wider`, in a file of their own, of tasks,
    models and seeds that the study `found`; empty where it has none of them.
    """
    axes = among(chapter, found, "wider")
    if not axes:
        return xr.Dataset()
    return chapter.grid(study.run, axes, settings, variables=study.VARIABLES, part="wider")


def among(chapter: Chapter, found: xr.Dataset, part: str) -> dict[str, list]:
    """The tasks and models that a part of the sidecar names, of those that the study `found`, and
    the seeds; nothing without a task or a model.
    """
    asked = chapter.spec.sidecar[part]
    axes = {
        axis: [name for name in asked[f"{axis}s"] if name in found[axis].values]
        for axis in ("task", "model")
    }
    return {**axes, "seed": chapter.seeds} if all(axes.values()) else {}


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of `study`, with other penalties."""
    same = study.settings(chapter, axes)
    penalties = {"penalties": chapter.spec.sidecar["wider"]["penalties"]}
    options = same["training"]["options"] | penalties
    return same | {"training": same["training"] | {"options": options}}
