"""A dictionary that is written down, and the masked problem solved exactly, against formulas and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from benchmarks.baselines.dictionaries import fixed_network
from benchmarks.functions.dictionaries import fourier_and_bumps, masked_codes
from vnlib.masked import masked_settle
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig

N, LENGTH = 8, 64


def signals(n: int = N, seed: int = 0) -> torch.Tensor:
    """Decaying sines: in the span of no few atoms, in float64."""
    rng = torch.Generator().manual_seed(seed)
    rate, frequency, phase = (
        torch.rand(n, 1, generator=rng, dtype=torch.float64) for _ in range(3)
    )
    t = torch.linspace(0, 1, LENGTH, dtype=torch.float64)
    return torch.exp(-3 * rate * t) * torch.sin(2 * torch.pi * (1 + 3 * frequency) * t + 6 * phase)


def masks() -> torch.Tensor:
    seen = torch.rand(N, LENGTH, generator=torch.Generator().manual_seed(3)) < 0.7
    seen[:4] = torch.arange(LENGTH) < 48
    seen[4] = True
    return seen


def network(sparsity: float = 0.03, **options: object) -> VectorNetwork:
    return fixed_network(
        fourier_and_bumps(LENGTH, highest=4, widths=(0.1, 0.3)).double(),
        X,
        sparsity=sparsity,
        **options,
    )


X, SEEN = signals(), masks()


def objective(V: np.ndarray, x: np.ndarray, a: np.ndarray, lam: float) -> float:
    return 0.5 * ((x - V @ a) ** 2).sum() + lam * np.abs(a).sum()


# --- the dictionary -------------------------------------------------------------------------------


def test_the_dictionary_holds_what_is_said():
    V, t = fourier_and_bumps(100, highest=1.2, widths=(0.5, 0.25)).numpy(), np.linspace(0, 1, 100)
    atoms = [
        np.ones(100),
        np.cos(np.pi * t),
        np.cos(2 * np.pi * t),
        np.sin(np.pi * t),
        np.sin(2 * np.pi * t),
    ]
    for s in (0.5, 0.25):
        atoms += [np.exp(-((t - c) ** 2) / (2 * s**2)) for c in np.arange(0, 1.01, s / 2)]
    assert V.shape == (100, 5 + 5 + 9) and V.dtype == np.float32
    for column, atom in zip(V.T, atoms, strict=True):
        np.testing.assert_allclose(column, atom / np.linalg.norm(atom), atol=1e-6)


def test_size_and_norms_as_it_stands():
    V = fourier_and_bumps()
    assert V.shape == (512, 162)
    torch.testing.assert_close(V.norm(dim=0), torch.ones(162))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 1}, "length must be an integer >= 2, got 1"),
        ({"highest": 0.4}, "highest must be a finite number >= 0.5"),
        ({"widths": (0.1, 0)}, "each of widths must be a finite number > 0, got 0"),
    ],
)
def test_bad_dictionaries_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fourier_and_bumps(**options)


# --- the masked problem ---------------------------------------------------------------------------


@pytest.mark.parametrize("sparsity", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_objective_is_that_of_scikit_learn_on_the_observed_rows(sparsity, nonnegative):
    net = network(sparsity)
    if nonnegative:
        V = fourier_and_bumps(LENGTH, highest=0.5, widths=(0.1, 0.3)).double().abs()
        net = fixed_network(V, X, sparsity=sparsity, nonnegative=True)
    V, lam = net.V[0].data.numpy(), net.layers[0].penalty.sparsity
    codes, gaps = masked_codes(net, X, SEEN)
    assert gaps.max() <= 1e-5
    for row, seen, a in zip(X.numpy(), SEEN.numpy(), codes.numpy(), strict=True):
        n = seen.sum()
        model = Lasso(
            alpha=lam / n, fit_intercept=False, positive=nonnegative, tol=1e-8, max_iter=100_000
        )
        expected = objective(V[seen], row[seen], model.fit(V[seen], row[seen]).coef_, lam)
        found = objective(V[seen], row[seen], a, lam)
        assert found == pytest.approx(expected, rel=1e-4)
        assert not nonnegative or a.min() >= 0


def test_it_is_where_the_masked_settle_goes():
    net = network(0.03)
    config = SettleConfig(
        method="line_search", criterion="gap", tol=1e-8, max_sweeps=20_000, check_every=50
    )
    settled = masked_settle(net, X, SEEN, config=config)
    codes, _ = masked_codes(net, X, SEEN, tol=1e-9)
    assert settled.converged.all()
    torch.testing.assert_close(codes @ net.V[0].T, net.reconstruct(settled), atol=1e-3, rtol=0)


def test_the_gap_is_the_one_of_the_duality():
    net = network(0.003)
    V, lam = net.V[0].data, net.layers[0].penalty.sparsity
    codes, gaps = masked_codes(net, X, SEEN, max_passes=1)
    residual = (X - codes @ V.T) * SEEN
    scale = (lam / (residual @ V).abs().amax(1)).clamp(max=1)[:, None]
    primal = 0.5 * residual.square().sum(1) + lam * codes.abs().sum(1)
    dual = (scale * residual * X).sum(1) - 0.5 * (scale * residual).square().sum(1)
    assert gaps.max() > 1e-8
    torch.testing.assert_close(gaps, (primal - dual) / primal, atol=1e-9, rtol=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hidden_samples_are_never_looked_at(dtype):
    net, x = network().to(dtype), X.to(dtype)
    codes, _ = masked_codes(net, x, SEEN)
    assert codes.dtype == dtype
    assert torch.equal(masked_codes(net, torch.where(SEEN, x, torch.nan), SEEN)[0], codes)
    assert (masked_codes(net, x, torch.ones_like(SEEN))[0] - codes).abs().max() > 1e-3


def test_nearly_parallel_atoms_and_atoms_that_are_hidden():
    t = torch.linspace(0, 1, LENGTH, dtype=torch.float64)
    rates = torch.linspace(1, 8, 40, dtype=torch.float64)
    bump = torch.exp(-(((t - 0.95) / 0.01) ** 2))
    net = fixed_network(torch.cat([torch.exp(-rates[:, None] * t), bump[None]]).T, X, sparsity=1e-3)
    x = torch.exp(-torch.tensor([[1.7], [4.4]], dtype=torch.float64) * t)
    seen = t.expand(2, -1) < 0.5
    codes, gaps = masked_codes(net, x, seen)
    assert gaps.max() < 1e-4 and (codes[:, -1] == 0).all()
    assert (codes @ net.V[0].T - x)[seen].abs().max() < 0.02


def test_a_signal_of_zeros_has_a_code_of_zeros():
    codes, gaps = masked_codes(network(), torch.zeros_like(X), SEEN)
    assert not codes.any() and not gaps.any()


def test_what_it_cannot_solve_is_refused():
    with pytest.raises(ValueError, match="network must have one layer with an l1 penalty"):
        masked_codes(VectorNetwork.for_data(X, atoms=(6, 4), seed=0), X, SEEN)
    with pytest.raises(ValueError, match="network must have one layer with an l1 penalty"):
        masked_codes(network(penalty="elastic_net", ridge=0.1), X, SEEN)
    with pytest.raises(ValueError, match="sparsity must be a finite number > 0"):
        masked_codes(network(0), X, SEEN)
    with pytest.raises(ValueError, match="observed must be a bool tensor of the shape of x"):
        masked_codes(network(), X, SEEN[:3])
    with pytest.raises(ValueError, match=r"x must be a tensor \(batch, 64\)"):
        masked_codes(network(), X[:, :5], SEEN[:, :5])
