"""Tasks one after the other in words and tables; everything said is computed from the results.

`results` as in `figures.continual`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from chapters.beyond_continual.figures import (
    KINDS,
    SETS,
    STREAMS,
    final,
    forgotten,
    models,
    transfer,
)
from vnlib.plots.rows import label
from vnlib.plots.texts import ranged

LEARNED = {
    "lista": "LISTA",
    "linear": "a linear guess",
    "untrained": "three steps of ISTA, untrained",
}
SOLVERS = {"ista": "plain steps", "restart": "momentum", "line_search": "momentum and line search"}
LEVEL = 1e-3


def summary(results: xr.Dataset) -> str:
    """What came out, in a few lines of Markdown."""
    return "\n".join([*_of_tasks(results), *_of_data(results), *_of_inference(results)])


def _of_tasks(results: xr.Dataset) -> list[str]:
    """A table per kind of task: what is forgotten, errors at the end, shared updates, units at the
    start and end.
    """
    ratio, errors, lines = forgotten(results), final(results).median("seed"), []
    turns = results.sel(stream="sequence")
    for kind, title in KINDS.items():
        rows = []
        for name in models(results, kind):
            grown = ratio.sel(model=name, stream="sequence")
            if not bool(grown.notnull().any()):
                continue
            factor = float(grown.median())
            alone, mixed = (
                float(errors.sel(model=name, stream=stream)) for stream in ("sequence", "joint")
            )
            shared = float(turns["shared_units"].sel(model=name).mean(("task", "other")).median())
            units = (
                turns["fact_units"]
                .sel(model=name)
                .median("seed")
                .sel(after=slice(1, None))
                .dropna("after")
                .values
            )
            counts = (
                f"{units[0]:.0f} to {units[-1]:.0f}" if units[0] != units[-1] else f"{units[0]:.0f}"
            )
            cells = (
                f"{factor:,.0f}" if factor >= 1000 else f"{factor:.3g}",
                f"{alone:.3g}",
                f"{mixed:.3g}" if np.isfinite(mixed) else "",
            )
            rows.append(
                f"| {label(results, name)} | {' | '.join(cells)} | {shared:.2f} | {counts} |"
            )
        if rows:
            head = (
                f"**{title}**, in turn",
                "error grows by (×)",
                "error at the end",
                "all mixed",
                "updates share",
                "units of the code",
            )
            lines += [f"| {' | '.join(head)} |", "|---" + "|---:" * 5 + "|", *rows, ""]
    return lines


def _of_data(results: xr.Dataset) -> list[str]:
    if "data_error" not in results:
        return []
    one = results["data_error"].median("seed")
    lines = []
    for kind, title in SETS.items():
        best = {}
        for n in one["images"].values.tolist():
            at = one.sel(set=kind, images=n)
            at = at.isel(model=np.flatnonzero(at.notnull().values))
            best[n] = label(results, str(at["model"].values[int(at.values.argmin())]))
        lines.append(
            f"- **Few images, {title}.** Lowest error, by training images: "
            f"{'; '.join(f'{n}: {name}' for n, name in best.items())}."
        )
    return lines


def _of_inference(results: xr.Dataset) -> list[str]:
    if "inference_ratio" not in results:
        return []
    lines = []
    for name, one in _measured(results):
        ratio = ranged(one["inference_ratio"], "{:.0f}")
        lines.append(
            f"- **Inference.** {name} takes {ratio} times the operations of a pass through the "
            "autoencoder, in products of matrices."
        )
    return lines


def _measured(results: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    """The models whose inference was measured, by the name that readers call them, and the results
    of each.
    """
    for name in results["model"].values.tolist():
        one = results.sel(model=name)
        if bool(one["inference_ratio"].notnull().any()):
            yield label(results, name), one


def table(results: xr.Dataset) -> pd.DataFrame:
    """Medians [lowest, highest] over seeds: forgetting and transfer in turn, errors at the end by
    stream.
    """
    ratio, moved, errors, rows = forgotten(results), transfer(results), final(results), {}
    for kind in KINDS:
        for name in models(results, kind):
            row = {
                "forgotten (×)": ranged(ratio.sel(model=name, stream="sequence")),
                "forgotten with replay (×)": ranged(ratio.sel(model=name, stream="replay")),
                "before its turn / start": ranged(moved.sel(model=name, stream="sequence")),
            }
            for stream, (title, _) in STREAMS.items():
                row[f"error, {title}"] = ranged(errors.sel(model=name, stream=stream))
            rows[KINDS[kind], label(results, name)] = row
    return pd.DataFrame(rows).T


def overlaps_table(results: xr.Dataset) -> pd.DataFrame:
    """What updates of two tasks share, mean over pairs, medians [lowest, highest] over seeds; units
    of the model.
    """
    one, rows = results.sel(stream="sequence"), {}
    titles = {
        "shared_code": "codes",
        "shared_units": "updates, by units",
        "shared_weights": "by weights",
        "cosine": "cosine",
    }
    for kind in KINDS:
        for name in models(results, kind):
            row = {
                t: ranged(one[m].sel(model=name).mean(("task", "other")), "{:.2f}")
                for m, t in titles.items()
            }
            units = one["fact_units"].sel(model=name).max("after")
            row |= {"units of the code at the end": ranged(units, "{:.0f}")}
            row["drawn anew"] = ranged(one["fact_revived"].sel(model=name).max("after"), "{:.0f}")
            rows[KINDS[kind], label(results, name)] = row
    return pd.DataFrame(rows).T


def related(results: xr.Dataset) -> str:
    """How shared codes and shared updates of pairs of tasks go together, per model, as Markdown."""
    one, parts = results.sel(stream="sequence"), []
    for kind in KINDS:
        for name in models(results, kind):
            code, units = (
                one[m].sel(model=name).values.ravel() for m in ("shared_code", "shared_units")
            )
            known = np.isfinite(code) & np.isfinite(units)
            if known.sum() > 2 and min(code[known].std(), units[known].std()) > 1e-6:
                parts.append(
                    f"{label(results, name)} {np.corrcoef(code[known], units[known])[0, 1]:.2f}"
                )
    said = "; ".join(parts) if parts else "nothing to correlate"
    return (
        "Correlation over pairs of tasks and seeds between what codes and what updates share: "
        f"{said}."
    )


def inference_table(results: xr.Dataset) -> pd.DataFrame:
    """Sweeps to within a thousandth of the lowest energy, by start, set and solver, cost of the
    start apart.
    """
    if "inference_sweeps" not in results:
        return pd.DataFrame()
    rows = {}
    for name, one in _measured(results):
        sweeps = one["inference_sweeps"].sel(level=LEVEL, method="nearest").median("seed")
        for start in one["start"].values.tolist():
            row = {"cost": f"{float(one['inference_cost'].sel(start=start).median()):.1f}"}
            for kind, title in SETS.items():
                for solver, how in SOLVERS.items():
                    value = float(sweeps.sel(start=start, set=kind, solver=solver))
                    row[f"{title}, {how}"] = f"{value:.0f}" if np.isfinite(value) else "not reached"
            rows[name, LEARNED.get(start, "cold")] = row
    return pd.DataFrame(rows).T
