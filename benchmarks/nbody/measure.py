"""Accelerations predicted by one trained model, over all force sets and numbers of bodies (VN
Fig. 4).

Two ways to ask a model about several forces: "joint" gives it all of them at once, as the paper
does; "passes" gives the same weights one force at a time and sums what they say, since forces
superpose. Errors are mean squares of single components of present bodies, in (box/s^2)^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import numpy as np
import torch
import xarray as xr

from benchmarks.nbody import rollout
from benchmarks.nbody.bodies import LAWS, N_BODIES, Samples, in_passes
from benchmarks.nbody.forces import Device, Trained, relative_errors
from data_gen import nbody

SQUARE = "(box/s^2)^2"
VALIDATION = {
    "law": ("force law", ""),
    "val_error": ("relative squared error on validation states, by law", "1"),
    "criterion": ("relative squared error on validation states, mean over laws", "1"),
    "share": ("share of the training steps", "1"),
    "curve": ("criterion during training", "1"),
}
ERRORS = {
    "forces": ("force laws that act, joined by +", ""),
    "bodies": ("number of bodies", "1"),
    "mse": ("mean squared error of accelerations", SQUARE),
    "power": ("mean square of true accelerations", SQUARE),
}
FACTS = {
    "fact_parameters": ("parameters of the model", "1"),
    "fact_penalty": ("penalty of the ridge regression", "1"),
    "fact_bandwidth": ("bandwidth of the radial basis functions", "1"),
    "fact_active": ("active atoms of layer 1, mean over validation inputs", "1"),
    "fact_active_top": ("active atoms of the top layer, mean over validation inputs", "1"),
    "fact_used": ("atoms that some training state uses", "1"),
    "fact_dead": ("atoms that no training state uses", "1"),
    "fact_revived": ("atoms drawn anew while learning", "1"),
}
VARIABLES = {
    **VALIDATION,
    **ERRORS,
    **FACTS,
    **rollout.VARIABLES,
    "inference": ("how forces are given: jointly, or in one pass for each", ""),
    "gap": ("joint minus passes, mean square over power", "1"),
    "train_states": ("training states", "1"),
    "test_states": ("test states", "1"),
}


@cache
def states(**sizes: int) -> xr.Dataset:
    """The states of all splits (see `data_gen.nbody.NBodyConfig`), made once."""
    return nbody.make(nbody.NBodyConfig(**sizes))


@cache
def truth(**sizes: int) -> xr.Dataset:
    """The trajectories that models are to follow (see `data_gen.nbody.RolloutConfig`), made
    once.
    """
    return nbody.rollouts(nbody.RolloutConfig(**sizes))


def samples(ds: xr.Dataset, device: Device = "cpu") -> Samples:
    """States as float32 tensors.

    Parameters
    ----------
    ds
        Position, velocity, acceleration (state, body, axis), present (state, body) and forces
        (state), law names joined by "+".
    """
    acting = [[law in str(forces).split("+") for law in LAWS] for forces in ds["forces"].values]
    arrays = {n: ds[n].values.astype(np.float32) for n in ("position", "velocity", "acceleration")}
    arrays |= {"present": ds["present"].values.astype(bool), "forces": np.array(acting, np.float32)}
    return Samples(**{name: torch.from_numpy(array).to(device) for name, array in arrays.items()})


def split(data: xr.Dataset, name: str) -> xr.Dataset:
    """The states of one split."""
    return data.isel(state=np.flatnonzero(data["split"].values == name))


def study(
    data: xr.Dataset,
    model: Trained,
    *,
    tests: bool = True,
    truth: xr.Dataset | None = None,
    details: bool = False,
    device: Device = "cpu",
) -> xr.Dataset:
    """All that is measured of one model; `VARIABLES` says what.

    Always: what `validated` finds, and `curve` (share) at tenths of the training. With tests, over
    the force sets and numbers of bodies of the test: `mse` (inference, forces, bodies), `power`
    (forces, bodies), `gap` (forces) for five bodies, and counts of states. With a truth also what `rollout`
    measures.

    Parameters
    ----------
    data
        States as `samples` takes them, with bodies (state), their number, and split (state): train,
        val, test.
    tests
        False looks at validation states only, as a choice among candidates must.
    truth, details
        What `rollout.rollout` takes; without a truth nothing is followed.
    """
    parts = [validated(data, model, device).assign(curve=_tenths(model.curve))]
    if tests:
        parts += [_counts(data), _errors(split(data, "test"), model, device)]
    if tests and truth is not None:
        integrate, energy = (
            partial(f, physics=nbody.Physics()) for f in (nbody.integrate, nbody.energy)
        )
        parts.append(
            rollout.rollout(model, truth, integrate, energy, details=details, device=device)
        )
    return xr.merge(parts, compat="no_conflicts", join="outer")


def validated(data: xr.Dataset, model: Trained, device: Device = "cpu") -> xr.Dataset:
    """`val_error` (law), relative errors on validation states; `criterion`, their mean; and
    `fact_...` of the model.
    """
    errors = relative_errors(model.predict, samples(split(data, "val"), device))
    found = {"val_error": ("law", errors.cpu().numpy()), "criterion": float(errors.mean())}
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    return xr.Dataset(found | facts, {"law": list(LAWS)})


def cells(test: xr.Dataset) -> dict[str, list]:
    """The force sets and the numbers of bodies of a test, in the order in which they come."""
    return {name: list(dict.fromkeys(test[name].values.tolist())) for name in ("forces", "bodies")}


def mean_squares(values: np.ndarray, test: xr.Dataset) -> xr.DataArray:
    """Mean squares (forces, bodies) of single components of the bodies that are there.

    Parameters
    ----------
    values
        Over (state, body, axis) of `test`.
    """
    axes, present = cells(test), test["present"].values.astype(bool)

    def mean(forces: str, bodies: int) -> float:
        inside = (test["forces"].values == forces) & (test["bodies"].values == bodies)
        return float(np.square(values[present & inside[:, None]]).mean())

    table = [[mean(forces, bodies) for bodies in axes["bodies"]] for forces in axes["forces"]]
    return xr.DataArray(table, axes, tuple(axes))


def _tenths(curve: Sequence[float]) -> xr.DataArray:
    """The validation error at tenths of the training; NaN for models without."""
    # Training may be validated less often than ten times (few steps): the last value so far.
    at = np.ceil(np.arange(1, 11) * len(curve) / 10).astype(int) - 1
    values = np.asarray(curve)[at] if len(curve) else np.full(10, np.nan)
    return xr.DataArray(values, {"share": np.arange(1, 11) / 10}, ("share",))


def _counts(data: xr.Dataset) -> xr.Dataset:
    """How many states there are to learn from and to be tested on."""
    test, axes = split(data, "test"), cells(split(data, "test"))
    train = [int((split(data, "train")["forces"] == one).sum()) for one in axes["forces"]]
    counts = [
        [int(((test["forces"] == one) & (test["bodies"] == n)).sum()) for n in axes["bodies"]]
        for one in axes["forces"]
    ]
    found = {"train_states": ("forces", train), "test_states": (tuple(axes), counts)}
    return xr.Dataset(found, axes)


def _errors(test: xr.Dataset, model: Trained, device: Device) -> xr.Dataset:
    bodies, truth = samples(test, device).bodies, test["acceleration"].values
    with torch.no_grad():
        given = {"joint": model.predict(bodies), "passes": in_passes(model.predict, bodies)}
    given = {name: one.double().cpu().numpy() for name, one in given.items()}
    errors = [mean_squares(one - truth, test) for one in given.values()]
    power = mean_squares(truth, test)
    gap = mean_squares(given["joint"] - given["passes"], test) / power
    return xr.Dataset(
        {
            "mse": xr.concat(errors, xr.IndexVariable("inference", list(given))),
            "power": power,
            "gap": gap.sel(bodies=N_BODIES, drop=True),
        }
    )
