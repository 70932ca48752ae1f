"""Baselines that decode a code into an image, by name."""

from __future__ import annotations

import inspect

import torch

from benchmarks.spatial.additive import AdditiveDecoder
from benchmarks.spatial.autoencoders import VAE, ConvAutoencoder, SparseAutoencoder
from benchmarks.spatial.baseline import Baseline
from benchmarks.spatial.bilinear import BilinearDecoder
from benchmarks.spatial.cnn import CNN
from benchmarks.spatial.coordinates import CoordConv, CoordinateMLP, SpatialBroadcast
from benchmarks.spatial.factorised import FactorisedDecoder
from benchmarks.spatial.mlp import MLP
from vnlib import checks

BASELINES: dict[str, type[Baseline]] = {
    "cnn": CNN,
    "mlp": MLP,
    "sparse_autoencoder": SparseAutoencoder,
    "vae": VAE,
    "conv_autoencoder": ConvAutoencoder,
    "factorised": FactorisedDecoder,
    "bilinear": BilinearDecoder,
    "additive": AdditiveDecoder,
    "coordinate_mlp": CoordinateMLP,
    "broadcast": SpatialBroadcast,
    "coordconv": CoordConv,
}


def build(
    name: str | type[Baseline],
    *,
    n_inputs: int,
    image_shape: tuple[int, int],
    seed: int,
    **options: object,
) -> Baseline:
    """The baseline `name` (or one of that class), its initial weights fixed by `seed`; the global
    random state is left as it was.

    It is built on the CPU, so that the weights do not depend on the device it is moved to.

    Raises
    ------
    ValueError
        For an unknown name or option and for a value out of range.
    """
    if isinstance(name, str):
        checks.choice("name", name, BASELINES)
        family = BASELINES[name]
    else:
        name, family = name.__name__, name
    allowed = sorted(set(inspect.signature(family).parameters) - {"n_inputs", "image_shape"})
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise ValueError(
            f"{name} has no option {', '.join(unknown)}; its options are {', '.join(allowed)}"
        )
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        # torch.manual_seed would also reseed the GPUs, which fork_rng(devices=[]) does not restore.
        torch.default_generator.manual_seed(seed)
        return family(n_inputs=n_inputs, image_shape=image_shape, **options)
