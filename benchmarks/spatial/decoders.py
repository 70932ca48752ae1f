"""Train any decoder of positions into images by name: the Vector Networks here, the baselines of
its registry.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import xarray as xr
from torch import Tensor, nn

from benchmarks.spatial import registry
from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.curves import Watch, Watched, WatchedLearner
from benchmarks.spatial.vector_networks import ReadoutLearner, SpatialLearner, SpatialVN
from vnlib import checks
from vnlib.fit import FitConfig, GradientLearner, Learner, fit
from vnlib.network import VNConfig
from vnlib.settle import SettleConfig

Pair = tuple[Tensor, Tensor]
FAMILIES = ("vn", *registry.BASELINES)
LEARNING = ("learn_dictionary", "axis_loss")  # options of family "vn" that say how it learns


def as_pair(data: xr.Dataset, device: torch.device | str) -> Pair:
    """The `code` and the `image` of a data set, or of a subset of one, as tensors."""
    codes, images = (torch.from_numpy(data[name].values).to(device) for name in ("code", "image"))
    return codes, images


def train_decoder(
    train: Pair,
    validation: Pair,
    *,
    family: str | type[Baseline],
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
    consolidation: int = 0,
    weight_decay: float = 0.01,
    lr_floor: float = 0.01,
    watch: Watch | None = None,
) -> nn.Module:
    """A decoder trained on (codes, images), at its best step on the validation pair.

    Parameters
    ----------
    family
        "vn", a name in `benchmarks.spatial.registry`, or a decoder's class that it lacks.
    options
        What that family's constructor takes (for "vn" see `build_vn`; also learn_dictionary and
        axis_loss of `SpatialLearner`).
    workdir
        Checkpoints.
    consolidation
        Further updates of the readouts alone: those of a VN on codes settled once, those of a
        baseline that names its `readouts` by back-propagation.
    weight_decay
        Of the baselines; a VN has none.
    lr_floor
        Where the cosine schedule ends, as a share of `lr`; 1 for a constant rate.
    watch
        Notes errors along the training, of both phases, and says when they are evaluated.

    Raises
    ------
    ValueError
        For an unknown family or option, and for a consolidation of a decoder without readouts.
    """
    if isinstance(family, str):
        checks.choice("family", family, FAMILIES)
    device, n_inputs, image_shape = train[0].device, train[0].shape[1], tuple(train[1].shape[1:])

    def validate() -> float:
        error = mean_squared_error(model, validation)
        if watch:
            watch.note(model, error)
        return error

    def phase(
        learner: Learner,
        name: str = "fit",
        data: tuple[Tensor, ...] = train,
        validate: Callable[[], float] = validate,
    ) -> None:
        readout = name == "readout"
        every = 50 if readout else max(1, min(50, steps // 4))
        config = FitConfig(
            steps=consolidation if readout else steps,
            batch_size=batch_size,
            eval_every=watch.every if watch else every,
            lr_floor=1e-3 if readout else lr_floor,
        )
        checkpoint = workdir / f"{name}.safetensors"
        fit(learner, data, config, seed=seed + readout, validate=validate, checkpoint=checkpoint)

    if family != "vn":
        model = registry.build(
            family, n_inputs=n_inputs, image_shape=image_shape, seed=seed, **options
        ).to(device)
        if consolidation and not hasattr(model, "readouts"):
            raise ValueError(
                f"consolidation must be 0 for {family}, whose last layer is not a readout"
            )
        phase(_back_propagation(model, lr, weight_decay, watch))
        if consolidation:
            model.requires_grad_(False)
            for layer in model.readouts:  # AdamW leaves out what has no gradient
                layer.requires_grad_(True)
            phase(_back_propagation(model, lr, weight_decay, watch), "readout")
            model.requires_grad_(True)
        return model
    options = dict(options)
    allowed = [*list(inspect.signature(build_vn).parameters)[3:], *LEARNING]
    for name in options:
        checks.choice("each option of family 'vn'", name, allowed)
    learning = {name: options.pop(name) for name in LEARNING if name in options}
    model = build_vn(n_inputs=n_inputs, image_shape=image_shape, seed=seed, **options).to(device)
    if consolidation and not model.readouts:
        raise ValueError(
            f"consolidation must be 0 with readout 'dictionary', which is V, got {consolidation}"
        )
    phase(_watched(SpatialLearner(model, lr=lr, **learning), watch))
    if consolidation:
        codes, held = model.codes(train[0]), model.codes(validation[0])
        sets = {n: (model.codes(x), y) for n, (x, y) in watch.sets.items()} if watch else {}

        def validate_readouts() -> float:
            error = mean_squared_error(model.render, (held, validation[1]))
            if watch:
                watch.note(model.render, error, sets)
            return error

        readouts = ReadoutLearner(model, lr=lr, axis_loss=learning.get("axis_loss", False))
        data = (*codes, train[1])
        phase(_watched(readouts, watch), "readout", data, validate_readouts)
    return model


def _back_propagation(
    model: nn.Module, lr: float, weight_decay: float, watch: Watch | None
) -> Learner:
    rates = {"lr": lr, "weight_decay": weight_decay}
    return WatchedLearner(model, watch=watch, **rates) if watch else GradientLearner(model, **rates)


def _watched(learner: Learner, watch: Watch | None) -> Learner:
    return Watched(learner, watch) if watch else learner


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
    rank: int = 1,
    sweeps: int = 60,
    steps: int = 1,
    feedback: float = 0.0,
    mix: float = 0.0,
) -> SpatialVN:
    """A `SpatialVN` whose layers are all alike; messages between them are isometries.

    Parameters
    ----------
    sweeps, steps, mix
        `max_sweeps`, `steps` and `mix` of `vnlib.settle.SettleConfig`; the cap of top_k sets in
        half-way.
    feedback
        Weight of the top-down term; with 0 inference is bottom-up.
    """
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
        feedback=feedback,
        top_k=top_k,
        nonnegative=nonnegative,
        interface_rule="frozen",
        settle=SettleConfig.training(
            max_sweeps=sweeps, steps=steps, cap_from=sweeps // 2 if top_k else 0, mix=mix
        ),
    )
    return SpatialVN(
        network=network,
        image_shape=image_shape,
        streams=streams,
        readout=readout,
        rank=rank,
        seed=seed,
    )


@torch.no_grad()
def mean_squared_error(model: Callable[[Any], Tensor], pair: tuple[Any, Tensor]) -> float:
    """Mean squared error of a model over all pixels and samples of a pair (codes, images)."""
    return float((model(pair[0]) - pair[1]).square().mean())
