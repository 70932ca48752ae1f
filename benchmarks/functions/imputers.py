"""Models by name, trained, as things that fill in signals (VN Fig. 3, Tables 5 and 6, App. G and
its controls).

All signals are (batch, time); `observed` is bool of the same shape, and what a signal holds
elsewhere is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from benchmarks.baselines.parts import built
from benchmarks.functions import completion
from benchmarks.functions.dictionary_imputers import fixed_dictionary, vector_network
from benchmarks.functions.exemplars import Exemplars
from benchmarks.functions.imputer import Imputer, Signals, best_of, error_of
from benchmarks.functions.mamba import MambaReconstructor
from benchmarks.functions.neural_ode import NeuralODE
from benchmarks.functions.reconstructor import Reconstructor, training_masks
from benchmarks.functions.recurrent import RecurrentAutoencoder
from benchmarks.functions.rslds import RecurrentSLDS
from benchmarks.functions.signal_autoencoders import DeepAutoencoder
from benchmarks.functions.transformer import TransformerReconstructor
from vnlib import checks, seeding
from vnlib.fit import GradientLearner, Training, fit

NETWORKS: dict[str, type[Reconstructor]] = {
    "autoencoder": DeepAutoencoder,
    "recurrent": RecurrentAutoencoder,
    "transformer": TransformerReconstructor,
    "mamba": MambaReconstructor,
    "neural_ode": NeuralODE,
}
RULES = {
    "zero_baseline": completion.zero_baseline,
    "hold_last": completion.hold_last,
    "interpolate": completion.interpolate,
}
RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
NOISES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def fit_imputer(
    train: Float[Tensor, "samples time"],
    validation: Float[Tensor, "held time"],
    *,
    family: str,
    options: Mapping[str, Any],
    lr: float,
    steps: int,
    batch_size: int,
    seed: int,
    workdir: Path,
) -> Imputer:
    """Train a model of `family` on whole signals, by `steps` updates, and keep its best step on the
    validation set.

    Those without training ignore lr, steps and batch_size.

    Parameters
    ----------
    options
        What the family's constructor takes (a network with masked=True is trained to fill in what
        its masks hide); the other families are the functions below.
    workdir
        Checkpoints.

    Raises
    ------
    ValueError
        For an unknown family, and what the family refuses.
    """
    checks.choice("family", family, FAMILIES)
    training = Training(lr, steps, batch_size, seed, workdir)
    return FAMILIES[family](train, validation, training, **options)


# --- Networks trained by back-propagation ---------------------------------------------------------


def reconstructor(
    family: str, train: Signals, validation: Signals, training: Training, **options: Any
) -> Imputer:
    """A network of `NETWORKS`; one trained with masks only has mask-aware inference, the others
    only zeros where hidden.
    """
    model = built(NETWORKS[family], length=train.shape[1], seed=training.seed, **options).to(
        train.device
    )
    hidden = None
    if model.masked:
        hidden = ~training_masks(
            len(validation), train.shape[1], generator=seeding.generator(0, "validation masks")
        )
        hidden = hidden.to(train.device)

    @torch.no_grad()
    def error() -> float:
        if hidden is None:
            return float((model(validation) - validation).square().mean())
        return float((model(validation, ~hidden) - validation)[hidden].square().mean())

    history = fit(
        GradientLearner(model, lr=training.lr),
        (train,),
        training.config(20),
        seed=training.seed,
        validate=error,
        checkpoint=training.workdir / "fit.safetensors",
    )
    facts = {"parameters": sum(p.numel() for p in model.parameters())}
    given = {"mask_aware": lambda x, observed: model} if model.masked else {"zero_filled": model}
    return Imputer(reconstruct=model, curve=history.validation, facts=facts, **given)


def switching_dynamics(
    train: Signals, validation: Signals, training: Training, *, signals: int = 2048, **options: Any
) -> Imputer:
    """The rSLDS, by `steps` iterations of EM on the first `signals` training signals.

    Zero-filled, hidden samples are observed zeros; mask-aware is the posterior given what is observed.
    """
    model = RecurrentSLDS(length=train.shape[1], seed=training.seed, **options).to(train.device)

    history = model.fit(
        train[:signals],
        iterations=training.steps,
        seed=training.seed,
        validate=lambda: error_of(model.reconstruct, validation),
        eval_every=max(1, training.steps // 10),
    )
    return Imputer(
        reconstruct=model.reconstruct,
        zero_filled=model.zero_filled,
        mask_aware=lambda x, observed: model.complete,
        curve=history.validation,
        facts={"parameters": sum(b.numel() for b in model.buffers())},
    )


# --- Closed forms: no training but the signals themselves -----------------------------------------


def rule(name: str, train: Signals, validation: Signals, training: Training) -> Imputer:
    """A rule of thumb of `RULES`. Only the zero baseline is asked to reconstruct."""
    fill = RULES[name]
    return Imputer(
        reconstruct=torch.zeros_like if name == "zero_baseline" else None,
        mask_aware=lambda x, observed: fill,
    )


def principal_components(
    train: Signals,
    validation: Signals,
    training: Training,
    *,
    rank: int = 24,
    ranks: Sequence[int] = RANKS,
) -> Imputer:
    """Projection on `rank` axes; hidden samples by least squares on the observed ones, rank chosen
    per mask.
    """
    pca = completion.PrincipalComponents(train)
    fit_all = [r for r in ranks if r <= min(train.shape)]
    return Imputer(
        reconstruct=partial(pca.reconstruct, rank=rank),
        mask_aware=lambda x, observed: best_of(
            fit_all, lambda r: partial(pca.complete, rank=r), x, observed
        ),
    )


def gaussian(
    train: Signals, validation: Signals, training: Training, *, noises: Sequence[float] = NOISES
) -> Imputer:
    """The conditional mean of a normal distribution, with a noise variance chosen per mask."""
    normal = completion.Gaussian(train)
    return Imputer(
        mask_aware=lambda x, observed: best_of(
            noises, lambda v: partial(normal.complete, noise=v), x, observed
        )
    )


def neighbours(train: Signals, validation: Signals, training: Training, *, k: int = 5) -> Imputer:
    """The mean of the k training signals that are nearest on the observed samples."""
    return Imputer(mask_aware=lambda x, observed: partial(completion.nearest, train, k=k))


def exemplars(
    train: Signals, validation: Signals, training: Training, *, atoms: int = 2048, **options: float
) -> Imputer:
    """Hard sparsity: 3 of `atoms` training signals at a time, found by search; mask-aware only."""
    model = Exemplars(train, min(atoms, len(train)), seed=training.seed)
    fill = partial(model.complete, **options)
    return Imputer(
        reconstruct=partial(model.reconstruct, **options), mask_aware=lambda x, observed: fill
    )


FAMILIES: dict[str, Callable[..., Imputer]] = {
    "vn": vector_network,
    "fourier": fixed_dictionary,
    "pca": principal_components,
    "gaussian": gaussian,
    "nearest": neighbours,
    "exemplars": exemplars,
    "rslds": switching_dynamics,
    **{name: partial(reconstructor, name) for name in NETWORKS},
    **{name: partial(rule, name) for name in RULES},
}
