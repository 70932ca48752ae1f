"""Libraries of atoms for codes of exactly k coefficients: learned by statistics of those codes, by
Atomic-Hebb, by scikit-learn, as the decoder of an autoencoder, or not at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from benchmarks.baselines.subset import best_subset
from benchmarks.images.autoencoders import stages_of
from benchmarks.images.controls import PASSES
from benchmarks.images.networks import ImageAutoencoder, built
from benchmarks.images.pictures import Images
from vnlib import seeding
from vnlib.fit import Training
from vnlib.learning.online import BLOCK, Statistics, _around
from vnlib.learning.rules import MaskedAdam, atomic_hebb, unit_columns

Atoms = Float[Tensor, "pixels atoms"]


@dataclass(frozen=True)
class Library:
    """Atoms of unit norm, and what is drawn beside them for every image."""

    V: Atoms
    mean: Float[Tensor, " pixels"]


def exemplars(train: Images, atoms: int, seed: int) -> Atoms:
    """Training images with ink, brought to unit norm: the start of all that learn here."""
    order = torch.randperm(len(train), generator=seeding.generator(seed, "start"))
    order = order[train[order].norm(dim=1) > 0]
    return unit_columns(train[order[:atoms]].T.contiguous())


def by_statistics(
    train: Images,
    V: Atoms,
    *,
    k: int,
    batches: int,
    batch_size: int,
    swaps: int,
    forgetting: float,
    seed: int,
) -> Atoms:
    """Atoms from online statistics of the codes that `best_subset` gives, k coefficients each."""
    V, statistics = V.clone(), Statistics(V)
    for x in _batches(train, batches, batch_size, seed, k):
        renew(V, statistics, best_subset(V, x, k=k, swaps=swaps), x, forgetting=forgetting)
    return V


def renew(V: Atoms, statistics: Statistics, code: Tensor, x: Images, *, forgetting: float) -> None:
    """Add codes, whatever inference gave them, to the statistics, and solve for the atoms in place,
    once around, as `vnlib.learning.online.OnlineDictionaryLearner` does for those of a settle.
    """
    statistics.add(code, x, forgetting)
    atoms, A, B = V.T.contiguous(), statistics.A, statistics.B
    for first in range(0, len(A), BLOCK):
        block = slice(first, first + BLOCK)
        parts = atoms[block], A[block, block].contiguous(), B[block] - A[block] @ atoms
        _around(*(one.numpy() for one in parts), False)
    V.copy_(atoms.T)


def by_hebb(
    train: Images,
    V: Atoms,
    *,
    k: int,
    batches: int,
    batch_size: int,
    swaps: int,
    lr: float,
    seed: int,
) -> Atoms:
    """Atoms from Atomic-Hebb (VN Eq. 9) on the same codes; the rate falls over the second half."""
    V = V.clone()
    step = MaskedAdam(V)
    for done, x in enumerate(_batches(train, batches, batch_size, seed, k)):
        code = best_subset(V, x, k=k, swaps=swaps)
        rate = lr * min(1.0, 2 * (1 - done / batches))
        step.ascend(V, atomic_hebb(x - code @ V.T, code), (code != 0).any(0), rate)
    return V


def by_scikit_learn(
    train: Images, V: Atoms, *, sparsity: float, steps: int, batch_size: int, seed: int
) -> Atoms:
    """Online dictionary learning of scikit-learn on a lasso, as in `benchmarks.images.controls`;
    sparsity is relative to the r.m.s. norm of images.
    """
    # here, since it takes a second to load
    from sklearn.decomposition import MiniBatchDictionaryLearning
    from sklearn.exceptions import ConvergenceWarning

    x = torch.cat(list(_batches(train, steps, batch_size, seed, "scikit-learn")))
    scale = float(train.square().sum(1).mean().sqrt())
    model = MiniBatchDictionaryLearning(
        n_components=V.shape[1],
        alpha=sparsity * scale,
        batch_size=batch_size,
        max_iter=1,
        tol=0,
        max_no_improvement=None,
        shuffle=False,
        fit_algorithm="cd",
        transform_max_iter=PASSES,
        dict_init=V.T.double().numpy(),
        random_state=seed,
    )
    with warnings.catch_warnings():
        # of single images that take more passes
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model.fit(x.double().numpy()).components_
    return unit_columns(torch.from_numpy(found.T).to(V))


def ksparse(
    train: Images,
    validation: Images,
    *,
    latent: int,
    k: int,
    lr: float,
    steps: int,
    batch_size: int,
    evaluations: int,
    seed: int,
    workdir: Path,
) -> ImageAutoencoder:
    """A linear k-sparse autoencoder, kept where its validation error is least."""
    model = built(pixels=train.shape[1], seed=seed, hidden=(), latent=latent, k=k)
    training = Training(lr, steps, batch_size, seed, workdir)
    stages = stages_of(model, train, validation, training, evaluations=evaluations)
    return min(stages, key=lambda stage: stage.error).model


def decoder(model: ImageAutoencoder) -> Library:
    """The columns of a linear decoder, brought to unit norm, and its bias."""
    (last,) = (one for one in model.decoder.modules() if isinstance(one, nn.Linear))
    used = last.weight.detach().norm(dim=0) > 0
    return Library(unit_columns(last.weight.detach()[:, used]), last.bias.detach())


def _batches(
    train: Images, batches: int, size: int, seed: int, *stream: object
) -> Iterator[Images]:
    """Batches of different images, in a new order for each pass over all."""
    generator, order = seeding.generator(seed, "batches", *stream), torch.zeros(0, dtype=torch.long)
    for _ in range(batches):
        while len(order) < size:
            order = torch.cat([order, torch.randperm(len(train), generator=generator)])
        yield train[order[:size]]
        order = order[size:]
