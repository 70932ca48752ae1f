"""Models compared over seeds, each with the candidate settings that do best on validation data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import xarray as xr

from vnlib.book.chapter import Chapter
from vnlib.book.store.variables import Variables

Axes = dict[str, Any]


@dataclass(frozen=True)
class Comparison:
    """A grid of models and seeds; before it, one of models and candidates, where there is something
    to choose.

    A model's section of the sidecar lists its `candidates`, tables that are laid over its settings.
    Where the profile has `candidates` above 1, that many are tried with the seed `selection_seed`,
    which is never reported, and the one with the least `criterion`, which must be measured on
    in-distribution validation data, makes the reported runs. A model that is `like` another takes
    that one's choice. Otherwise it is the first candidate.

    Parameters
    ----------
    run
        `run(axes, settings, workdir)`, one run as a dataset; its axes are model and seed, and those
        of `axes`.
    settings
        `settings(axes, candidate, selecting)`, a run's settings; the axes of a selecting run lack
        the seed.
    variables
        Names and units of what a run returns.
    axes
        Further axes of the reported runs.
    choose
        The choosing runs; None for `run` with the `selection_seed` as the seed of its axes.
    """

    chapter: Chapter
    run: Callable[[Axes, dict[str, Any], Path], xr.Dataset]
    settings: Callable[[Axes, int, bool], dict[str, Any]]
    variables: Variables
    criterion: str | Callable[[xr.Dataset], xr.DataArray] = "criterion"
    axes: Mapping[str, Sequence] = field(default_factory=dict)
    choose: Callable[[Axes, dict[str, Any], Path], xr.Dataset] | None = None

    def chooser(self, name: str) -> str:
        """The model whose choice a model takes: itself, unless it is `like` another."""
        return self.chapter.spec.sidecar["models"][name].get("like", name)

    def selection(self) -> xr.Dataset | None:
        """What was tried, over (model, candidate); None where there is nothing to choose."""
        count = self.chapter.settings.get("candidates", 1)
        names = dict.fromkeys(self.chooser(name) for name in self.chapter.models)
        names = [name for name in names if len(self.chapter.model(name)["candidates"]) > 1]
        if count < 2 or not names:
            return None
        return self.chapter.grid(
            self.choose or self._selecting,
            {"model": names, "candidate": list(range(count))},
            lambda axes: self.settings(axes, axes["candidate"], True),
            variables=self.variables,
            part="selection",
        )

    def chosen(self, selection: xr.Dataset | None) -> dict[str, int]:
        """Model -> number of its candidate."""
        if selection is None:
            return dict.fromkeys(self.chapter.models, 0)
        measure = self.criterion
        values = selection[measure] if isinstance(measure, str) else measure(selection)
        best = {
            m: int(values.sel(model=m).idxmin("candidate")) for m in values["model"].values.tolist()
        }
        return {name: best.get(self.chooser(name), 0) for name in self.chapter.models}

    def results(self) -> tuple[xr.Dataset, xr.Dataset | None]:
        """The reported runs over (model, seed, ...), and the selection behind them; computed where
        they are not stored.
        """
        selection = self.selection()
        chosen = self.chosen(selection)
        results = self.chapter.grid(
            self.run,
            {"model": list(self.chapter.models), **self.axes, "seed": self.chapter.seeds},
            lambda axes: self.settings(axes, chosen[axes["model"]], False),
            variables=self.variables,
        )
        return results, selection

    def _selecting(self, axes: Axes, settings: dict[str, Any], workdir: Path) -> xr.Dataset:
        seed = self.chapter.settings["selection_seed"]
        return self.run({"model": axes["model"], "seed": seed}, settings, workdir)


def with_candidate(model: Mapping[str, Any], candidate: int) -> tuple[float, dict[str, Any]]:
    """Learning rate and options of a model with one of its candidates laid over them."""
    one = dict(model["candidates"][candidate])
    rate = one.pop("lr", model.get("lr"))
    return rate, {**model.get("options", {}), **one}
