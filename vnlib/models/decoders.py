"""Train any decoder of positions into images by name: the Vector Networks here, the baselines of its registry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from vnlib import checks
from vnlib.baselines import registry
from vnlib.fit import FitConfig, GradientLearner, fit
from vnlib.models.spatial import ReadoutLearner, SpatialLearner, SpatialVN
from vnlib.network import VNConfig
from vnlib.settle import SettleConfig

Pair = tuple[Tensor, Tensor]
FAMILIES = ("vn", *registry.BASELINES)


def train_decoder(
    train: Pair,
    validation: Pair,
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
    consolidation: int = 0,
) -> nn.Module:
    """A decoder trained on (codes, images), at its best step on the validation pair.

    family: "vn" or a name in `vnlib.baselines.registry`; options: what that family's constructor takes (for "vn" see
    `build_vn`). consolidation: further updates of a VN's readouts alone, on codes settled once. workdir: checkpoints.
    Raises ValueError for an unknown family or option.
    """
    checks.choice("family", family, FAMILIES)
    device, (n_inputs, image_shape) = train[0].device, (train[0].shape[1], tuple(train[1].shape[1:]))
    config = FitConfig(steps=steps, batch_size=batch_size, eval_every=max(1, min(50, steps // 4)))
    if family != "vn":
        built = registry.build(family, n_inputs=n_inputs, image_shape=image_shape, seed=seed, **options)
        model = built.to(device)
        fit(GradientLearner(model, lr=lr), train, config, seed=seed,
            validate=lambda: mean_squared_error(model, validation), checkpoint=workdir / "fit.safetensors")  # fmt: skip
        return model
    options = dict(options)
    allowed = [*list(inspect.signature(build_vn).parameters)[3:], "learn_dictionary"]
    for name in options:
        checks.choice("each option of family 'vn'", name, allowed)
    learn = options.pop("learn_dictionary", True)
    model = build_vn(n_inputs=n_inputs, image_shape=image_shape, seed=seed, **options).to(device)
    learner = SpatialLearner(model, lr=lr, learn_dictionary=learn)
    fit(learner, train, config, seed=seed,
        validate=lambda: mean_squared_error(model, validation), checkpoint=workdir / "fit.safetensors")  # fmt: skip
    if consolidation:
        codes, held = model.codes(train[0]), model.codes(validation[0])
        config = FitConfig(steps=consolidation, batch_size=batch_size, lr_floor=1e-3)
        fit(ReadoutLearner(model, lr=lr), (*codes, train[1]), config, seed=seed + 1,
            validate=lambda: float((model.render(held) - validation[1]).square().mean()),
            checkpoint=workdir / "readout.safetensors")  # fmt: skip
    return model


def build_vn(
    *,
    n_inputs: int,
    image_shape: tuple[int, int],
    seed: int,
    streams: str,
    depth: int = 1,
    n_atoms: int = 32,
    sparsity: float = 0.01,
    top_k: int | None = None,
    nonnegative: bool = False,
    readout: str = "product",
    sweeps: int = 60,
) -> SpatialVN:
    """A `SpatialVN` whose layers are all alike; messages between them are isometries, inference is bottom-up."""
    checks.choice("streams", streams, ("axes", "joint"))
    checks.number("depth", depth, low=1, integer=True)
    checks.number("n_atoms", n_atoms, low=1, integer=True)
    if streams == "axes" and n_inputs % 2:
        raise ValueError(f"streams='axes' needs a code of two equal halves, got {n_inputs} inputs")
    network = VNConfig(
        n_inputs=n_inputs // 2 if streams == "axes" else n_inputs,
        atoms=(n_atoms,) * depth,
        interface=(n_atoms,) * (depth - 1),
        sparsity=(sparsity,) * depth,
        feedback=0.0,
        top_k=top_k,
        nonnegative=nonnegative,
        interface_rule="frozen",
        settle=SettleConfig(max_sweeps=sweeps, tol=0, cap_from=sweeps // 2 if top_k else 0),
    )
    return SpatialVN(network=network, image_shape=image_shape, streams=streams, readout=readout, seed=seed)


@torch.no_grad()
def mean_squared_error(model: nn.Module, pair: Pair) -> float:
    """Mean squared error of a model over all pixels and samples of a pair (codes, images)."""
    return float((model(pair[0]) - pair[1]).square().mean())
