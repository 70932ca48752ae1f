"""The geometry of a decoder's layers in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from chapters.FR2_manifold.claims import error, have_learned, middle
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table


def models(results: xr.Dataset) -> Table:
    """Errors and measures of every model, medians over seeds."""
    groups = ("reference", "cnn", "mlp", "vn")
    ordered = [model for group in groups for model in in_groups(results, group)]
    errors = {
        "training error": error(results, "train", ordered),
        "ID error": error(results, "id", ordered),
        "OOD error": error(results, "ood", ordered),
    }
    last, output = (middle(results, place).sel(model=ordered) for place in ("last", "output"))
    measures = {
        "F, last hidden": last["F"],
        "F, output": output["F"],
        "probe in hold-out, last hidden": last["probe_ood"],
        "F_A, output": output["one_factor"],
        "terms, output": output["terms"],
    }
    frame = pd.DataFrame(errors | measures, index=pd.Index(ordered, name="model"))
    # The table of positions draws no bumps.
    frame.loc[frame.index == "table", list(errors)] = np.nan
    frame.index = pd.Index(results["label"].sel(model=ordered).values.astype(str), name="model")
    return Table(frame, name="errors and measures per model")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, then over the networks that learned to draw."""
    networks, vn = in_groups(results, "cnn", "mlp"), in_groups(results, "vn")
    drawn = have_learned(results, networks)
    ood, zero = np.median(error(results, "ood", drawn)), results["zero_baseline_ood"].median()
    last, random = (middle(results, "last", weights) for weights in ("trained", "untrained"))
    values = {
        "networks": f"{len(networks)}",
        "learned": f"{len(drawn)}",
        "zero": results["zero_baseline_id"].median(),
        "ood": ood,
        "ood_zero": f"{ood / float(zero):.1f}",
        "perfect": middle(results, "output").sel(model="perfect"),
        "random": random.sel(model=drawn).median(),
        "F": last["F"].sel(model=vn),
        "error": error(results, "ood", vn),
    }
    return texts("fr2", values) | texts("fr2", last.sel(model=drawn).median())
