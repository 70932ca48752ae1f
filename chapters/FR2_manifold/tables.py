"""The geometry of a decoder's layers in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import numpy as np
import xarray as xr

from chapters.FR2_manifold.claims import error, have_learned, middle
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import texts
from vnlib.plots.tables import Table, spreads


def models(results: xr.Dataset) -> Table:
    """Errors and measures of every model, medians over seeds."""
    groups = ("reference", "cnn", "mlp", "vn")
    models = [model for group in groups for model in in_groups(results, group)]
    last, output = (middle(results, place).sel(model=models) for place in ("last", "output"))
    draws = output["model"] != "table"  # of positions, not of bumps
    columns = {
        "training error": error(results, "train", models).where(draws),
        "ID error": error(results, "id", models).where(draws),
        "OOD error": error(results, "ood", models).where(draws),
        "F, last hidden": last["F"],
        "F, output": output["F"],
        "probe in hold-out, last hidden": last["probe_ood"],
        "F_A, output": output["one_factor"],
        "terms, output": output["terms"],
    }
    return Table(spreads(columns, "model"), name="errors and measures per model")


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
