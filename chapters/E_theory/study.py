"""Appendix E: one seed measures all propositions and theorems, on planted and learned atoms."""

from __future__ import annotations

from pathlib import Path

import torch
import xarray as xr
from jaxtyping import Float
from torch import Tensor

from benchmarks.images.samples import mnist_rows
from chapters.E_theory import descent, gradient, measure, recovery
from chapters.E_theory.variables import VARIABLES
from vnlib.book.chapter import Axes, Chapter, Settings
from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork, VNConfig
from vnlib.seeding import generator
from vnlib.settle import SettleConfig


def learned(s: Settings, x: Float[Tensor, "n pixels"], seed: int) -> VectorNetwork:
    """A network of two layers, trained on digits; its top layer has a U and so an operator."""
    t = s["training"]
    config = VNConfig(
        n_inputs=784,
        atoms=tuple(s["atoms"]),
        interface=tuple(s["interface"]),
        top_k=s["top_k"],
        sparsity=tuple(s["network"]["sparsity"]),
        feedback=s["network"]["feedback"],
        settle=SettleConfig.momentum(),
    )
    network = VectorNetwork(config, seed=seed).to(x.device)
    network.start_from_samples(x, seed=seed)
    settle = SettleConfig.training(max_sweeps=t["sweeps"])
    steps = {"steps": s["train_steps"], "batch_size": t["batch_size"], "lr_floor": t["lr_floor"]}
    learner = LocalLearner(network, lr=t["lr"], settle=settle)
    fit(learner, (x,), FitConfig(**steps, keep="last"), seed=seed)
    return network


def on_both(planted: xr.Dataset, digits: xr.Dataset) -> xr.Dataset:
    """The same measurements of planted samples and of digits."""
    return xr.concat([planted, digits], "data").assign_coords(data=["planted", "digits"])


def superposition_and_recovery(
    s: Settings, seed: int, V: Float[Tensor, "d atoms"], x: Float[Tensor, "n d"]
) -> list[xr.Dataset]:
    """Prop. 1 and Thm. 1, on planted bases and on the dictionary V learned on the digits x."""
    bases = recovery.overlapping_bases(s["d"], s["d"] ** -0.5, "pairs")
    n, K, simplex = s["samples"], bases.shape[1], recovery.simplex(8)
    options = {"samples": n, "share": s["share"], "gap": s["gap"], "seed": seed}
    codes = recovery.planted_codes(2 * n, K, 4, generator(seed, "linear"))
    planted = recovery.planted_codes(30, K, 4, generator(seed, "stopped")) @ bases.T
    stopped = (
        recovery.stopped_early(W, z, share=0.05, sweeps=s["sweeps"])
        for W, z in ((bases, planted), (V, x[:30]))
    )
    named = {
        "digits": recovery.sums(V, *x.chunk(2), share=0.05, gap=s["gap"]),
        "mixed_signs": recovery.recovery(simplex, range(1, 8), **options),
        "equal_signs": recovery.recovery(simplex, range(1, 8), signed=False, **options),
        "learned": recovery.recovery(V, s["counts_learned"], **options),
    }
    noisy = {"noise": s["noise"], "samples": 2 * n, "gap": s["gap"], "seed": seed}
    active = s["noisy_active"]
    return [
        recovery.linearity(bases, *codes.split(n)),
        recovery.sums_by_count(bases, s["each"], **options),
        recovery.recovery_diagram(s["d"], s["coherences"], s["counts"], **options),
        recovery.noisy_recovery(bases, active, s["multiples"], **noisy).assign(noisy_active=active),
        on_both(*stopped),
        *(measure.prefixed(found, name) for name, found in named.items()),
    ]


def gradients_and_descent(
    s: Settings, seed: int, V: Float[Tensor, "d atoms"], x: Float[Tensor, "n d"]
) -> list[xr.Dataset]:
    """Thms. 2 and 3, on random stacks and dictionaries, and on V with digits."""
    n = s["rate_samples"]
    random, planted = (t.double() for t in measure.planted_samples(32, 64, 4, n, seed))
    way = {"factors": s["descent"]["factors"], "steps": s["descent_steps"], "top_k": 4}
    found = (
        descent.rates(W, z, sparsity=sparsity, steps=s["rate_steps"]).merge(
            descent.descent(W, z, sparsity=sparsity, **way)
        )
        for W, z, sparsity in ((random, planted, 0.1), (V, x[:n], s["digits_sparsity"]))
    )
    stack = {name: s["danskin"][name] for name in ("feedback", "sparsity")}
    stack |= {"batch": 20, "top_k": 4, "sweeps": s["stack_sweeps"], "seed": seed}
    return [
        gradient.danskin_cases(**s["danskin"], seed=seed),
        on_both(*found),
        descent.sweep_energies(8, 12, **stack),
    ]


def capacity_and_failures(
    s: Settings, seed: int, V: Float[Tensor, "d atoms"], x: Float[Tensor, "n d"]
) -> list[xr.Dataset]:
    """Prop. 2 and Remarks 6 and 7."""
    bases, c = recovery.overlapping_bases(s["d"], s["d"] ** -0.5, "pairs"), s["capacity"]
    options, source = {"share": 0.02, "sweeps": c["sweeps"]}, s["planted"] | s["hebb"]
    parts = measure.planted_parts(bases, c["parts"], samples=c["samples"], seed=seed)
    images = torch.stack(x.split(c["digits"])[: len(x) // c["digits"]])[: c["samples"]]
    twins = {"samples": 2 * s["samples"], "share": 0.03, "gap": 1e-5, "seed": seed}
    surplus = {"atoms": s["surplus_atoms"], "strengths": s["strengths"], "active": 3}
    surplus |= {"share": 0.01, "gap": 1e-4, "seed": seed}
    return [
        measure.prefixed(measure.capacity(bases, parts, k=c["k"], **options), "planted"),
        measure.prefixed(measure.capacity(V, images, k=c["digits_k"], **options), "digits"),
        measure.twins(bases, s["cosines"], s["noises"], 3, **twins),
        measure.decorrelation(**surplus, **source),
        measure.learning_recovers(counts=s["mixed"], seed=seed, **source),
        xr.Dataset({"cap_k": c["k"], "digits_cap_k": c["digits_k"], "planted_atoms": source["K"]}),
    ]


def run(chapter: Chapter, axes: Axes, settings: Settings, workdir: Path) -> xr.Dataset:
    """All measurements of one seed; only learning the digits, which is short, is on the device."""
    s, seed = settings, axes["seed"]
    (train, *_), (test, _, source) = (
        mnist_rows(part, s[f"n_{part}"], seed=s["data_seed"], real=chapter.profile == "paper")
        for part in ("train", "test")
    )
    network = learned(s, train.to(chapter.device), seed)
    V, x = network.V[0].detach().double().cpu(), test.double()
    pieces = [
        *superposition_and_recovery(s, seed, V, x),
        *gradients_and_descent(s, seed, V, x),
        measure.operator_ranks(network, test[: s["n_ranks"]].to(chapter.device)),
        *capacity_and_failures(s, seed, V, x),
    ]
    return xr.merge(pieces, join="exact").assign(data_source=source)


def results(chapter: Chapter) -> xr.Dataset:
    """All seeds of the chapter; computed where they are not stored."""
    return chapter.grid(run, variables=VARIABLES)
