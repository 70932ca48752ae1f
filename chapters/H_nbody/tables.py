"""Force composition in full, in tables, and the numbers of the prose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from IPython.display import HTML

from benchmarks.nbody.figures import MEAN, in_order
from chapters.H_nbody import tables_effects as effects
from vnlib.plots.frames import label
from vnlib.plots.statistics import median, over_seeds, short
from vnlib.plots.tables import SHOWN, Table, caption

OTHERS = ("mlp", "gnn", "transformer", "mamba", "film", "factorized")
PRINTED = "vn_literal_3"  # the Vector Network on the 22 numbers that the paper names
READINGS = {"literal": PRINTED, "gated": "vn_gated_3", "tokens": "vn_token_3"}


def _spread(values: xr.DataArray, title: str) -> dict[tuple[str, str], np.ndarray]:
    """Median, lowest and highest over seeds."""
    found = over_seeds(values)
    return {(title, statistic): found[statistic].values for statistic in SHOWN}


def _index(results: xr.Dataset, models: Sequence[str]) -> pd.Index:
    return pd.Index([label(results, m) for m in models], name="model")


def summary_table(shared: xr.Dataset) -> Table:
    """Growth of errors as bodies drop out, and drift at the end, of models of the paper."""
    models = in_order(shared, ("vn", "printed"))
    moved = median(effects.growth(shared)["id"]), median(effects.growth(shared)["ood"])
    drift = median(effects.final_drift(shared)).median("panel")
    columns = {
        "errors, three bodies over five: ID": 10 ** moved[0],
        "mixtures": 10 ** moved[1],
        "drift at the end [box²]": drift,
    }
    frame = pd.DataFrame({k: v.sel(model=models).values for k, v in columns.items()})
    return Table(frame.set_index(_index(shared, models)), name="models of the paper")


def growth_table(shared: xr.Dataset, *, relative: bool = False) -> Table:
    """Medians over force sets with five bodies, and their growth to three."""
    points, moved = (f(shared, relative=relative) for f in (effects.plane, effects.growth))
    most = int(shared["bodies"].max())
    titles = {"id": f"ID, N = {most}", "ood": f"OOD, N = {most}", "pool": "all 15 sets"}
    columns: dict = {
        title: median(points[name].sel(bodies=most)).values for name, title in titles.items()
    }
    columns |= _spread(10 ** moved["id"], "ID grows by")
    columns |= _spread(10 ** moved["ood"], "OOD grows by")
    columns["all grow by"] = median(10 ** moved["pool"]).values
    columns["moves"] = list(effects.directions(shared, relative=relative).values())
    frame = pd.DataFrame(columns, index=_index(shared, shared["model"].values.tolist()))
    return Table(frame, name="growth of errors as bodies drop out")


def feedback_table(results: xr.Dataset, model: str) -> Table | HTML:
    """All variants of one reading: errors, and atoms that are dead, drawn anew, used."""
    if model not in results["model"].values:
        return caption("Not computed in this profile.")
    one = results.sel(model=model)
    errors = {
        "ID validation": "criterion",
        "ID test": "id_error",
        "OOD": "ood_error",
        "OOD [(box/s²)²]": "ood_mse",
    }
    columns: dict = {}
    for title, name in errors.items():
        columns |= _spread(one[name], title)
    columns |= {name: median(one[f"fact_{name}"]).values for name in ("dead", "revived", "used")}
    frame = pd.DataFrame(columns, index=pd.Index(one["variant"].values, name="variant"))
    whole = dict.fromkeys(("dead", "revived", "used"), "{:.0f}")
    return Table(frame, formats=whole, name=f"variants of {label(results, model)}")


# --- Numbers of the prose -------------------------------------------------------------------------


def numbers(shared: xr.Dataset, results: xr.Dataset) -> dict[str, str]:
    """What the prose says of the shipped results; nothing where models lack."""
    wanted = {*READINGS.values(), *OTHERS, MEAN}
    readings = {"literal", "gated", "token"}
    if not (wanted <= {*shared["model"].values} and readings <= {*results["model"].values}):
        return {}
    found = _dropout(shared) | _feedback(results) | _rollouts(shared)
    return {
        f"appH-{key}": str(value) if isinstance(value, int) else short(value)
        for key, value in found.items()
    }


def _dropout(shared: xr.Dataset) -> dict[str, float]:
    moved = effects.growth(shared).median("seed")

    def factor(model: str, axis: str) -> float:
        return float(10 ** moved[axis].sel(model=model))

    return {
        "vn-id": factor(PRINTED, "id"),
        "vn-ood": factor(PRINTED, "ood"),
        "gnn-id": factor("gnn", "id"),
    }


def _feedback(results: xr.Dataset) -> dict[str, int | float]:
    found: dict[str, int | float] = {"seeds": results.sizes["seed"]}
    for model in ("literal", "gated", "token"):
        one = results.sel(model=model)
        ood, ids = effects.interaction(one), effects.interaction(one, "id_error")
        found |= {
            f"{model}-id": float(10 ** median(ids["off"])),
            f"{model}-ood": float(10 ** median(ood["off"])),
            f"{model}-falls": int((ood["off"] < 0).sum()),
            f"{model}-revived": int(_revived(one)),
            f"{model}-both": float(median(ood["both"])),
            f"{model}-competes": int((ood["both"] > 0).sum()),
            f"{model}-split": float(10 ** median(effects.changed(one, "split"))),
            f"{model}-inverted": float(10 ** median(effects.changed(one, "inverted"))),
        }
    return found


def _revived(one: xr.Dataset) -> float:
    """The most atoms that were drawn anew without feedback and with the default."""
    betas = (0.0, effects.default(one))
    return max(
        float(effects.variant(one, "plain", beta=beta, revive=True)["fact_revived"].max())
        for beta in betas
    )


def panels_won(shared: xr.Dataset, model: str) -> int:
    """On how many panels a model ends nearer to the truth than the paper's other trained models."""
    last = median(effects.final_drift(shared))
    return int((last.sel(model=model) < last.sel(model=list(OTHERS)).min("model")).sum())


def behind(shared: xr.Dataset, share: float) -> xr.DataArray:
    """The drift of Factorized over that of the printed VN after a share of the steps, by panel."""
    middle = median(median(shared["drift"], "start"))
    at = middle.sel(step=share * float(shared["step"].max()), method="nearest")
    return at.sel(model="factorized") / at.sel(model=PRINTED)


def _rollouts(shared: xr.Dataset) -> dict[str, int | float]:
    drift = median(effects.final_drift(shared)).median("panel")
    error, ranks = effects.one_step(shared), effects.rank_correlations(shared)
    found: dict[str, int | float] = {
        f"drift-{name}": float(drift.sel(model=model))
        for name, model in {**READINGS, "factorized": "factorized"}.items()
    }
    found |= {f"won-{name}": panels_won(shared, model) for name, model in READINGS.items()}
    return found | {
        "panels": shared.sizes["panel"],
        "models": shared.sizes["model"],
        "rank-low": min(ranks),
        "rank-high": max(ranks),
        "step-factorized": float(error.sel(model="factorized").median()),
        "step-vn": float(error.sel(model=PRINTED).median()),
        "behind-early": float(behind(shared, 0.1).median()),
        "behind-late": float(behind(shared, 1.0).median()),
    }
