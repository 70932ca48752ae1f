"""Runs of a chapter made again with twice the updates, in a file beside its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import xarray as xr

from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.evidence import LONGER
from vnlib.book.store.variables import Variables

PART = "longer"  # of the chapter's results


def with_longer(
    chapter: Chapter,
    results: xr.Dataset,
    run: Run,
    names: Sequence[str],
    settings: Settings | Callable[[Chapter, Axes], Settings],
    twice: Callable[[Settings], Settings],
    *,
    variables: Variables,
    **axes: Sequence,
) -> xr.Dataset:
    """The results with those variables of trainings of twice the updates, under names that begin with
    `LONGER`: of the first `twin_seeds` seeds, in a file of their own (see `Chapter.grid`).

    Parameters
    ----------
    run, settings
        As of the results.
    names
        What is kept of a run.
    twice
        From the settings of a run to those of the longer one.
    **axes
        The values of all axes but the seed; where one has none, nothing is run.
    """
    count = chapter.settings["twin_seeds"]
    seeds = chapter.first_seeds(count) if count else []
    if not (seeds and all(map(len, axes.values()))):
        return results
    long = {name: f"{LONGER}{name}" for name in names}
    told = {
        long[name]: (f"{text}, twice the updates", unit)
        for name, (text, unit) in variables.items()
        if name in long
    }

    def more_updates(chapter: Chapter, axes: Axes) -> Settings:
        return twice(settings(chapter, axes) if callable(settings) else settings)

    def kept(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
        found = run(chapter, axes, settings, workdir)
        there = [name for name in long if name in found]
        return found[there].rename({name: long[name] for name in there})

    axes, described = {**axes, "seed": seeds}, {**variables, **told}
    more = chapter.grid(kept, axes, more_updates, variables=described, part=PART)
    return results.assign({name: more[name] for name in told if name in more})
