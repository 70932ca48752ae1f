"""The claim of FR Sec. 4.1: maps of low rank compose."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import of
from vnlib.book.ledger import Decision, Part, claim

HOLD_OUTS = ("square", "large_corner")
FOUR = ("none", "entropy", "variance", "both")


def own_band(results: xr.Dataset) -> xr.DataArray:
    """Median over tokens of the share of a map that is constant along the other axis, mean of x and
    y: the band of a token of x runs along y, that of a token of y along x.
    """
    bands = (results["band"].sel(axis=a, along=b, drop=True) for a, b in (("x", "y"), ("y", "x")))
    return sum(band.median("token") for band in bands) / 2


def zero_baseline(results: xr.Dataset) -> xr.DataArray:
    """What a zero image costs at the held-out positions."""
    return results["zero_baseline_ood"].median(("model", "seed"))


def _medians(values: xr.DataArray, models: Sequence[str]) -> xr.DataArray:
    """The median over seeds. KeyError names the models that lack."""
    return (
        of(values, model=models, hold_out=HOLD_OUTS).median("seed").transpose("model", "hold_out")
    )


def _part(says: str, holds: xr.DataArray, **numbers: xr.DataArray) -> Part:
    """A statement that must hold for all, with numbers for each model and hold-out."""
    found = {
        f"{model}.{hold_out}.{tag}": value
        for tag, values in numbers.items()
        for (model, hold_out), value in values.to_series().items()
    }
    return Part(says, bool(holds.all()), found)


def _composes(says: str, r: xr.Dataset, model: str) -> Part:
    """OOD error below a tenth of a zero image's and nine of ten held-out peaks right."""
    ood, hit = (_medians(r[name], [model]) for name in ("mse_ood", "hit_ood"))
    return _part(says, (ood <= 0.1 * zero_baseline(r)) & (hit >= 0.9), ood=ood, hit=hit)


def _fails(says: str, r: xr.Dataset, models: Sequence[str]) -> Part:
    """OOD error at least half of a zero image's."""
    ood = _medians(r["mse_ood"], models)
    return _part(says, ood >= 0.5 * zero_baseline(r), ood=ood)


def _ablation(r: xr.Dataset, split: str, said: str) -> list[Part]:
    """The four settings against each other; `split`: whose in-distribution error counts."""
    seen, ood = _medians(r[f"mse_{split}"], FOUR), _medians(r["mse_ood"], FOUR)
    none, entropy, variance, both = (ood.sel(model=m) for m in FOUR)
    seen_none = seen.sel(model="none")
    extreme = (seen_none == seen.min("model")) & (none == ood.max("model"))
    little = (0.5 * none <= entropy) & (entropy < none)
    much = (3 * variance <= none) & (seen.sel(model="variance") > seen_none)
    return [
        _part(f"no penalty: lowest {said}, highest OOD error", extreme, ood=ood, **{split: seen}),
        _part("entropy alone: a small gain OOD", little),
        _part(f"variance alone: a large gain OOD, a higher {said}", much),
        _part("both: the lowest OOD error", both == ood.min("model")),
    ]


@claim(
    id="FR-3",
    source="FR Figs. 3, 6, Sec. 4.1, App. C",
    figure="FR3-scatter",
    statement="An embedding network whose maps are pressed to low rank by an entropy and a "
    "variance penalty composes, in a square and in a corner; without penalties it does not, "
    "entropy alone helps a little, variance a lot, both most.",
)
def low_rank_composes(r: xr.Dataset) -> Decision:
    composes = _composes("with both penalties it composes", r, "both")
    band = _medians(own_band(r), ["none", "both"])
    spread = _medians(r["volume_spread"].sel(layer="output"), ["none", "both"])
    ood = _medians(r["mse_ood"], ["variance", "both"])
    banded = (band.sel(model="both") >= 0.8) & (band.sel(model="none") <= 0.5)
    smoother = spread.sel(model="both") < spread.sel(model="none")
    halved = 2 * ood.sel(model="both") <= ood.sel(model="variance")
    parts = [
        composes,
        _fails("without penalties it does not", r, ["none"]),
        *_ablation(r, "train", "training error"),
        _part("the penalties make bands", banded, band=band),
        _part("and a smoother geometry", smoother, spread=spread),
    ]
    controls = [
        composes,
        _fails("without penalties, or without factors, it does not", r, ["none", "free"]),
        *_ablation(r, "id", "ID test error"),
        _composes("rank 1 by construction composes", r, "rank1"),
        _part("entropy halves what variance alone leaves", halved, ood=ood),
    ]
    return Decision(parts, controls)
