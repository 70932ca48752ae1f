"""Tables and sentences about the low-rank maps, from the dataset that `figures.low_rank` draws."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR3_low_rank.figures import HOLD_OUTS, LOOKS, models_of, own_band
from vnlib.plots.rows import label


def table(results: xr.Dataset) -> pd.DataFrame:
    """Errors, peaks and maps per model and hold-out: median over seeds, and the range of the OOD
    error.
    """
    rows = {}
    own = own_band(results)
    for model in models_of(results):
        for hold_out in HOLD_OUTS:
            one = results.sel(model=model, hold_out=hold_out)
            low, middle, high = (float(one["mse_ood"].quantile(q)) for q in (0, 0.5, 1))
            rank = float(one["effective_rank"].median(("axis", "token")).median("seed"))
            band = float(own.sel(model=model, hold_out=hold_out).median("seed"))
            rows[label(results, model), hold_out.replace("large_", "")] = {
                "training error": f"{float(one['mse_train'].median()):.1e}",
                "ID test error": f"{float(one['mse_id'].median()):.1e}",
                "OOD error": f"{middle:.1e} [{low:.1e}, {high:.1e}]",
                "OOD / blank": f"{float((one['mse_ood'] / one['blank_ood']).median()):.2g}",
                "peak within 1 px, OOD": f"{float(one['hit_ood'].median()):.2f}",
                "effective rank": "" if math.isnan(rank) else f"{rank:.1f}",
                "in bands": "" if math.isnan(band) else f"{band:.2f}",
            }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis(index=["model", "held out"])


def summary(results: xr.Dataset) -> str:
    """The four settings and the controls in words, as Markdown; every number is a median over
    seeds.
    """
    ood = (results["mse_ood"] / results["blank_ood"]).median("seed")
    hit = results["hit_ood"].median("seed")

    def said(models: tuple[str, ...]) -> str:
        here = models_of(results, models)
        if not here:
            return "not computed in this profile"
        parts = []
        for hold_out, name in (("square", "square"), ("large_corner", "corner")):
            low, high = (float(f(ood.sel(model=here, hold_out=hold_out))) for f in (np.min, np.max))
            ends = f"{low:.2g}" if len(here) == 1 else f"{low:.2g} to {high:.2g}"
            best = float(hit.sel(model=here, hold_out=hold_out).min())
            least = "" if len(here) == 1 else " or more"
            parts.append(f"{ends} in the {name} ({100 * best:.0f} %{least} of the peaks right)")
        return ", ".join(parts)

    lines = {
        "No penalty": ("none",),
        "Entropy alone": ("entropy",),
        "Variance alone": ("variance",),
        "Both": ("both",),
        "Rank 1 by construction, no penalty": ("rank1",),
        "Bands by construction, no penalty": ("bands",),
        "Maps without factors": ("free",),
        "Strong weight decay in place of penalties": ("decay",),
        "The hand-factorised decoder": ("factorised",),
    }
    head = "OOD error as a share of what a blank image costs:\n\n"
    return head + "\n".join(f"- **{name}:** {said(models)}." for name, models in lines.items())


def verdict_on_rank(results: xr.Dataset) -> str:
    """Whether rank or bands go with composing, over all models with maps, as Markdown."""
    rank = results["effective_rank"].median(("axis", "token"))
    with_maps = results.sel(model=models_of(results, tuple(m for m in LOOKS if m != "factorised")))
    error = with_maps["mse_ood"] / with_maps["blank_ood"]
    lines = []
    for name, value in (("the effective rank", rank), ("the share in bands", own_band(results))):
        pair = xr.broadcast(value.sel(model=with_maps["model"]), error)
        orders = [pd.Series(np.asarray(v.transpose(*error.dims)).ravel()).rank() for v in pair]
        lines.append(
            f"- Rank correlation of the OOD error with {name}, over all runs: "
            f"{orders[0].corr(orders[1]):+.2f}."
        )
    composes = [
        m
        for m in with_maps["model"].values
        if float(error.sel(model=m).median("seed").max()) <= 0.1
    ]
    narrow = [
        m for m in with_maps["model"].values if float(rank.sel(model=m).median("seed").max()) <= 2
    ]
    said = {True: "composes", False: "does not compose"}
    for model in narrow:
        lines.append(
            f"- Of low rank (2 at most), {label(results, model)}: {said[model in composes]}."
        )
    for model in (m for m in composes if m not in narrow):
        lines.append(
            f"- Of higher rank ({float(rank.sel(model=model).median()):.0f}), "
            f"{label(results, model)}: composes."
        )
    lines.append(
        "\n*Composes* means here: a median OOD error of at most a tenth of a blank "
        "image's, in both hold-outs."
    )
    return "\n".join(lines)


def geometry(results: xr.Dataset) -> str:
    """How even the output's volume is inside the hold-out, as Markdown."""
    lines = []
    for model in models_of(results, ("none", "entropy", "variance", "both", "bands")):
        one = results.sel(model=model, layer="output")
        spread = ", ".join(
            f"{float(one['volume_spread'].sel(hold_out=h).median()):.2f} in the "
            f"{h.replace('large_', '')}"
            for h in HOLD_OUTS
        )
        lines.append(f"- {label(results, model)}: {spread}.")
    head = (
        "Standard deviation of the output's log10 volume inside the hold-out, away from the "
        "edges of the image:\n\n"
    )
    return head + "\n".join(lines)
