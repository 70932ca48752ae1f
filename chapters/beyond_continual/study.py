"""One model that learns groups of digits, or force laws, one after the other (VN Sec. 5)."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.networks import built
from benchmarks.images.samples import composed_digits
from benchmarks.nbody.bodies import Samples, Scales, scales_of
from benchmarks.nbody.measure import samples
from chapters.beyond_continual import bodies, images, inference
from chapters.beyond_continual.measure import Data, learned, measure, order, stream
from data_gen import mnist, nbody
from vnlib import seeding
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.book.comparison import compared, with_candidate

FAMILIES = images.FAMILIES | bodies.FAMILIES
PAIRS, LAWS = 5, 4
COMPOSED = ("id", "add2")
DECIDED = (  # the models that the claim speaks of
    *("vn_1", "ae", "ae_long", "ksparse_linear_long", "pca", "b_vn_token", "b_mlp", "b_token_mlp"),
)
DECIDING = (
    *("error", "power", "data_error", "inference_ratio", "inference_saved", "inference_sweeps"),
    "inference_cost",
)
VARIABLES = {
    "stream": ("order of the data", ""),
    "after": ("turns so far", "1"),
    "task": ("task, in the order of learning", "1"),
    "other": ("other task", "1"),
    "images": ("training images", "1"),
    "set": ("set of samples", ""),
    "start": ("start of the settle", ""),
    "solver": ("way to settle", ""),
    "timed_solver": ("way of a timed settle", ""),
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
    "inference_time_ratio": ("processor time of start and settle over the cold settle's", "1"),
    "inference_time_cold": ("processor time of the cold settle per image", "ms"),
    "inference_operations": ("operations of a settle per image", "1"),
    "inference_forward": ("operations of a pass of the autoencoder per image", "1"),
    "inference_ratio": ("operations of a settle over those of a pass", "1"),
}


def results(chapter: Chapter) -> tuple[xr.Dataset, xr.Dataset | None]:
    """All models over seeds and streams, what decides of those with twice the updates, and the
    learning rates tried on the first task.
    """
    made: dict[str, Settings] = {}

    def noted(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
        own = settings(chapter, axes, candidate, selecting)
        if not selecting:
            made[axes["model"]] = own  # with the learning rate that was chosen
        return own

    found, selection = compared(
        chapter,
        run,
        noted,
        VARIABLES,
        criterion=lambda selection: selection["error"].sel(set="val"),
    )
    whole = with_longer(
        chapter,
        found,
        run,
        DECIDING,
        lambda _, axes: made[axes["model"]],
        twice,
        variables=VARIABLES,
        model=[name for name in chapter.models if name in DECIDED],
    )
    return whole, selection


def twice(settings: Settings) -> Settings:
    """The settings of a run with twice the updates, those of a dictionary, on few images and of learned
    starts too.
    """

    def doubled(part: dict[str, Any]) -> dict[str, Any]:
        steps = ("steps", "dictionary_steps")
        return part | {name: 2 * part[name] for name in steps if name in part}

    found = dict(settings)
    found |= {name: doubled(found[name]) for name in ("options", "amounts") if name in found}
    if inference := found.get("inference"):
        found["inference"] = inference | {"training": doubled(inference["training"])}
    return found


def settings(chapter: Chapter, axes: Axes, candidate: int, selecting: bool) -> Settings:
    """What one run depends on; a selecting run sees one task of one stream."""
    s, model = chapter.settings, chapter.model(axes["model"])
    body, sizes = model["tasks"] == "forces", _sizes(s)
    cut = ["trajectories"] if body else ["n_train", "n_val", "n_test"]
    rate, options = with_candidate(model, candidate)
    steps = s["body_steps"] if body else s["steps"] * model["factor"]
    batch = {"batch_size": s["body_batch" if body else "batch_size"]}
    found = {
        "family": model["family"],
        "body": body,
        "data": {name: s[name] for name in cut},
        "options": options | sizes[model["size"]] | {"lr": rate, "steps": steps} | batch,
    }
    if selecting:
        return found
    found |= {name: s[name] for name in ("kept", "data_seed")} | {"streams": model["streams"]}
    if model["data"]:
        found["amounts"] = {
            "n": s["sizes_of_data"],
            "steps": s["data_steps"] * model["factor"],
            "n_test": s["n_test"],
        }
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


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """A model in all its streams (see `measure`); where asked for, few data and its inference. To
    choose it learns the first task only, and has its error on validation samples.
    """
    device, real = chapter.device, chapter.profile == "paper"
    seed, body, cut = axes["seed"], settings["body"], settings["data"]
    tasks = force_tasks(**cut)[0] if body else digit_tasks(**cut, device=device, real=real)
    make = partial(made, settings, seed)
    if "streams" not in settings:
        train, held, _ = tasks[0]
        return learned(make, train, {"val": held}, seed=seed)
    ordered = order(len(tasks), seed=seed)
    train, tests = ([tasks[i][part] for i in ordered] for part in (0, 2))
    found = [
        measure(make, stream(name, train, kept=settings["kept"], seed=seed), tests, seed=seed)
        for name in settings["streams"]
    ]
    power = [float((test[4][test[2]] if body else test[0]).square().mean()) for test in tests]
    ds = xr.concat(found, "stream").assign_coords(stream=settings["streams"])
    ds = ds.assign(power=("task", power), which=("task", ordered))
    if body:
        return ds
    sets = partial(composed_digits, COMPOSED, seed=settings["data_seed"], real=real)
    if "amounts" in settings:
        tests = {k: x.to(device) for k, x in sets(settings["amounts"]["n_test"]).items()}
        ds = ds.merge(few_images(settings, seed, pixels(real)[0][0].to(device), tests))
    if "inference" in settings:
        (x,) = stream("joint", train, kept=1, seed=seed)[0]
        tests = sets(max(50, settings["inference"]["n_test"]))
        ds = ds.merge(speed(settings, seed, x.cpu(), tests, **settings["inference"]))
    return ds.assign(fallback=pixels(real)[2])


def made(settings: dict[str, Any], seed: int, first: Data, **changes: object) -> images.Continual:
    """A model of these settings, from the first data it sees."""
    scales = {"scales": force_tasks(**settings["data"])[1]} if settings["body"] else {}
    options = settings["options"] | scales | changes
    return FAMILIES[settings["family"]](first[0], seed=seed, **options)


def few_images(
    settings: dict[str, Any], seed: int, x: Tensor, tests: dict[str, Tensor]
) -> xr.Dataset:
    """Errors on single digits and on sums of two after training on so many images of all digits,
    of which each seed draws its own, fewer among more.
    """
    asked, atoms, errors = settings["amounts"], settings["options"].get("atoms"), []
    drawn = torch.randperm(len(x), generator=seeding.generator(seed, "few images"))
    x = x[drawn[: max(asked["n"])].to(x.device)]
    sets = {name: (test,) for name, test in tests.items()}
    for n in asked["n"]:
        fewer = {"atoms": [min(*atoms, n)]} if atoms else {}
        make = partial(made, settings, seed, steps=asked["steps"], **fewer)
        errors.append(learned(make, (x[:n],), sets, seed=seed)["error"])
    found = xr.concat(errors, "images").assign_coords(images=asked["n"])
    return found.to_dataset(name="data_error")


def speed(
    settings: dict[str, Any],
    seed: int,
    x: Tensor,
    tests: dict[str, Tensor],
    *,
    against: dict[str, Any],
    n_train: int,
    n_test: int,
    **options: Any,
) -> xr.Dataset:
    """What inference costs after training on x, and what a learned start saves; on the CPU."""
    model = made(settings, seed, (x,))
    model.learn((x,), seed=seed)
    drawn = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x = x[drawn[: n_train + n_train // 4]]
    few = {name: test[:n_test] for name, test in tests.items()}
    plain = built(pixels=x.shape[1], seed=seed, **against)
    found = inference.measure(model, plain, x[:n_train], x[n_train:], few, seed=seed, **options)
    return found.rename({name: f"inference_{name}" for name in found.data_vars})


# --- data -----------------------------------------------------------------------------------------


@cache
def pixels(real: bool) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor], bool]:
    """Digits in order: pixels and pairs of classes of both parts, and whether they stand in."""
    parts = [mnist.load(part, allow_fallback=not real) for part in ("train", "test")]
    x = [torch.from_numpy(part["image"].values).flatten(1) for part in parts]
    pair = [torch.from_numpy(part["label"].values // 2) for part in parts]
    return *zip(x, pair, strict=True), bool(parts[0].attrs["fallback"])


@cache
def digit_tasks(
    n_train: int, n_val: int, n_test: int, *, device: torch.device | str, real: bool
) -> list[list[Data]]:
    """At most so many images of each pair of classes; validation ends the training part."""
    (x, pair), test, _ = pixels(real)
    end = int(0.9 * len(x))
    parts = (x[:end], pair[:end], n_train), (x[end:], pair[end:], n_val), (*test, n_test)
    return [[(x[pair == p][:n].to(device),) for x, pair, n in parts] for p in range(PAIRS)]


@cache
def force_tasks(trajectories: int) -> tuple[list[list[Data]], Scales]:
    """States of each force law acting alone on all bodies, and the scales of all laws."""
    few = max(2, trajectories // 5)
    made = nbody.make(nbody.NBodyConfig(n_train=trajectories, n_val=few, n_test=few))
    parts = [samples(nbody.subset(made, split)) for split in ("train", "val", "test")]

    def alone(part: Samples, law: int) -> Samples:
        rows = part.present.all(1) & (part.forces.sum(1) == 1) & (part.forces[:, law] != 0)
        return Samples(*(values[rows] for values in part))

    return [[alone(part, law) for part in parts] for law in range(LAWS)], scales_of(parts[0])
