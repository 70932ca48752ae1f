"""Masked inference against scikit-learn's lasso on the observed rows, the optimality conditions,
and its promises.
"""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import Lasso

from vnlib.masked import impute, masked_settle, observed
from vnlib.network import VectorNetwork, VNConfig
from vnlib.settle import SettleConfig, joint_energy

SPARSITY = 0.3
EXACT = SettleConfig(max_sweeps=800, tol=0)
CLOSE = SettleConfig(max_sweeps=2000, tol=1e-8, criterion="gap", check_every=5)


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def network(depth: int = 1, **options) -> VectorNetwork:
    sizes = {
        1: {"atoms": (20,), "sparsity": (SPARSITY,)},
        2: {"atoms": (20, 12), "interface": (8,), "sparsity": (SPARSITY, 0.1), "feedback": 0.4},
    }[depth]
    return VectorNetwork(VNConfig(n_inputs=12, **(sizes | options)), seed=3).double()


def signals(batch: int = 6, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Signals, and masks that hide between a quarter and a half of their entries."""
    hidden = 0.25 + 0.25 * torch.rand(
        batch, 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    return 2 * draw(batch, 12, seed=seed + 1), (
        draw(batch, 12, seed=seed + 2).sigmoid() > hidden
    ).double()


def objective(net: VectorNetwork, codes, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Eq. 39, with the upper layers of the joint energy; from the definition."""
    total, weight, missed = 0.0, 1.0, mask * (x - codes[0] @ net.V[0].T)
    for index, code in enumerate(codes):
        total = total + weight * (
            0.5 * missed.square().sum(1) + net.config.sparsity[index] * code.abs().sum(1)
        )
        weight *= net.config.feedback
        if index + 1 < len(codes):
            missed = code @ net.U[index].T - codes[index + 1] @ net.V[index + 1].T
    return total


def masked_ista(V: torch.Tensor, x: torch.Tensor, mask: torch.Tensor, steps: int) -> torch.Tensor:
    """The masked lasso by plain proximal gradient on the observed entries."""
    code, step = x.new_zeros(len(x), V.shape[1]), 1 / float(torch.linalg.matrix_norm(V, 2) ** 2)
    for _ in range(steps):
        z = code + step * (mask * (x - code @ V.T)) @ V
        code = z.sign() * (z.abs() - step * SPARSITY).clamp_min(0)
    return code


# --- the masked problem itself ---


def test_masked_settle_equals_the_lasso_of_the_observed_rows():
    net, (x, mask) = network(), signals()
    found = masked_settle(net, x, mask, config=EXACT).codes[0]
    for row in range(len(x)):
        seen = mask[row] > 0
        lasso = Lasso(
            alpha=SPARSITY / int(seen.sum()), fit_intercept=False, tol=1e-14, max_iter=100_000
        )
        lasso.fit(net.V[0][seen].numpy(), x[row][seen].numpy())
        torch.testing.assert_close(found[row], torch.from_numpy(lasso.coef_), atol=1e-6, rtol=0)


@pytest.mark.parametrize("seed", range(3))
def test_optimality_conditions_of_the_masked_lasso(seed):
    """The correlation with the observed residual is lambda sign(a_k) where a_k is active, at most
    lambda elsewhere.
    """
    net, (x, mask) = network(), signals(seed=10 + seed)
    code = masked_settle(net, x, mask, config=EXACT).codes[0]
    correlation = (mask * (x - code @ net.V[0].T)) @ net.V[0]
    on = code != 0
    assert on.any() and not on.all()
    torch.testing.assert_close(correlation[on], SPARSITY * code[on].sign(), atol=1e-7, rtol=0)
    assert correlation[~on].abs().max() <= SPARSITY + 1e-7


# --- the imputation loop ---


@pytest.mark.parametrize("warm", [False, True])
def test_one_round_is_the_settle_of_the_zero_filled_signal(warm):
    net, (x, mask) = network(2), signals()
    found, settled = impute(net, x, mask, steps=1, warm=warm), net.settle(mask * x)
    assert all(torch.equal(a, b) for a, b in zip(found.settled.codes, settled.codes, strict=True))
    expected = mask * x + (1 - mask) * net.reconstruct(settled)
    assert torch.equal(found.completed, expected)


def test_rounds_equal_the_printed_algorithm():
    net, (x, mask) = network(), signals()
    z, path = mask * x, []
    for _ in range(4):
        a = net.settle(z, config=EXACT).codes[0]
        new = mask * x + (1 - mask) * (a @ net.V[0].T)
        path.append((objective(net, [a], x, mask), (new - z).square().sum(1).sqrt()))
        z = new
    found = impute(net, x, mask, steps=4, config=EXACT)
    torch.testing.assert_close(found.completed, z, atol=1e-12, rtol=0)
    torch.testing.assert_close(found.settled.codes[0], a, atol=1e-12, rtol=0)
    torch.testing.assert_close(
        found.objective, torch.stack([o for o, _ in path]), atol=1e-12, rtol=0
    )
    torch.testing.assert_close(found.change, torch.stack([c for _, c in path]), atol=1e-12, rtol=0)


@pytest.mark.parametrize("warm", [False, True])
def test_the_limit_is_the_masked_lasso_and_five_rounds_are_on_the_way(warm):
    net, (x, mask) = network(), signals()
    exact = masked_ista(net.V[0], x, mask, 8_000)
    least = objective(net, [exact], x, mask)
    torch.testing.assert_close(
        masked_settle(net, x, mask, config=EXACT).codes[0], exact, atol=1e-6, rtol=0
    )
    limit = impute(net, x, mask, steps=100, warm=warm, config=CLOSE)
    torch.testing.assert_close(limit.settled.codes[0], exact, atol=2e-2, rtol=0)
    torch.testing.assert_close(limit.objective[-1], least, atol=0, rtol=1e-5)
    assert (limit.change[-1] < 1e-2).all()
    assert (limit.objective[4] > least * (1 + 1e-4)).any()


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_masked_objective_never_rises(depth, nonnegative):
    net, (x, mask) = network(depth, nonnegative=nonnegative), signals(4, seed=20)
    close = SettleConfig(max_sweeps=2000, tol=1e-6, criterion="gap", check_every=5)
    found = impute(net, x, mask, steps=10, config=close)
    start = objective(net, [x.new_zeros(4, K) for K in net.config.atoms], x, mask)
    path = torch.cat([start[None], found.objective])
    assert (path[1:] <= path[:-1] * (1 + close.tol)).all()  # a round minimises to this relative gap
    assert (path[-1] < path[1]).any()
    torch.testing.assert_close(
        found.objective[-1], objective(net, found.settled.codes, x, mask), atol=1e-12, rtol=0
    )


def test_the_masked_objective_is_the_energy_of_the_completed_signal():
    """A hidden entry that is filled by V a adds no residual: Eq. 39 is F at the signal that belongs
    to the code.
    """
    net, (x, mask) = network(2), signals()
    found = impute(net, x, mask)
    energy = joint_energy(net.layers, found.settled.codes, found.completed, net.config.feedback)
    torch.testing.assert_close(energy, found.objective[-1], atol=1e-12, rtol=0)


def test_warm_rounds_need_fewer_sweeps_and_end_in_the_same_place():
    net, (x, mask) = network(), signals()
    cold, warm = (impute(net, x, mask, steps=40, warm=w, config=CLOSE) for w in (False, True))
    torch.testing.assert_close(warm.objective, cold.objective, atol=0, rtol=1e-5)
    assert (warm.settled.sweeps < cold.settled.sweeps).all()


# --- both ---


def by_imputation(net, x, mask):
    return impute(net, x, mask).settled


both = pytest.mark.parametrize(
    "infer", [by_imputation, masked_settle], ids=["impute", "masked_settle"]
)


@both
@pytest.mark.parametrize("hidden", [1e6, float("nan"), float("inf")])
def test_hidden_values_never_matter(infer, hidden):
    net, (x, mask) = network(2), signals()
    other = torch.where(mask > 0, x, hidden)
    one, two = infer(net, x, mask), infer(net, other, mask)
    assert all(torch.equal(a, b) for a, b in zip(one.codes, two.codes, strict=True))
    assert torch.equal(impute(net, other, mask).completed, impute(net, x, mask).completed)


@both
@pytest.mark.parametrize("depth", [1, 2])
def test_a_full_mask_is_the_ordinary_settle(infer, depth):
    net, (x, mask) = network(depth), signals()
    ordinary, found = net.settle(x).codes, infer(net, x, torch.ones_like(mask)).codes
    for a, b in zip(found, ordinary, strict=True):
        torch.testing.assert_close(a, b, atol=1e-9, rtol=0)
    assert torch.equal(impute(net, x, torch.ones_like(mask)).completed, x)


@both
def test_an_empty_mask_gives_the_zero_code(infer):
    net, (x, mask) = network(2), signals()
    assert not any(code.any() for code in infer(net, x, torch.zeros_like(mask)).codes)
    assert not impute(net, x, torch.zeros_like(mask)).completed.any()


@both
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
def test_the_type_of_the_mask_makes_no_difference(infer, dtype):
    net, (x, mask) = network(), signals()
    assert torch.equal(infer(net, x, mask.to(dtype)).codes[0], infer(net, x, mask).codes[0])


@both
def test_a_sample_does_not_depend_on_its_batch(infer):
    net, (x, mask) = network(2), signals()
    together = infer(net, x, mask).codes
    for row in range(len(x)):
        alone = infer(net, x[row : row + 1], mask[row : row + 1]).codes
        for a, b in zip(alone, together, strict=True):
            torch.testing.assert_close(a[0], b[row], atol=1e-9, rtol=0)


@both
def test_no_weight_and_no_argument_changes(infer):
    net, (x, mask) = network(2), signals()
    before = {name: p.clone() for name, p in net.state_dict().items()}
    given = x.clone(), mask.clone()
    infer(net, x, mask)
    assert all(torch.equal(p, before[name]) for name, p in net.state_dict().items())
    assert torch.equal(x, given[0]) and torch.equal(mask, given[1])


@both
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(12), r"mask must be a tensor of the shape of x, \(6, 12\), got \(12,\)"),
        (torch.ones(5, 12), r"mask must be a tensor of the shape of x, \(6, 12\), got \(5, 12\)"),
        ([[1] * 12] * 6, r"mask must be a tensor of the shape of x, \(6, 12\), got list"),
        (torch.full((6, 12), 0.5), r"mask must hold only 1 \(observed\) and 0 \(hidden\), got 0.5"),
        (torch.full((6, 12), torch.nan), r"mask must hold only .* got nan"),
    ],
)
def test_bad_masks_are_named(infer, mask, message):
    with pytest.raises(ValueError, match=message):
        infer(network(), signals()[0], mask)


def test_other_bad_arguments_are_named():
    net, (x, mask) = network(), signals()
    with pytest.raises(ValueError, match=r"steps must be an integer >= 1, got 0"):
        impute(net, x, mask, steps=0)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 12\)"):
        impute(net, x[:, :9], mask[:, :9])
    with pytest.raises(ValueError, match=r"x holds 6 value\(s\) that are NaN or infinite"):
        masked_settle(net, torch.where(torch.arange(12) == 0, torch.nan, x), torch.ones_like(mask))


def test_observed_keeps_what_is_seen():
    x, mask = signals()
    shown, seen = observed(x.float(), mask.bool())
    assert (
        torch.equal(shown, (mask * x).float())
        and seen.dtype == torch.float32
        and torch.equal(seen.double(), mask)
    )
