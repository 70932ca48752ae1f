"""The geometry of a decoder's layers as a table and in words, from the same dataset as
`chapters.FR2_manifold.figures`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR2_manifold.figures import last, median, models, mse, path


def _said(values: np.ndarray, form: str = "{:.2f}") -> str:
    return form.format(median(values)) if np.isfinite(values).any() else ""


def table(results: xr.Dataset) -> pd.DataFrame:
    """Errors and measures of every model, medians over seeds."""
    rows = {}
    for group in ("reference", "cnn", "mlp", "vn"):
        for model in models(results, group):
            terms = path(results, "terms", model)[1]
            single, F = path(results, "one_factor", model)[1][-1], path(results, "F", model)[1][-1]
            hidden = group != "reference"
            errors = {
                s: "" if model == "table" else _said(mse(results, s, model), "{:.1e}")
                for s in ("train", "id", "ood")
            }
            rows[str(results["label"].sel(model=model).item())] = {
                "training error": errors["train"],
                "ID error": errors["id"],
                "OOD error": errors["ood"],
                "F, last hidden": _said(last(results, "F", model)) if hidden else "",
                "F, output": _said(F),
                "probe in hold-out, last hidden": _said(last(results, "probe_ood", model))
                if hidden
                else "",
                "F_A, output": _said(single),
                "terms, output": _said(terms[-1], "{:.1f}"),
            }
    return (
        pd.DataFrame.from_dict(rows, orient="index").rename_axis(None).rename_axis(columns="model")
    )


def summary(results: xr.Dataset) -> str:
    """The results as Markdown; every number is a median over seeds, then over networks."""
    blank_in, blank_out = (float(results[f"blank_{s}"].median()) for s in ("id", "ood"))
    networks = models(results, "cnn") + models(results, "mlp")
    drawn = [m for m in networks if median(mse(results, "train", m)) <= 0.5 * blank_in]
    lines = [
        f"- **{len(drawn)} of {len(networks)}** CNNs and MLPs learned to draw in distribution "
        f"(training error at most half of the {blank_in:.1e} that a blank image costs). The "
        "others are in the figures all the same."
    ]

    def over(chosen: list[str], name: str, weights: str = "trained") -> float:
        return float(median(np.array([median(last(results, name, m, weights)) for m in chosen])))

    if drawn:
        ood = float(np.median([median(mse(results, "ood", m)) for m in drawn]))
        names = ("F", "probe", "probe_ood", "spread_in", "spread_out")
        at = {name: over(drawn, name) for name in names}
        random = {name: over(drawn, name, "untrained") for name in names}
        lines += [
            f"- Those that did have an OOD error of {ood:.1e}, {ood / blank_out:.1f} times "
            "a blank image's.",
            f"- **F** of their last hidden layer is {at['F']:.2f}; with random weights it "
            f"is {random['F']:.2f}.",
            f"- **Probes** of that layer reach $R^2$ = {at['probe']:.3f} across the grid. Fitted "
            f"outside the hold-out and read inside, they reach {at['probe_ood']:.2f} (random "
            f"weights: {random['probe_ood']:.2f}).",
            f"- **Volume** of that layer spreads over {at['spread_in']:.2f} decades (sd) in the "
            f"hold-out and over {at['spread_out']:.2f} around it (random weights: "
            f"{random['spread_in']:.2f} in the hold-out).",
        ]
    if "perfect" in results["model"].values:
        at = {
            name: float(median(path(results, name, "perfect")[1][-1]))
            for name in ("F", "probe_ood", "one_factor", "terms")
        }
        lines.append(
            f"- **Perfect images** have F = {at['F']:.2f}, {at['terms']:.2f} terms, a share of "
            f"single factors of {at['one_factor']:.2f}, and a probe in the hold-out at $R^2$ = "
            f"{at['probe_ood']:.2f}."
        )
    for model in models(results, "vn"):
        ood, F = median(mse(results, "ood", model)), median(last(results, "F", model))
        lines.append(
            f"- **{results['label'].sel(model=model).item()}:** F of its last code "
            f"{F:.2f}, OOD error {ood:.1e}."
        )
    return "\n".join(lines)
