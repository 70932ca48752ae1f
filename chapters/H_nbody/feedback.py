"""What top-down feedback is worth in a deep Vector Network of forces (VN App. H.3).

A variant is a Vector Network of the same size and training that differs in one thing: the weight
beta of what comes from above, whether dead atoms are drawn anew, whether every force has a readout
of its own, or which way the coupling points. With one layer nothing comes from above; and where
every atom keeps to one force, as those of tokens do, a readout is split by forces already.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import torch
import xarray as xr

from benchmarks.nbody.bodies import LAWS
from benchmarks.nbody.forces import Trained, relative_errors
from benchmarks.nbody.measure import UNIT, samples
from vnlib import checks

KINDS = ("plain", "split", "inverted")


def variants(betas: Sequence[float], *, beta: float) -> dict[str, dict[str, Any]]:
    """The variants by name, each with its `beta`, `revive` (whether dead atoms are drawn anew) and
    `kind`.

    Parameters
    ----------
    betas
        Of the plain variants, each with and without `revive`.
    beta
        The default, of the split and the inverted variant.

    Raises
    ------
    ValueError
        Unless betas are different numbers >= 0 that hold 0 and the default, which is > 0: what
        feedback is worth is the difference between these two.
    """
    checks.number("beta", beta, above=0)
    if not isinstance(betas, (list, tuple)) or len(set(betas)) != len(betas):
        raise ValueError(f"betas must be a list of different numbers, got {betas!r}")
    for one in betas:
        checks.number("each of betas", one, low=0)
    if not {0, beta} <= set(betas):
        raise ValueError(
            f"betas must hold 0 and the default {beta:g}, which are compared, got {list(betas)}"
        )
    plain = {
        f"beta {one:g}{', revived' if revive else ''}": {
            "beta": float(one),
            "revive": revive,
            "kind": "plain",
        }
        for revive, one in product((False, True), betas)
    }
    return plain | {
        kind: {"beta": float(beta), "revive": False, "kind": kind} for kind in KINDS[1:]
    }


def options(beta: float, revive: bool, kind: str, *, revive_after: int) -> dict[str, Any]:
    """What a variant sets of `vector_network`.

    Parameters
    ----------
    revive_after
        Updates without use after which an atom counts as dead.

    Raises
    ------
    ValueError
        For an unknown kind.
    """
    checks.choice("kind", kind, KINDS)
    return {
        "feedback": beta,
        "revive_after": revive_after if revive else None,
        "readout_per_force": kind == "split",
        "inverted": kind == "inverted",
    }


def study(data: xr.Dataset, model: Trained, *, device: torch.device | str = "cpu") -> xr.Dataset:
    """How well a model predicts accelerations in and out of distribution, all forces given at once.

    Errors are mean squares of single components of present bodies; relative ones are over the mean
    square of what is true.

    `val_error` (law) and `criterion`, relative errors on validation states and their mean; `mse`
    and `power` (forces, bodies) of the test; `id_error`, relative, and `id_mse`, means over single
    forces with the most bodies; `ood_error` and `ood_mse`, means over the mixtures and all numbers
    of bodies; `error_number` and `mse_number` (number, bodies), means over the sets of that many
    forces; `fact_...` of the model.

    Parameters
    ----------
    data
        As `nbody.study` takes it.
    """
    split = data["split"].values
    held, test = (data.isel(state=np.flatnonzero(split == name)) for name in ("val", "test"))
    errors = relative_errors(model.predict, samples(held, device)).cpu()
    cells = _cells(test, model, device)
    relative = cells["mse"] / cells["power"]
    number = xr.DataArray([name.count("+") + 1 for name in cells["forces"].values], dims="forces")
    single, most = number == 1, {"bodies": cells["bodies"].values.max()}
    found: dict[str, Any] = {
        "val_error": ("law", errors.numpy()),
        "criterion": float(errors.mean()),
        "id_error": relative.sel(most)[single].mean(),
        "id_mse": cells["mse"].sel(most)[single].mean(),
        "ood_error": relative[~single].mean(),
        "ood_mse": cells["mse"][~single].mean(),
        "error_number": relative.groupby(number.rename("number")).mean(),
        "mse_number": cells["mse"].groupby(number.rename("number")).mean(),
    }
    found |= {f"fact_{name}": value for name, value in model.facts.items()}
    whole = cells.assign(found).assign_coords(law=list(LAWS))
    for name, variable in whole.data_vars.items():
        variable.attrs["units"] = UNIT if "mse" in str(name) or name == "power" else "1"
    return whole


def _cells(test: xr.Dataset, model: Trained, device: torch.device | str) -> xr.Dataset:
    """`mse` and `power` of every force set and number of bodies."""
    held = samples(test, device)
    given = model.predict(held.bodies).double().cpu().numpy()
    true, present = test["acceleration"].values, test["present"].values
    forces, bodies = (test[name].values for name in ("forces", "bodies"))
    names, numbers = ([*dict.fromkeys(values.tolist())] for values in (forces, bodies))
    mse, power = np.empty((2, len(names), len(numbers)))
    for (f, name), (n, count) in product(enumerate(names), enumerate(numbers)):
        here = present & ((forces == name) & (bodies == count))[:, None]
        mse[f, n] = np.square(given[here] - true[here]).mean()
        power[f, n] = np.square(true[here]).mean()
    dims = ("forces", "bodies")
    return xr.Dataset(
        {"mse": (dims, mse), "power": (dims, power)}, {"forces": names, "bodies": numbers}
    )
