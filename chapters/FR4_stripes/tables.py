"""The results on stripes in words and tables; everything said is computed from the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR4_stripes.figures import KINDS, MEASURES, amounts, exponent_said
from vnlib.plots import texts

COLUMNS = {
    "hit_ood": "joint accuracy",
    "bump_hit_ood": "of bumps",
    "cross_share_ood": "crosses",
    "mse_ood": "OOD error",
    "mse_id": "ID error",
    "stripe_mse": "error on stripes",
}


def _median(results: xr.Dataset, name: str, model: str, diet: str) -> float:
    """Median over seeds; NaN for what was not computed in this profile."""
    if model not in results["model"].values or diet not in results["diet"].values:
        return float("nan")
    return float(results[name].sel(model=model, diet=diet).median("seed"))


def summary(results: xr.Dataset, laws: xr.Dataset | None) -> str:
    """What came out, as Markdown; medians over seeds."""

    def share(name: str, model: str, diet: str) -> str:
        value = _median(results, name, model, diet)
        return "(not computed in this profile)" if np.isnan(value) else f"{100 * value:.0f} %"

    def over_blank(model: str, diet: str) -> str:
        value = _median(results, "mse_ood", model, diet) / float(
            results["blank_ood"].sel(model=model).median()
        )
        return f"{value:.2g} times"

    lines = []
    if "cnn" in results["model"].values:
        place, form = (
            {
                d: share(name, "cnn", d)
                for d in ("stripes+0", "stripes+100", "bumps+100", "bumps+all")
            }
            for name in ("hit_ood", "bump_hit_ood")
        )
        lines += [
            "- **Stripes alone:** the CNN's strongest pixel is within 1 px of the right place at "
            f"{place['stripes+0']} of the held-out positions; "
            f"{share('cross_share_ood', 'cnn', 'stripes+0')} of its images are more like a cross "
            "than like a bump.",
            f"- **Stripes and 100 bumps:** {place['stripes+100']} in the right place, "
            f"{form['stripes+100']} there and more like a bump; the OOD error is "
            f"{over_blank('cnn', 'stripes+100')} that of a blank image.",
            f"- **100 bumps alone:** {place['bumps+100']} in the right place; all bumps of the "
            f"training region: {place['bumps+all']}, with an OOD error of "
            f"{over_blank('cnn', 'bumps+all')} a blank's.",
        ]
    said = {
        "vn_axes": "VN per axis",
        "vn_axes_const": "VN per axis with a constant entry",
        "vn_joint": "full 2D VN",
        "vn_joint_const": "full 2D VN with a constant entry",
        "vn_flat": "VN with a flat readout",
        "factorised": "hand-factorised decoder",
    }
    if here := [model for model in said if model in results["model"].values]:
        lines.append(
            "- **Other decoders:** held-out positions with a bump in the right place, from "
            "stripes alone, with 100 bumps more, and from 100 bumps alone:"
        )
        for model in here:
            numbers = (
                share("bump_hit_ood", model, diet)
                for diet in ("stripes+0", "stripes+100", "bumps+100")
            )
            lines.append(f"  - {said[model]}: {', '.join(numbers)}")
    if laws is not None:
        for kind in KINDS:
            one = laws.sel(kind=kind, measure="hit", target=0.8)
            lines.append(
                f"- **Data for 80 % in the right place, {KINDS[kind][0]}:** {exponent_said(one)}."
            )
    return "\n".join(lines)


def table(results: xr.Dataset, model: str) -> pd.DataFrame | str:
    """One row per diet of a model: medians over seeds, and [lowest, highest]."""
    if model not in results["model"].values:
        return f"The model {model} was not asked for."
    rows = {}
    for kind in KINDS:
        for diet in amounts(results, kind, model):
            one = results.sel(model=model, diet=diet)
            row = {"items": f"{int(one['items'].max())}"}
            for name, title in COLUMNS.items():
                form = "{:.2f}" if name.endswith(("hit_ood", "share_ood")) else "{:.1e}"
                low, middle, high = (
                    form.format(float(v))
                    for v in (one[name].min(), one[name].median(), one[name].max())
                )
                row[title] = f"{middle} [{low}, {high}]"
            rows[diet.replace("+", " + ")] = row
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="diet")
    )


def side_by_side(results: xr.Dataset, models: Sequence[str]) -> pd.DataFrame:
    """Models as rows: joint accuracy of bumps and OOD error per diet, medians over seeds."""
    rows = {}
    for model in (m for m in models if m in results["model"].values):
        row = {}
        for kind in KINDS:
            for diet in amounts(results, kind, model):
                hit, error = (
                    _median(results, name, model, diet) for name in ("bump_hit_ood", "mse_ood")
                )
                row[diet.replace("+", " + ")] = f"{hit:.2f} / {error:.1e}"
        row["blank image"] = f"{float(results['blank_ood'].sel(model=model).median()):.1e}"
        rows[str(results["label"].sel(model=model).item())] = row
    table = pd.DataFrame.from_dict(rows, orient="index").fillna("")
    return table.rename_axis(None).rename_axis(columns="accuracy of bumps / OOD error")


def law_table(laws: xr.Dataset | None) -> pd.DataFrame | str:
    """Fitted exponents with 95 % intervals, and how often the target is reached."""
    if laws is None:
        return "No model of another image side was asked for."
    rows = []
    for measure, title in MEASURES.items():
        for kind, (label, _, _) in KINDS.items():
            for target in laws["target"].values:
                one = laws.sel(kind=kind, measure=measure, target=target)
                rows.append(
                    {
                        "accuracy": f"{title}, {target:g}",
                        "diet": label,
                        "exponent [95 %]": exponent_said(one),
                        "runs that reach it": f"{100 * float(one['reached']):.0f} %",
                    }
                )
    return pd.DataFrame(rows).set_index("accuracy")


def trials(tuning: xr.Dataset | None) -> pd.DataFrame | str:
    """ID validation error of every setting that was tried; the chosen one is marked with `*`."""
    return texts.trials(None if tuning is None else tuning.isel(diet=0), "mse_val", "{:.1e}".format)
