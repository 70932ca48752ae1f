"""The readings of VN Fig. 3c that stored runs allow: whose error on hidden samples is less, and
whether it stays low.

The paper leaves open how wide, how sparse and how deep its networks are and for how long they
learn, what its rivals are told, and which mean over masks and signals is meant. Weights are from
the six numbers that the text keeps of Table 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import xarray as xr

from benchmarks.functions.names import MASKED, MASKS, OTHERS, SETS, THUMB, UNLEARNED, VN
from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import Choice, Exclusion, Reading, Statement
from benchmarks.readings.curve import below, closeness, curve

# Options of a network -> the models that are meant, the best of them where there are several.
FIGURE = {"best": VN, "1": ["vn_1"], "3": ["vn_3"], "5": ["vn_5"], "dense": ["vn_dense"]}
NETWORK = Choice(
    name="network",
    says="network",
    options={
        "best": "Fig. 3's, best of 1, 3, 5 layers",
        "1": "1 layer, as in Fig. 3",
        "3": "3 layers, as in Fig. 3",
        "5": "5 layers, as in Fig. 3",
        "dense": "1 layer, λ / 10",
        "half_1": "1 layer, half the updates",
        "sparsity_1": "1 layer, half, λ / 4",
        "atoms_1": "1 layer, half, 512 atoms",
    },
)
SOLVER = Choice(
    name="solver",
    says="masked problem",
    options={"limit": "solved", "rounds": "five rounds"},
)
RIVALS = Choice(
    name="rivals",
    says="rivals",
    options={
        "printed": "the paper's eight, which read zeros",
        "masked": "networks trained with masks",
        "told": "rules and statistics, told the mask",
        "atoms": "same inference, other atoms",
    },
)
MASK = Choice(
    name="mask",
    says="masks",
    options={
        "each": "each of the four",
        "forecast_25": "last quarter, as in Fig. 3c",
        "mean": "mean of the four",
        "geometric": "geometric mean of the four",
    },
)
SET = Choice(name="set", says="signals", options={"hard": "Hard", "easy": "Easy"})
AVERAGE = Choice(name="average", says="over signals", options={"mean": "mean", "median": "median"})
PROTOCOLS = {"rounds": "zero_filled", "limit": "mask_aware"}
STATISTICS = ("zero_baseline", "pca", "gaussian", "nearest", "rslds")
# What the text of the paper still has of Table 6, of VN-3L and VN-5L; columns and units are lost.
SURVIVORS = (
    ("forecast_25", 0.391),
    ("forecast_25", 0.392),
    ("forecast_50", 0.622),
    ("forecast_50", 0.622),
    ("random_30", 0.0120),
    ("block_128", 0.297),
)
SINGLE = "errors of single signals are stored for Hard only"
STABLE = 0.5  # of the error of the zero baseline


def together(own: xr.Dataset, shared: xr.Dataset) -> xr.Dataset:
    """The errors of all models, those of this chapter and of Fig. 3, by the seeds that both have.

    `hidden`, over (seed, model, protocol, mask, set, average): the error on hidden samples, mean
    and median over signals; `zero`, over (mask, set, average), that of the zero baseline; `close`,
    over (network, solver, set), how well networks give the six numbers of Table 6.
    """
    seeds = [seed for seed in own["seed"].values if seed in shared["seed"].values]
    own, shared = own.sel(seed=seeds), shared.sel(seed=seeds)
    signals = own["hidden"].rename(solver="protocol").astype(float)
    signals["protocol"] = [PROTOCOLS[name] for name in signals["protocol"].values]
    trained = _averages(signals.mean("signal"), signals.median("signal").sel(set=["hard"]))
    single = shared["hidden_hard"].astype(float).median("case", skipna=False)
    figure = _averages(shared["hidden"], single.expand_dims(set=["hard"]))
    hidden = xr.concat([figure, trained], "model", join="outer")
    found = xr.Dataset({"hidden": hidden, "zero": _zero(hidden)})
    return found.assign(close=_close(found))


def _averages(mean: xr.DataArray, median: xr.DataArray) -> xr.DataArray:
    axis = xr.IndexVariable("average", [*AVERAGE.options])
    parts = [one.reset_coords(drop=True) for one in (mean, median)]
    return xr.concat(parts, axis, join="outer")


def _zero(hidden: xr.DataArray) -> xr.DataArray:
    zero = hidden.sel(model="zero_baseline", protocol="mask_aware").median("seed")
    return zero.reset_coords(drop=True)


def best(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network errs less than each of its rivals, by the logarithm of their ratio."""
    return below(*_over_masks(network(r, reading), rivals(r, reading), reading["mask"]))


def stable(r: Arrays, reading: Reading) -> np.ndarray:
    """How far a network's error stays below half of that of the zero baseline."""
    zero = r("zero", set=reading["set"], average=reading["average"], mask=[*MASKS])
    return below(*_over_masks(network(r, reading), STABLE * zero[None], reading["mask"]))


def network(r: Arrays, reading: Reading) -> np.ndarray:
    """Errors of the Vector Network, over (mask)."""
    name = reading["network"]
    errors = _errors(r, FIGURE.get(name, [name]), PROTOCOLS[reading["solver"]], reading)
    return over(errors, "min", -2)


def rivals(r: Arrays, reading: Reading) -> np.ndarray:
    """Errors of rivals, over (model, mask); those with other atoms infer as the network does."""
    solved = reading["solver"] == "limit"
    atoms = PROTOCOLS[reading["solver"]], [*UNLEARNED, *["exemplars"] * solved]
    protocol, models = {
        "printed": ("zero_filled", OTHERS),
        "masked": ("mask_aware", MASKED),
        "told": ("mask_aware", (*THUMB, *STATISTICS)),
        "atoms": atoms,
    }[reading["rivals"]]
    return _errors(r, models, protocol, reading)


def _errors(r: Arrays, models: Sequence[str], protocol: str, reading: Reading) -> np.ndarray:
    """Median errors over seeds; of models that a small profile leaves out, those that are there."""
    there = [model for model in models if model in r.labels["model"]]
    if not there:
        raise KeyError(f"the models {', '.join(models)}")
    how = {"protocol": protocol, "set": reading["set"], "average": reading["average"]}
    # Of single signals the first seed is stored: medians are its, and nothing is known of others.
    return over(r("hidden", **how, model=there, mask=[*MASKS]), "median")


def _over_masks(
    error: np.ndarray, others: np.ndarray, mask: str
) -> tuple[np.ndarray, np.ndarray | float]:
    """The error and the bound that it is held against, from errors over (mask) and (model, mask)."""
    if mask == "mean":
        return error.mean(-1), over(others.mean(-1), "min")
    if mask == "geometric":
        return np.exp(np.log(error).mean(-1)), over(np.exp(np.log(others).mean(-1)), "min")
    if mask == "each":
        return (error / over(others, "min", -2)).max(-1), 1.0
    place = [*MASKS].index(mask)
    return error[..., place], over(others[..., place], "min")


def weight(r: Arrays, reading: Reading) -> float:
    """How well a reading gives the six numbers of Table 6, from 0 to 1: in the set of signals that
    fits best, since their column is lost.
    """
    return float(over(r("close", network=reading["network"], solver=reading["solver"]), "max"))


def _close(hidden: xr.Dataset) -> xr.DataArray:
    """The geometric mean of `closeness` to the six numbers (network, solver, set); NaN for models
    that are not there.
    """
    axes = {"network": [*NETWORK.options], "solver": [*SOLVER.options], "set": [*SETS]}
    found = xr.DataArray(np.full([len(one) for one in axes.values()], np.nan), axes, tuple(axes))
    r = Arrays(hidden)
    for one, solver, name in product(*axes.values()):
        reading = {"network": one, "solver": solver, "set": name, "average": "mean"}
        try:
            errors = dict(zip(MASKS, network(r, reading).tolist(), strict=True))
        except KeyError:  # a small profile leaves models out
            continue
        near = [closeness(errors[mask], number) for mask, number in SURVIVORS]
        found.loc[{"network": one, "solver": solver, "set": name}] = np.prod(near) ** (
            1 / len(near)
        )
    return found


UNKNOWN = Exclusion(options={"set": ["easy"], "average": ["median"]}, why=SINGLE)
STATEMENTS = (
    Statement(
        id="VN-F3c",
        says="On hidden samples the Vector Network errs less than its rivals",
        choices=(NETWORK, SOLVER, RIVALS, MASK, SET, AVERAGE),
        margin=best,
        weight=weight,
        excluded=[UNKNOWN],
        band=np.log(1.05),
    ),
    Statement(
        id="VN-F3c, stable",
        says="On hidden samples the Vector Network's error stays below half of the zero baseline's",
        choices=(NETWORK, SOLVER, MASK, SET, AVERAGE),
        margin=stable,
        weight=weight,
        excluded=[UNKNOWN],
        band=np.log(1.05),
    ),
)


def curves(read: xr.Dataset) -> dict[str, xr.Dataset]:
    """Every statement in all of its readings, by its id; `read` as `together` gives it."""
    return {one.id: curve(one, read) for one in STATEMENTS}
