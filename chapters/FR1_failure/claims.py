"""The claim of FR Figs. 1 and 8: a disentangled input does not suffice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import xarray as xr

from vnlib.book.evidence import part, tagged
from vnlib.book.ledger import Decision, Part, claim

CNN = ("cnn_bump", "cnn_ramp")
BUMP_CODE = ("cnn_bump", "cnn_bright", "mlp_bump")
ENTANGLED = ("cnn_bump", "cnn_ramp", "cnn_bright", "mlp_bump", "mlp_ramp")
COMPOSING = ("factorised", "vn_full")
HOLD_OUTS = ("square", "corner")
# Which prediction the paper uses: averaged inputs for population codes, sums of outputs for ramps.
TEST = {"cnn_ramp": "memorised", "mlp_ramp": "memorised"}


def complete(r: xr.Dataset, models: Sequence[str]) -> xr.Dataset:
    """The results, or a KeyError that names the models or hold-outs that they lack."""
    for name, wanted in (("model", models), ("hold_out", HOLD_OUTS)):
        if lacking := [w for w in wanted if w not in r[name].values]:
            raise KeyError(f"the {name.replace('_', '-')}(s) {', '.join(lacking)}")
    return r


def cells(values: xr.DataArray, models: Sequence[str]) -> dict[str, float]:
    """Values by model and hold-out."""
    return {f"{m}.{h}": float(values.sel(model=m, hold_out=h)) for m in models for h in HOLD_OUTS}


def medians(values: xr.DataArray, models: Sequence[str], tag: str) -> dict[str, float]:
    """Medians over seeds by model and hold-out, as "model.hold-out.tag"."""
    return tagged(cells(values.median("seed"), models), tag)


def tested(
    r: xr.Dataset, models: Sequence[str], name: str, without: str = "", tag: str = ""
) -> dict[str, float]:
    """Medians of what the prediction that the paper uses for a model comes to, less another's."""
    middle = r[name].median("seed") - (r[without].median("seed") if without else 0)
    one = {m: middle.sel(test=TEST.get(m, "averaged")) for m in models}
    return tagged({k: v for m in models for k, v in cells(one[m], [m]).items()}, tag or name)


def least(values: Mapping[str, float]) -> float:
    """The smallest of all numbers of a part."""
    return min(values.values())


def cosine_r2(r: xr.Dataset, kernel: str, source: str = "model") -> xr.DataArray:
    """R^2 of a kernel on the cosines of OOD pairs, by width; the first is the bump's own."""
    return r["kernel_r2"].sel(metric="cosine", kernel=kernel, pairs="ood", source=source)


def printed(r: xr.Dataset) -> list[Part]:
    """The parts of the rule for CNNs on dark bumps."""
    r = complete(r, CNN)
    ratio = medians(r["error"].sel(where="ood") / r["error"].sel(where="train"), CNN, "ratio")
    several = medians(r["several"].sel(where="ood"), CNN, "several")
    alike = tested(r, CNN, "resembles")
    binary, bumps, sums = (
        cells(cosine_r2(r, "binary", source).isel(width=0).median("seed"), CNN)
        for source in ("model", "bumps", "superposed bumps")
    )
    bump = [f"cnn_bump.{h}" for h in HOLD_OUTS]
    midpoint = {k: (bumps[k] + sums[k]) / 2 for k in bump}
    follows = all(binary[k] >= midpoint[k] for k in bump)
    more = all(binary[k] > binary[k.replace("bump", "ramp")] for k in bump)
    shown = tagged(binary, "binary_r2") | tagged(midpoint, "midpoint")
    several_drawn, resembles = least(several) > 0.5, least(alike) >= 0.5
    return [
        part("the CNN's OOD error is at least 5x its training error", least(ratio) >= 5, **ratio),
        part("it draws several bumps at most OOD positions", several_drawn, **several),
        part("the sum of two seen parts resembles the OOD output", resembles, **alike),
        part("OOD similarities follow the binary kernel", follows, **shown),
        part("more so with bump codes than with ramps", more),
    ]


def controls(r: xr.Dataset) -> list[Part]:
    """The parts of the rule with MLPs, bright bumps, and two decoders that compose."""
    r = complete(r, ENTANGLED + COMPOSING)
    error, ood = r["error"] / r["zero_baseline"], r.sel(where="ood")
    learned = medians(error.sel(where="id"), BUMP_CODE, "id_over_blank")
    fails, composes = (
        medians(error.sel(where="ood"), models, "ood_over_blank")
        for models in (ENTANGLED, COMPOSING)
    )
    several = medians(ood["several"], ENTANGLED, "several")
    cross = medians(ood["share_cross"] - ood["chance_cross"], ENTANGLED, "cross_above_chance")
    above = tested(r, ENTANGLED, "resembles", without="resembles_shuffled", tag="above_shuffled")
    closer, composing = (tested(r, models, "closer") for models in (ENTANGLED, COMPOSING))
    sums, products = cosine_r2(r, "sum"), cosine_r2(r, "product")
    lead = (sums - products).isel(width=0)
    margin, control = (medians(lead, m, "sum_minus_product") for m in (ENTANGLED, COMPOSING))
    seeds = cells((lead > 0).mean("seed"), ENTANGLED)
    widest = medians(sums.max("width") - products.max("width"), ENTANGLED, "at_best_widths")
    crosses = least(several) > 0.5 and least(cross) >= 0.2
    sum_kernel = least(margin) > 0 and least(seeds) >= 0.75 and least(widest) > 0
    beats = least(above) >= 0.2 and least(closer) >= 0.75 and max(composing.values()) <= 0.05
    learn, compose = max(learned.values()) <= 0.25, max(composes.values()) <= 0.01
    learn_says = (
        "with bump codes CNN and MLP have learned: ID error at most a quarter of a zero image's"
    )
    sums_say = "the sum of two seen parts beats that of another position, and the true bump"
    kernel_says = "OOD similarities follow a sum kernel rather than a product kernel"
    drawn = several | cross
    return [
        part(learn_says, learn, **learned),
        part("OOD they err at least half as much as a zero image", least(fails) >= 0.5, **fails),
        part("the task can be solved: two controls err below 1 % of it", compose, **composes),
        part("CNN and MLP draw several bumps, on the right row and column", crosses, **drawn),
        part(sums_say, beats, **above, **closer, **composing),
        part(kernel_says, sum_kernel, **margin, **widest),
        part("which those of composing controls do not", max(control.values()) < 0, **control),
    ]


@claim(
    id="FR-1",
    source="FR Figs. 1, 8",
    figure="FR1-maps",
    statement="A disentangled input does not suffice: inside the hold-out a CNN draws "
    "superpositions of bumps that it memorised, and the similarities of its images follow the "
    "binary factorised kernel.",
)
def failure(r: xr.Dataset) -> Decision:
    return Decision(printed(r), controls(r))
