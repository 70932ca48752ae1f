"""The geometry of a decoder's layers in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR2_manifold.claims import at, error, have_learned
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import short
from vnlib.plots.tables import Table


def models(results: xr.Dataset) -> Table:
    """Errors and measures of every model, medians over seeds."""
    ordered = in_groups(results, "reference")
    for group in ("cnn", "mlp", "vn"):
        ordered += in_groups(results, group)
    references = np.isin(ordered, in_groups(results, "reference"))
    decoders = [m for m, one in zip(ordered, references, strict=True) if not one]

    def last(name: str) -> np.ndarray:
        values = np.full(len(ordered), np.nan)
        values[~references] = at(results, name, decoders, "last")
        return values

    errors = {split: error(results, split, ordered) for split in ("train", "id", "ood")}
    columns = {
        "training error": errors["train"],
        "ID error": errors["id"],
        "OOD error": errors["ood"],
        "F, last hidden": last("F"),
        "F, output": at(results, "F", ordered, "output"),
        "probe in hold-out, last hidden": last("probe_ood"),
        "F_A, output": at(results, "one_factor", ordered, "output"),
        "terms, output": at(results, "terms", ordered, "output"),
    }
    names = pd.Index(results["label"].sel(model=ordered).values.astype(str), name="model")
    frame = pd.DataFrame(columns, index=names)
    # The table of positions draws no bumps.
    frame.loc[np.isin(ordered, ["table"]), ["training error", "ID error", "OOD error"]] = np.nan
    return Table(frame, name="errors and measures per model")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, then over the networks that learned to draw."""
    networks = in_groups(results, "cnn", "mlp")
    drawn = have_learned(results, networks)
    zero = {s: float(results[f"zero_baseline_{s}"].median()) for s in ("id", "ood")}
    found = {
        "fr2-networks": f"{len(networks)}",
        "fr2-learned": f"{len(drawn)}",
        "fr2-zero": short(zero["id"]),
    }
    if drawn:
        ood = float(np.median(error(results, "ood", drawn)))
        found |= {"fr2-ood": short(ood), "fr2-ood-zero": f"{ood / zero['ood']:.1f}"}
        for name in ("F", "probe", "probe_ood", "spread_in", "spread_out"):
            for weights, tag in (("trained", ""), ("untrained", "-random")):
                value = float(np.median(at(results, name, drawn, "last", weights)))
                found[f"fr2-{name.replace('_', '-')}{tag}"] = short(value)
    if "perfect" in results["model"].values:
        for name in ("F", "probe_ood", "one_factor", "terms"):
            value = at(results, name, ["perfect"], "output")[0]
            found[f"fr2-perfect-{name.replace('_', '-')}"] = short(value)
    for model in in_groups(results, "vn"):
        key = f"fr2-{model.replace('_', '-')}"
        found[f"{key}-F"] = short(at(results, "F", [model], "last")[0])
        found[f"{key}-ood"] = short(error(results, "ood", [model])[0])
    return found
