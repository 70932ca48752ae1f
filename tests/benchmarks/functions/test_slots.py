"""Supports that are settled by sampling: evidence, odds and chains against brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.special
import torch
from scipy.stats import multivariate_normal

from benchmarks.functions import processes, slots
from benchmarks.functions.slots import VARIANCES, Slots, State, _Problem

LENGTH = 40
RNG = np.random.default_rng(3)
ATOMS = np.cumsum(RNG.standard_normal((5, LENGTH)), 1) / 5
SMALL = Slots(ATOMS, slots=2, fine=(("rq", 0.06), ("se", 0.12)), every=3, noise=1e-3)
MASK = np.arange(LENGTH) % 4 > 0
PROBLEM = _Problem(SMALL, MASK)
SEEN = 0.4 * ATOMS[1] - 0.2 * ATOMS[3] + 0.05 * RNG.standard_normal(LENGTH)
SIGNAL = [SEEN[PROBLEM.at] @ axes for axes in PROBLEM.axes]


def dense_evidence(taken: list[int], kernel: int, variance: int) -> float:
    """Of the samples looked at, by the covariance that the model says they have."""
    at, one = PROBLEM.at, processes.covariance(*SMALL.fine[kernel], LENGTH)
    total = VARIANCES[variance] * one[np.ix_(at, at)] + SMALL.noise * np.eye(len(at))
    for atom in taken:
        v = ATOMS[atom, at]
        total += SMALL.amplitude**2 * np.outer(v, v)
    return float(multivariate_normal(cov=total).logpdf(SEEN[at]))


@pytest.mark.parametrize("taken", [[], [1], [1, 3], [2, 2]])
@pytest.mark.parametrize("kernel", [0, 1])
def test_evidence_is_that_of_the_dense_normal_distribution(taken, kernel):
    found = PROBLEM.log_evidence(np.array(taken, dtype=int), kernel, SIGNAL[kernel])
    some = [0, 10, 20]
    dense = [dense_evidence(taken, kernel, one) for one in some]
    constant = 0.5 * len(PROBLEM.at) * np.log(2 * np.pi)
    np.testing.assert_allclose(found[some] - constant, dense, rtol=1e-7)


@pytest.mark.parametrize("taken", [[], [1], [1, 3]])
def test_odds_of_an_atom_are_ratios_of_joint_probabilities(taken):
    kernel, variance = 0, 8
    weights = PROBLEM.weights[kernel, variance]
    alone = PROBLEM.squares[kernel] @ weights
    odds = PROBLEM.log_odds(np.array(taken, dtype=int), kernel, weights, alone, SIGNAL[kernel])
    states = [State(np.array([*taken, one]), kernel, variance) for one in range(-1, len(ATOMS))]
    joint = np.array([PROBLEM.log_joint(one, SIGNAL) for one in states])
    np.testing.assert_allclose(odds - odds[0], joint - joint[0], rtol=1e-8, atol=1e-8)


def test_chains_visit_supports_as_often_as_the_posterior_says():
    model = replace(SMALL, fine=(("rq", 0.06),), noise=1.0)
    problem = _Problem(model, MASK)
    signal = [SEEN[problem.at] @ problem.axes[0]]
    logs = {
        (a, b, v): problem.log_joint(State(np.array([a, b]), 0, v), signal)
        for a, b, v in product(range(-1, 5), range(-1, 5), range(len(VARIANCES)))
    }
    exact = scipy.special.softmax(list(logs.values()))
    share = {key: 0.0 for key in product(range(-1, 5), range(-1, 5))}
    for (a, b, _), p in zip(logs, exact, strict=True):
        share[a, b] += p
    rng, state, visits = (
        np.random.default_rng(0),
        State(np.full(2, -1), 0, 0),
        dict.fromkeys(share, 0),
    )
    rounds = 4000
    for _ in range(rounds):
        state = problem.redrawn_fine(problem.redrawn_slots(state, signal, rng), signal, rng)
        visits[tuple(state.support.tolist())] += 1
    found = np.array([visits[key] / rounds for key in share])
    assert np.abs(found - np.array(list(share.values()))).max() < 0.03
    assert found.max() < 0.9  # of a posterior that is spread out


def test_the_mean_of_a_state_is_that_of_the_dense_process():
    state = State(np.array([1, -1]), 0, 12)
    at, one = PROBLEM.at, processes.covariance(*SMALL.fine[0], LENGTH)
    total = VARIANCES[12] * one + SMALL.amplitude**2 * np.outer(ATOMS[1], ATOMS[1])
    seen = total[np.ix_(at, at)] + SMALL.noise * np.eye(len(at))
    dense = total[:, at] @ np.linalg.solve(seen, SEEN[at])
    np.testing.assert_allclose(PROBLEM.mean(state, SIGNAL), dense, rtol=1e-6, atol=1e-9)


def sums(n: int = 6) -> torch.Tensor:
    """Sums of two atoms of a library of forty."""
    rng = np.random.default_rng(5)
    pairs = np.array([rng.choice(40, 2, replace=False) for _ in range(n)])
    return torch.from_numpy(0.5 * library()[pairs[:, 0]] - 0.3 * library()[pairs[:, 1]]).float()


def library() -> np.ndarray:
    rng, t = np.random.default_rng(9), np.linspace(0, 1, 96)
    f, phase = rng.uniform(1, 6, (40, 1)), rng.uniform(0, 6, (40, 1))
    return np.sin(2 * np.pi * f * t + phase)


def test_sums_of_atoms_are_continued_where_smoothness_does_not():
    x = sums()
    observed = (torch.arange(96) < 60).expand(len(x), -1)
    hidden = torch.where(observed, x, torch.nan)
    model = Slots(library(), every=3, chains=4)
    drawn, facts = model.complete(hidden, observed, seed=0)
    alone, _ = replace(model, slots=0).complete(hidden, observed, seed=0)
    errors = [float((one - x)[~observed].square().mean()) for one in (drawn, alone)]
    assert errors[0] < 1e-3 * errors[1]
    assert 2 <= float(facts["atoms"].mean()) < 3


def test_a_signal_does_not_depend_on_those_beside_it_and_a_seed_gives_the_same_bits():
    x, model = sums(3), Slots(library(), every=3, chains=2, sweeps=4)
    observed = torch.arange(96) + 10 * torch.arange(3)[:, None] < 60
    whole, _ = model.complete(x, observed, seed=4)
    again, _ = model.complete(x, observed, seed=4)
    last, _ = model.complete(x[2:], observed[2:], seed=4)
    assert torch.equal(whole, again) and torch.equal(whole[2:], last)
    other, _ = model.complete(x, observed, seed=5)
    assert not torch.equal(whole, other)


@pytest.mark.parametrize(
    ("name", "value"),
    [("slots", -1), ("chains", 0), ("kept", 11), ("temper", -1.0), ("noise", 0.0), ("every", 0.5)],
)
def test_bad_numbers_are_named(name, value):
    with pytest.raises(ValueError, match=name):
        replace(SMALL, **{name: value})


def test_bad_atoms_and_kernels_are_named():
    with pytest.raises(ValueError, match="atoms"):
        Slots(np.full((2, 8), np.nan))
    with pytest.raises(ValueError, match="fine"):
        Slots(ATOMS, fine=(("cubic", 0.1),))
    assert slots.LAST[0] in processes.KERNELS
