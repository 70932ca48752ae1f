"""The network where codes are damaged, with penalties over a wider range, added after the others: on
such codes the largest penalty of `study` was chosen, the end of its range.
"""

from __future__ import annotations

import xarray as xr

from chapters.best_positions import study
from vnlib.book.chapter import Axes, Chapter, Settings

PART = "wider"


def results(chapter: Chapter) -> xr.Dataset:
    """Runs over (task, model, seed) of the sidecar's `wider`, in a file of their own."""
    asked = chapter.spec.sidecar["wider"]
    tasks, models = (
        [name for name in asked[axis] if name in there]
        for axis, there in (("tasks", _tasks(chapter)), ("models", chapter.models))
    )
    if not (tasks and models):
        return xr.Dataset()
    axes = {"task": tasks, "model": models, "seed": chapter.seeds}
    return chapter.grid(study.run, axes, settings, variables=study.VARIABLES, part=PART)


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of `study`, with other penalties."""
    same = study.settings(chapter, axes)
    options = same["training"]["options"] | {
        "penalties": chapter.spec.sidecar["wider"]["penalties"]
    }
    return same | {"training": same["training"] | {"options": options}}


def _tasks(chapter: Chapter) -> list[str]:
    return chapter.settings.get("only") or list(chapter.settings["tasks"])
