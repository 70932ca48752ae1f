"""One model that learns groups of digits, or force laws, one after the other (VN Sec. 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from benchmarks.images.networks import built
from benchmarks.nbody.bodies import Samples, Scales, scales_of
from benchmarks.nbody.measure import samples
from chapters.beyond_continual import bodies, images, inference
from chapters.beyond_continual.measure import Data, learned, measure, order, stream
from data_gen import digits, mnist, nbody
from vnlib.book.chapter import Chapter
from vnlib.book.comparison import Comparison, with_candidate

FAMILIES = images.FAMILIES | bodies.FAMILIES
PAIRS, LAWS, BODIES = 5, 4, 5
COMPOSED = ("id", "add2")
VARIABLES = {
    "stream": ("order of the data", ""),
    "after": ("turns so far", "1"),
    "task": ("task, in the order of learning", "1"),
    "other": ("other task", "1"),
    "images": ("training images", "1"),
    "set": ("set of samples", ""),
    "start": ("start of the settle", ""),
    "solver": ("way to settle", ""),
    "level": ("energy above the lowest, as a share of it", "1"),
    "tasks": ("what the model learns: digits or forces", ""),
    "error": (
        "mean squared error on a task: of digits in ink^2, of forces over the mean square",
        "1",
    ),
    "cosine": ("cosine of the updates of two tasks", "1"),
    "shared_weights": ("share of their energy that two updates have in common, by weights", "1"),
    "shared_units": ("share of their energy that two updates have in common, by units", "1"),
    "shared_code": ("share of their energy that the codes of two tasks have in common", "1"),
    "fact_parameters": ("learned parameters", "1"),
    "fact_units": ("units of the code", "1"),
    "fact_revived": ("atoms drawn anew so far", "1"),
    "power": ("mean square of the samples of a task", "1"),
    "which": ("number of the task", "1"),
    "data_error": ("mean squared error after training on few images", "ink^2"),
    "fallback": ("whether scikit-learn's digits stand in for MNIST", "1"),
    "inference_saved": ("share of sweeps that a start saves", "1"),
    "inference_saved_paid": ("share of sweeps that a start saves, its cost included", "1"),
    "inference_sweeps": ("sweeps until the energy is near its lowest", "1"),
    "inference_cost": ("cost of a start, in sweeps", "1"),
    "inference_rate": ("learning rate of a start", "1"),
    "inference_operations": ("operations of a settle per image", "1"),
    "inference_forward": ("operations of a pass of the autoencoder per image", "1"),
    "inference_ratio": ("operations of a settle over those of a pass", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds and streams, and the learning rates tried on the first task."""
    bound = {"device": chapter.device, "real": chapter.profile == "paper"}
    comparison = Comparison(
        chapter,
        partial(run, data_seed=chapter.settings["data_seed"], **bound),
        partial(settings, chapter),
        VARIABLES,
        criterion=lambda selection: selection["error"].sel(set="val"),
        choose=partial(choose, seed=chapter.settings["selection_seed"], **bound),
    )
    return comparison.results()


def settings(
    chapter: Chapter, axes: dict[str, Any], candidate: int, selecting: bool
) -> dict[str, Any]:
    """What one run depends on; a selecting run sees one task of one stream."""
    s, model = chapter.settings, chapter.model(axes["model"])
    body, sizes = model["tasks"] == "forces", _sizes(s)
    cut = {name: s[name] for name in ("n_train", "n_val", "n_test")}
    rate, options = with_candidate(model, candidate)
    found = {
        "family": model["family"],
        "body": body,
        "data": {"trajectories": s["trajectories"]} if body else cut,
        "options": options
        | sizes[model["size"]]
        | {
            "lr": rate,
            "steps": s["body_steps"] if body else s["steps"] * model["factor"],
            "batch_size": s["body_batch"] if body else s["batch_size"],
        },
    }
    if selecting:
        return found
    found |= {"streams": model["streams"], "kept": s["kept"]}
    if model["data"]:
        steps = s["data_steps"] * model["factor"]
        found["amounts"] = {"n": s["sizes_of_data"], "steps": steps, "n_test": s["n_test"]}
    if model["inference"]:
        found["inference"] = s["inference"] | {"against": sizes["ae"]}
    return found


def _sizes(s: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The sizes of models, by the name that their sections give."""
    first, added = s["atoms_grown"]
    return {
        "one": {"atoms": [s["atoms_1"]]},
        "grown": {"atoms": [first], "grow": added},
        "three": {"atoms": s["atoms_3"], "interface": [K // 2 for K in s["atoms_3"][:-1]]},
        "ae": {"hidden": [s["hidden"]], "latent": s["latent"]},
        "ksparse": {
            "latent": s["atoms_1"],
            "k": s["ksparse"],
            "encoder": "linear",
            "decoder": "linear",
        },
        "pca": {"axes": s["ksparse"]},
        "body_vn": {"atoms": s["body_atoms"], "dictionary_steps": s["dictionary_steps"]},
        "mlp": {"width": s["width"]},
        "token_mlp": {"hidden": [s["width"] // 2] * 3},
    }


def choose(
    axes: dict[str, Any],
    settings: dict[str, Any],
    workdir: Path,
    *,
    seed: int,
    device: torch.device | str = "cpu",
    real: bool = True,
) -> xr.Dataset:
    """The error on validation samples of the first task, the only one that is learned."""
    tasks, scales = tasks_of(settings, device=device, real=real)
    train, held, _ = tasks[0]
    return learned(maker(settings, seed, scales), train, {"val": held}, seed=seed)


def run(
    axes: dict[str, Any],
    settings: dict[str, Any],
    workdir: Path,
    *,
    data_seed: int = 0,
    device: torch.device | str = "cpu",
    real: bool = True,
) -> xr.Dataset:
    """A model in all its streams (see `measure`); where asked for, few data and its inference.

    Parameters
    ----------
    data_seed
        Of the sums of two digits.
    real
        Whether the digits must be those of MNIST; otherwise others will do where there are none.
    """
    tasks, scales = tasks_of(settings, device=device, real=real)
    seed, body = axes["seed"], settings["body"]
    ordered = order(len(tasks), seed=seed)
    train, tests = ([tasks[i][part] for i in ordered] for part in (0, 2))
    make = maker(settings, seed, scales)
    found = [
        measure(make, stream(name, train, kept=settings["kept"], seed=seed), tests, seed=seed)
        for name in settings["streams"]
    ]
    power = [float((test[4][test[2]] if body else test[0]).square().mean()) for test in tests]
    ds = xr.concat(found, "stream").assign_coords(stream=settings["streams"])
    ds = ds.assign(power=("task", power), which=("task", ordered))
    if body:
        return ds
    sets = partial(composed, seed=data_seed, real=real)
    if "amounts" in settings:
        ds = ds.merge(few_images(settings, seed, sets, device=device, real=real))
    if "inference" in settings:
        joint = stream("joint", train, kept=1, seed=seed)[0]
        ds = ds.merge(speed(settings, seed, joint, sets, **settings["inference"]))
    return ds.assign(fallback=pixels(real)[2])


def maker(
    settings: dict[str, Any], seed: int, scales: Scales | None = None, **changes: object
) -> Callable[[Data], images.Continual]:
    """A function that makes a model of these settings from the first data it sees."""
    cls, options = FAMILIES[settings["family"]], settings["options"] | changes
    if settings["body"]:
        return lambda first: cls(Samples(*first), scales=scales, seed=seed, **options)
    return lambda first: cls(first[0], seed=seed, **options)


def few_images(
    settings: dict[str, Any],
    seed: int,
    sets: Callable[[int], dict[str, Data]],
    *,
    device: torch.device | str,
    real: bool,
) -> xr.Dataset:
    """Errors on single digits and on sums of two after training on so many images of all digits."""
    (x, _), asked = pixels(real)[0], settings["amounts"]
    tests = {name: _moved(data, device) for name, data in sets(asked["n_test"]).items()}
    parts = []
    for count in asked["n"]:
        atoms = settings["options"].get("atoms")
        fewer = {"atoms": [min(*atoms, count)]} if atoms else {}
        make = maker(settings, seed, steps=asked["steps"], **fewer)
        parts.append(learned(make, (x[:count].to(device),), tests, seed=seed)["error"])
    return xr.concat(parts, "images").assign_coords(images=asked["n"]).to_dataset(name="data_error")


def speed(
    settings: dict[str, Any],
    seed: int,
    data: Data,
    sets: Callable[[int], dict[str, Data]],
    *,
    against: dict[str, Any],
    n_train: int,
    n_test: int,
    **options: Any,
) -> xr.Dataset:
    """What inference costs after joint training, and what a learned start saves; on the CPU."""
    data = _moved(data, "cpu")
    model = maker(settings, seed)(data)
    model.learn(data, seed=seed)
    drawn = torch.randperm(len(data[0]), generator=torch.Generator().manual_seed(seed))
    x = data[0][drawn[: n_train + n_train // 4]]
    tests = {name: test[0][:n_test] for name, test in sets(max(50, n_test)).items()}
    plain = built(pixels=x.shape[1], seed=seed, **against)
    found = inference.measure(model, plain, x[:n_train], x[n_train:], tests, seed=seed, **options)
    return found.rename({name: f"inference_{name}" for name in found.data_vars})


# --- data -----------------------------------------------------------------------------------------


def tasks_of(
    settings: dict[str, Any], *, device: torch.device | str, real: bool
) -> tuple[list[list[Data]], Scales | None]:
    """Training, validation and test samples of each task, and the scales of force laws."""
    if settings["body"]:
        return force_tasks(**settings["data"])
    return digit_tasks(**settings["data"], device=device, real=real), None


@cache
def pixels(real: bool) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], bool]:
    """Digits in order: pixels and pairs of classes of both parts, and whether they stand in."""
    parts = [mnist.load(part, allow_fallback=not real) for part in ("train", "test")]
    train, test = (
        (
            torch.from_numpy(part["image"].values).flatten(1),
            torch.from_numpy(part["label"].values // 2),
        )
        for part in parts
    )
    return train, test, bool(parts[0].attrs["fallback"])


@cache
def digit_tasks(
    n_train: int, n_val: int, n_test: int, *, device: torch.device | str, real: bool
) -> list[list[Data]]:
    """At most so many images of each pair of classes; validation ends the training part."""
    (x, pair), (x_test, pair_test), _ = pixels(real)
    end = int(0.9 * len(x))
    found = []
    for p in range(PAIRS):
        parts = x[:end][pair[:end] == p], x[end:][pair[end:] == p], x_test[pair_test == p]
        counts = (n_train, n_val, n_test)
        found.append([(part[:n].to(device),) for part, n in zip(parts, counts, strict=True)])
    return found


@cache
def force_tasks(trajectories: int) -> tuple[list[list[Data]], Scales]:
    """States of each force law acting alone on all bodies, and the scales of all laws."""
    few = max(2, trajectories // 5)
    made = nbody.make(nbody.NBodyConfig(n_train=trajectories, n_val=few, n_test=few))
    parts = [samples(nbody.subset(made, split)) for split in ("train", "val", "test")]
    alone = [part.present.all(1) & (part.forces.sum(1) == 1) for part in parts]
    laws = [
        [
            Samples(*(p[rows & (part.forces[:, law] != 0)] for p in part))
            for part, rows in zip(parts, alone, strict=True)
        ]
        for law in range(LAWS)
    ]
    return laws, scales_of(parts[0])


@cache
def composed(n_test: int, *, seed: int, real: bool) -> dict[str, Data]:
    """Single digits and sums of two."""
    singles = mnist.load("test", allow_fallback=not real)["image"].values
    made = digits.make(singles, n=n_test, seed=seed, sets=COMPOSED)["image"]
    return {name: (torch.from_numpy(made.sel(set=name).values).flatten(1),) for name in COMPOSED}


def _moved(data: Data, device: torch.device | str) -> Data:
    return tuple(part.to(device) for part in data)
