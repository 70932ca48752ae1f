"""Models by name, trained, as things that fill in signals (VN Fig. 3, Tables 5 and 6, App. G and
its controls).

All signals are (batch, time); `observed` is bool of the same shape, and what a signal holds
elsewhere is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from benchmarks.functions import completion
from benchmarks.functions.exemplars import Exemplars
from benchmarks.functions.mamba import MambaReconstructor
from benchmarks.functions.neural_ode import NeuralODE
from benchmarks.functions.reconstructor import Reconstructor, built, training_masks
from benchmarks.functions.recurrent import RecurrentAutoencoder
from benchmarks.functions.rslds import RecurrentSLDS
from benchmarks.functions.signal_autoencoders import DeepAutoencoder
from benchmarks.functions.transformer import TransformerReconstructor
from vnlib import checks, masked, seeding
from vnlib.dictionaries import choose, fixed_network, fourier_and_bumps, masked_codes, with_sparsity
from vnlib.fit import GradientLearner, Training, fit
from vnlib.layer import reconstruct
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

Signals = Float[Tensor, "batch time"]
Fill = Callable[[Signals, Bool[Tensor, "batch time"]], Signals]

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
# of lambda, for masked inference; deep networks leave out the first, which takes long
FACTORS = (0.01, 0.1, 1.0)
CHOOSERS = 120  # validation signals that choose
RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
NOISES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
TRAINING = SettleConfig.training(max_sweeps=25)  # of more than one layer


@dataclass(frozen=True)
class Imputer:
    """A trained model as functions of signals; None for what it cannot do.

    Fillings are the model's own drawing of all samples, observed ones too.

    Parameters
    ----------
    reconstruct
        `reconstruct(x)`: the model's drawing of whole signals.
    zero_filled
        `zero_filled(x, observed)`: the paper's protocol, hidden samples as zeros, or five rounds of
        imputation for a dictionary.
    mask_aware
        `mask_aware(x_val, observed_val)`: inference that knows the mask, ready for one mask;
        whatever it has to choose, it chooses on these validation signals.
    curve
        The validation error at the evaluations of training.
    facts
        What else is known of the model.
    """

    reconstruct: Callable[[Signals], Signals] | None = None
    zero_filled: Fill | None = None
    mask_aware: Callable[[Signals, Bool[Tensor, "batch time"]], Fill] | None = None
    curve: Sequence[float] = ()
    facts: Mapping[str, float] = field(default_factory=dict)


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


def best_of(
    choices: Sequence[Any],
    fill: Callable[[Any], Fill],
    x: Signals,
    observed: Bool[Tensor, "batch time"],
) -> Fill:
    """The filling of the choice whose mean squared error on the hidden samples of the first signals
    of x is least.
    """
    x, observed = x[:CHOOSERS], observed[:CHOOSERS]
    return fill(
        choose(
            choices,
            lambda one: float((fill(one)(x, observed) - x)[~observed].double().square().mean()),
        )
    )


# --- Vector Networks and fixed dictionaries -------------------------------------------------------


def vector_network(
    train: Signals,
    validation: Signals,
    training: Training,
    *,
    atoms: int,
    sparsity: Sequence[float],
    factor: float = 1.0,
    interface: int = 128,
    feedback: float = 0.3,
    rounds: int = 5,
    revive_after: int = 64,
    sweeps: int = 150,
) -> Imputer:
    """A Vector Network that starts from training signals and learns by the local rules.

    Zero updates leave the normalised training signals as atoms.

    Parameters
    ----------
    atoms
        Per layer.
    sparsity
        Lambda of each layer relative to the r.m.s. norm of its input, all multiplied by `factor`.
    interface
        The width of messages.
    rounds
        Of the imputation (VN Alg. 1).
    sweeps
        Of a settle of more than one layer, at most.
    """
    depth = len(sparsity)
    settle = quick = SettleConfig.exact(device=train.device)
    if depth > 1:
        settle, quick = SettleConfig.deep(max_sweeps=sweeps), TRAINING
    network = VectorNetwork.for_data(
        train,
        atoms=(atoms,) * depth,
        sparsity=tuple(factor * rho for rho in sparsity),
        feedback=feedback,
        interface=(interface,) * (depth - 1),
        settle=settle,
        seed=training.seed,
    )
    curve: list[float] = []

    def error() -> float:
        drawn = network.reconstruct(network.settle(validation))
        return float((drawn - validation).square().mean())

    if training.steps:
        learner = LocalLearner(network, lr=training.lr, settle=quick, revive_after=revive_after)
        # Lambda is relative to messages that grow, so that errors of different steps are not
        # errors of one problem: none of them is the best.
        plan = training.config(10, keep="last")
        curve = fit(learner, (train,), plan, seed=training.seed, validate=error).validation
    return of_network(network, validation, rounds=rounds, curve=curve)


def fixed_dictionary(
    train: Signals,
    validation: Signals,
    training: Training,
    *,
    sparsity: float,
    factor: float = 1.0,
    rounds: int = 5,
) -> Imputer:
    """Inference without learning: the dictionary of sines, cosines and bumps of
    `fourier_and_bumps`.
    """
    V = fourier_and_bumps(train.shape[1]).to(train)
    settle = SettleConfig.exact(device=train.device)
    return of_network(
        fixed_network(V, train, sparsity=factor * sparsity, settle=settle),
        validation,
        rounds=rounds,
    )


def of_network(
    network: VectorNetwork, validation: Signals, *, rounds: int, curve: Sequence[float] = ()
) -> Imputer:
    """A Vector Network as it is.

    Mask-aware is the joint masked energy (VN Eq. 39), all lambdas times one of `FACTORS`.
    """

    def zero_filled(x: Tensor, observed: Tensor) -> Tensor:
        return network.reconstruct(masked.impute(network, x, observed, rounds).settled)

    def at(factor: float) -> Fill:
        other = with_sparsity(network, *(factor * rho for rho in network.config.sparsity))
        return partial(_masked, other)

    factors = FACTORS[len(network.V) > 1 :]
    settled = network.settle(validation)
    active = [float((code != 0).sum(1).float().mean()) for code in settled.codes]
    return Imputer(
        reconstruct=lambda x: network.reconstruct(network.settle(x)),
        zero_filled=zero_filled,
        mask_aware=lambda x, observed: best_of(factors, at, x, observed),
        curve=curve,
        facts={
            "active": active[0],
            "active_top": active[-1],
            "used": float((settled.codes[0] != 0).any(0).float().sum()),
            "parameters": sum(p.numel() for p in network.parameters()),
        },
    )


def _masked(network: VectorNetwork, x: Tensor, observed: Tensor) -> Tensor:
    """V_1 a_1 at the minimum of the masked energy, exact for one layer."""
    if len(network.V) == 1:
        codes, _ = masked_codes(network, x, observed, tol=1e-4)
        return reconstruct(network.layers[0], codes)
    return network.reconstruct(masked.masked_settle(network, x, observed))


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

    def error() -> float:
        return float((model.reconstruct(validation) - validation).square().mean())

    ascent = model.fit(
        train[:signals],
        iterations=training.steps,
        seed=training.seed,
        validate=error,
        eval_every=max(1, training.steps // 10),
    )
    return Imputer(
        reconstruct=model.reconstruct,
        zero_filled=model.zero_filled,
        mask_aware=lambda x, observed: model.complete,
        curve=ascent.validation,
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
