"""Models compared over seeds, of which some are twins that make more updates, at the first seeds alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import xarray as xr

from vnlib.book.chapter import Axes, Chapter, Run, Settings
from vnlib.book.comparison import compared
from vnlib.book.store.variables import Variables

GROUP = "longer"  # of twins, in a chapter's sidecar


def with_twins(
    chapter: Chapter,
    run: Run,
    settings: Callable[[Chapter, Axes, int, bool], Settings],
    variables: Variables,
    criterion: str | Callable[[xr.Dataset], xr.DataArray],
) -> tuple[xr.Dataset, xr.Dataset | None]:
    """As `compared`; twins, the models of group "longer", have the first `twin_seeds` alone."""
    given, seeds = chapter.parameters, chapter.first_seeds(chapter.settings["twin_seeds"])
    twins = [name for name, model in chapter.models.items() if model["group"] == GROUP]
    own = [name for name in chapter.models if name not in twins]
    parts, selection = [], None
    for models, more in ((own, {}), (twins, {"seeds": seeds})):
        if models:
            part = replace(chapter, parameters={**given, "models": models, **more})
            runs, chosen = compared(part, run, settings, variables, criterion)
            parts.append(runs)
            selection = chosen if selection is None else selection
    whole = xr.merge(parts, "no_conflicts", join="outer", combine_attrs="override")
    return whole.sel(model=list(chapter.models)), selection  # a merge sorts them
