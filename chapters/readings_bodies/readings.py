"""The readings of VN Fig. 4b and c and of Fig. 10 that stored runs allow: whose errors are least
where forces act together, whose grow least, and who drifts least.

The paper leaves open what its networks read, how wide and deep they are, how much feedback they
have and how far they settle, how several forces are given, which Factorized is meant, in which unit
errors are, and which mean over force sets, numbers of bodies and rollouts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Reading, Statement
from benchmarks.readings.curve import below, curve
from benchmarks.readings.lengths import length, of_length, rival_of_length, untwinned

FIGURE = {
    "token_3": "vn_token_3",
    "token_1": "vn_token_1",
    "gated_3": "vn_gated_3",
    "literal_3": "vn_literal_3",
}
NETWORK = Choice(
    name="network",
    says="network and input",
    options={
        "token_3": "3 layers, tokens",
        "token_1": "1 layer, tokens",
        "gated_3": "3 layers, gated",
        "literal_3": "3 layers, 22 numbers",
        "token_1_atoms": "1 layer, tokens, 2048 atoms",
        "token_3_none": "3 layers, tokens, no feedback",
        "token_3_strong": "3 layers, tokens, feedback of 0.1",
        "token_3_half": "3 layers, tokens, λ / 2",
        "token_3_double": "3 layers, tokens, λ × 2",
        "token_3_swept": "3 layers, tokens, 20 plain sweeps",
        "gated_clamped": "1 layer, gated, accelerations inferred",
        "literal_clamped": "1 layer, 22 numbers, accelerations inferred",
    },
)
UNFOLLOWED = ("token_3_swept", "gated_clamped", "literal_clamped")
FOLLOWED = replace(
    NETWORK, options={k: v for k, v in NETWORK.options.items() if k not in UNFOLLOWED}
)
GIVEN = Choice(
    name="inference",
    says="several forces are given",
    options={"joint": "all at once", "passes": "one by one, and summed"},
)
FIVE = ("mlp", "gnn", "transformer", "mamba", "film")
RIVAL_MODELS = {
    "printed": (*FIVE, "factorized", "random"),
    "dense": (*FIVE, "factorized_dense", "random"),
    "five": FIVE,
    "tokens": ("token_mlp", "linear_tokens", "rbf_tokens"),
}
RIVALS = Choice(
    name="rivals",
    says="rivals",
    options={
        "printed": "the paper's, Factorized of pairs",
        "dense": "the paper's, Factorized dense",
        "five": "the paper's without Factorized",
        "tokens": "network and regressions on tokens",
    },
)
CELLS = Choice(
    name="cells",
    says="over 2, 3 and 4 forces",
    options={"each": "each", "mean": "mean", "geometric": "geometric mean"},
)
BODIES = Choice(name="bodies", says="bodies", options={"all": "5, 4 and 3", "least": "3"})
UNIT = Choice(
    name="unit",
    says="unit",
    options={"mse": "squared error", "relative": "over the accelerations' power"},
)
MEAN = Choice(
    name="mean",
    says="over force sets",
    options={"mean": "mean, as in Fig. 4c", "median": "median, as in Fig. 9"},
)
PANELS = Choice(
    name="panels",
    says="panels",
    options={"five": "five of six", "mixtures": "each of three mixtures", "mean": "geometric mean"},
)
STARTS = Choice(
    name="starts",
    says="over first states",
    options={
        "median_20": "median of 20",
        "mean_20": "mean of 20",
        "mean_4": "mean of 4, as in Fig. 10",
    },
)
TIME = Choice(name="time", says="drift", options={"last": "at the end", "mean": "mean over time"})
LENGTH = length("Fig. 4")
TWINNED = ("token_3",)  # networks that were trained twice as long
MIXTURES = ["gravity+lorentz", "spring+drag", "gravity+spring+drag+lorentz"]
FITS = 0.1  # of the accelerations' power: without that, other errors tell nothing
BAND = np.log(1.05)


def together(own: xr.Dataset, shared: xr.Dataset) -> xr.Dataset:
    """All that margins read, by the seeds that this chapter and Fig. 4 both have.

    `mse` (inference, model, seed, forces, bodies), `power` (forces, bodies), and `drift` (starts,
    time, model, seed, panel), squared distances from the truth; NaN for models that none follow.
    """
    seeds = [seed for seed in own["seed"].values if seed in shared["seed"].values]
    parts = [one.sel(seed=seeds).reset_coords(drop=True) for one in (shared, own)]
    mse, drift = (xr.concat([one[name] for one in parts], "model") for name in ("mse", "drift"))
    return xr.Dataset(
        {
            "mse": mse.transpose("inference", "model", "seed", "forces", "bodies"),
            "power": parts[0]["power"].isel(model=0, seed=0, drop=True),
            "drift": _drift(drift.astype(float)).transpose(
                "starts", "time", "model", "seed", "panel"
            ),
        }
    )


def _drift(drift: xr.DataArray) -> xr.DataArray:
    """Drift in all summaries over first states and time."""
    few = drift.isel(start=slice(4))
    starts = {"median_20": drift.median("start"), "mean_20": drift.mean("start")}
    starts["mean_4"] = few.mean("start")
    over = xr.concat(starts.values(), xr.IndexVariable("starts", list(starts)))
    times = {"last": over.isel(step=-1, drop=True), "mean": over.mean("step")}
    return xr.concat(times.values(), xr.IndexVariable("time", list(times)))


def least_error(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network errs less than each rival where forces act together (VN Fig. 4b)."""
    where: dict = {"inference": reading["inference"]}
    if reading["bodies"] == "least":
        where["bodies"] = [3]
    own, others = (
        np.median(_by_number(r, r("mse", model=models, **where)), -1)
        for models in _compared(r, reading)
    )
    cells = (-2, -1)
    if reading["cells"] == "each":
        ratio = (own / over(others, "min", -3)).max(cells)
    elif reading["cells"] == "mean":
        ratio = over(own, "mean", cells) / over(over(others, "mean", cells), "min")
    else:
        least = over(over(np.log(others), "mean", cells), "min")
        ratio = np.exp(over(np.log(own), "mean", cells) - least)
    return np.where(_fits(r, reading), below(ratio, 1), np.nan)


def least_growth(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network's error grows less from single forces to mixtures than each rival's (VN
    Fig. 4c).
    """
    mixed, how = _forces(r) > 1, reading["mean"]

    def growth(models: str | list) -> np.ndarray:
        error = r("mse", model=models, inference=reading["inference"])
        if reading["unit"] == "relative":
            error = error / r("power")[..., None]
        inside = error[..., ~mixed, r.labels["bodies"][5], :]
        return over(error[..., mixed, :, :], how, (-3, -2)) / over(inside, how, -2)

    own, others = (np.median(growth(models), -1) for models in _compared(r, reading))
    return np.where(_fits(r, reading), below(own, over(others, "min")), np.nan)


def least_drift(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network drifts less than each rival (VN Fig. 10): on five of six panels, on all
    mixtures, or in the mean.
    """
    where: dict = {"starts": reading["starts"], "time": reading["time"]}
    if reading["panels"] == "mixtures":
        where["panel"] = MIXTURES
    own, others = (
        np.median(r("drift", model=models, **where), -1) for models in _compared(r, reading)
    )
    margin = below(own, others.min(-2))
    if reading["panels"] == "mixtures":
        margin = margin.min(-1)
    elif reading["panels"] == "five":
        # On five of six: the worst panel does not count.
        second = 1 / (margin.shape[-1] - 1)
        margin = np.quantile(margin, second, axis=-1, method="lower")
    else:
        margin = margin.mean(-1)
    return np.where(_fits(r, reading), margin, np.nan)


def _compared(r: Arrays, reading: Reading) -> tuple[str, list[str]]:
    """A reading's network and its rivals, as far as they are there."""
    there = r.labels["model"]
    network = of_length(FIGURE.get(reading["network"], reading["network"]), reading)
    known = [model for model in RIVAL_MODELS[reading["rivals"]] if model in there]
    rivals = [rival_of_length(model, reading, there) for model in known]
    if network not in there or not rivals:  # a small profile leaves models out
        raise KeyError(f"the model {network}" if rivals else "all of the rivals")
    return network, rivals


def _forces(r: Arrays) -> np.ndarray:
    """How many forces are in each set."""
    return np.array([name.count("+") + 1 for name in r.labels["forces"]])


def _by_number(r: Arrays, error: np.ndarray) -> np.ndarray:
    """Means over the sets of two, three and four forces, from (forces, bodies, seed) to (number,
    bodies, seed).
    """
    number = _forces(r)
    parts = [over(error[..., number == n, :, :], "mean", -3) for n in (2, 3, 4)]
    return np.moveaxis(np.stack(parts), 0, -3)  # stored by number: means add in that order


def _fits(r: Arrays, reading: Reading) -> np.ndarray:
    """Whether a network fits what it was trained on, single forces on five bodies."""
    model, _ = _compared(r, reading)
    error = r("mse", inference="joint", model=model, bodies=5) / r("power", bodies=5)[..., None]
    single = over(error[..., _forces(r) == 1, :], "mean", -2)
    return np.median(single, -1) <= FITS


# Of errors where forces act together the unit is not asked: cell by cell and by logarithms it
# cancels, and a mean in two units would count double.
STATEMENTS = (
    Statement(
        id="VN-F4b",
        says="Where forces act together the Vector Network errs less than its rivals",
        choices=(NETWORK, GIVEN, RIVALS, CELLS, BODIES, LENGTH),
        excluded=[untwinned(NETWORK, TWINNED)],
        margin=least_error,
        band=BAND,
    ),
    Statement(
        id="VN-F4c",
        says="From single forces to mixtures the Vector Network's error grows less than its rivals'",
        choices=(NETWORK, GIVEN, RIVALS, UNIT, MEAN, LENGTH),
        excluded=[untwinned(NETWORK, TWINNED)],
        margin=least_growth,
        band=BAND,
    ),
    Statement(
        id="VN-H4",
        says="Bodies that follow the Vector Network drift less than those that follow its rivals",
        choices=(FOLLOWED, RIVALS, PANELS, STARTS, TIME, LENGTH),
        excluded=[untwinned(FOLLOWED, TWINNED)],
        margin=least_drift,
        band=BAND,
    ),
)


def curves(own: xr.Dataset, shared: xr.Dataset) -> dict[str, xr.Dataset]:
    """Every statement in all of its readings, by its id."""
    read = together(own, shared)
    return {one.id: curve(one, read) for one in STATEMENTS}
