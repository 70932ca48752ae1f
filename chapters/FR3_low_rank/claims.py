"""The claim of FR Sec. 4.1: maps of low rank compose."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from benchmarks.baselines.paired import over
from benchmarks.spatial.claims import LEARNED, settled
from benchmarks.spatial.errors import learned, of_all
from vnlib.book.evidence import bounded, compared, detail, every, given, scaled, select, within
from vnlib.book.ledger import Decision, Part, claim

HOLD_OUTS = ("square", "large_corner")
FOUR = ("none", "entropy", "variance", "both")


def own_band(results: xr.Dataset) -> xr.DataArray:
    """Median over tokens of the share of a map that is constant along the other axis, mean of x and
    y: the band of a token of x runs along y, that of a token of y along x.
    """
    bands = (results["band"].sel(axis=a, along=b, drop=True) for a, b in (("x", "y"), ("y", "x")))
    return sum(band.median("token") for band in bands) / 2


def in_order(ood: xr.DataArray) -> xr.DataArray:
    """Whether the OOD errors of the four settings fall in the paper's order, each below the last."""
    four = ood.sel(model=list(FOUR))
    return (four.diff("model") < 0).all("model")


def _composes(says: str, m: xr.Dataset, model: str) -> Part:
    one = m.sel(model=[model])
    error = every(f"{says}: OOD error over the zero baseline's", "<=", 0.1, of_zero=one["of_zero"])
    return error & scaled(
        every("held-out peaks within 1 px", ">=", 0.9, hit=one["hit_ood"]), limit=1
    )


def _fails(says: str, m: xr.Dataset, models: Sequence[str]) -> Part:
    of_zero = m["of_zero"].sel(model=list(models))
    return every(f"{says}: OOD error over the zero baseline's", ">=", 0.5, of_zero=of_zero)


def _ablation(able: xr.Dataset, split: str, said: str) -> list[Part]:
    """The four settings against each other; `split`: whose in-distribution error counts."""
    seen, ood = (able[f"mse_{name}"].sel(model=list(FOUR)) for name in (split, "ood"))

    def to_all(errors: xr.DataArray, name: str) -> xr.DataArray:
        return over(errors.sel(model=name, drop=True), errors.drop_sel(model=name))

    def to_none(errors: xr.DataArray, name: str) -> xr.DataArray:
        return over(errors.sel(model=name, drop=True), errors.sel(model="none", drop=True))

    entropy, variance = (to_none(ood, name) for name in ("entropy", "variance"))
    says = "{} alone: OOD error over that without penalties"
    return [
        compared(
            "no penalty: the highest OOD error",
            to_all(ood, "none"),
            ">",
            1.0,
            ood=ood.median("seed"),
        ),
        detail(
            compared(
                f"no penalty: the lowest {said}",
                to_all(seen, "none"),
                "<",
                1.0,
                **{split: seen.median("seed")},
            )
        ),
        within(says.format("entropy"), 0.5, 1, entropy_alone=entropy),
        bounded(says.format("variance"), "<=", 1 / 3, variance_alone=variance),
        detail(compared(f"variance alone: a higher {said}", to_none(seen, "variance"), ">", 1.0)),
        compared("both: the lowest OOD error", to_all(ood, "both"), "<", 1.0),
    ]


@claim(
    id="FR-3",
    of_all=of_all,
    source="FR Figs. 3, 6, Sec. 4.1, App. C",
    figure="FR3-scatter",
    statement="An embedding network whose maps are pressed to low rank by an entropy and a "
    "variance penalty composes, in a square and in a corner; without penalties it does not, "
    "entropy alone helps a little, variance a lot, both most.",
    terms=f"All are medians, in both hold-outs, over {LEARNED}. The four settings are no penalty, either "
    "alone, and both.",
)
def low_rank_composes(r: xr.Dataset) -> Decision:
    r = select(r, model=(*FOUR, "free", "rank1"), hold_out=HOLD_OUTS)
    able = learned(r)
    runs = r[["mse_train", "mse_id", "mse_ood", "hit_ood"]].where(able)
    runs["of_zero"] = runs["mse_ood"] / r["zero_baseline_ood"]
    m, band = runs.median("seed"), own_band(r).where(able).median("seed")
    spread = r["volume_spread"].sel(layer="output", drop=True).where(able)
    none, both = ({"model": name, "drop": True} for name in ("none", "both"))
    composes = _composes("with both penalties", m, "both")
    bands = "with both penalties: share of a map in bands along its axis"
    banded = scaled(every(bands, ">=", 0.8, band=band.sel(model=["both"])), limit=1) & every(
        "with no penalty", "<=", 0.5, band=band.sel(model=["none"])
    )
    smoother = compared(
        "with both penalties the output's volume varies less inside the hold-out than with none",
        over(spread.sel(**both), spread.sel(**none)),
        "<",
        1.0,
        spread=spread.sel(model=["none", "both"]).median("seed"),
    )
    halved = bounded(
        "both: OOD error over that of variance alone",
        "<=",
        0.5,
        both_to_variance=over(
            runs["mse_ood"].sel(**both), runs["mse_ood"].sel(model="variance", drop=True)
        ),
    )
    share = able.sel(model="rank1").mean("seed")
    trained = bounded("share of seeds of rank 1 that learned", ">=", 0.5, learned_rank1=share)
    parts = [
        composes,
        _fails("without penalties", m, ["none"]),
        *_ablation(runs, "train", "training error"),
        detail(banded),
        smoother,
    ]
    controls = [
        composes,
        _fails("without factors", m, ["free"]),
        *_ablation(runs, "id", "ID test error"),
        given(
            _composes("maps of rank 1 by construction, no penalty", m, "rank1"),
            trained,
            settled(r[["curve_step", "curve_val"]].sel(model=["rank1"]), "rank 1, both hold-outs"),
        ),
        detail(halved),
    ]
    return Decision(parts, controls)
