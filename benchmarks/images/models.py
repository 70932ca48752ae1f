"""Models of images by name, trained (VN Fig. 5 and its controls)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.images import controls
from benchmarks.images.autoencoders import autoencoder
from benchmarks.images.pictures import Images, Trained
from benchmarks.images.vector_networks import vector_network
from vnlib import checks
from vnlib.fit import Training

FAMILIES: dict[str, Callable[..., Trained]] = {
    "vn": vector_network,
    "autoencoder": autoencoder,
    "dictionary_learning": controls.dictionary_learning,
    "pca": controls.pca,
    "pca_adaptive": controls.pca_adaptive,
    "dct": controls.dct,
    "untrained": controls.untrained,
    "zero_baseline": controls.zero_baseline,
}


def train_images(
    train: Images,
    validation: Images,
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
) -> Trained:
    """Train a model of `family`, one of `FAMILIES`, by `steps` updates.

    Families without updates ignore lr, steps and batch_size.

    Parameters
    ----------
    options
        What the function of the family takes.
    workdir
        For checkpoints.

    Raises
    ------
    ValueError
        For an unknown family, and what the family refuses.
    """
    checks.choice("family", family, FAMILIES)
    return FAMILIES[family](
        train, validation, Training(lr, steps, batch_size, seed, workdir), **options
    )
