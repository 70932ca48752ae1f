"""The readings of FR-1: what networks draw inside a hold-out, from the results of FR Fig. 1."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Exclusion, Reading, Statement
from benchmarks.readings.curve import above, below, closeness
from chapters.readings_positions.common import BAND, MOST, RUNS, SEEDS, counted, summed

# Parameters of the two kinds of networks, as FR App. D prints them; off by a quarter is far off.
PRINTED = {"cnn": 315_000, "mlp": 272_000}
FAR = 1.25

NETWORK = Choice(
    name="network",
    says="network and code",
    options={
        "cnn_bump": "CNN, bump code",
        "cnn_bump_longer": "CNN, bump code, four times as long",
        "cnn_bright": "CNN, bump code, bright bumps",
        "cnn_one_hot": "CNN, one-hot code",
        "cnn_fourier": "CNN, positional code",
        "cnn_ramp": "CNN, ramp code",
        "mlp_bump": "MLP, bump code",
        "mlp_bump_longer": "MLP, bump code, longer",
        "mlp_one_hot": "MLP, one-hot code",
        "mlp_fourier": "MLP, positional code",
        "mlp_ramp_longer": "MLP, ramp code, longer",
    },
)
HOLD_OUT = Choice(
    name="hold_out", says="hold-out", options={"square": "square", "corner": "corner"}
)
ONE_REGION = Exclusion(
    options={
        "hold_out": ["corner"],
        "network": [
            n for n in NETWORK.options if n not in ("cnn_bump", "mlp_bump", "mlp_bump_longer")
        ],
    },
    why="trained with the square held out only",
)
ERROR = Choice(
    name="error",
    says="what it is to fail",
    options={
        "train": "OOD over training error, 5 or more",
        "zero": "half of the zero baseline's error or more",
        "ssim": "half of the gain in SSIM or less",
        "hit": "half of the peaks within 1 px or less",
    },
)
SEVERAL = Choice(
    name="several",
    says="what several bumps are",
    options={
        "share": "two or more in over half of the images",
        "mean": "over 1.5 an image, on average",
        "cross": "ink near row or column, chance + 0.2",
    },
)
SUM = Choice(
    name="sum",
    says="what it is to draw the sum",
    options={
        "resembles": "correlation with the sum, 0.5 or more",
        "chance": "the same above chance, 0.2 or more",
        "closer": "nearer to sum than bump at 3/4",
        "adds": "sum adds more to bump than bump to sum",
    },
)
SEEN = Choice(
    name="seen",
    says="sum of what was seen",
    options={"averaged": "from averaged inputs", "memorised": "of memorised outputs"},
)
METRIC = Choice(
    name="metric",
    says="similarity of two images",
    options={"cosine": "cosine", "l2": "distance", "overlap": "overlap"},
)
KERNEL = Choice(
    name="kernel",
    says="factorised kernel",
    options={"binary": "binary", "sum": "sum of two Gaussians"},
)
WIDTH = Choice(
    name="width",
    says="width of kernels",
    options={"1": "the bump's", "2": "twice", "4": "four times", "best": "each at its best"},
)


def gathered(results: xr.Dataset) -> xr.Dataset:
    """What margins read of the results of FR Fig. 1, over (model, hold_out, seed)."""
    there = [name for name in NETWORK.options if name in results["model"].values]
    names = ("error", "zero_baseline", "ssim", "zero_ssim", "hit", "several", "maxima")
    names += ("share_cross", "chance_cross", "failed", "resembles", "resembles_shuffled")
    names += ("closer", "adds", "bump_adds", "n_parameters")
    kept = results[[*names, "kernel_r2"]].sel(model=there, source="model", pairs="ood")
    return kept.reset_coords(drop=True)


def _runs(r: Arrays, reading: Reading) -> Callable[..., np.ndarray]:
    """The runs of a reading: their arrays by name."""
    return partial(r, model=reading["network"], hold_out=reading["hold_out"])


def _counts(r: Arrays, reading: Reading) -> float:
    """How near the network's parameters come to the number that FR App. D prints."""
    found = float(over(_runs(r, reading)("n_parameters"), "max"))
    return closeness(found, PRINTED[reading["network"].split("_")[0]], FAR)


def _summed(
    runs: Callable[..., np.ndarray], values: np.ndarray, reading: Reading, *, high: bool
) -> np.ndarray:
    """The runs that count as one number."""
    return summed(counted(values, runs("failed") == 0, reading), reading, high=high)


def fails(r: Arrays, reading: Reading) -> np.ndarray:
    """The network fails out of distribution."""
    runs = _runs(r, reading)
    ood = partial(runs, where="ood")
    if reading["error"] == "ssim":
        gain = (runs("ssim") - runs("zero_ssim")) / (1 - runs("zero_ssim"))
        ood, inside = (gain[..., r.labels["where"][name], :] for name in ("ood", "id"))
        return below(_summed(runs, (ood / inside).clip(1e-3), reading, high=False), 0.5)
    values, bound = {
        "train": (ood("error") / runs("error", where="train"), 5.0),
        "zero": (ood("error") / ood("zero_baseline"), 0.5),
        "hit": (1 - ood("hit"), 0.5),
    }[reading["error"]]
    return above(_summed(runs, values, reading, high=True), bound)


def several(r: Arrays, reading: Reading) -> np.ndarray:
    """It draws several bumps out of distribution."""
    runs = _runs(r, reading)
    ood = partial(runs, where="ood")
    values, bound = {
        "share": (ood("several"), 0.5),
        "mean": (ood("maxima"), 1.5),
        "cross": ((ood("share_cross") - ood("chance_cross")).clip(1e-3), 0.2),
    }[reading["several"]]
    return above(_summed(runs, values, reading, high=True), bound)


def sums(r: Arrays, reading: Reading) -> np.ndarray:
    """What it draws is a sum of what it has seen."""
    runs = _runs(r, reading)
    seen = partial(runs, test=reading["seen"])
    if reading["sum"] == "adds":
        own, bump = (seen(name).clip(1e-3) for name in ("adds", "bump_adds"))
        bound = _summed(runs, bump, reading, high=False)
        return above(_summed(runs, own, reading, high=True), bound)
    values, bound = {
        "resembles": (seen("resembles"), 0.5),
        "chance": (seen("resembles") - seen("resembles_shuffled"), 0.2),
        "closer": (seen("closer"), 0.75),
    }[reading["sum"]]
    return above(_summed(runs, values.clip(1e-3), reading, high=True), bound)


def follows(r: Arrays, reading: Reading) -> np.ndarray:
    """Similarities of its images follow a factorised kernel rather than the product; NaN where they
    do not vary.
    """
    runs = _runs(r, reading)
    fit = partial(runs, "kernel_r2", metric=reading["metric"])
    if reading["width"] == "best":
        own, product = (over(fit(kernel=k), "max", -2) for k in (reading["kernel"], "product"))
    else:
        width = int(reading["width"])
        own, product = (fit(kernel=k, width=width) for k in (reading["kernel"], "product"))
    lead = own - product
    known = (~np.isnan(lead)).mean(-1) >= MOST  # no kernel explains what does not vary
    return np.where(known, _summed(runs, lead, reading, high=True), np.nan)


SHARED = (NETWORK, HOLD_OUT, RUNS, SEEDS)
GIVEN = {"weight": _counts, "excluded": (ONE_REGION,)}
STATEMENTS = (
    Statement(
        id="FR-1 fails",
        says="A network with a disentangled input fails out of distribution",
        choices=(*SHARED, ERROR),
        margin=fails,
        band=BAND,
        **GIVEN,
    ),
    Statement(
        id="FR-1 several",
        says="It draws several bumps there, on the right row and column",
        choices=(*SHARED, SEVERAL),
        margin=several,
        band=BAND,
        **GIVEN,
    ),
    Statement(
        id="FR-1 sum",
        says="What it draws there is a sum of what it has seen",
        choices=(*SHARED, SUM, SEEN),
        margin=sums,
        band=BAND,
        **GIVEN,
    ),
    Statement(
        id="FR-1 kernel",
        says="Similarities of its images follow a factorised kernel rather than the product of two",
        choices=(*SHARED, METRIC, KERNEL, WIDTH),
        margin=follows,
        kind="difference",
        **GIVEN,
    ),
)
