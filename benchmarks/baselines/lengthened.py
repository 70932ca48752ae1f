"""Runs of a chapter made again with twice the updates, in a file beside its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import xarray as xr

from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.store.variables import Variables

PREFIX, PART = "longer_", "longer"  # of the names of variables; of the chapter's results


def with_longer(
    chapter: Chapter,
    results: xr.Dataset,
    run: Run,
    names: Sequence[str],
    settings: Settings | Callable[[Chapter, Axes], Settings],
    *,
    variables: Variables,
    **axes: Sequence,
) -> xr.Dataset:
    """The results with those variables, under the names of `PREFIX`, of trainings of twice the updates,
    which `settings` say: of the first `twin_seeds` seeds, in a file of their own (see `Chapter.grid`).
    """
    count = chapter.settings["twin_seeds"]
    if not (seeds := chapter.first_seeds(count) if count else []):
        return results
    long = {name: f"{PREFIX}{name}" for name in names}
    told = {
        long[name]: (f"{text}, twice the updates", unit)
        for name, (text, unit) in variables.items()
        if name in long
    }

    def kept(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
        found = run(chapter, axes, settings, workdir)
        there = [name for name in long if name in found]
        return found[there].rename({name: long[name] for name in there})

    more = chapter.grid(
        kept, {**axes, "seed": seeds}, settings, variables={**variables, **told}, part=PART
    )
    return results.assign({name: more[name] for name in told if name in more})
