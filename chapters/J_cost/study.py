"""App. J as a study: costs along one axis at a time, measured runs of other chapters, and the
account that is made of what all chapters stored.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import xarray as xr

from chapters.J_cost import account, measure, stored
from vnlib.book import chapter as chapters
from vnlib.book import paths
from vnlib.book.chapter import Axes, Chapter, Settings

SCALING = {
    "vary": ("size that is varied: d, K, B or depth", ""),
    "task": ("what is done", ""),
    "place": ("number of the size", "1"),
    "repeat": ("number of the repeat", "1"),
    "size": ("the size that is varied", "1"),
    "time": ("time of one call, one batch", "s"),
    "operations": ("operations in products of matrices, one batch", "1"),
    "needed": ("sweeps of the line search to the gap, mean over samples", "1"),
    "weights": ("weights of the Vector Network", "1"),
    "other_weights": ("weights of the feed-forward network", "1"),
    "device_peak": ("most memory that tensors held on a GPU", "B"),
    "time_exponent": ("exponent of the time in the size", "1"),
    "operations_exponent": ("exponent of the operations in the size", "1"),
}
RUNS = {
    "chapter": ("chapter", ""),
    "run": ("number of the measured run", "1"),
    "label": ("which run it was", ""),
    "why": ("why the work ended early", ""),
    "program": ("memory held before the chapter began", "B"),
    **account.TEXTS,
}
VARIABLES = {
    "chapter": ("chapter", ""),
    "paper": ("the paper it belongs to: VN, FR, or none", ""),
    "missing": ("what of its results is missing", ""),
    **account.NUMBERS,
}


class Results(NamedTuple):
    """The account of the chapters, costs by size, and the runs that were measured."""

    account: xr.Dataset
    scaling: xr.Dataset
    measured: xr.Dataset


def counted(chapter: Chapter) -> list[str]:
    """The chapters of the book that store results, but this one."""
    names = (name for name in paths.chapters() if name != chapter.spec.name)
    return [name for name in names if chapters.spec(name).stores]


def run_scaling(chapter: Chapter, axes: Axes, s: Settings, workdir: Path) -> xr.Dataset:
    """Costs along one axis with one seed."""
    return measure.scaling(**axes, **s, device=chapter.device)


def run_chapter(chapter: Chapter, axes: Axes, s: Settings, workdir: Path) -> xr.Dataset:
    """The measured runs of one chapter."""
    where = {"profile": chapter.profile, "device": str(chapter.device)}
    return account.measure(**axes, **s, **where, results=chapter.file().parents[1])


def run(chapter: Chapter, axes: Axes, s: Settings, workdir: Path) -> xr.Dataset:
    """A chapter's line in the account."""
    return account.account(s["stored"], s["measured"]).assign(paper=s["paper"])


def results(chapter: Chapter) -> Results:
    """All parts; the account is made anew for a chapter whose files changed."""
    s, folder = chapter.settings, chapter.file().parent
    common = {name: s[name] for name in ("steps", "sweeps", "tol", "repeats")}
    wanted = s["chapters"] or list(s["measured"])
    scaling = chapter.grid(
        run_scaling,
        {"vary": list(s["scaling"]), "seed": chapter.seeds},
        lambda _, axes: common | s["scaling"][axes["vary"]],
        variables=SCALING,
        part="scaling",
    )
    measured = chapter.grid(
        run_chapter,
        {"chapter": wanted},
        lambda _, axes: {"only": {}, "limit": s["limit"]} | s["measured"][axes["chapter"]],
        variables=RUNS,
        part="runs",
    )

    def settings(_: Chapter, axes: Axes) -> Settings:
        name = axes["chapter"]
        most = account.largest(measured.sel(chapter=name)) if name in wanted else {}
        paper = chapters.spec(name).sidecar.get("source", "")[:2]
        return {"stored": stored.stored(folder, name), "measured": most, "paper": paper}

    kept = chapter.grid(run, {"chapter": counted(chapter)}, settings, variables=VARIABLES)
    return Results(kept, scaling, measured)
