"""Accelerations predicted by one trained model, over all force sets and numbers of bodies (VN
Fig. 4).

Two ways to ask a model about several forces: "joint" gives it all of them at once, as the paper
does; "passes" gives the same weights one force at a time and sums what they say, since forces
superpose. Errors are mean squares of single components of present bodies, in (box/s^2)^2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import xarray as xr

from benchmarks.nbody.bodies import LAWS, N_BODIES, Samples, in_passes
from benchmarks.nbody.forces import Trained, relative_errors
from benchmarks.nbody.rollout import rollout

WAYS = ("joint", "passes")
UNIT = "(box/s^2)^2"


def samples(ds: xr.Dataset, device: torch.device | str = "cpu") -> Samples:
    """States as float32 tensors; ds: position, velocity, acceleration (state, body, axis), present
    (state, body) and forces (state), law names joined by "+".
    """
    acting = [[law in str(forces).split("+") for law in LAWS] for forces in ds["forces"].values]
    arrays = {
        name: ds[name].values.astype(np.float32)
        for name in ("position", "velocity", "acceleration")
    }
    arrays |= {"present": ds["present"].values.astype(bool), "forces": np.array(acting, np.float32)}
    return Samples(**{name: torch.from_numpy(array).to(device) for name, array in arrays.items()})


def study(
    data: xr.Dataset,
    model: Trained,
    *,
    tests: bool = True,
    truth: xr.Dataset | None = None,
    integrate: Callable | None = None,
    energy: Callable | None = None,
    details: bool = False,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """All that is measured of one model.

    Always: `val_error` (law), relative errors on validation states; `criterion`, their mean;
    `curve` (check), the latter in training at tenths of the updates; `fact_...` of the model.

    With tests, over the force sets and numbers of bodies of the test: `mse` (way, forces, bodies);
    `power` (forces, bodies), the mean square of true accelerations; `gap` (forces), the mean square
    of joint minus passes, over the power, for five bodies; counts `train_states` (forces) and
    `test_states` (forces, bodies). With a truth also what `rollout` measures.

    Parameters
    ----------
    data
        States as `samples` takes them, with bodies (state), their number, and split (state): train,
        val, test.
    tests
        False looks at validation states only, as tuning must.
    truth, integrate, energy, details
        What `rollout.rollout` takes; without a truth nothing is followed.
    """
    parts = [_validation(samples(_split(data, "val"), device), model)]
    if tests:
        parts += [_task(data), _errors(_split(data, "test"), model, device)]
    if tests and truth is not None:
        parts.append(rollout(model, truth, integrate, energy, details=details, device=device))
    return xr.merge(parts, compat="no_conflicts", join="outer")


def _split(data: xr.Dataset, name: str) -> xr.Dataset:
    return data.isel(state=np.flatnonzero(data["split"].values == name))


def _validation(held: Samples, model: Trained) -> xr.Dataset:
    errors = relative_errors(model.predict, held)
    curve = np.full(10, np.nan)
    if model.curve:
        # Training may have fewer checks than tenths (few updates): the last value so far.
        at = np.ceil(np.arange(1, 11) * len(model.curve) / 10).astype(int) - 1
        curve = np.asarray(model.curve)[at]
    values = {
        "val_error": ("law", errors.cpu().numpy(), {"units": "1"}),
        "criterion": float(errors.mean()),
    }
    facts = {f"fact_{name}": value for name, value in model.facts.items()}
    return xr.Dataset(
        values | {"curve": ("check", curve)} | facts,
        {"law": list(LAWS), "check": np.arange(1, 11) / 10},
    )


def _axes(test: xr.Dataset) -> dict[str, list]:
    """The force sets and the numbers of bodies of the test, in the order in which they come."""
    return {name: list(dict.fromkeys(test[name].values.tolist())) for name in ("forces", "bodies")}


def _task(data: xr.Dataset) -> xr.Dataset:
    """How many states there are to learn from and to be tested on."""
    test, trained = _split(data, "test"), _split(data, "train")["forces"].values
    axes, forces, bodies = _axes(test), test["forces"].values, test["bodies"].values
    counts = [
        [int(((forces == one) & (bodies == n)).sum()) for n in axes["bodies"]]
        for one in axes["forces"]
    ]
    return xr.Dataset(
        {
            "train_states": ("forces", [int((trained == one).sum()) for one in axes["forces"]]),
            "test_states": (("forces", "bodies"), counts),
        },
        axes,
    )


def _errors(test: xr.Dataset, model: Trained, device: torch.device | str) -> xr.Dataset:
    held, axes = samples(test, device), _axes(test)
    with torch.no_grad():
        given = {
            "joint": model.predict(held.bodies),
            "passes": in_passes(model.predict, held.bodies),
        }
    given = {way: one.double().cpu().numpy() for way, one in given.items()}
    truth, present = test["acceleration"].values, test["present"].values
    shape = [len(axis) for axis in axes.values()]
    mse, power, gap = (
        np.full([len(WAYS), *shape], np.nan),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
    )
    for f, forces in enumerate(axes["forces"]):
        for n, bodies in enumerate(axes["bodies"]):
            cell = (test["forces"].values == forces) & (test["bodies"].values == bodies)
            here = present & cell[:, None]
            power[f, n] = _square(truth[here])
            mse[:, f, n] = [_square(given[way][here] - truth[here]) for way in WAYS]
            gap[f, n] = _square(given["joint"][here] - given["passes"][here]) / power[f, n]
    both = ("forces", "bodies")
    found = xr.Dataset(
        {
            "mse": (("way", *both), mse, {"units": UNIT}),
            "power": (
                both,
                power,
                {"units": UNIT, "long_name": "mean square of true accelerations"},
            ),
            "gap": (
                both,
                gap,
                {"units": "1", "long_name": "joint minus passes, mean square over power"},
            ),
        },
        {"way": list(WAYS), **axes},
    )
    return found.assign(gap=found["gap"].sel(bodies=N_BODIES, drop=True))


def _square(x: np.ndarray) -> float:
    return float(np.square(x).mean())
