"""The runs of Fig. 3: one model, trained with one seed, draws and fills in the signals of all sets.

A model's setting is chosen by its error on the hidden samples of validation signals, which are in
distribution; the error of whole signals would not do, it drives the sparsity of a Vector Network to
zero.
"""

from __future__ import annotations

from pathlib import Path

import xarray as xr

from benchmarks.functions.imputers import fit_imputer
from benchmarks.functions.samples import by_set, dataset, observed
from chapters.fig3_functions import measure
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import compared, training

POWER = "ID power"  # the mean power of training signals, which the task makes 1
OF_HARD = "of a Hard signal"
VARIABLES = {
    "protocol": ("whether hidden samples are read as zeros or the mask is told", ""),
    "mask": ("which samples are hidden", ""),
    "set": ("set of signals", ""),
    "kind": ("formula of a signal", ""),
    "evaluation": ("share of the updates made", "1"),
    "band": ("band of frequency [cycles per signal]", ""),
    "place": ("eighth of the hidden tail", "1"),
    "case": ("number of a Hard signal", "1"),
    "example": ("kind and number of a Hard signal", ""),
    "time": ("time", "s"),
    "criterion": ("mean over masks of the error on hidden validation samples", POWER),
    "mse_val": ("mean squared error of whole validation signals", POWER),
    "hidden_val": ("mean squared error on hidden samples of validation signals", POWER),
    "curve": ("validation error in training", POWER),
    "mse": ("mean squared error of whole signals", POWER),
    "mse_kind": ("mean squared error of whole signals of one kind", POWER),
    "hidden": ("mean squared error on hidden samples", POWER),
    "observed_error": ("mean squared error on observed samples", POWER),
    "zero_baseline": ("error of the zero baseline on whole signals", POWER),
    "zero_baseline_hidden": ("error of the zero baseline on hidden samples", POWER),
    "train_count": ("training signals of a kind", "1"),
    "test_count": ("test signals of a kind", "1"),
    "repeated": ("test signals that are training signals", "1"),
    "band_kept": ("drawn power over the signals' power in a band", "1"),
    "band_gain": ("projection of the drawing on the signals in a band", "1"),
    "band_missed": ("squared error over the signals' power in a band", "1"),
    "band_power": ("power of the signals in a band", POWER),
    "spread": ("drawn power around the signal's mean, over the truth's", "1"),
    "bend": ("drawn power around the best straight line, over the truth's", "1"),
    "variety": ("drawn power around the mean drawing, over the truth's", "1"),
    "correlation": ("correlation of drawing and signal", "1"),
    "tail_error": ("mean squared error along the hidden tail", POWER),
    "tail_truth": ("power of the signals along the hidden tail", POWER),
    "tail_drawn": ("power of the drawing along the hidden tail", POWER),
    "tail_power": ("drawn power over the signals' power on the hidden tail", "1"),
    "tail_growth": ("slope of error over power along the hidden tail", "1"),
    "tail_jump": ("mean squared step into the hidden tail", POWER),
    "seen_error": ("mean squared error on what the tail mask shows", POWER),
    "error_hard": (f"mean squared error {OF_HARD}", POWER),
    "hidden_hard": (f"mean squared error on hidden samples {OF_HARD}", POWER),
    "truth": ("Hard signal", "r.m.s. of training signals"),
    "drawn": ("drawing of the whole signal", "r.m.s. of training signals"),
    "filled": ("drawing with the last quarter hidden", "r.m.s. of training signals"),
    "fact_parameters": ("learned numbers of the model", "1"),
    "fact_active": ("atoms of layer 1 in use per signal", "1"),
    "fact_active_top": ("atoms of the top layer in use per signal", "1"),
    "fact_used": ("atoms of layer 1 that any validation signal uses", "1"),
}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """Train one model and measure it on all sets, with masks that are the same for all runs."""
    data = dataset(**settings["data"])
    x = by_set(data, device=chapter.device)
    seen = observed(x, settings["masks"], settings["mask_seeds"])
    how = {"seed": axes["seed"], "workdir": workdir, **settings["training"]}
    model = fit_imputer(x["train"], x["val"], **how)
    return measure.measured(data, x, seen, model, **settings["study"])


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """The settings of one run; those that select make fewer updates and see no test signal."""
    s, how = chapter.settings, training(chapter, axes["model"], candidate, selecting)
    if how["family"] in ("vn", "fourier"):
        how["options"] = {"rounds": chapter.parameters["rounds"]} | how["options"]
    return {
        "data": {k: s[k] for k in ("length", "n_train", "n_val", "n_test")},
        "masks": s["masks"],
        "mask_seeds": s["mask_seeds"],
        "training": how,
        "study": {
            "tests": not selecting,
            "details": axes.get("seed") == chapter.seeds[0],
            "per_kind": s["per_kind"],
        },
    }


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All runs of the chapter, and the selection of the models' settings."""
    return compared(chapter, run, settings, VARIABLES)
