"""What top-down feedback is worth in a deep Vector Network of forces (VN App. H.3), beside the
results of Fig. 4, which hold the dropout of bodies and the rollouts (App. H.2 and H.4).

A variant is a Vector Network of the same size and training that differs in one thing: the weight
beta of what comes from above, whether dead atoms are drawn anew, whether every force has a readout
of its own, or which way the coupling points. With one layer nothing comes from above; and where
every atom keeps to one force, as those of tokens do, a readout is split by forces already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from benchmarks.nbody.forces import Trained
from data_gen import nbody
from vnlib import checks
from vnlib.book.chapter import Chapter, spec

KINDS = ("plain", "split", "inverted")
VARIABLES = {
    **measure.VALIDATION,
    **measure.ERRORS,
    **measure.FACTS,
    "model": ("reading of the input by the Vector Network", ""),
    "variant": ("variant of the network", ""),
    "number": ("number of forces that act", "1"),
    "id_error": ("relative squared error, single forces, most bodies", "1"),
    "id_mse": ("mean squared error, single forces, most bodies", measure.SQUARE),
    "ood_error": ("relative squared error, mixtures, all numbers of bodies", "1"),
    "ood_mse": ("mean squared error, mixtures, all numbers of bodies", measure.SQUARE),
    "error_number": ("relative squared error by number of forces", "1"),
    "mse_number": ("mean squared error by number of forces", measure.SQUARE),
}


def results(chapter: Chapter) -> xr.Dataset:
    """The ablation over readings (model), variants and seeds, with the coordinates `beta`, `revive`
    and `kind` of the variants.
    """
    own = variants(map(float, chapter.settings["betas"]), beta=chapter.settings["beta"])
    found = chapter.grid(
        partial(run, device=chapter.device),
        {"model": list(chapter.models), "variant": list(own), "seed": chapter.seeds},
        partial(settings, chapter),
        variables=VARIABLES,
    )
    told = {key: [one[key] for one in own.values()] for key in ("beta", "revive", "kind")}
    return found.assign_coords({key: ("variant", values) for key, values in told.items()})


def shared(chapter: Chapter) -> xr.Dataset:
    """The results of Fig. 4, models in the order of its chapter."""
    found = chapter.results_of("fig4_nbody")
    order = spec("fig4_nbody").sidecar["models"]
    return found.sel(model=[name for name in order if name in found["model"].values])


def truth(shared: xr.Dataset) -> xr.Dataset:
    """The trajectories that the models of Fig. 4 followed by themselves."""
    one = json.loads(str(shared["run_settings"].values.flat[0]))
    return nbody.rollouts(nbody.RolloutConfig(**one["rollouts"]))


def settings(chapter: Chapter, axes: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of one run: a reading of the input, a variant and a seed."""
    s, model = chapter.settings, chapter.model(axes["model"])
    variant = variants(map(float, s["betas"]), beta=s["beta"])[axes["variant"]]
    own = options(**variant, revive_after=s["revive_after"])
    return {
        "data": {k: s[k] for k in ("n_train", "n_val", "n_test")} | {"seed": axes["seed"]},
        "training": {
            **s["training"],
            "steps": max(2, round(s["scale"] * s["training"]["steps"])),
            "family": "vn",
            "options": model["options"] | s.get("sizes", {}) | own,
        },
    }


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
    betas = list(betas)
    if len(set(betas)) != len(betas):
        raise ValueError(f"betas must be a list of different numbers, got {betas!r}")
    for one in betas:
        checks.number("each of betas", one, low=0)
    if not {0, beta} <= set(betas):
        raise ValueError(
            f"betas must hold 0 and the default {beta:g}, which are compared, got {betas}"
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
        Steps without use after which an atom counts as dead.

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


@cache
def states(**sizes: int) -> xr.Dataset:
    """The states of all splits; a seed draws its own."""
    return nbody.make(nbody.NBodyConfig(**sizes))


def run(
    axes: Mapping[str, Any],
    settings: Mapping[str, Any],
    workdir: Path,
    *,
    device: torch.device | str = "cpu",
) -> xr.Dataset:
    """Train one variant on single forces, and measure it (see `errors`)."""
    data = states(**settings["data"])
    train, held = (measure.samples(nbody.subset(data, one), device) for one in ("train", "val"))
    model = train_dynamics(train, held, seed=axes["seed"], workdir=workdir, **settings["training"])
    return errors(data, model, device=device)


def errors(data: xr.Dataset, model: Trained, *, device: torch.device | str = "cpu") -> xr.Dataset:
    """How well a model predicts accelerations in and out of distribution, all forces given at once.

    `VARIABLES` says what is measured; `mse` and `power` are over (forces, bodies), `error_number`
    and `mse_number` over (number, bodies), means over the sets of that many forces. Relative errors
    are over the mean square of what is true.

    Parameters
    ----------
    data
        As `measure.study` takes it.
    """
    test = measure.split(data, "test")
    true = test["acceleration"].values
    given = model.predict(measure.samples(test, device).bodies).double().cpu().numpy()
    mse, power = (measure.mean_squares(values, test) for values in (given - true, true))
    number = xr.DataArray([one.count("+") + 1 for one in mse["forces"].values], dims="forces")
    single, most = number == 1, {"bodies": mse["bodies"].values.max()}
    found = xr.Dataset({"mse": mse, "power": power})
    for kind, values in (("error", mse / power), ("mse", mse)):
        found[f"id_{kind}"] = values.sel(most)[single].mean()
        found[f"ood_{kind}"] = values[~single].mean()
        found[f"{kind}_number"] = values.groupby(number.rename("number")).mean()
    return xr.merge([found, measure.validated(data, model, device)])
