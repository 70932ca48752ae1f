"""Appendix E: one seed measures all propositions and theorems, on planted and learned atoms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from benchmarks.images.samples import mnist_rows
from chapters.E_theory import descent, gradient, measure, recovery
from chapters.E_theory.variables import VARIABLES
from vnlib import evaluate
from vnlib.book.chapter import Chapter
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig

Settings = Mapping[str, Any]


def learned(s: Settings, x: Float[Tensor, "n pixels"], seed: int) -> VectorNetwork:
    """A network of two layers, trained on digits; its top layer has a U and so an operator."""
    t = s["training"]
    sizes = {"atoms": tuple(s["atoms"]), "interface": tuple(s["interface"]), "top_k": s["top_k"]}
    config = VNConfig(
        n_inputs=784,
        **sizes,
        sparsity=tuple(s["network"]["sparsity"]),
        feedback=s["network"]["feedback"],
    )
    network = VectorNetwork(config, seed=seed).to(x.device)
    network.start_from_samples(x, seed=seed)
    learner = LocalLearner(
        network, lr=t["lr"], settle=SettleConfig.training(max_sweeps=t["sweeps"])
    )
    steps = FitConfig(
        steps=s["train_steps"],
        batch_size=t["batch_size"],
        lr_floor=t["lr_floor"],
        eval_every=s["train_steps"],
    )
    fit(
        learner,
        (x,),
        steps,
        seed=seed,
        validate=lambda: evaluate.reconstruction_error(network, x[:200]),
    )
    return network


def superposition_and_recovery(
    s: Settings, seed: int, V: Float[Tensor, "d atoms"], x: Float[Tensor, "n d"]
) -> list[xr.Dataset]:
    """Prop. 1 and Thm. 1, on planted bases and on the dictionary V learned on the digits x."""
    bases = recovery.overlapping_bases(s["d"], s["d"] ** -0.5, "pairs")
    options = {"samples": s["samples"], "share": s["share"], "gap": s["gap"], "seed": seed}
    codes = recovery.planted_codes(
        2 * s["samples"], bases.shape[1], 4, recovery.generator(seed, "linear")
    )
    simplex, half = recovery.simplex(8), len(x) // 2
    stopped = {"share": 0.05, "sweeps": s["sweeps"]}
    again = {
        sign: recovery.recovery(simplex, range(1, 8), signed=sign == "mixed_signs", **options)
        for sign in ("mixed_signs", "equal_signs")
    }
    planted = (
        recovery.planted_codes(30, bases.shape[1], 4, recovery.generator(seed, "stopped")) @ bases.T
    )
    return [
        recovery.linearity(bases, *codes.split(s["samples"])),
        recovery.sums_by_count(bases, s["each"], **options),
        measure.prefixed(
            recovery.sums(V, x[:half], x[half : 2 * half], share=0.05, gap=s["gap"]), "digits"
        ),
        recovery.recovery_diagram(s["d"], s["coherences"], s["counts"], **options),
        *(measure.prefixed(found, sign) for sign, found in again.items()),
        measure.prefixed(recovery.recovery(V, s["counts_learned"], **options), "learned"),
        recovery.noisy_recovery(
            bases,
            s["noisy_active"],
            s["multiples"],
            noise=s["noise"],
            samples=2 * s["samples"],
            gap=s["gap"],
            seed=seed,
        ).assign(noisy_active=s["noisy_active"]),
        xr.concat(
            [
                recovery.stopped_early(bases, planted, **stopped),
                recovery.stopped_early(V, x[:30], **stopped),
            ],
            "data",
        ).assign_coords(data=["planted", "digits"]),
    ]


def gradients_and_descent(
    s: Settings, seed: int, V: Float[Tensor, "d atoms"], x: Float[Tensor, "n d"]
) -> list[xr.Dataset]:
    """Thms. 2 and 3, on random stacks and dictionaries, and on V with digits."""
    random, planted = (
        t.double() for t in measure.planted_samples(32, 64, 4, s["rate_samples"], seed)
    )
    pairs = [(random, planted, 0.1), (V, x[: s["rate_samples"]], s["digits_sparsity"])]
    stack = {name: s["danskin"][name] for name in ("feedback", "sparsity")}
    found = [
        descent.rates(W, z, sparsity=sparsity, steps=s["rate_steps"]).merge(
            descent.descent(
                W,
                z,
                sparsity=sparsity,
                top_k=4,
                factors=s["descent"]["factors"],
                steps=s["descent_steps"],
            )
        )
        for W, z, sparsity in pairs
    ]
    return [
        gradient.danskin_cases(**s["danskin"], seed=seed),
        xr.concat(found, "data").assign_coords(data=["planted", "digits"]),
        descent.sweep_energies(
            8, 12, batch=20, top_k=4, sweeps=s["stack_sweeps"], seed=seed, **stack
        ),
    ]


def capacity_and_failures(
    s: Settings,
    seed: int,
    network: VectorNetwork,
    V: Float[Tensor, "d atoms"],
    x: Float[Tensor, "n d"],
) -> list[xr.Dataset]:
    """Prop. 2 and Remarks 6 and 7."""
    bases = recovery.overlapping_bases(s["d"], s["d"] ** -0.5, "pairs")
    c, options = s["capacity"], {"share": 0.02, "sweeps": s["capacity"]["sweeps"]}
    parts = measure.planted_parts(bases, c["parts"], samples=c["samples"], seed=seed)
    images = x[: len(x) // c["digits"] * c["digits"]].reshape(-1, c["digits"], x.shape[1])[
        : c["samples"]
    ]
    p = s["planted"]
    source = {
        "d": p["d"],
        "K": p["K"],
        "samples": p["samples"],
        "seed": seed,
        "steps": p["steps"],
        **s["hebb"],
    }
    return [
        measure.operator_ranks(network, x[: s["n_ranks"]].to(network.V[0])),
        measure.prefixed(measure.capacity(bases, parts, k=c["k"], **options), "planted"),
        measure.prefixed(measure.capacity(V, images, k=c["digits_k"], **options), "digits"),
        measure.twins(
            bases,
            s["cosines"],
            s["noises"],
            3,
            samples=2 * s["samples"],
            share=0.03,
            gap=1e-5,
            seed=seed,
        ),
        measure.decorrelation(
            atoms=s["surplus_atoms"],
            strengths=s["strengths"],
            active=3,
            share=0.01,
            gap=1e-4,
            **source,
        ),
        measure.learning_recovers(counts=s["mixed"], **source),
        xr.Dataset({"cap_k": c["k"], "digits_cap_k": c["digits_k"], "planted_atoms": p["K"]}),
    ]


def run(
    axes: Mapping[str, Any],
    settings: Settings,
    workdir: Path,
    *,
    device: torch.device | str,
    allow_fallback: bool,
) -> xr.Dataset:
    """All measurements of one seed; only learning the digits is on the device.

    Parameters
    ----------
    axes
        seed.
    settings
        Those of `settings`.
    workdir
        Not used: training is short and keeps no checkpoint.
    allow_fallback
        Whether the small digits of scikit-learn will do where MNIST is not at hand.
    """
    s, seed = settings, axes["seed"]
    (train, *_), (test, _, source) = (
        mnist_rows(part, s[f"n_{part}"], seed=s["data_seed"], allow_fallback=allow_fallback)
        for part in ("train", "test")
    )
    network = learned(s, train.to(device), seed)
    V, x = network.V[0].detach().double().cpu(), test.double()
    pieces = [
        *superposition_and_recovery(s, seed, V, x),
        *gradients_and_descent(s, seed, V, x),
        *capacity_and_failures(s, seed, network, V, x),
    ]
    return xr.merge(pieces, join="exact").assign(data_source=source)


def settings(chapter: Chapter) -> dict[str, Any]:
    """The settings of every run: all of the chapter but the seeds."""
    return {key: value for key, value in chapter.settings.items() if key != "seeds"}


def results(chapter: Chapter) -> xr.Dataset:
    """All seeds of the chapter; computed where they are not stored."""
    one = partial(run, device=chapter.device, allow_fallback=chapter.profile != "paper")
    return chapter.grid(
        one, {"seed": chapter.seeds}, lambda _: settings(chapter), variables=VARIABLES
    )
