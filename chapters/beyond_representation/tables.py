"""Linear and orthogonal factors in tables, and the numbers of the prose."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import xarray as xr
from scipy.stats import permutation_test, spearmanr

from chapters.beyond_representation.figures import (
    BENCHMARKS,
    GROUPS,
    benchmarks,
    codes_of,
    layers,
    of_benchmark,
)
from vnlib.plots.frames import label
from vnlib.plots.statistics import extremes, percent, texts
from vnlib.plots.tables import Table, frame, spreads

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
KNOWN = [*MEASURES, "error_seen", "error_unseen"]
READ = ["is_code", "linearity", "overlap", "transfer", "read_first", "read_second", *KNOWN[-2:]]


def medians(results: xr.Dataset, benchmark: str, groups: Sequence[str] = LEARNED) -> pd.DataFrame:
    """Medians over seeds, a row for each model; `gap` is the error unseen over that seen."""
    models = of_benchmark(results, benchmark, groups)
    found = codes_of(results[READ])[KNOWN].median("seed").to_dataframe()[KNOWN].loc[models]
    old = found["error_seen"].where(found["error_seen"] > 0)
    return found.assign(gap=found["error_unseen"] / old)


def alone(
    results: xr.Dataset, benchmark: str, groups: Sequence[str] = LEARNED
) -> dict[int, pd.DataFrame]:
    """`medians` of every seed by itself."""
    seeds = results["seed"].values.tolist()
    return {seed: medians(results.sel(seed=[seed]), benchmark, groups) for seed in seeds}


def ranks(
    seeds: Mapping[int, pd.DataFrame], measure: str, error: str = "error_unseen"
) -> xr.DataArray:
    """`rank` of the models of every seed by itself (seed)."""
    found = [rank(models, measure, error) for models in seeds.values()]
    return xr.DataArray(found, {"seed": [*seeds]}, ("seed",))


def rank(models: pd.DataFrame, measure: str, error: str = "error_unseen") -> float:
    """Spearman's coefficient of a measure, turned so that more should mean less error, with an
    error over the rows of `medians`; NaN for fewer than three models, and where one is constant.
    """
    # Six digits: rounding must not order what is equal.
    pair = models[[measure, error]].dropna().map(lambda value: float(f"{value:.6g}"))
    if len(pair) < 3 or (pair.nunique() < 2).any():
        return float("nan")
    return MEASURES[measure][1] * float(spearmanr(pair[measure], pair[error]).statistic)


def chance(models: pd.DataFrame, measure: str, error: str = "error_unseen") -> float:
    """Of all orders of the errors, the share with a coefficient as large as `rank`, or larger."""
    own, other = (models[name].rank().values for name in (measure, error))
    found = permutation_test(
        (own - own.mean(),),
        lambda ranks, axis: (ranks * (other - other.mean())).sum(axis),
        permutation_type="pairings",
        n_resamples=math.inf,  # all orders
        vectorized=True,
    )
    return float(found.pvalue)


def exact(values: Any) -> Any:
    """Values without what rounding of float64 leaves where they are 0."""
    return values * (abs(values) > 1e-15)


def _models(results: xr.Dataset) -> dict[str, tuple[str, str]]:
    """The models of all benchmarks -> benchmark and model, as readers call them."""
    of = {name: of_benchmark(results, name) for name in benchmarks(results)}
    return {m: (BENCHMARKS[name], label(results, m)) for name, own in of.items() for m in own}


def _layers(results: xr.Dataset) -> dict[tuple[str, str], tuple[str, str, str]]:
    """The layers of all models, in the order of the pass -> benchmark, model and layer."""
    models = _models(results).items()
    return {(m, one): (*named, one) for m, named in models for one in layers(results, m)}


def codes_table(results: xr.Dataset) -> Table:
    """The code of every model: all measures over seeds."""
    models = _models(results)
    codes = codes_of(results).sel(model=list(models))
    rows = spreads({title: exact(codes[measure]) for title, measure in CODES.items()}, "model")
    rows.index = pd.MultiIndex.from_tuples(models.values(), names=["benchmark", "model"])
    return Table(rows, name="the codes of all models")


def free_table(results: xr.Dataset) -> Table:
    """What nothing that was learned has: linear codes, and small errors without them."""
    groups = ("untrained", "control")
    of = {name: of_benchmark(results, name, groups) for name in benchmarks(results)}
    models = {m: (BENCHMARKS[name], label(results, m)) for name, own in of.items() for m in own}
    codes = codes_of(results).sel(model=list(models))
    titles = {"linearity": "linearity", "overlap": "overlap", "error": "error_unseen"}
    rows = spreads({title: exact(codes[name]) for title, name in titles.items()}, "model")
    rows.index = pd.MultiIndex.from_tuples(models.values(), names=["benchmark", "nothing learned"])
    return Table(rows, name="codes without learning")


def layers_table(results: xr.Dataset) -> Table:
    """Linearity, overlap and the error of a linear drawing of every layer."""
    shared = results["shared"].where(results["benchmark"] == "forces")
    read = (results["read_first"] + results["read_second"]) / 2
    values = results.assign(shared=shared, overlap=exact(results["overlap"]), read=read)
    values = values.rename(error_linear="linear drawing")
    deep = {model for model in _models(results) if len(layers(results, model)) > 1}
    named = {at: names for at, names in _layers(results).items() if at[0] in deep}
    values = values.stack(at=("model", "layer")).sel(at=list(named)).reset_index("at", drop=True)
    values = values.assign_coords(at=range(len(named)))
    columns = ["linearity", "shared", "transfer", "overlap", "read", "linear drawing"]
    shown = {"units": values["units"]} | {name: values[name] for name in columns}
    rows = spreads(shown, "at")
    rows.index = pd.MultiIndex.from_tuples(named.values(), names=["benchmark", "model", "layer"])
    return Table(rows, name="all layers of all models")


def supports_table(results: xr.Dataset) -> Table:
    """How linear the sets of active atoms are, beside the coefficients, layer by layer."""
    share, columns, names = results["linearity"], {"active or not": [], "coefficients": []}, []
    for (model, layer), (benchmark, name, _) in _layers(results).items():
        kind, _, number = layer.partition(" ")
        if kind == "support":
            names.append((benchmark, name, number))
            for title, one in zip(columns, (layer, f"code {number}"), strict=True):
                columns[title].append(share.sel(model=model, layer=one).reset_coords(drop=True))
    if not names:
        return Table(frame({}))
    rows = spreads({title: xr.concat(one, "at") for title, one in columns.items()}, "at")
    rows.index = pd.MultiIndex.from_tuples(names, names=["benchmark", "model", "layer"])
    return Table(rows, name="linearity of supports")


def correlations_table(results: xr.Dataset) -> Table:
    """Rank correlations of all measures with errors, over trained models and over all, seed by
    seed.
    """
    columns, rows = {}, []
    for kind, groups in (("trained", LEARNED), ("all", tuple(GROUPS))):
        counts = [len(of_benchmark(results, name, groups)) for name in benchmarks(results)]
        models = f"{kind} ({', '.join(map(str, counts))} models)"
        seeds = {name: alone(results, name, groups) for name in benchmarks(results)}
        for measure, (title, _) in MEASURES.items():
            rows.append((models, title))
            for name in seeds:
                for said, error in (("error", "error_unseen"), ("over ID error", "gap")):
                    one = ranks(seeds[name], measure, error)
                    columns.setdefault((BENCHMARKS[name], said), []).append(one)
    found = spreads({title: xr.concat(one, "at") for title, one in columns.items()}, "at")
    found.index = pd.MultiIndex.from_tuples(rows, names=["models", "measure"])
    return Table(found, dict.fromkeys(columns, "{:+.2f}"), name="rank correlations")


def two_digits(rank: float) -> str:
    """A rank correlation with its sign: "-0.87", "+1.0"."""
    return f"{rank:+.2f}".replace("1.00", "1.0")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results."""
    found, condition, counts, codes = {}, {}, [], codes_of(results)
    for name in BENCHMARKS:
        for kind in LEARNED:
            overlap = codes["overlap"].sel(model=of_benchmark(results, name, (kind,)))
            found[f"{name}-{kind}-overlap-most"] = extremes(overlap)["most"]
        both, error = medians(results, name), codes["error_unseen"]
        found[f"{name}-least"] = error.sel(model=both["error_unseen"].idxmin())
        found[f"{name}-nearest"] = error.sel(model=nearest(both))
        condition[name] = ranks(alone(results, name), "condition")
        found[f"chance-{name}"] = percent(chance(both, "condition"))
        counts.append(str(len(both)))
    if "s_vn_full" in results["model"].values:
        own = results["linearity"].sel(model="s_vn_full")
        code, support = (own.sel(layer=one) for one in ("code 1", "support 1"))
        found |= {"full-linearity": code, "full-support": support}
        found["full-error"] = codes["error_unseen"].sel(model="s_vn_full")
    found["models"] = " and ".join((", ".join(counts[:-1]), counts[-1]))
    found["seeds"] = str(results.sizes["seed"])
    return texts("beyondrep", found) | texts("beyondrep-rank", condition, two_digits)


def nearest(models: pd.DataFrame) -> str:
    """The model whose code is nearest to the condition, of equal ones that with the least error."""
    order = models.assign(condition=models["condition"].round(3))
    return str(order.sort_values(["condition", "error_unseen"], ascending=[False, True]).index[0])
