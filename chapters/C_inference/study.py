"""App. C as a study: digits are learned, then settled in every way; and what the settle costs.

`results` fills the chapter's grids: one run per seed for what is measured of the settle, and for the
times one per problem.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr
from torch import Tensor

from benchmarks.images.samples import mnist_rows
from chapters.C_inference import limits, measure, penalties, steps
from chapters.C_inference.speed.layers import several_layers
from chapters.C_inference.speed.memory import memory
from chapters.C_inference.speed.problems import Workloads, size_of
from chapters.C_inference.speed.pursuit import pursuit
from chapters.C_inference.speed.speed import one_layer
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

VARIABLES = {
    "depth": ("layers of the stack", "1"),
    "beta": ("feedback weight", "1"),
    "schedule": ("schedule of the settle", ""),
    "solver": ("method of the settle", ""),
    "sweep": ("sweeps made", "1"),
    "level": ("height of F above its minimum, relative", "1"),
    "layer": ("layer, from the input upward", "1"),
    "height": ("F above its minimum, relative, median over digits", "1"),
    "needed": ("sweeps until F is within a level, median over digits", "1"),
    "end_distance": ("distance of the codes from the reference at the end, worst digit", "1"),
    "end_height": ("F above its minimum at the end, relative, worst digit", "1"),
    "end_gap": ("relative duality gap at the end, worst digit", "1"),
    "rises": ("share of plain sweeps that raise F", "1"),
    "active": ("active atoms, mean over digits", "1"),
    "steps": ("steps on single layers", "1"),
    "alone": ("distance of the codes from the reference, one layer, worst digit", "1"),
    "alone_solver": ("method without proximal gradient steps", ""),
    "start": ("where the settle starts", ""),
    "start_solver": ("method of the settle", ""),
    "start_needed": ("sweeps until F is within a level, median over digits", "1"),
    "start_distance": ("distance of the codes from the reference at the end, worst digit", "1"),
    "start_end": ("F above its minimum at the end, relative, worst digit", "1"),
    "start_height": ("F of the start above its minimum, relative, median over digits", "1"),
    "resumed": ("whether a settle that is interrupted has the same bits", "1"),
    "step_depth": ("layers of the stack", "1"),
    "factor": ("step size, as a multiple of 1/L", "1"),
    "step_needed": ("sweeps of plain ISTA until F is within a level", "1"),
    "diverged": ("share of the digits for which F ended above that of zero codes", "1"),
    "step_rises": ("share of sweeps that raise F", "1"),
    "found_sweep": ("sweeps made", "1"),
    "found": ("step of the line search, times L, median over digits", "1"),
    "found_end": ("step of the line search at the end, times L", "1"),
    "allowed": ("L over the curvature on the support", "1"),
    "guard_solver": ("method of the settle", ""),
    "safeguard": ("what is done with a sweep that raises F", ""),
    "guard_sweep": ("sweeps made", "1"),
    "guard_rises": ("share of sweeps that raise F", "1"),
    "rejected": ("share of sweeps that are taken back", "1"),
    "guard_needed": ("sweeps until F is within a level, median over digits", "1"),
    "guard_distance": ("distance of the codes from the reference at the end, worst digit", "1"),
    "guard_path": ("F above its minimum, relative, of one digit", "1"),
    "summed_rises": ("share of sweeps that raise the summed layer energies", "1"),
    "summed_stop": ("sweep at which accept/reject on the summed energies would stop", "1"),
    "summed_height": ("F above its minimum, relative, at that sweep", "1"),
    "variant": ("small choice", ""),
    "variant_solver": ("method of the settle", ""),
    "variant_needed": ("steps on single layers until F is within a level", "1"),
    "variant_distance": ("distance of the codes from the reference at the end, worst digit", "1"),
    "cap_depth": ("layers of the stack", "1"),
    "cap_from": ("sweep at which the cap sets in", "1"),
    "cap_sweep": ("sweeps made under the cap", "1"),
    "cap_k": ("atoms that the hard cap leaves", "1"),
    "multistart_solver": ("method of a settle from several starts", ""),
    "multistart": ("start of a settle: 0 is cold, others are random", "1"),
    "cap_height": ("F at the end above that of the lowest settle, relative", "1"),
    "cap_overlap": ("overlap of the top supports of two settles (Jaccard), mean", "1"),
    "cap_distance": ("distance of the codes of two settles, relative, mean", "1"),
    "cap_rest": ("share of the settles that came to rest", "1"),
    "late_height": ("F at the end above that of the lowest settle, relative", "1"),
    "momentum": ("momentum under the cap", ""),
    "switched": ("atoms that switch per sweep at the end", "1"),
    "cap_rises": ("share of sweeps that raise F", "1"),
    "cap_end": ("F at the end above that of plain steps, relative", "1"),
    "cap_path": ("F above the lowest value that was reached, relative", "1"),
    "activation": ("activation of the messages", ""),
    "relu_sweep": ("sweeps made", "1"),
    "relu_spread": ("distance of the codes of a settle from the first one's, relative", "1"),
    "relu_rest": ("share of the settles that came to rest", "1"),
    "relu_change": ("change of the codes per sweep, relative", "1"),
    "relu_rises": ("share of sweeps that raise F", "1"),
    "penalty": ("penalty", ""),
    "kept": ("active atoms, mean over digits", "1"),
    "error": ("squared error over the power of the input", "1"),
    "error_polished": ("the same after a least-squares refit on the support", "1"),
    "weight": ("weight of the penalty", "1"),
    "time": ("time of a settle per sample", "ms"),
    "rest": ("share of the samples that came to rest", "1"),
    "data_source": ("where the digits are from", ""),
    "sample": ("test digit", "1"),
}
COSTS = {
    "size": ("inputs x atoms x samples, and the kind of problem", ""),
    "stack": ("atoms of each layer", ""),
    "feedback": ("feedback weight", "1"),
    "gap": ("relative duality gap asked for", "1"),
    "k": ("atoms that are picked", "1"),
    "solver": ("solver", ""),
    "wall": ("time by the clock for the whole batch, setup included", "s"),
    "cpu": ("time of all threads for the whole batch, setup included", "s"),
    "setup_wall": ("time by the clock before the samples are known", "s"),
    "setup_cpu": ("time of all threads before the samples are known", "s"),
    "overhead": ("time per sample of two numbers under two atoms, of a call by itself", "s"),
    "share": ("share of the work that was timed, from which the time of the whole follows", "1"),
    "gemm_share": ("operations in matrix products per second, of the machine's best", "1"),
    "gemm_rate": ("floating-point operations per second in a large matrix product", "1/s"),
    "gap_max": ("relative duality gap of the worst sample", "1"),
    "gap_q95": ("relative duality gap that 95 % of the samples are below", "1"),
    "reached": ("share of the samples, or 1 where 95 % of them, within the gap asked for", "1"),
    "active": ("active atoms per sample", "1"),
    "iterations": ("iterations, sweeps or passes per sample", "1"),
    "setting": ("gap, tolerance or number of iterations with which the gap is reached", "1"),
    "note": ("what happened instead of a measurement", ""),
    "sparsity": ("lambda", "1"),
    "lipschitz": ("largest eigenvalue of V'V", "1"),
    "coherence": ("largest product of two atoms", "1"),
    "sweeps": ("mean sweeps per sample", "1"),
    "energy": ("mean joint energy F", "1"),
    "error": ("squared error over the power of the input, mean over samples", "1"),
    "n_samples": ("samples that were solved", "1"),
    "peak": ("most memory that the process ever held, its libraries included", "B"),
    "rise": ("most memory held during the settle, above what was held just before", "B"),
    "per_sample": ("rise per sample, between half of the batch and all of it", "B"),
}
APART = (
    "seeds",
    "speed",
    "wide",
    "layers",
    "pursuit",
    "memory",
    "cuda",
    "sparsity",
)  # what a run of `run` does not depend on


class Results(NamedTuple):
    """What the page shows; None where the profile or the machine has no such part."""

    settle: xr.Dataset
    speed: xr.Dataset
    layers: xr.Dataset
    pursuit: xr.Dataset
    memory: xr.Dataset | None
    cuda: xr.Dataset | None
    wide: xr.Dataset | None


def learned(x: Tensor, s: Mapping[str, Any], seed: int) -> tuple[VectorNetwork, VectorNetwork]:
    """A network that has learned `x`, and what it was one pass through the data before; last."""
    config = VNConfig(
        n_inputs=x.shape[1],
        atoms=tuple(s["atoms"]),
        interface=tuple(s["interface"]),
        feedback=s["feedback_weight"],
        sparsity=tuple(s["sparsity_by_layer"]),
        relative_sparsity=True,
    )
    network = VectorNetwork(config, seed=seed).to(x.device)
    network.start_from_samples(x, seed=seed)
    settle = SettleConfig.training(max_sweeps=s["train_sweeps"])
    learner, earlier = LocalLearner(network, lr=s["lr"], settle=settle), network
    for part, n_steps in enumerate((s["steps"], s["later_steps"])):
        earlier = copy.deepcopy(network).cpu()
        schedule = {"batch_size": s["batch_size"], "lr_floor": s["lr_floor"], "keep": "last"}
        fit(learner, (x,), FitConfig(steps=n_steps, **schedule), seed=seed + 1000 * part)
    return earlier, network.cpu()


def run(chapter: Chapter, axes: Axes, s: Settings, workdir: Path) -> xr.Dataset:
    """One seed: a network that learns, and all that is measured of its settle (see `VARIABLES`)."""
    seed, cap, p = axes["seed"], s["cap"], s["penalties"]
    images = partial(mnist_rows, real=chapter.profile == "paper")
    pool, *_ = images("train", s["n_train"], seed=s["data_seed"])
    earlier, network = learned(pool.to(chapter.device), s, seed)
    x, _, source = images("test", s["samples"], seed=seed)
    pool, *_ = images("train", s["pool"], seed=s["data_seed"])
    many, *_ = images("test", p["samples"], seed=seed)
    near = measure.neighbours(x, pool, noise=s["noise"], seed=seed)
    task = partial(measure.task, x=x, feedback=s["betas"][0])
    before = task(earlier, depth=s["depths"][-1])
    shallow, deep = (
        measure.with_reference(task(network, depth=depth)) for depth in (1, s["depths"][-1])
    )
    kept, ends, layer = {"kept": s["kept"]}, {"end_steps": s["end_steps"]}, network.layers[0]
    walks, several = {"sweeps": s["sweeps"]} | kept, {"scale": s["multistart_scale"], "seed": seed}
    caps = {"k": cap["top_k"], "random": cap["random"], "sweeps": cap["sweeps"]}
    pieces = [
        measure.schedules(network, x, depths=s["depths"], betas=s["betas"], **walks, **ends),
        measure.starts(deep, near, before, random=s["random_starts"], seed=seed, **walks, **ends),
        steps.step_sizes([shallow, deep], factors=s["factors"], **walks),
        steps.found_steps([shallow, deep], sweeps=s["guard_sweeps"], **kept),
        steps.safeguards(deep, sweeps=s["guard_sweeps"], **ends),
        steps.variants(deep, sweeps=s["sweeps"] // 2, **kept, **ends),
        limits.hard_cap([shallow, deep], caps_from=cap["from"], **caps, **several),
        limits.momentum_under_a_cap(shallow, k=cap["top_k"], **s["momentum"]),
        limits.relu_messages(deep, betas=s["betas"], **kept, **s["relu"], **several),
        penalties.compare(layer.V, many, atoms=p["atoms"], sparsity=layer.penalty.sparsity),
    ]
    found = xr.merge(pieces, join="exact", combine_attrs="drop")
    return found.assign(data_source=source, cap_k=cap["top_k"])


def settings(chapter: Chapter) -> Settings:
    """The settings of every seed's run."""
    s = {name: value for name, value in chapter.settings.items() if name not in APART}
    if (first := chapter.parameters["sparsity"]) is not None:
        s["sparsity_by_layer"] = [first, *s["sparsity_by_layer"][1:]]
    return s


def results(chapter: Chapter) -> Results:
    """All parts of the chapter, computed where they are not stored."""
    real, s = chapter.profile == "paper", chapter.settings
    timing, stacked, greedy, batches = s["speed"], s["layers"], s["pursuit"], s["cuda"]
    wide = s["wide"]
    images, once = {"images": timing["images"]}, ("repeats", "patience")
    main = chapter.grid(run, settings=settings(chapter), variables=VARIABLES)

    @cache
    def workloads() -> Workloads:
        rows = partial(mnist_rows, seed=s["data_seed"], real=real)
        parts = zip(("train", "test"), timing["images"], strict=True)
        return Workloads(*(rows(part, n)[0] for part, n in parts))

    def one_size(where: object, axes: Axes, own: Settings, workdir: Path) -> xr.Dataset:
        problem, options = workloads().problem(axes["size"]), {name: own[name] for name in once}
        return one_layer(problem, gap=axes["gap"], device=where, **options)

    def one_wide(_: Chapter, axes: Axes, own: Settings, workdir: Path) -> xr.Dataset:
        rows = partial(mnist_rows, seed=s["data_seed"], real=real)
        train, test = (rows(p, n)[0] for p, n in zip(("train", "test"), own["images"], strict=True))
        options = {name: own[name] for name in (*once, "solvers")}
        return one_layer(Workloads(train, test).problem(axes["size"]), gap=axes["gap"], **options)

    def on_cpu(chapter: Chapter, *run: Any) -> xr.Dataset:
        return one_size("cpu", *run)

    def on_cuda(chapter: Chapter, *run: Any) -> xr.Dataset:
        return one_size(chapter.device, *run)

    def one_stack(_: Chapter, axes: Axes, own: Settings, workdir: Path) -> xr.Dataset:
        atoms, options = (
            list(map(int, axes["stack"].split("-"))),
            {name: own[name] for name in once},
        )
        layers = workloads().stack(atoms, [K // 2 for K in atoms[:-1]])
        options |= {"feedback": axes["feedback"], "gap": axes["gap"]}
        return several_layers(layers, workloads().test[: own["samples"]], **options)

    def one_pursuit(_: Chapter, axes: Axes, own: Settings, workdir: Path) -> xr.Dataset:
        options = {name: own[name] for name in once}
        return pursuit(workloads().problem(own["size"]), k=axes["k"], **options)

    def one_memory(_: Chapter, axes: Axes, own: Settings, workdir: Path) -> xr.Dataset:
        return memory(workloads().problem(axes["size"]))

    # The digits to fall back on are few; `paper` has all, and reads what is stored without any.
    enough = len(workloads().test) if not real else float("inf")

    def grid(own: Settings) -> dict[str, list]:
        sizes = [size for size in own["sizes"] if size_of(size)[-1] <= enough]
        return {"size": sizes, "gap": own["gaps"]}

    stacks = {"stack": ["-".join(map(str, atoms)) for atoms in stacked["stacks"]]}
    stacks |= {name: stacked[name] for name in ("feedback", "gap")}
    costs, held = partial(chapter.grid, variables=COSTS), {"size": s["memory"]}
    cuda = chapter.device.type == "cuda" or chapter.file("cuda").exists()
    return Results(
        main,
        costs(on_cpu, grid(timing), timing, part="speed"),
        costs(one_stack, stacks, stacked | images, part="layers"),
        costs(one_pursuit, {"k": greedy["k"]}, greedy | images, part="pursuit"),
        costs(one_memory, held, images, part="memory") if s["memory"] else None,
        costs(on_cuda, grid(batches), batches, part="cuda") if cuda else None,
        costs(one_wide, grid(wide), wide, part="wide") if wide else None,
    )
