"""Gaussian processes by law, against dense ones and those of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from benchmarks.nbody import by_law, measure, processes
from benchmarks.nbody.bodies import LAWS, scales_of
from benchmarks.nbody.forces import relative_errors

SMALL = {"n_train": 24, "n_val": 6, "n_test": 1, "seed": 11, "test_seed": 12}
REFERENCE = {
    "rational_quadratic": RationalQuadratic(length_scale=0.7, alpha=1.0),
    "matern": Matern(length_scale=0.7, nu=2.5),
}


@pytest.fixture(scope="module")
def parts():
    data = measure.states(**SMALL)
    train, val = (measure.samples(measure.split(data, n)) for n in ("train", "val"))
    return train, val, scales_of(train)


@pytest.fixture(scope="module")
def few(parts):
    """Forty bodies under springs, with the tokens of each."""
    states = by_law.states_of(parts[0], parts[2], LAWS.index("spring"))
    kinds = {}
    for kind, (x, owner) in states.tokens.kinds.items():
        kinds[kind] = by_law.Tokens(x[owner < 40], owner[owner < 40])
    return by_law.LawStates(by_law.LawTokens(kinds, 40), states.y[:40])


def prior(states: by_law.LawStates, kernel: str) -> np.ndarray:
    """The covariance of what bodies are told: of sums over their tokens."""
    total = np.zeros((states.tokens.rows,) * 2)
    for x, owner in states.tokens.kinds.values():
        each = processes.LINEAR * x @ x.T + REFERENCE[kernel](x)
        sums = by_law.summed(np.eye(len(x)), owner, states.tokens.rows)
        total += sums @ each @ sums.T
    return total


@pytest.mark.parametrize("kernel", processes.KERNELS)
def test_correlations_are_those_of_scikit_learn(kernel):
    x = np.random.default_rng(0).normal(size=(9, 2))
    found = processes.correlation(kernel, cdist(x, x) / 0.7)
    np.testing.assert_allclose(found, REFERENCE[kernel](x), rtol=1e-12)


@pytest.mark.parametrize("kernel", processes.KERNELS)
def test_with_all_tokens_the_process_is_the_dense_one(few, kernel):
    every = {kind: one.x for kind, one in few.tokens.kinds.items()}
    x = processes.Process(every, kernel, 0.7)(few.tokens)
    covariance, noise = prior(few, kernel), 1e-2
    np.testing.assert_allclose(x @ x.T, covariance, atol=1e-6)
    _, (weights,) = processes.evidence(x, few.y, [noise])
    wanted = covariance @ np.linalg.solve(covariance + noise * np.eye(40), few.y)
    np.testing.assert_allclose(x @ weights, wanted, atol=1e-5)


def test_evidence_is_the_density_of_what_was_seen():
    """But for a constant, at the variance of the process that makes it largest."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 6)), rng.normal(size=(30, 2))
    noises = (1e-3, 0.1, 3.0)

    def density(noise: float) -> float:
        covariance = x @ x.T + noise * np.eye(30)
        variance = (y * np.linalg.solve(covariance, y)).sum() / y.size
        told = multivariate_normal(np.zeros(30), variance * covariance)
        return sum(told.logpdf(one) for one in y.T)

    found, _ = processes.evidence(x, y, noises)
    wanted = np.array([density(noise) for noise in noises])
    np.testing.assert_allclose(np.diff(found), np.diff(wanted), rtol=1e-9)


def test_the_likeliest_length_and_noise_are_those_of_the_draw(parts):
    states = by_law.states_of(parts[0], parts[2], LAWS.index("gravity"))
    at = by_law.places(states.tokens, 60, 0, "gravity")
    drawn = processes.Process(at, "rational_quadratic", 1.0)(states.tokens)
    rng = np.random.default_rng(2)
    y = drawn @ rng.normal(size=(drawn.shape[1], 2)) + 0.1 * rng.normal(size=states.y.shape)
    states = states._replace(y=y)
    found = processes.likeliest(at, "rational_quadratic", states, (0.3, 1.0, 3.0))
    assert found.features.length == 1.0 and found.penalty == pytest.approx(1e-2)
    with pytest.raises(ValueError, match="lengths must name at least one"):
        processes.likeliest(at, "matern", states, ())


def test_processes_tell_all_laws(parts):
    train, val, scales = parts
    options = {"kernel": "matern", "inducing": 40, "seed": 0}
    found, facts = processes.processes(train, val, scales, **options)
    errors = relative_errors(found.predict, val)
    assert (errors[2:] < 1e-9).all() and (errors[:2] < 0.3).all()
    assert facts["atoms_spring"] == 40 and facts["width_spring"] in by_law.BANDWIDTHS
    same, _ = processes.processes(
        train, val._replace(acceleration=0 * val.acceleration), scales, **options
    )
    assert (same.predict(val.bodies) == found.predict(val.bodies)).all(), "nothing is validated"


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"kernel": "gaussian"}, "kernel must be one of"),
        ({"inducing": 10**6}, "centres of gravity"),
        ({"lengths": (0.0,)}, "length must be"),
    ],
)
def test_bad_options_are_refused(parts, options, match):
    with pytest.raises(ValueError, match=match):
        processes.processes(*parts, **{"kernel": "matern", "inducing": 8, "seed": 0, **options})
