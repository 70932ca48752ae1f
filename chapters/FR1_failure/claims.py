"""The claim of FR Figs. 1 and 8: a disentangled input does not suffice."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import every, part, select
from vnlib.book.ledger import Decision, Part, claim

CNN = ("cnn_bump", "cnn_ramp")
BUMP_CODE = ("cnn_bump", "cnn_bright", "mlp_bump")
RAMPS = ("cnn_ramp", "mlp_ramp")
ENTANGLED = (*BUMP_CODE, *RAMPS)
COMPOSING = ("factorised", "vn_full")
HOLD_OUTS = ("square", "corner")


def medians(values: xr.DataArray, models: Sequence[str]) -> xr.DataArray:
    """Medians over seeds by model and hold-out. KeyError says what lacks."""
    found = select(values, model=models, hold_out=HOLD_OUTS).median("seed")
    return found.transpose("model", "hold_out")


def predicted(values: xr.DataArray) -> xr.DataArray:
    """What the paper's prediction of each model comes to: from averaged inputs for population
    codes, from sums of memorised outputs for ramps.
    """
    return values.sel(test=xr.where(values["model"].isin(RAMPS), "memorised", "averaged"))


def cosine_r2(r: xr.Dataset, kernel: str, source: str = "model") -> xr.DataArray:
    """R^2 of a kernel on the cosines of OOD pairs, by width; the first is the bump's own."""
    return r["kernel_r2"].sel(metric="cosine", kernel=kernel, pairs="ood", source=source)


def printed(r: xr.Dataset) -> list[Part]:
    """The parts of the rule for CNNs on dark bumps."""
    ratio = medians(r["error"].sel(where="ood") / r["error"].sel(where="train"), CNN)
    several = medians(r["several"].sel(where="ood"), CNN)
    alike = medians(predicted(r["resembles"]), CNN)
    binary, bumps, sums = (
        medians(cosine_r2(r, "binary", source).isel(width=0), CNN)
        for source in ("model", "bumps", "superposed bumps")
    )
    own, ramp = binary.sel(model=["cnn_bump"]), binary.sel(model="cnn_ramp")
    midpoint = ((bumps + sums) / 2).sel(model=["cnn_bump"])
    follows = (
        "with the bump code, R² of the binary kernel on the cosines of different OOD outputs is "
        "nearer to that of superposed bumps than to that of true bumps"
    )
    return [
        every("the CNN's OOD error over its training error", ">=", 5, ratio=ratio),
        every("share of its OOD images with two or more bumps", ">", 0.5, several=several),
        every("correlation of OOD output and sum of seen parts", ">=", 0.5, resembles=alike),
        part(follows, own >= midpoint, binary_r2=binary, midpoint=midpoint),
        part("and is above that with the ramp code", own > ramp),
    ]


def controls(r: xr.Dataset) -> list[Part]:
    """The parts of the rule with MLPs, bright bumps, and two decoders that compose."""
    error, ood = r["error"] / r["zero_baseline"], r.sel(where="ood")
    learned = medians(error.sel(where="id"), BUMP_CODE)
    fails, composes = (medians(error.sel(where="ood"), m) for m in (ENTANGLED, COMPOSING))
    several = medians(ood["several"], ENTANGLED)
    cross = medians(ood["share_cross"] - ood["chance_cross"], ENTANGLED)
    above = medians(predicted(r["resembles"]), ENTANGLED)
    above = above - medians(predicted(r["resembles_shuffled"]), ENTANGLED)
    closer, superposing = (medians(predicted(r["closer"]), m) for m in (ENTANGLED, COMPOSING))
    sums, products = cosine_r2(r, "sum"), cosine_r2(r, "product")
    lead = (sums - products).isel(width=0)
    margin, control = (medians(lead, m) for m in (ENTANGLED, COMPOSING))
    often = (select(lead, model=ENTANGLED, hold_out=HOLD_OUTS) > 0).mean("seed") >= 0.75
    widest = medians(sums.max("width") - products.max("width"), ENTANGLED)
    kernels = "R² of the sum kernel on OOD cosines less that of the product kernel"
    return [
        every("bump codes: ID error over a zero image's", "<=", 0.25, id_over_zero=learned),
        every("OOD error over a zero image's", ">=", 0.5, ood_over_zero=fails),
        every("the same of the two controls", "<=", 0.01, ood_over_zero=composes),
        every("share of OOD images with two or more bumps", ">", 0.5, several=several)
        & every(
            "ink near the right row or column above chance", ">=", 0.2, cross_above_chance=cross
        ),
        every("correlation of output and sum above chance", ">=", 0.2, above_shuffled=above)
        & every("share of positions where it beats the bump", ">=", 0.75, closer=closer)
        & every("that share of the controls", "<=", 0.05, closer=superposing),
        every(kernels, ">", 0, sum_minus_product=margin)
        & part("so in 75 % of the seeds", often)
        & every("each kernel at its best width", ">", 0, at_best_widths=widest),
        every(f"the controls' {kernels}", "<", 0, sum_minus_product=control),
    ]


@claim(
    id="FR-1",
    source="FR Figs. 1, 8",
    figure="FR1-maps",
    statement="A disentangled input does not suffice: inside the hold-out a CNN draws "
    "superpositions of bumps that it memorised, and the similarities of its images follow the "
    "binary factorised kernel.",
    terms="All are medians over seeds, of each model in each hold-out: as printed CNNs with bump "
    "and with ramp code; with controls MLPs and a CNN on bright bumps, too, and two decoders that "
    "can compose, the factorised one and the full 2D VN. The sum of seen parts is that of outputs "
    "for averaged inputs; for ramps, of outputs at training positions of that row or column. "
    "Chance is what comes of another OOD position. Kernels have the bump's own width.",
)
def failure(r: xr.Dataset) -> Decision:
    return Decision(printed(r), controls(r))
