"""What top-down feedback is worth in a deep Vector Network of forces (VN App. H.3), beside the
results of Fig. 4, which hold the dropout of bodies and the rollouts (App. H.2 and H.4).

A variant is a Vector Network of the same size and training that differs in one thing: the weight
beta of what comes from above, whether dead atoms are drawn anew, whether every force has a readout
of its own, or which way the coupling points. With one layer nothing comes from above; and where
every atom keeps to one force, as those of tokens do, a readout is split by forces already.
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import xarray as xr

from benchmarks.baselines.lengthened import with_longer
from benchmarks.nbody import measure
from benchmarks.nbody.dynamics import train_dynamics
from benchmarks.nbody.forces import Device, Trained
from vnlib.book.chapter import Axes, Chapter, Settings, spec

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

DECIDED = ("literal", "token")  # the models that claims speak of
COMPARED = (
    "beta 0",
    "beta 0.02",
    "beta 0.1",
    "beta 0, revived",
    "beta 0.02, revived",
    "split",
    "inverted",
)
DECIDING = ("id_error", "ood_error", "ood_mse", "criterion", "fact_revived", "fact_active_top")


def results(chapter: Chapter) -> xr.Dataset:
    """The ablation over readings (model), variants and seeds, with the coordinates of `variants`, and
    what decides of networks with twice the updates.
    """
    own = variants(chapter)
    found = chapter.grid(run, chapter.axes(variant=list(own)), settings, variables=VARIABLES)
    axes = {
        "model": [name for name in chapter.models if name in DECIDED],
        "variant": [name for name in own if name in COMPARED],
    }
    found = with_longer(chapter, found, run, DECIDING, settings, twice, variables=VARIABLES, **axes)
    told = {key: [one[key] for one in own.values()] for key in ("beta", "revive", "kind")}
    return found.assign_coords({key: ("variant", values) for key, values in told.items()})


def twice(settings: Settings) -> Settings:
    """The settings of a run with twice the updates of the dictionary and of the readout."""
    training, options = settings["training"], settings["training"]["options"]
    options = options | {"passes": 2 * options["passes"]}
    training = training | {"steps": 2 * training["steps"], "options": options}
    return dict(settings) | {"training": training}


def shared(chapter: Chapter) -> xr.Dataset:
    """The results of Fig. 4, models in the order of its chapter."""
    found = chapter.results_of("fig4_nbody")
    order = spec("fig4_nbody").sidecar["models"]
    return found.sel(model=[name for name in order if name in found["model"].values])


def truth(shared: xr.Dataset) -> xr.Dataset:
    """The trajectories that the models of Fig. 4 followed by themselves."""
    return measure.truth(**json.loads(str(shared["run_settings"].values.flat[0]))["rollouts"])


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run: a reading of the input, a variant and a seed."""
    s, variant = chapter.settings, variants(chapter)[axes["variant"]]
    own = {
        "feedback": variant["beta"],
        "revive_after": s["revive_after"] if variant["revive"] else None,
        "readout_per_force": variant["kind"] == "split",
        "inverted": variant["kind"] == "inverted",
    }
    return {
        "data": {k: s[k] for k in ("n_train", "n_val", "n_test")} | {"seed": axes["seed"]},
        "training": {
            **s["training"],
            "steps": max(2, round(s["scale"] * s["training"]["steps"])),
            "family": "vn",
            "options": chapter.model(axes["model"])["options"] | s.get("sizes", {}) | own,
        },
    }


def variants(chapter: Chapter) -> dict[str, dict[str, Any]]:
    """The variants by name, each with its `beta`, `revive` (whether dead atoms are drawn anew) and
    `kind`: plain, or split or inverted at the default beta.

    Raises
    ------
    ValueError
        Unless betas hold 0 and the default: what feedback is worth is the difference of these two.
    """
    betas, default = [float(b) for b in chapter.settings["betas"]], chapter.settings["beta"]
    if not {0, default} <= set(betas):
        raise ValueError(f"betas must hold 0 and {default:g}, which are compared, got {betas}")
    plain = {
        f"beta {beta:g}{', revived' * revive}": {"beta": beta, "revive": revive, "kind": "plain"}
        for revive, beta in product((False, True), betas)
    }
    other = {"beta": default, "revive": False}
    return plain | {kind: other | {"kind": kind} for kind in ("split", "inverted")}


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One variant, trained on single forces and measured (see `errors`)."""
    data = measure.states(**settings["data"])
    model = train_dynamics(data, axes["seed"], workdir, chapter.device, **settings["training"])
    return errors(data, model, device=chapter.device)


def errors(data: xr.Dataset, model: Trained, *, device: Device = "cpu") -> xr.Dataset:
    """How well a model predicts accelerations in and out of distribution, all forces given at once.

    `mse` and `power` are over (forces, bodies), `error_number` and `mse_number` over (number,
    bodies), means over the sets of that many forces. Relative errors are over the mean square of
    what is true. `data` as `measure.study` takes them.
    """
    test = measure.split(data, "test")
    true = test["acceleration"].values
    given = model.predict(measure.samples(test, device).bodies).double().cpu().numpy()
    mse, power = (measure.mean_squares(values, test) for values in (given - true, true))
    number = (mse["forces"].str.count(r"\+") + 1).rename("number")
    single, found = number == 1, xr.Dataset({"mse": mse, "power": power})
    for kind, values in (("error", mse / power), ("mse", mse)):
        found[f"id_{kind}"] = values.sel(bodies=mse["bodies"].max())[single].mean()
        found[f"ood_{kind}"] = values[~single].mean()
        found[f"{kind}_number"] = values.groupby(number).mean()
    return xr.merge([found, measure.validated(data, model, device)])
