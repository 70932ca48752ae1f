"""Function composition in words and tables; everything said is computed from the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from chapters.fig3_functions.figures import MASKS, SETS, with_values
from vnlib.plots import texts
from vnlib.plots.rows import group, label
from vnlib.plots.texts import short, spread

NAMES = {"id": "ID", "easy": "Easy", "hard": "Hard"}
VN = ("vn_1", "vn_3", "vn_5")
NOTHING = "Not computed in this profile."


def here(results: xr.Dataset, models: Sequence[str]) -> list[str]:
    return [m for m in models if m in results["model"].values]


def median(results: xr.Dataset, name: str, **at: str) -> float:
    """Median over seeds of one number."""
    return float(results[name].sel(at).median("seed"))


def best(
    results: xr.Dataset, models: Sequence[str], way: str, mask: str, name: str
) -> tuple[str, float]:
    """The model with the lowest median error on hidden samples of one cell, and that error; ("",
    nan) for none.
    """
    values = {m: median(results, "hidden", model=m, way=way, mask=mask, set=name) for m in models}
    values = {m: v for m, v in values.items() if np.isfinite(v)}
    if not values:
        return "", float("nan")
    model = min(values, key=values.__getitem__)
    return model, values[model]


def of_group(results: xr.Dataset, *groups: str) -> list[str]:
    return [str(m) for m in results["model"].values if group(results, str(m)) in groups]


def all_cells(results: xr.Dataset) -> list[tuple[str, str]]:
    return [(str(m), s) for m in results["mask"].values for s in SETS]


def summary(results: xr.Dataset) -> str:
    """What came out, as Markdown; medians over seeds."""
    lines, vn, others = [], here(results, VN), of_group(results, "paper")
    wins = {"easy": 0, "hard": 0}
    for name in ("easy", "hard"):
        if vn and others:
            least = min(median(results, "mse", model=m, set=name) for m in vn)
            wins[name] = sum(median(results, "mse", model=m, set=name) < least for m in others)
    if vn and others:
        lines.append(
            f"- **Whole signals:** of {len(others)} other models, {wins['easy']} reconstruct "
            f"Easy and {wins['hard']} Hard signals with less error than the best of {len(vn)} "
            "VNs."
        )
        cells = all_cells(results)
        won = sum(best(results, [*vn, *others], "paper", *c)[0] in vn for c in cells)
        lines.append(
            "- **Hidden samples, the paper's protocol** (zeros where hidden; imputation for the "
            f"VN): a VN is best in {won} of {len(cells)} cells."
        )
        ratios = [
            best(results, vn, "paper", *c)[1] / best(results, others, "paper", *c)[1] for c in cells
        ]
        lines.append(
            f"- **Margin:** its error is {np.median(ratios):.2f} that of the best other, "
            "median over cells."
        )
    if vn:
        lines += _against(results, vn)
    return "\n".join(lines) or NOTHING


def _against(results: xr.Dataset, vn: Sequence[str]) -> list[str]:
    cells, lines = all_cells(results), []
    rivals = {
        "networks trained with masks": (of_group(results, "masked"), "aware"),
        "the last value held or linear interpolation": (
            here(results, ["hold_last", "linear"]),
            "aware",
        ),
        "dictionaries that were not learned, by the same imputation": (
            here(results, ["fourier", "vn_untrained"]),
            "paper",
        ),
    }
    for said, (models, way) in rivals.items():
        if models:
            won = sum(
                best(results, vn, "paper", *c)[1] < best(results, models, way, *c)[1] for c in cells
            )
            lines.append(
                f"- **Against {said}:** the best VN has less error in {won} of {len(cells)} cells."
            )
    aware = with_values(results, results["hidden"].sel(way="aware"))
    won = sum(best(results, aware, "aware", *c)[0] in vn for c in cells)
    lines.append(
        "- **Everyone told what is hidden** (masked lasso for the VN): a VN is best of "
        f"{len(aware)} in {won} of {len(cells)} cells."
    )
    return lines


def winners(results: xr.Dataset) -> pd.DataFrame | str:
    """Twelve cells: who has the least error under the paper's protocol, and who when all know what
    is hidden.
    """
    paper, every = of_group(results, "vn", "paper"), [str(m) for m in results["model"].values]
    if not paper:
        return NOTHING
    rows = {}
    for mask, name in all_cells(results):
        zero = float(results["blank_hidden"].sel(mask=mask, set=name).max())
        row = {"zero": short(zero)}
        for title, models, way in (
            ("paper's protocol", paper, "paper"),
            ("knows the mask", every, "aware"),
            ("knows the mask, only the paper's models", paper, "aware"),
        ):
            model, value = best(results, models, way, mask, name)
            row[title] = f"{label(results, model)}: {short(value)}" if model else ""
        rows[f"{MASKS.get(mask, mask)}, {NAMES[name]}"] = row
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="cell")
    )


def reconstruction(results: xr.Dataset) -> pd.DataFrame | str:
    """Reconstruction errors per model: median and [lowest, highest] over seeds; last the zero
    prediction.
    """
    models = with_values(results, results["mse"])
    if not models:
        return NOTHING
    rows = {
        label(results, m): {NAMES[s]: spread(results["mse"].sel(model=m, set=s)) for s in SETS}
        | {"parameters": _count(results, m), "atoms in use": _active(results, m)}
        for m in models
    }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def _count(results: xr.Dataset, model: str) -> str:
    value = (
        median(results, "fact_parameters", model=model)
        if "fact_parameters" in results
        else float("nan")
    )
    return f"{value:,.0f}" if np.isfinite(value) else ""


def _active(results: xr.Dataset, model: str) -> str:
    value = (
        median(results, "fact_active", model=model) if "fact_active" in results else float("nan")
    )
    return f"{value:.1f}" if np.isfinite(value) else ""


def owed(results: xr.Dataset) -> pd.DataFrame | str:
    """Errors on hidden samples of VN-1L, of its atoms before learning and of a fixed dictionary, by
    both inferences.
    """
    models = here(results, ["vn_1", "vn_untrained", "fourier"])
    if not models:
        return NOTHING
    titles = {"paper": "imputation", "aware": "masked lasso"}
    rows = {}
    for mask, name in all_cells(results):
        rows[f"{MASKS.get(mask, mask)}, {NAMES[name]}"] = {
            f"{label(results, m)}, {title}": short(
                median(results, "hidden", model=m, way=way, mask=mask, set=name)
            )
            for way, title in titles.items()
            for m in models
        }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="cell")
    )


def owed_said(results: xr.Dataset) -> str:
    """How much learning changes, and how much inference, as one sentence of medians over cells."""
    if len(here(results, ["vn_1", "vn_untrained", "fourier"])) < 3:
        return NOTHING
    hidden = results["hidden"].median("seed")

    def ratio(a: tuple[str, str], b: tuple[str, str]) -> str:
        one, two = (hidden.sel(model=m, way=w) for m, w in (a, b))
        return f"{float((one / two).median()):.2f}"

    learned, fixed = (ratio(("vn_1", "paper"), (m, "paper")) for m in ("vn_untrained", "fourier"))
    return (
        f"Median over the cells: learning its atoms leaves {learned} of the error of training "
        f"signals as atoms and {fixed} of that of the fixed dictionary, all by imputation. "
        "Solving the masked problem instead of imputing leaves "
        f"{ratio(('vn_1', 'aware'), ('vn_1', 'paper'))} of the error of the same atoms."
    )


def levelled(results: xr.Dataset, most: float = 0.3) -> str:
    """Which networks still improved: whose validation error fell by more than `most` after 0.7 of
    the updates.
    """
    models = with_values(results, results["curve"], ("paper", "masked"))
    if not models:
        return NOTHING
    curve = results["curve"].median("seed")
    late, end = (curve.sel(check=at, method="nearest") for at in (0.7, 1.0))
    gain = {m: 1 - float(end.sel(model=m) / late.sel(model=m)) for m in models}
    moving = [f"{label(results, m)} ({100 * gain[m]:.0f} %)" for m in models if gain[m] > most]
    said = f"by more than {100 * most:.0f} % in the last three tenths of the updates"
    if not moving:
        return f"No network's validation error fell {said}."
    return (
        f"The validation error still fell {said} of {', '.join(moving)}. With more updates these "
        "would have smaller errors in distribution."
    )


def trials(tuning: xr.Dataset | None, results: xr.Dataset) -> pd.DataFrame | str:
    """Mean ID validation error on hidden samples of every setting tried, per model of `results`;
    the chosen has a `*`.
    """
    return texts.trials(tuning, results=results)
