"""Models of force composition by name, trained (VN Fig. 4 and its controls)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import xarray as xr

from benchmarks.baselines.parts import built, n_parameters
from benchmarks.nbody.baseline import Dynamics
from benchmarks.nbody.bodies import Accelerations, Bodies, Samples, scales_of
from benchmarks.nbody.clamped import clamped_network
from benchmarks.nbody.forces import Device, Predict, Trained, relative_errors
from benchmarks.nbody.graph import GraphNetwork
from benchmarks.nbody.measure import samples, split
from benchmarks.nbody.networks import BodyMLP, Factorized, FiLM
from benchmarks.nbody.ridge import MeanPrediction, ridge
from benchmarks.nbody.sequence import BodyMamba, BodyTransformer
from benchmarks.nbody.tokens import TokenNetwork
from benchmarks.nbody.vector_networks import vector_network
from vnlib import checks
from vnlib.fit import GradientLearner, Training, fit

NETWORKS: dict[str, type[Dynamics]] = {
    "mlp": BodyMLP,
    "film": FiLM,
    "factorized": Factorized,
    "gnn": GraphNetwork,
    "transformer": BodyTransformer,
    "mamba": BodyMamba,
    "token_network": TokenNetwork,
}
EVALUATIONS = 20  # of the validation error in training
BATCH = 4096  # states that are predicted at once


def train_dynamics(
    data: xr.Dataset,
    seed: int,
    workdir: Path,
    device: Device = "cpu",
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
) -> Trained:
    """Train a model of `family` by `steps` updates; networks keep the step with the least
    validation error.

    Families without gradients ignore lr, steps and batch_size.

    Parameters
    ----------
    data
        States as `measure.study` takes them, of which training and validation states are looked at.
    workdir
        Checkpoints.
    options
        What the family takes: its constructor for networks, else the functions below,
        `vector_network` and `clamped_network`.

    Raises
    ------
    ValueError
        For an unknown family, and what the family refuses.
    """
    checks.choice("family", family, FAMILIES)
    train, validation = (samples(split(data, name), device) for name in ("train", "val"))
    training = Training(lr, steps, batch_size, seed, workdir)
    return FAMILIES[family](train, validation, training, **options)


def network(
    family: str, train: Samples, validation: Samples, training: Training, **options: Any
) -> Trained:
    """A network of `NETWORKS`, by back-propagation."""
    scales, device = scales_of(train), train.position.device
    model = built(NETWORKS[family], scales=scales, seed=training.seed, **options).to(device)
    predict = predictor(model)
    history = fit(
        GradientLearner(model, lr=training.lr),
        train,
        training.config(EVALUATIONS),
        seed=training.seed,
        validate=lambda: float(relative_errors(predict, validation).mean()),
        checkpoint=training.workdir / "fit.safetensors",
    )
    return Trained(predict, curve=history.validation, facts={"parameters": n_parameters(model)})


def regression(train: Samples, validation: Samples, training: Training, **options: Any) -> Trained:
    """Ridge regression; its penalty (and bandwidth) are those with the least validation error."""

    def criterion(predict: Predict) -> float:
        return float(relative_errors(predictor(predict), validation).mean())

    model = ridge(
        train, scales=scales_of(train), criterion=criterion, seed=training.seed, **options
    )
    facts = {"parameters": model.weights.numel(), "penalty": model.penalty}
    if hasattr(model.features, "bandwidth"):
        facts["bandwidth"] = model.features.bandwidth
    return Trained(predictor(model), facts=facts)


def mean(train: Samples, validation: Samples, training: Training) -> Trained:
    """The mean acceleration of the training samples."""
    return Trained(
        predictor(MeanPrediction(train, scales=scales_of(train))), facts={"parameters": 2}
    )


def predictor(model: Callable[[Bodies], Accelerations]) -> Predict:
    """The model without gradients, given at most `BATCH` states at once."""

    @torch.no_grad()
    def predict(bodies: Bodies) -> Accelerations:
        parts = zip(*(part.split(BATCH) for part in bodies), strict=True)
        return torch.cat([model(Bodies(*part)) for part in parts])

    return predict


FAMILIES: dict[str, Callable[..., Trained]] = {
    "vn": vector_network,
    "vn_clamped": clamped_network,
    "ridge": regression,
    "mean": mean,
    **{name: partial(network, name) for name in NETWORKS},
}
