"""Linear and orthogonal factors in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import spearmanr

from chapters.beyond_representation.figures import (
    BENCHMARKS,
    GROUPS,
    benchmarks,
    code,
    layers,
    of_benchmark,
)
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds, short
from vnlib.plots.tables import SHOWN, Table

LEARNED = ("vn", "backprop")
# measure -> (what readers call it, its sign where more of it should mean a smaller error)
MEASURES = {
    "linearity": ("linearity", 1),
    "overlap": ("1 − overlap", -1),
    "condition": ("linearity × (1 − overlap)", 1),
    "transfer": ("transfer", 1),
    "read": ("read right", 1),
}
# columns of the codes' table -> what they show
CODES = {
    "linearity": "linearity",
    "transfer": "transfer",
    "overlap": "overlap",
    "overlap, random": "overlap_random",
    "cosine²": "cosine",
    "cosine², random": "cosine_random",
    "read, first": "read_first",
    "read, second": "read_second",
    "error": "error_unseen",
    "linear drawing": "error_linear",
}
KNOWN = ("linearity", "overlap", "condition", "transfer", "read", "error_seen", "error_unseen")


def medians(results: xr.Dataset, benchmark: str, groups: Sequence[str] = LEARNED) -> pd.DataFrame:
    """What is known of the codes of a benchmark's models and of their errors; medians over seeds, a
    row for each model.
    """
    models = of_benchmark(results, benchmark, groups)
    rows = [{name: float(median(code(results, m)[name])) for name in KNOWN} for m in models]
    return pd.DataFrame(rows, index=models, columns=KNOWN)


def rank(models: pd.DataFrame, measure: str, *, gap: bool = False) -> float:
    """Spearman's coefficient of a measure with the error at new combinations, over the rows of
    `medians`. Measures are turned so that more should mean less error. NaN for fewer than three
    models, and where one of the two is the same for all.

    Parameters
    ----------
    gap
        With that error over the one where nothing is new.
    """
    error = models["error_unseen"]
    if gap:
        error = error / models["error_seen"].where(models["error_seen"] > 0)
    pair = pd.DataFrame({"x": MEASURES[measure][1] * models[measure], "y": error}).dropna()
    # Six digits: rounding must not order what is equal.
    pair = pair.map(lambda value: float(f"{value:.6g}"))
    if len(pair) < 3 or (pair.nunique() < 2).any():
        return float("nan")
    return float(spearmanr(pair["x"], pair["y"]).statistic)


def _frame(rows: Mapping[tuple, Mapping], *names: str) -> pd.DataFrame:
    """A frame of rows by (benchmark, model, ...)."""
    index = pd.MultiIndex.from_tuples(rows, names=names) if rows else None
    return pd.DataFrame(list(rows.values()), index=index)


def exact(values: float | xr.DataArray) -> float | xr.DataArray:
    """Values without what rounding of float64 leaves where they are 0."""
    return values * (abs(values) > 1e-15)


def codes_table(results: xr.Dataset) -> Table:
    """The code of every model: all measures, with their range over seeds."""
    rows = {}
    for name in benchmarks(results):
        for model in of_benchmark(results, name):
            one = code(results, model)
            found = {title: over_seeds(exact(one[measure])) for title, measure in CODES.items()}
            rows[BENCHMARKS[name], label(results, model)] = {
                (title, statistic): float(values[statistic])
                for title, values in found.items()
                for statistic in SHOWN
            }
    return Table(_frame(rows, "benchmark", "model"), name="the codes of all models")


def free_table(results: xr.Dataset) -> Table:
    """What nothing that was learned has: linear codes, and small errors without them."""
    rows = {
        (BENCHMARKS[name], label(results, model)): {
            "linearity": one["linearity"],
            "overlap": exact(one["overlap"]),
            "error": one["error_unseen"],
        }
        for name in benchmarks(results)
        for model, one in medians(results, name, ("untrained", "control")).iterrows()
    }
    return Table(_frame(rows, "benchmark", "nothing learned"), name="codes without learning")


def layers_table(results: xr.Dataset) -> Table:
    """Linearity, overlap and the error of a linear drawing of every layer; medians over seeds."""
    rows = {}
    for name in benchmarks(results):
        for model in of_benchmark(results, name):
            own = layers(results, model)
            for layer in own if len(own) > 1 else ():
                at = results.sel(model=model, layer=layer)
                found = {
                    "units": at["units"],
                    "linearity": at["linearity"],
                    "shared": at["shared"].where(name == "forces"),
                    "transfer": at["transfer"],
                    "overlap": exact(at["overlap"]),
                    "read": (at["read_first"] + at["read_second"]) / 2,
                    "linear drawing": at["error_linear"],
                }
                rows[BENCHMARKS[name], label(results, model), layer] = {
                    title: float(median(values)) for title, values in found.items()
                }
    frame = _frame(rows, "benchmark", "model", "layer")
    return Table(frame, formats={"units": "{:.0f}"}, name="all layers of all models")


def supports_table(results: xr.Dataset) -> Table:
    """How linear the sets of active atoms are, beside the coefficients, layer by layer."""
    rows = {}
    for name in benchmarks(results):
        for model in of_benchmark(results, name):
            share = median(results["linearity"].sel(model=model))
            for layer in layers(results, model):
                if layer.startswith("support"):
                    beside = layer.replace("support", "code")
                    rows[BENCHMARKS[name], label(results, model), layer.split()[1]] = {
                        "active or not": float(share.sel(layer=layer)),
                        "coefficients": float(share.sel(layer=beside)),
                    }
    return Table(_frame(rows, "benchmark", "model", "layer"), name="linearity of supports")


def correlations_table(results: xr.Dataset) -> Table:
    """Rank correlations of all measures with errors, by benchmark, over trained models and over
    all.
    """
    rows = {}
    for kind, groups in (("trained", LEARNED), ("all", tuple(GROUPS))):
        models = {name: medians(results, name, groups) for name in benchmarks(results)}
        counts = ", ".join(str(len(frame)) for frame in models.values())
        for measure, (title, _) in MEASURES.items():
            rows[f"{kind} ({counts} models)", title] = {
                (BENCHMARKS[name], said): rank(frame, measure, gap=gap)
                for name, frame in models.items()
                for said, gap in (("error", False), ("over ID error", True))
            }
    frame = _frame(rows, "models", "measure")
    return Table(frame, formats=dict.fromkeys(frame.columns, "{:+.2f}"), name="rank correlations")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results; nothing where a benchmark lacks trained models."""
    found: dict[str, str] = {}
    ranks = []
    for name in BENCHMARKS:
        frames = {kind: medians(results, name, (kind,)) for kind in LEARNED}
        if any(frame.empty for frame in frames.values()):
            return {}
        for kind, frame in frames.items():
            for measure in ("linearity", "overlap"):
                ends = (f"{frame[measure].min():.2f}", f"{frame[measure].max():.2f}")
                found[f"{name}-{kind}-{measure}"] = " to ".join(dict.fromkeys(ends))
        both = pd.concat(list(frames.values()))
        found[f"{name}-least"] = short(both["error_unseen"].min())
        found[f"{name}-nearest"] = short(both["error_unseen"][nearest(both)])
        ranks.append(rank(both, "condition"))
        found[f"{name}-rank"] = f"{ranks[-1]:+.2f}"
    found["strong"] = str(int(np.sum(np.array(ranks) <= -0.5)))
    return {f"beyondrep-{key}": text for key, text in found.items()}


def nearest(models: pd.DataFrame) -> str:
    """The model whose code is nearest to the condition, of equal ones that with the least error."""
    order = models.assign(condition=models["condition"].round(3))
    return str(order.sort_values(["condition", "error_unseen"], ascending=[False, True]).index[0])
