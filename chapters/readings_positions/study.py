"""The runs that the readings of VN Fig. 2c need, and the curves of all statements on positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr
from scipy.ndimage import distance_transform_cdt

from benchmarks.readings.choices import Reading
from benchmarks.readings.curve import curve
from benchmarks.spatial import positions
from benchmarks.spatial.report import decoder_report
from chapters.readings_positions import composition, failure, low_rank, stripes
from vnlib.book.chapter import Axes, Chapter, Settings

KEPT = ("mse_train", "mse_id", "mse_ood", "zero_baseline_id", "zero_baseline_ood", "n_parameters")
VARIABLES = {name: positions.VARIABLES[name] for name in KEPT} | {
    "decoder": ("decoder, and the options it is trained with", ""),
    "mse_deep": ("mean squared error per pixel deep inside the hold-out", "1"),
    "zero_baseline_deep": ("mean squared error of a zero image deep inside the hold-out", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, dict[str, xr.Dataset]]:
    """The runs over (decoder, seed), and the curve of every statement by its id."""
    decoders = composition.decoders(chapter.settings["readings"])
    runs = chapter.grid(
        run,
        {"decoder": [*decoders], "seed": chapter.seeds},
        lambda chapter, axes: settings(chapter, *decoders[axes["decoder"]]),
        variables=VARIABLES,
    )
    first, third, fourth = map(chapter.results_of, ("FR1_failure", "FR3_low_rank", "FR4_stripes"))
    asked = [
        *((one, composition.gathered(runs, one.choices)) for one in composition.STATEMENTS),
        *((one, failure.gathered(first)) for one in failure.STATEMENTS),
        *((one, low_rank.gathered(third)) for one in low_rank.STATEMENTS),
        *((one, stripes.gathered(fourth)) for one in stripes.STATEMENTS),
        *((one, stripes.needed(fourth)) for one in stripes.LAWS),
    ]
    return runs, {one.id: curve(one, read) for one, read in asked}


def settings(chapter: Chapter, name: str, reading: Reading) -> Settings:
    """The settings of one run: the task, and how a decoder is trained in a reading."""
    s, decoder = chapter.settings, chapter.spec.sidecar["decoders"][name]
    share = s["scale"]
    training = {key: decoder[key] for key in ("family", "lr", "batch_size")}
    training |= {"steps": max(1, round(share * decoder["steps"]))}
    options = decoder.get("options", {})
    if decoder["family"] == "vn":
        options = options | {
            "n_atoms": decoder["atoms"][reading["atoms"]],
            "sparsity": decoder["sparsity"][reading["sparsity"]],
        }
        fitted = reading["readout"] == "fitted"
        training["consolidation"] = round(share * decoder["consolidation"]) if fitted else 0
    task = {
        "grid": s["grid"],
        "hold_out": s["hold_out"],
        "sigma": float(reading["sigma"]),
        "encoding": reading["code"],
    }
    return {"task": task, "training": training | {"options": options}, "deep": s["deep"]}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One trained decoder, with a split and a start of its own: its errors."""
    data = positions.plane(**settings["task"], split_seed=axes["seed"])
    training = settings["training"] | {"seed": axes["seed"], "workdir": workdir}
    model = positions.trained(data, chapter.device, **training)
    report = decoder_report(model, data, samples=[]).assign(positions.zero_baseline(data))
    held = (data["split"].values == "ood").reshape(settings["task"]["grid"], -1)
    edge = distance_transform_cdt(held, metric="chessboard").ravel()
    inside = edge >= settings["deep"]
    report["mse_deep"] = ((), float(report["mse"].values[inside].mean()))
    zero = np.square(data["image"].values[inside], dtype=np.float64).mean()
    report["zero_baseline_deep"] = ((), float(zero))
    return report[[*KEPT, "mse_deep", "zero_baseline_deep"]].drop_vars("sample", errors="ignore")
