"""Tables of spatial decoding (VN Fig. 2), and the numbers that the page's prose quotes."""

from __future__ import annotations

import json

import numpy as np
import xarray as xr

from benchmarks.baselines.longer import once
from benchmarks.spatial.errors import ratio, reported
from benchmarks.spatial.tables import errors, extent, gains, lengthened, unsettled
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import short, texts
from vnlib.plots.tables import Table

# From the full 2D VN to what is left of it when a part is taken away.
CONTROLS = ["vn_full", "vn_flat", "random_full", "bilinear_linear", "bilinear_relu", "factorised"]
# How many times the OOD error of the second model is that of the first.
GAINS = {
    "learned-full": ("vn_full", "random_full"),
    "learned-axes": ("vn_axes_1", "random_axes_1"),
    "tuned": ("factorised", "factorised_default"),
    "relu": ("bilinear_linear", "bilinear_relu"),
}


def taken_away(results: xr.Dataset) -> Table:
    """The full 2D VN, and models that lack one of its parts."""
    return errors(results.sel(model=[m for m in CONTROLS if m in results["model"].values]))


def left(results: xr.Dataset) -> xr.DataArray:
    """The OOD error over that of the zero baseline, in percent (model, seed)."""
    return 100 * results["mse_ood"] / results["zero_baseline_ood"]


def samples(results: xr.Dataset, model: str) -> dict[str, int]:
    """How many images a model was trained on, counted as often as they were shown: in `all`, and
    those of its `readout` alone, which goes on when the dictionaries rest.
    """
    training = json.loads(str(results["run_settings"].sel(model=model).values[0]))["training"]
    alone = training["consolidation"] * training["batch_size"]
    return {"all": training["steps"] * training["batch_size"] + alone, "readout": alone}


def condition(sigma: float, positions: int = 28) -> float:
    """The condition number of the codes of all positions on an axis, for bumps of a width: Gaussians
    in single precision, as `data_gen.bumps` makes them.
    """
    place = np.arange(positions)
    codes = np.exp(-((place - place[:, None]) ** 2) / (2 * sigma**2)).astype(np.float32)
    return float(np.linalg.cond(codes.astype(float)))


def elsewhere(of_f: xr.Dataset) -> dict[str, str]:
    """What App. F's flat Vector Network, of other training, leaves inside the hold-out."""
    flat = of_f.sel(model=[m for m in ("flat",) if m in of_f["model"]])
    return texts("fig2-of-f", left(flat), lambda one: f"{short(one)} %")


def widths(of_f: xr.Dataset) -> dict[str, str]:
    """OOD errors of App. F's decoders at two widths of the bump, and the conditioning of codes."""
    error = reported(of_f)["mse_ood"]
    names = {"factorised": "factorised", "vn-1": "vn_1", "vn-3": "vn_3"}
    wide = {"factorised": "factorised", "vn_1": "vn_1_8", "vn_3": "vn_3_8"}
    asked = {*wide.values(), *(f"{name}_sharp" for name in names.values())}
    if not asked <= {*error["model"].values}:
        return {}
    found = {
        key: {"wide": error.sel(model=wide[name]), "sharp": error.sel(model=f"{name}_sharp")}
        for key, name in names.items()
    }
    return texts("fig2-width", found | {"condition": {"wide": condition(2), "sharp": condition(1)}})


def leads(results: xr.Dataset) -> dict[str, xr.DataArray]:
    """The OOD error of VN-3L per axis over that of the factorised decoder, both trained `once`, and both
    with `twice` the updates.
    """
    names = {
        "once": ("vn_axes_3", "factorised"),
        "twice": ("vn_axes_3_longer", "factorised_longer"),
    }
    there, ood = set(results["model"].values.tolist()), results["mse_ood"]
    return {
        key: ood.sel(model=deep, drop=True) / ood.sel(model=other, drop=True)
        for key, (deep, other) in names.items()
        if {deep, other} <= there
    }


def numbers(results: xr.Dataset, of_f: xr.Dataset | None = None) -> dict[str, str]:
    """The numbers of the prose: medians over seeds, of groups of models from the least to the largest.

    Parameters
    ----------
    of_f
        The results of App. F, where there are any.
    """
    every, more, results = results, lengthened(results), once(results)
    groups = {
        "entangled": in_groups(results, "entangled"),
        "vn": in_groups(results, "vn"),
        "flat": ["vn_flat"],
        "frozen": ["random_axes_1", "random_full"],
        "linear": ["bilinear_linear"],
        "factorised": ["factorised"],
    }
    kinds = {"ratio": ratio(results), "ood": results["mse_ood"]}
    found: dict = {
        name: {kind: extent(values.sel(model=models)) for kind, values in kinds.items()}
        for name, models in groups.items()
    }
    found |= {"seeds": str(results.sizes["seed"])}
    found |= {"zero": results["zero_baseline_ood"].median()} | gains(results["mse_ood"], GAINS)
    shown = {m: samples(results, m) for m in ("cnn4", "mlp", "vn_full") if m in results["model"]}
    return (
        texts("fig2", found)
        | texts("fig2-longer", {key: one for key, one in more.items() if one.size})
        | texts("fig2-lead", leads(every))
        | texts("fig2-unsettled", unsettled(every), "{:.0f}".format)
        | texts("fig2-left", left(results), lambda one: f"{short(one)} %")
        | texts("fig2-samples", shown, lambda one: f"{float(f'{one:.2g}'):,.0f}")
        | ({} if of_f is None else widths(of_f) | elsewhere(of_f))
    )
