"""Gaussian processes of time against dense formulas and scikit-learn's regressor."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RationalQuadratic

from benchmarks.functions import processes
from benchmarks.functions.processes import EVERY, Evidence, carried, complete, completed, covariance

LENGTH = 64
T = np.linspace(0, 1, LENGTH)
MASK = np.arange(LENGTH) < 48
X = np.sin(7 * T) + 0.3 * T


def test_a_completion_is_that_of_scikit_learn():
    model = GaussianProcessRegressor(RationalQuadratic(0.1), alpha=1e-6, optimizer=None)
    dense = model.fit(T[MASK, None], X[MASK]).predict(T[:, None])
    np.testing.assert_allclose(completed("rq", 0.1, 1e-6, X, MASK), dense, atol=1e-7)


def test_evidence_is_the_largest_over_variances():
    found, at = Evidence("matern", (0.1, 0.3), (1e-6, 1e-3), MASK)(X), np.flatnonzero(MASK)[::EVERY]
    one = covariance("matern", 0.3, LENGTH)[np.ix_(at, at)] + 1e-3 * np.eye(len(at))
    variance = X[at] @ np.linalg.solve(one, X[at]) / len(at)
    dense = multivariate_normal(cov=variance * one).logpdf(X[at])
    near = multivariate_normal(cov=1.1 * variance * one).logpdf(X[at])
    constant = 0.5 * len(at) * (1 + np.log(2 * np.pi))
    np.testing.assert_allclose(found[1, 1] - constant, dense, rtol=1e-8)
    assert near < dense


def test_the_scale_of_most_evidence_is_the_one_a_signal_was_drawn_with():
    rng, scales = np.random.default_rng(0), (0.03, 0.1, 0.3)
    for true, scale in enumerate(scales):
        factor = np.linalg.cholesky(covariance("se", scale, 256) + 1e-8 * np.eye(256))
        found = Evidence("se", scales, (1e-8,), np.ones(256, bool))(
            factor @ rng.standard_normal(256)
        )
        assert int(found.argmax()) == true


def test_signals_are_completed_each_by_its_own_mask_and_hidden_samples_are_not_looked_at():
    x = torch.from_numpy(np.stack([X, X[::-1].copy(), 0 * X])).float()
    observed = torch.from_numpy(np.stack([MASK, ~MASK | (T < 0.5), MASK]))
    hidden = torch.where(observed, x, torch.nan)
    drawn = complete(hidden, observed, kernel="rq")
    assert float((drawn - x).abs()[0, 48:52].max()) < 0.05
    assert torch.equal(drawn[1:2], complete(hidden[1:2], observed[1:2], kernel="rq"))
    assert not drawn[2].any()


def test_what_is_left_is_carried_near_observed_samples_and_not_far_from_them():
    x = torch.from_numpy(np.stack([X, -X])).float()
    observed = torch.from_numpy(MASK).expand(2, -1)
    rough = x + torch.from_numpy(np.where(T < 0.9, 0.2, 0.4)).float()
    found = carried(rough, torch.where(observed, x, torch.nan), observed, "matern", 0.05, 1e-8)
    assert float((found - x)[:, :48].abs().max()) < 1e-4
    assert float((found - x)[:, 48].abs().max()) < 0.1
    np.testing.assert_allclose(found[:, -1], rough[:, -1], atol=1e-2)
    exact = carried(x, x, observed, "matern", 0.05, 1e-8)
    assert torch.equal(exact, x)


def test_an_unknown_kernel_is_named():
    x = torch.zeros(1, 8)
    with pytest.raises(ValueError, match="kernel"):
        complete(x, torch.ones(1, 8, dtype=torch.bool), kernel="cubic")
    with pytest.raises(ValueError, match="kernel"):
        processes.covariance("cubic", 0.1, 8)
