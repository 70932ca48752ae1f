"""Coordinate descent on penalties that are not convex: a minimum in every coefficient, by brute
force, that is not above the l1 codes it starts from.
"""

from __future__ import annotations

import pytest
import torch

from vnlib.layer import Layer
from vnlib.prox import CEL0, L0, L1, MCP, Penalty, TopK
from vnlib.settle import SettleConfig, Settled, Settler, Stop, joint_energy
from vnlib.settle.coordinate import START, coordinate_descent

LAMBDA = 0.3
FIRM = {
    "mcp": MCP(sparsity=LAMBDA, gamma=2.0),
    "steep mcp": MCP(sparsity=LAMBDA, gamma=1.1),
    "hard mcp": MCP(sparsity=LAMBDA, gamma=0.4),
    "cel0": CEL0(sparsity=LAMBDA**2 / 2),
    "l0": L0(sparsity=LAMBDA**2 / 2),
}
every = pytest.mark.parametrize("penalty", FIRM.values(), ids=list(FIRM))
both = pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
EXACT = SettleConfig(method="cd", tol=0, max_sweeps=3000)


def problem(
    d: int = 25, K: int = 80, n: int = 12, dtype: torch.dtype = torch.float64, unit: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Coherent atoms, and samples of a few of them and noise."""
    rng = torch.Generator().manual_seed(0)
    V = torch.randn(d, K, generator=rng, dtype=torch.float64) + 0.5
    V = V / V.norm(dim=0) * (1 if unit else torch.linspace(0.6, 1.5, K, dtype=torch.float64))
    code = torch.randn(n, K, generator=rng, dtype=torch.float64) * (
        torch.rand(n, K, generator=rng) < 5 / K
    )
    x = code @ V.T + 0.1 * torch.randn(n, d, generator=rng, dtype=torch.float64)
    return V.to(dtype), x.to(dtype)


def settle(
    V: torch.Tensor, x: torch.Tensor, penalty: Penalty, config: SettleConfig = EXACT, **more
) -> Settled:
    return Settler([Layer(V, None, penalty)], config=config)(x, **more)


def best_gain(V, x, penalty, code, mask=None) -> tuple[torch.Tensor, torch.Tensor]:
    """What the best change of one coefficient gains per sample: to where its proximal step goes,
    and to any of many values.
    """
    V, x, code = V.double(), x.double(), code.double()
    seen = torch.ones_like(x) if mask is None else mask.double()
    h = seen @ V.square()
    z = code + (seen * (x - code @ V.T)) @ V / h
    step = penalty.prox(z.reshape(-1, 1), 1 / h.reshape(-1, 1)).view(*z.shape, 1)
    others = torch.linspace(-3, 3, 301, dtype=torch.float64).expand(*z.shape, 301)

    def cost(values):
        smooth = 0.5 * h[..., None] * (values - z[..., None]).square()
        return smooth + penalty.value(values.reshape(-1, 1)).view(values.shape)

    now = cost(code[..., None])
    return tuple(
        (now - cost(tried)).flatten(1).amax(1)
        for tried in (step, torch.cat([0 * z[..., None], others], 2))
    )


@both
@every
@pytest.mark.parametrize("unit", [True, False], ids=["unit", "any norm"])
def test_the_result_is_a_minimum_in_every_coefficient(penalty, dtype, unit):
    V, x = problem(dtype=dtype, unit=unit)
    settled = settle(V, x, penalty)
    assert settled.codes[0].dtype == dtype and bool(settled.converged.all())
    assert int((settled.codes[0] != 0).sum()) > 20
    slack = 1e-12 if dtype == torch.float64 else 1e-5
    for gain in best_gain(V, x, penalty, settled.codes[0]):
        assert float(gain.max()) <= slack
    # the l1 codes, which they start from, are none
    started = settle(V, x, L1(sparsity=LAMBDA), SettleConfig(method="cd", tol=START))
    assert float(best_gain(V, x, penalty, started.codes[0])[0].max()) > 1e-3


@both
@every
@pytest.mark.parametrize("tol", [0, 1e-4])
def test_no_energy_is_above_that_of_the_l1_codes(penalty, dtype, tol):
    V, x = problem(dtype=dtype)
    l1 = coordinate_descent(V, x, sparsity=LAMBDA, tol=START, max_passes=1000)[0]
    before = joint_energy([Layer(V, None, penalty)], [l1], x)
    after = settle(V, x, penalty, SettleConfig(method="cd", tol=tol, max_sweeps=3000)).energy
    assert bool((after <= before * (1 + 1e-6)).all()) and bool((after < 0.99 * before).any())


@every
def test_orthonormal_atoms_take_one_proximal_step(penalty):
    V = torch.linalg.qr(problem()[0][:, :25]).Q
    x = problem()[1]
    torch.testing.assert_close(settle(V, x, penalty).codes[0], penalty.prox(x @ V, 1.0))


@every
def test_masks_are_taken(penalty):
    V, x = problem()
    mask = (torch.rand(x.shape, generator=torch.Generator().manual_seed(1)) > 0.3).to(x.dtype)
    settled = settle(V, x, penalty, mask=mask)
    for gain in best_gain(V, x, penalty, settled.codes[0], mask):
        assert float(gain.max()) <= 1e-12
    hidden = settle(V, x + 7 * (1 - mask), penalty, mask=mask)
    assert torch.equal(hidden.codes[0], settled.codes[0])


@both
@every
def test_a_code_has_the_same_bits_in_every_batch(penalty, dtype):
    V, x = problem(dtype=dtype)
    whole = settle(V, x, penalty, SettleConfig(method="cd"))
    for rows in (slice(0, 1), slice(3, 8)):
        part = settle(V, x[rows], penalty, SettleConfig(method="cd"))
        assert torch.equal(part.codes[0], whole.codes[0][rows])
    backwards = settle(V, x.flip(0), penalty, SettleConfig(method="cd"))
    assert torch.equal(backwards.codes[0].flip(0), whole.codes[0])


@every
def test_codes_to_start_from_are_used_and_rows_of_zeros_are_none(penalty):
    V, x = problem()
    settled = settle(V, x, penalty)
    again = settle(V, x, penalty, start=settled.codes)
    torch.testing.assert_close(again.codes[0], settled.codes[0], atol=1e-9, rtol=0)
    some = settled.codes[0].clone()
    some[::2] = 0
    mixed = settle(V, x, penalty, start=[some])
    torch.testing.assert_close(mixed.codes[0], settled.codes[0], atol=1e-9, rtol=0)
    other = torch.randn(x.shape[0], V.shape[1], generator=torch.Generator().manual_seed(2)).double()
    far = settle(V, x, penalty, start=[other])
    assert bool((far.energy < joint_energy([Layer(V, None, penalty)], [other], x)).all())
    assert not torch.allclose(far.codes[0], settled.codes[0])


def test_a_looser_tolerance_takes_fewer_passes():
    V, x = problem(60, 300, 40)
    exact, loose = (
        settle(V, x, FIRM["mcp"], SettleConfig(method="cd", tol=tol, max_sweeps=3000))
        for tol in (0, 1e-2)
    )
    assert int(loose.sweeps.sum()) < int(exact.sweeps.sum())
    assert float(exact.energy.mean()) <= float(loose.energy.mean()) < 1.02 * exact.energy.mean()
    assert loose.reasons == [Stop.CONVERGED] * 40 and loose.rounded is None
    with pytest.warns(match="have not settled"):
        cut = settle(V, x, FIRM["mcp"], SettleConfig(method="cd", max_sweeps=1))
    assert not cut.converged.all() and int(cut.sweeps.max()) == 1


def test_nothing_to_explain_and_no_sample():
    V, x = problem()
    assert not settle(V, 0 * x, FIRM["l0"]).codes[0].any()
    assert settle(V, x[:0], FIRM["mcp"]).codes[0].shape == (0, 80)
    V[:, 3] = 0
    assert not settle(V, x, FIRM["l0"]).codes[0][:, 3].any()


@every
def test_auto_goes_by_coordinates_to_the_energy(penalty):
    V, _ = problem()
    layers = [Layer(V, torch.eye(80).double(), penalty), Layer(V.T.contiguous(), None, penalty)]
    layers[0] = Layer(V, V.new_zeros(80, 80) + torch.eye(80), penalty)
    assert Settler(layers[:1]).config.method == "cd"
    assert Settler(layers[:1]).config.criterion == "energy"
    assert Settler(layers, activation="relu").config.method == "cd"
    assert Settler(layers, feedback=0.1).config.method == "line_search"
    assert Settler(layers[:1], config=SettleConfig(steps=2)).config.method == "line_search"
    sent = x_of(layers, penalty)
    assert float(best_gain(layers[1].V, sent.inputs[1], penalty, sent.codes[1])[0].max()) < 1e-12


def x_of(layers: list[Layer], penalty: Penalty) -> Settled:
    return Settler(layers, activation="relu", config=EXACT)(problem()[1][:4])


@pytest.mark.parametrize(
    ("layers", "options", "message"),
    [
        ([FIRM["l0"]], {"criterion": "gap"}, "not convex: set criterion='energy'"),
        ([L1(sparsity=0.1)], {"criterion": "energy"}, "set criterion='gap'"),
        ([MCP(sparsity=0.0, gamma=2.0)], {}, "needs sparsity > 0 for l0, MCP and CEL0"),
        ([FIRM["l0"], FIRM["l0"]], {}, "in all layers, each settled alone"),
        ([TopK(penalty=FIRM["l0"], k=3)], {}, "needs other penalties than TopK.*layer 1"),
    ],
)
def test_what_does_not_fit_is_said(layers, options, message):
    V = torch.eye(6)
    stack = [Layer(V, V, penalty) for penalty in layers]
    with pytest.raises(ValueError, match=message):
        Settler(stack, feedback=0.1, config=SettleConfig(method="cd", **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a finite number > 0, got 0.0"),
        ({"sparsity": 0.0}, "sparsity must be a finite number >= 0 and > 0, got 0.0"),
        ({"nonnegative": True}, "nonnegative must be False with a gamma"),
    ],
)
def test_bad_arguments_are_named(options, message):
    V, x = problem()
    given = {"sparsity": 0.1, "gamma": 2.0, "tol": 1e-3, "max_passes": 10} | options
    with pytest.raises(ValueError, match=message):
        coordinate_descent(V, x, **given)
