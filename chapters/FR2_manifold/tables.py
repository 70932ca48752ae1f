"""The geometry of a decoder's layers in numbers, from the dataset of `study.results`."""

from __future__ import annotations

import numpy as np
import xarray as xr

from benchmarks.baselines.failures import failures
from benchmarks.spatial.settling import late_gain
from chapters.FR2_manifold.claims import (
    at,
    before_training,
    counted,
    drawing,
    error,
    have_learned,
    middle,
)
from chapters.FR2_manifold.figures import kinds
from vnlib.book.evidence import SETTLED
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import short, texts
from vnlib.plots.tables import Table, spreads


def _listed(results: xr.Dataset) -> list[str]:
    """Group by group, CNNs and MLPs from the shallowest to the deepest."""
    networks = [model for models in kinds(results).values() for model in models]
    references, longer, vn = (in_groups(results, g) for g in ("reference", "longer", "vn"))
    return [*references, *networks, *longer, *vn]


def models(results: xr.Dataset) -> Table:
    """Errors of every model, and how many of its seeds learned nothing."""
    models = _listed(results)
    trained = results.sel(weights="trained", model=models)
    draws = trained["model"] != "table"  # of positions, not of bumps
    columns = {
        "failed": failures(results["failed"].sel(model=models).where(draws)),
        "late gain": late_gain(results.sel(model=models)),
        "training error": trained["mse_train"].where(draws),
        "ID error": trained["mse_id"].where(draws),
        "OOD error": trained["mse_ood"].where(draws),
    }
    return Table(spreads(columns, "model"), name="errors per model")


def measures(results: xr.Dataset) -> Table:
    """Measures of every model."""
    models = _listed(results)
    last, output = (at(results, place).sel(model=models) for place in ("last", "output"))
    columns = {
        "F, last hidden": last["F"],
        "F, output": output["F"],
        "probe in hold-out, last hidden": last["probe_ood"],
        "share of single factors, output": output["one_factor"],
        "terms, output": output["terms"],
    }
    return Table(spreads(columns, "model"), name="measures per model")


def numbers(results: xr.Dataset) -> dict[str, str]:
    """What the prose says: medians over seeds, then over the networks that the rules count."""
    networks, vn = in_groups(results, "cnn", "mlp", "longer"), in_groups(results, "vn")
    runs, longer = drawing(before_training(results)), in_groups(results, "longer")
    drawn = counted(results)
    ood, zero = np.median(error(runs, "ood", drawn)), results["zero_baseline_ood"].median()
    last, random = (middle(runs, "last", weights) for weights in ("trained", "untrained"))
    shift = {g: middle(results, "last").sel(model=in_groups(results, g)) for g in ("cnn", "mlp")}
    shift = {g: float((one["volume_in"] - one["volume_out"]).median()) for g, one in shift.items()}
    own = last.sel(model=drawn)
    wider = own["spread_in"] > own["spread_out"]
    gains = late_gain(runs).sel(model=drawn).median("seed")
    values = {
        "distorted": f"{int(wider.sum())} of {len(drawn)}",
        "unsettled": f"{int((gains > SETTLED).sum())} of {len(drawn)}",
        "shift_cnn": shift["cnn"],
        "shift_mlp": shift["mlp"],
        "shift": (last["volume_in"] - last["volume_out"]).sel(model=longer),
        "gain": late_gain(results).sel(model=longer).median("seed"),
        "networks": f"{len(networks)}",
        "learned": f"{len(have_learned(results, networks))}",
        "counted": f"{len(drawn)}",
        "zero": results["zero_baseline_id"].median(),
        "ood": ood,
        "ood_zero": ood / float(zero),
        "perfect": middle(results, "output").sel(model="perfect"),
        "random": random.sel(model=drawn).median(),
        "F": last["F"].sel(model=vn),
    }
    left = texts("fr2-left", error(results, "ood", vn) / zero, lambda v: f"{short(100 * v)} %")
    return texts("fr2", values) | texts("fr2", last.sel(model=drawn).median()) | left
