"""The claim of FR Sec. 4.1: maps of low rank compose."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import part, select
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


def _composes(says: str, m: xr.Dataset, model: str) -> Part:
    one = m.sel(model=[model])
    found = (one["mse_ood"] <= 0.1 * m["zero"]) & (one["hit_ood"] >= 0.9)
    return part(says, found, ood=one["mse_ood"], hit=one["hit_ood"])


def _fails(says: str, m: xr.Dataset, models: Sequence[str]) -> Part:
    ood = m["mse_ood"].sel(model=list(models))
    return part(says, ood >= 0.5 * m["zero"], ood=ood)


def _ablation(m: xr.Dataset, split: str, said: str) -> list[Part]:
    """The four settings against each other; `split`: whose in-distribution error counts."""
    seen, ood = (m[f"mse_{name}"].sel(model=list(FOUR)) for name in (split, "ood"))
    none, entropy, variance, both = (ood.sel(model=name) for name in FOUR)
    own = seen.sel(model="none")
    extreme = (own == seen.min("model")) & (none == ood.max("model"))
    little = (0.5 * none <= entropy) & (entropy < none)
    much = (3 * variance <= none) & (seen.sel(model="variance") > own)
    return [
        part(f"no penalty: lowest {said}, highest OOD error", extreme, ood=ood, **{split: seen}),
        part("entropy alone: a lower OOD error, by less than half", little),
        part(f"variance alone: an OOD error at least 3x lower, a higher {said}", much),
        part("both: the lowest OOD error", both == ood.min("model")),
    ]


@claim(
    id="FR-3",
    source="FR Figs. 3, 6, Sec. 4.1, App. C",
    figure="FR3-scatter",
    statement="An embedding network whose maps are pressed to low rank by an entropy and a "
    "variance penalty composes, in a square and in a corner; without penalties it does not, "
    "entropy alone helps a little, variance a lot, both most.",
    terms="All are medians over seeds, in both hold-outs. The four settings are no penalty, either "
    "alone, and both. A decoder composes where its OOD error is at most a tenth of a zero image's "
    "and at least 90 % of the held-out peaks are within 1 px.",
)
def low_rank_composes(r: xr.Dataset) -> Decision:
    r = select(r, model=(*FOUR, "free", "rank1"), hold_out=HOLD_OUTS)
    m = r[["mse_train", "mse_id", "mse_ood", "hit_ood"]].median("seed")
    m["zero"] = zero_baseline(r)
    band, spread = (
        values.sel(model=["none", "both"]).median("seed")
        for values in (own_band(r), r["volume_spread"].sel(layer="output"))
    )
    none, both = ({"model": name} for name in ("none", "both"))
    ood = m["mse_ood"].sel(model=["variance", "both"])
    banded = (band.sel(both) >= 0.8) & (band.sel(none) <= 0.5)
    halved = 2 * ood.sel(both) <= ood.sel(model="variance")
    composes = _composes("with both penalties it composes", m, "both")
    half = "OOD error is at least half of a zero image's"
    bands = (
        "both: at least 80 % of a map's energy in bands along its axis; no penalty: at most 50 %"
    )
    smoother = "the output's volume varies less inside the hold-out with both than with no penalty"
    parts = [
        composes,
        _fails(f"without penalties its {half}", m, ["none"]),
        *_ablation(m, "train", "training error"),
        part(bands, banded, band=band),
        part(smoother, spread.sel(both) < spread.sel(none), spread=spread),
    ]
    controls = [
        composes,
        _fails(f"without penalties, or without factors, its {half}", m, ["none", "free"]),
        *_ablation(m, "id", "ID test error"),
        _composes(
            "with maps of rank 1 by construction, without penalties, it composes", m, "rank1"
        ),
        part("both halve the OOD error of variance alone", halved, ood=ood),
    ]
    return Decision(parts, controls)
