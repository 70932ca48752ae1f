"""Controls of the Vector Network of images: the same lasso on other dictionaries, and principal
axes (VN Fig. 5).

They tell what the network owes to its learning rule, to learned atoms at all, and to a support that
fits itself to every image. `lr` of the training is ignored by all of them, the rest of it by those
that do not learn by updates.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.fft import idctn
from torch import Tensor

from benchmarks.baselines.dictionaries import fixed_network
from benchmarks.images.networks import largest
from benchmarks.images.pictures import Draw, Images, Trained
from benchmarks.images.vector_networks import of_network, vector_network
from vnlib import checks, seeding
from vnlib.fit import Training
from vnlib.learning.rules import unit_columns
from vnlib.settle import SettleConfig

PASSES = 100  # of coordinate descent over the atoms, at most, while a dictionary is learned
HALVINGS = 40  # of the interval that holds the threshold


def dictionary_learning(
    train: Images, validation: Images, training: Training, *, atoms: int, sparsity: float
) -> Trained:
    """Online dictionary learning of scikit-learn (Mairal et al., 2009), then the lasso of a network
    of one layer.

    It starts from normalised training images and sees `steps` batches of different ones.

    Parameters
    ----------
    sparsity
        Lambda relative to the r.m.s. norm of images, both in learning and in use: scikit-learn's
        alpha is that very lambda.

    Raises
    ------
    ValueError
        If there are fewer nonzero images than atoms.
    """
    # here, since it takes a second to load
    from sklearn.decomposition import MiniBatchDictionaryLearning
    from sklearn.exceptions import ConvergenceWarning

    checks.number("atoms", atoms, low=1, integer=True)
    checks.number("sparsity", sparsity, above=0)
    order = torch.randperm(len(train), generator=seeding.generator(training.seed, "order"))
    inked = order[(train.norm(dim=1) > 0).cpu()[order]]
    if len(inked) < atoms:
        raise ValueError(
            f"atoms must be <= {len(inked)}, the number of nonzero images to start from, "
            f"got {atoms}"
        )
    start = unit_columns(train[inked[:atoms].to(train.device)].T).T
    # Batches begin at the other end of the order, at images that are no atoms.
    count = training.steps * training.batch_size
    seen = order.flip(0).repeat(-(-count // len(order)))[:count].to(train.device)
    V = start
    if count:
        model = MiniBatchDictionaryLearning(
            n_components=atoms,
            alpha=sparsity * _scale(train),
            batch_size=training.batch_size,
            max_iter=1,
            tol=0,
            max_no_improvement=None,
            shuffle=False,
            fit_algorithm="cd",
            transform_max_iter=PASSES,
            dict_init=_numpy(start),
            random_state=training.seed,
        )
        with warnings.catch_warnings():
            # of single images that take more passes
            warnings.simplefilter("ignore", ConvergenceWarning)
            V = torch.from_numpy(model.fit(_numpy(train[seen])).components_).to(train)
    settle = SettleConfig.exact()
    return of_network(fixed_network(V.T, train, sparsity=sparsity, settle=settle), validation)


def untrained(train: Images, validation: Images, training: Training, **options: Any) -> Trained:
    """The network of `vector_network` without an update: its atoms are normalised training
    images.
    """
    return vector_network(train, validation, replace(training, steps=0), **options)


def pca(train: Images, validation: Images, training: Training, *, k: int) -> Trained:
    """The mean and the first k principal axes of the training images: the same axes for every
    image.
    """
    mean, axes = principal_axes(train)
    axes = axes[:, : _axes("k", k, axes)]
    return _fixed_count(
        lambda x: mean + (x - mean) @ axes @ axes.T, k, parameters=mean.numel() + axes.numel()
    )


def pca_adaptive(train: Images, validation: Images, training: Training, *, k: int) -> Trained:
    """The mean and all principal axes, of which each image keeps its k largest coefficients."""
    mean, axes = principal_axes(train)
    _axes("k", k, axes)
    return _fixed_count(
        lambda x: mean + largest((x - mean) @ axes, k) @ axes.T,
        k,
        parameters=mean.numel() + axes.numel(),
    )


def dct(
    train: Images,
    validation: Images,
    training: Training,
    *,
    sparsity: float | None = None,
    target: float | None = None,
    k: int | None = None,
) -> Trained:
    """The lasso on a dictionary that nobody learned: the orthonormal two-dimensional cosines.

    Give one of three.

    Parameters
    ----------
    sparsity
        Lambda relative to the r.m.s. norm of training images.
    target
        The mean squared error per pixel that lambda shall have on the validation images.
    k
        No lasso, but the k largest coefficients of every image. The atoms are orthonormal, so that
        the solution of the lasso is the soft threshold.

    Raises
    ------
    ValueError
        Unless one is given, for images that are not square, and for a target out of reach.
    """
    V = cosines(train.shape[1]).to(train)
    if sum(value is not None for value in (sparsity, target, k)) != 1:
        raise ValueError(
            f"give one of sparsity, target and k, got sparsity={sparsity}, target={target}, k={k}"
        )
    if k is not None:
        return _fixed_count(lambda x: largest(x @ V, _axes("k", k, V)) @ V.T, k, parameters=0)
    scale = _scale(train)
    if sparsity is None:
        threshold = threshold_for(validation @ V, target)
    else:
        checks.number("sparsity", sparsity, low=0)
        threshold = sparsity * scale

    def code(x: Images) -> Float[Tensor, "batch atoms"]:
        return soft(x @ V, threshold)

    return Trained(
        readings={"own": lambda x: code(x) @ V.T},
        active=lambda x: (code(x) != 0).sum(1)[None],
        facts={
            "parameters": 0.0,
            "sparsity": threshold / scale,
            "active_1": float((code(validation) != 0).sum(1).float().mean()),
        },
    )


def zero_baseline(train: Images, validation: Images, training: Training) -> Trained:
    """The zero image: its error is the mean square of the images."""
    return _fixed_count(torch.zeros_like, 0, parameters=0)


# --- what they are made of ------------------------------------------------------------------------


def cosines(pixels: int) -> Float[Tensor, "pixels atoms"]:
    """The atoms of the orthonormal two-dimensional DCT-II, as columns, float64.

    Raises
    ------
    ValueError
        Unless square.
    """
    side = round(pixels**0.5)
    if side * side != pixels:
        raise ValueError(f"images must be square, got {pixels} pixels")
    atoms = idctn(np.eye(pixels).reshape(pixels, side, side), axes=(1, 2), norm="ortho")
    return torch.from_numpy(atoms.reshape(pixels, pixels).T.copy())


def principal_axes(
    train: Images,
) -> tuple[Float[Tensor, " pixels"], Float[Tensor, "pixels pixels"]]:
    """The mean of images and the eigenvectors of their covariance, the largest variance first."""
    checks.finite("train", train)
    mean = train.double().mean(0)
    centred = train.double() - mean
    _, axes = torch.linalg.eigh(centred.T @ centred)
    return mean.to(train), axes.flip(1).to(train)


def soft(c: Float[Tensor, "batch atoms"], threshold: float) -> Float[Tensor, "batch atoms"]:
    """The lasso's solution for orthonormal atoms: coefficients drawn towards zero by the
    threshold.
    """
    return c.sign() * (c.abs() - threshold).clamp_min(0)


def threshold_for(c: Float[Tensor, "batch atoms"], target: float) -> float:
    """The soft threshold of orthonormal coefficients whose mean squared error is `target`, by
    bisection.

    The error grows from 0, without a threshold, to the mean square of the images.

    Raises
    ------
    ValueError
        For a target that is not between the two.
    """
    checks.number("target", target, above=0)
    c = c.double()
    low, high = 0.0, float(c.abs().max())
    if target >= (most := float(c.square().mean())):
        raise ValueError(
            f"target must be below the mean square of the validation images, {most:.4g}, "
            f"got {target}"
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        error = float(c.abs().clamp_max(middle).square().mean())  # what the threshold takes away
        low, high = (middle, high) if error < target else (low, middle)
    return (low + high) / 2


def _fixed_count(draw: Draw, k: int, *, parameters: int) -> Trained:
    """A model that draws every image with k coefficients."""

    def active(x: Images) -> Int[Tensor, "layers batch"]:
        return torch.full((1, len(x)), k, device=x.device)

    return Trained(
        readings={"own": draw},
        active=active,
        facts={"parameters": float(parameters), "active_1": float(k)},
    )


def _axes(name: str, k: int, axes: Tensor) -> int:
    checks.number(name, k, low=1, high=axes.shape[1], integer=True)
    return k


def _scale(x: Images) -> float:
    """The r.m.s. norm of images."""
    return float(x.square().sum(1).mean().sqrt())


def _numpy(x: Tensor) -> np.ndarray:
    return x.detach().double().cpu().numpy()
