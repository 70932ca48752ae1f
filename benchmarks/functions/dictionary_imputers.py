"""Vector Networks and fixed dictionaries as imputers (see `benchmarks.functions.imputer`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch import Tensor

from benchmarks.baselines.dictionaries import fixed_network
from benchmarks.functions.dictionaries import fourier_and_bumps, masked_codes, with_sparsity
from benchmarks.functions.imputer import Fill, Imputer, Signals, best_of, error_of
from vnlib import masked
from vnlib.fit import Training, fit
from vnlib.layer import reconstruct
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

# of lambda, for masked inference; deep networks leave out the first, which takes long
FACTORS = (0.01, 0.1, 1.0)
TRAINING = SettleConfig.training(max_sweeps=25)  # of more than one layer


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
    settle = quick = SettleConfig.exact()
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

    if training.steps:
        learner = LocalLearner(network, lr=training.lr, settle=quick, revive_after=revive_after)
        # Lambda is relative to messages that grow, so that errors of different steps are not
        # errors of one problem: none of them is the best.
        plan = training.config(10, keep="last")
        error = partial(error_of, partial(_drawn, network), validation)
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
    settle = SettleConfig.exact()
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
        return partial(_masked, with_sparsity(network, factor))

    factors = FACTORS[len(network.V) > 1 :]
    settled = network.settle(validation)
    active = [float((code != 0).sum(1).float().mean()) for code in settled.codes]
    return Imputer(
        reconstruct=partial(_drawn, network),
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


def _drawn(network: VectorNetwork, x: Tensor) -> Tensor:
    """V_1 a_1 of whole signals."""
    return network.reconstruct(network.settle(x))


def _masked(network: VectorNetwork, x: Tensor, observed: Tensor) -> Tensor:
    """V_1 a_1 at the minimum of the masked energy, exact for one layer."""
    if len(network.V) == 1:
        codes, _ = masked_codes(network, x, observed, tol=1e-4)
        return reconstruct(network.layers[0], codes)
    return network.reconstruct(masked.masked_settle(network, x, observed))
