"""Each model of appendix A learns one task, then another: what is inferred, changed, forgotten."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import xarray as xr
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import avg_pool2d

from benchmarks.baselines.lengthened import with_longer
from benchmarks.images.samples import mnist_rows
from chapters.A_predictive_coding import measure
from chapters.A_predictive_coding.models import Model, Sizes, build
from vnlib import checks, seeding
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import FitConfig, fit

PAIRS = ("digits", "permuted", "halves")
STAGES = ("before", "first", "second", "stayed")
SAMPLES_MOVED = 8

# Errors are squared errors over the power of the image, that is, over the zero image's error.
VARIABLES = {
    "pair": ("pair of tasks", ""),
    "stage": ("stage of learning", ""),
    "task": ("task that is tested", "1"),
    "batch": ("samples in a batch", "1"),
    "step": ("step of inference, or sweep of a VN", "1"),
    "n_weights": ("number of weights", "1"),
    "n_learned": ("training images of a task", "1"),
    "data_source": ("where the images come from", ""),
    "active_share": ("share of first-level states that are not zero", "1"),
    "code_power_share": ("share of states that holds 90 % of a code's power", "1"),
    "map_variability": ("share of power of the map, as printed, that varies with the input", "1"),
    "gated_variability": ("share of power of the weighted columns that varies", "1"),
    "slope_variability": ("share of power of the reconstruction's slope that varies", "1"),
    "rank": ("rank of the map, as printed", "1"),
    "rank_limit": ("largest possible rank of the map", "1"),
    "power_share": ("share of weights that holds 90 % of an update's power", "1"),
    "overlap": ("absolute cosine of the updates of two samples, one of each task", "1"),
    "overlap_within": ("absolute cosine of the updates of two samples of task 1", "1"),
    "touched": ("share of weights that the update of a batch changes", "1"),
    "moved": ("share of weights that one step on one sample moves", "1"),
    "idle_moved": ("most idle units that one step on one sample moves", "1"),
    "energy": ("energy during inference over that of a silent network", "1"),
    "code": ("first-level states, or code, of some test samples", "1"),
    "down_error": ("first sample's error at the weights of the dictionary", "1"),
    "down_activity": ("first sample's activity at the weights of the dictionary", "1"),
    "up_error": ("first sample's error at the weights that read the image", "1"),
    "up_activity": ("first sample's activity at the weights that read the image", "1"),
    "lr": ("learning rate with the lowest validation error on task 1", "1"),
    "validation": ("validation error on task 1, by learning rate", "1"),
    "mse": ("error of the reconstruction from the first level", "1"),
    "mse_from_top": ("error of the reconstruction from the top level alone", "1"),
    "final_error": ("mean error on both tasks after both", "1"),
    "forgetting": ("relative growth of task 1's error by learning task 2", "1"),
    "interference": ("task 1's error after task 2, above that after task 1 again, relative", "1"),
    "rise": ("task 1's error after task 2, minus that after task 1 again", "1"),
}
DECIDING = (
    *("active_share", "map_variability", "gated_variability", "power_share", "overlap", "moved"),
    *("idle_moved", "mse", "final_error", "forgetting", "interference", "rise"),
)
NOT_SHARED = {"seeds", "twin_seeds", "pairs", "sparsity", "upper_sparsity", "infer_steps", "settle"}
SIZES = ("units", "interface", "prior", "feedback", "discriminative", "revive_after")


@dataclass(frozen=True)
class Task:
    """Samples of one task: to learn from, to choose the learning rate on, and to report on."""

    train: Float[Tensor, "train d"]
    validation: Float[Tensor, "validation d"]
    test: Float[Tensor, "test d"]


def tasks(
    pair: str, images: Float[Tensor, "batch y x"], labels: Int[Tensor, " batch"]
) -> tuple[Float[Tensor, "half d"], Float[Tensor, "half d"]]:
    """Two tasks of equal size, made of different images.

    Parameters
    ----------
    pair
        "digits": 0-4 and 5-9. "permuted": some images, and others with all their pixels permuted
        in one way. "halves": left halves of some images and right halves of others; they share
        no pixel.
    """
    checks.choice("pair", pair, PAIRS)
    if pair == "digits":
        first, second = images[labels < 5], images[labels >= 5]
    else:
        first, second = images[0::2], images[1::2]
    if pair == "halves":
        left = torch.arange(images.shape[2]) < images.shape[2] // 2
        first, second = first * left, second * ~left
    n = min(len(first), len(second))
    first, second = first[:n].flatten(1), second[:n].flatten(1)
    if pair == "permuted":
        order = torch.randperm(second.shape[1], generator=torch.Generator().manual_seed(0))
        second = second[:, order]
    return first, second


def compare(
    name: str,
    sizes: Sizes,
    pair: tuple[Task, Task],
    *,
    lrs: Sequence[float],
    config: FitConfig,
    seed: int,
) -> xr.Dataset:
    """Everything about one model: it learns task 1 and is measured, then task 2, or task 1 again.

    The learning rate is the one of `lrs` with the lowest validation error on task 1 after learning
    it; nothing else is chosen. Every block has the updates that `config` says, with fresh momentum.

    Returns
    -------
    Dataset
        The variables of `VARIABLES`. `mse` (stage, task) are errors on test samples, over those of
        the zero image: before learning, after task 1, after task 2, after task 1 twice. Since a
        model that is still learning may profit from any task, `interference` and `rise` compare
        with the model that stayed with task 1.
    """

    def learn(model: Model, lr: float, task: Task, block: str) -> float:
        """Learn a task in place; returns the validation error."""
        return fit(
            model.learner(lr),
            (task.train,),
            config,
            seed=seeding.derive(seed, block),
            validate=lambda: measure.errors(model, task.validation)[0],
        ).best_value

    before = build(name, sizes, pair[0].train, seed=seed)
    first, second, stayed, lr = before, before, before, np.nan
    validation = np.full(len(lrs), np.nan)
    tests = [task.test for task in pair]
    share, idle = np.nan, np.nan
    if before.learns:
        candidates = [copy.deepcopy(before) for _ in lrs]
        validation = np.array(
            [learn(one, r, pair[0], "first") for one, r in zip(candidates, lrs, strict=True)]
        )
        first, lr = candidates[validation.argmin()], lrs[validation.argmin()]
        second, stayed = copy.deepcopy(first), copy.deepcopy(first)
        learn(second, lr, pair[1], "second")
        learn(stayed, lr, pair[0], "second")
        share, idle = measure.moved(first, tests[0][:SAMPLES_MOVED], lr=lr)
    stages = dict(zip(STAGES, (before, first, second, stayed), strict=True))
    errors = [[measure.errors(model, x) for x in tests] for model in stages.values()]
    mse, from_top = np.moveaxis(errors, -1, 0)
    found = measure.portrait(first, *(x[: max(measure.BATCHES)] for x in tests))
    return (
        found.merge(measure.shown(first, tests[0]))
        .assign(
            moved=share,
            idle_moved=idle,
            lr=lr,
            validation=("candidate", validation),
            mse=(("stage", "task"), mse),
            mse_from_top=(("stage", "task"), from_top),
            final_error=mse[2].mean(),
            forgetting=mse[2, 0] / mse[1, 0] - 1,
            interference=mse[2, 0] / mse[3, 0] - 1,
            rise=mse[2, 0] - mse[3, 0],
        )
        .assign_coords(stage=list(STAGES), task=[1, 2])
    )


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """One model on one pair of tasks; it takes seconds and keeps no checkpoint."""
    s, val = settings, settings["n_val"]
    # More images than two tasks need, since digits are not equally frequent.
    counts = {"train": 5 * (s["n_train"] + val) // 2, "test": 5 * s["n_test"] // 2}
    parts = []
    for part, n in counts.items():
        rows, labels, source = mnist_rows(
            part, n, seed=s["data_seed"], real=chapter.profile == "paper"
        )
        images = avg_pool2d(rows.view(-1, 1, 28, 28), s["pool"])[:, 0]
        both = tasks(axes["pair"], images, torch.from_numpy(labels))
        parts.append([x.to(chapter.device) for x in both])
    pair = tuple(
        Task(train=x[val:][: s["n_train"]], validation=x[:val], test=test[: s["n_test"]])
        for x, test in zip(*parts, strict=True)
    )
    training = {name: s[name] for name in ("steps", "batch_size", "lr_floor")}
    config, sizes = FitConfig(eval_every=s["steps"], **training), Sizes(**s["sizes"])
    found = compare(axes["model"], sizes, pair, lrs=s["lrs"], config=config, seed=axes["seed"])
    return found.assign(data_source=source, n_learned=len(pair[0].train))


def settings(chapter: Chapter, axes: Axes) -> Settings:
    """The settings of one run; only a VN has a settle."""
    s = chapter.settings
    sizes = {name: s[name] for name in SIZES} | {
        "n_inputs": (28 // s["pool"]) ** 2,
        "sparsity": [s["sparsity"], s["upper_sparsity"]],
        "steps": s["infer_steps"],
    }
    if axes["model"].startswith("vn"):
        sizes["settle"] = s["settle"]
    own = {name: s[name] for name in set(s) - NOT_SHARED - set(SIZES)}
    return own | {"sizes": sizes}


def results(chapter: Chapter) -> xr.Dataset:
    """All models, pairs of tasks and seeds of the chapter, and what decides of those with twice the
    updates; computed where they are not stored.
    """
    axes = chapter.axes(pair=chapter.settings["pairs"])
    found = chapter.grid(run, axes, settings, variables=VARIABLES)
    return with_longer(chapter, found, run, DECIDING, settings, twice, variables=VARIABLES, **axes)


def twice(settings: Settings) -> Settings:
    """The settings of a run with twice the updates."""
    return dict(settings) | {"steps": 2 * settings["steps"]}
