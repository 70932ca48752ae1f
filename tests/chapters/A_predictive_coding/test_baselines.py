"""Predictive coding against autograd, closed forms, and back-propagation in the limit where they
agree.
"""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
import torch

from chapters.A_predictive_coding.baselines import PCConfig, PCLearner, PredictiveCoding

SIZES = (9, 6, 4, 3)
KINDS = {
    "pc": {},
    "bpc": {"discriminative": 0.7, "generative": 1.3},
    "discriminative": {"generative": 0.0, "discriminative": 1.0},
    "sparse": {"sparsity": 0.1},
    "linear bpc": {"discriminative": 1.0, "activation": "identity"},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def network(
    kind: str = "pc", *, sizes: tuple[int, ...] = SIZES, seed: int = 0, **options: object
) -> PredictiveCoding:
    return PredictiveCoding(PCConfig(sizes=sizes, **(KINDS[kind] | options)), seed=seed).double()


def data(n: int, d: int = SIZES[0], seed: int = 1) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def some_states(seed: int = 2, sizes: tuple[int, ...] = SIZES) -> list[torch.Tensor]:
    return [data(5, units, seed + level) for level, units in enumerate(sizes)]


def clamped(kind: str, n: int) -> torch.Tensor | None:
    """A label where the network needs one: unclamped discriminative states have no error at all."""
    return data(n, SIZES[-1], seed=9) if kind == "discriminative" else None


def flat_cosine(a: list[torch.Tensor], b: list[torch.Tensor]) -> float:
    a, b = (torch.cat([t.flatten() for t in ts]) for ts in (a, b))
    return float(torch.nn.functional.cosine_similarity(a, b, dim=0).detach())


# --- Energy and gradients -------------------------------------------------------------------------


def test_energy_is_the_printed_sum():
    net, states = network("bpc", sparsity=0.2), some_states()
    G, D = ([w.detach() for w in weights] for weights in (net.generative, net.discriminative))
    for b, energy in enumerate(net.energy(states).tolist()):
        x = [s[b] for s in states]
        down = sum(
            1.3 / 2 * float((x[i] - G[i] @ torch.tanh(x[i + 1])).square().sum()) for i in range(3)
        )
        up = sum(
            0.7 / 2 * float((x[i + 1] - D[i] @ torch.tanh(x[i])).square().sum()) for i in range(3)
        )
        prior = 0.2 * sum(float(x[i].abs().sum()) for i in (1, 2, 3))
        assert energy == pytest.approx(down + up + prior, rel=1e-12)


@every_kind
def test_state_gradients_are_those_of_autograd(kind):
    net, states = network(kind, **({"sparsity": 0.0} if kind == "sparse" else {})), some_states()
    free = [s.clone().requires_grad_() for s in states[1:]]
    net.energy([states[0], *free]).sum().backward()
    for mine, theirs in zip(net.state_gradients(states), free, strict=True):
        torch.testing.assert_close(mine, theirs.grad, rtol=1e-10, atol=1e-12)


@every_kind
def test_local_updates_are_minus_the_gradient_of_the_loss(kind):
    net, x, top = network(kind, steps=7), data(5), clamped(kind, 5)
    if kind == "sparse":
        net = network(kind, steps=30, sparsity=0.001)  # so that no level falls silent
    net.loss(x, top).backward()
    down, up = net.updates(net.infer(x, top=top).states)
    assert (len(down), len(up)) == (len(net.generative), len(net.discriminative))
    for update, weights in zip([*down, *up], [*net.generative, *net.discriminative], strict=True):
        torch.testing.assert_close(update.mean, -weights.grad, rtol=1e-10, atol=1e-12)
        assert weights.grad.abs().max() > 0


# --- Inference ------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("step_size", [0.01, 0.5, 30.0])
def test_energy_never_rises(kind, step_size):
    net = network(kind, step_size=step_size)
    for weights in [*net.generative, *net.discriminative]:
        weights.data *= 5  # stiff: fixed steps of these sizes would diverge
    given = {"x": data(20), "top": clamped(kind, 20), "steps": 60}
    trace = torch.stack(net.infer(**given, trace=True).trace)
    assert trace.shape == (61, 20)
    assert (trace.diff(dim=0) <= 0).all() and (trace[-1] < trace[0]).all()
    torch.testing.assert_close(trace[-1], net.energy(net.infer(**given).states))


def test_generative_states_of_one_linear_level_are_least_squares():
    net, x = network(activation="identity", sizes=(9, 4)), data(3)
    found = net.infer(x, steps=1500).states[1]
    expected = torch.linalg.lstsq(net.generative[0].detach(), x.T).solution.T
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-8)


def test_clamped_discriminative_states_have_their_closed_form():
    net = network("discriminative", activation="identity", sizes=(9, 6, 3))
    x, y = data(4), data(4, 3, seed=5)
    states = net.infer(x, top=y, steps=1500).states
    D0, D1 = (D.detach() for D in net.discriminative)
    expected = torch.linalg.solve(torch.eye(6).double() + D1.T @ D1, (x @ D0.T + y @ D1).T).T
    torch.testing.assert_close(states[1], expected, rtol=1e-6, atol=1e-8)
    assert torch.equal(states[0], x) and torch.equal(states[2], y)


def test_bidirectional_states_balance_both_directions():
    net, x = network("bpc", activation="identity", sizes=(9, 4)), data(3)
    G, D = net.generative[0].detach(), net.discriminative[0].detach()
    expected = torch.linalg.solve(
        1.3 * G.T @ G + 0.7 * torch.eye(4).double(), (1.3 * x @ G + 0.7 * x @ D.T).T
    ).T
    torch.testing.assert_close(net.infer(x, steps=1500).states[1], expected, rtol=1e-6, atol=1e-8)


def test_sparse_states_meet_the_conditions_of_the_lasso():
    net, x, rho = (
        network("sparse", activation="identity", sizes=(9, 12), sparsity=0.5),
        data(6),
        0.5,
    )
    code = net.infer(x, steps=2000).states[1]
    pull = (x - code @ net.generative[0].detach().T) @ net.generative[0].detach()
    active = code != 0
    assert 0 < active.double().mean() < 1
    torch.testing.assert_close(pull[active], rho * code[active].sign(), rtol=0, atol=1e-6)
    assert (pull[~active].abs() <= rho + 1e-6).all()


def test_a_sample_does_not_depend_on_its_batch_and_the_input_is_left_alone():
    net, x = network("bpc"), data(6)
    before = x.clone()
    together = net.infer(x, steps=40).states
    for b in range(6):
        for mine, theirs in zip(net.infer(x[b : b + 1], steps=40).states, together, strict=True):
            torch.testing.assert_close(mine[0], theirs[b], rtol=1e-9, atol=1e-10)
    assert torch.equal(x, before)


# --- Relations ------------------------------------------------------------------------------------


def test_bidirectional_without_one_direction_is_predictive_coding():
    x = data(4)
    pc, bpc = network(seed=3), network("bpc", seed=3, generative=1.0, discriminative=0.0)
    assert len(bpc.discriminative) == 0
    assert all(
        torch.equal(a, b) for a, b in zip(pc.infer(x).states, bpc.infer(x).states, strict=True)
    )
    forward = network("discriminative", seed=4)
    # Without clamped label or generative weights nothing pulls the states away from the sweep
    # upward.
    assert all(
        torch.equal(a, b) for a, b in zip(forward.infer(x).states, forward.start(x), strict=True)
    )


@pytest.mark.parametrize("weak", [1e-3, 1e-6])
def test_a_weak_discriminative_direction_hardly_moves_the_states(weak):
    x, sizes = data(4), (9, 4)
    alone = network(activation="identity", sizes=sizes)
    both = network("linear bpc", sizes=sizes, discriminative=weak)
    both.generative[0].data.copy_(alone.generative[0])
    there, here = (net.infer(x, steps=1500).states[1] for net in (alone, both))
    assert 0 < (there - here).abs().max() < 30 * weak


def test_updates_approach_back_propagation_as_the_output_error_weakens():
    """Whittington & Bogacz (2017): last weights and target scaled by s are an output error weighted
    by s².
    """
    x, apart = data(8), []
    for s in (1.0, 0.3, 0.1, 0.03):
        net = network("discriminative", sizes=(9, 7, 5, 3), seed=6)
        with torch.no_grad():
            net.discriminative[-1].mul_(s)
        y = s * data(8, 3, seed=7)
        _, up = net.updates(net.infer(x, top=y, steps=1000).states)
        h = x
        for D in net.discriminative:
            h = torch.tanh(h) @ D.T
        (0.5 * (h - y).square().sum(1).mean()).backward()
        apart.append(
            1
            - flat_cosine(
                [u.mean for u in up[:-1]], [-D.grad for D in list(net.discriminative)[:-1]]
            )
        )
    assert all(later < 0.2 * earlier for earlier, later in pairwise(apart)), apart
    assert apart[-1] < 1e-5 < 1e-3 < apart[0]


# --- Learning -------------------------------------------------------------------------------------


@every_kind
def test_learning_lowers_the_energy(kind):
    net, batch = (
        network(kind).float(),
        [t.float() for t in (data(8), clamped(kind, 8)) if t is not None],
    )
    learner, rng = PCLearner(net, lr=0.02), torch.Generator()
    energies = [learner.step(tuple(batch), scale=1.0, generator=rng) for _ in range(60)]
    assert energies[-1] < 0.6 * energies[0]
    if kind == "sparse":
        assert all((G.norm(dim=0) <= 1 + 1e-6).all() for G in net.generative)
        assert max(float(G.detach().norm(dim=0).max()) for G in net.generative) > 0.99, (
            "it binds somewhere"
        )


def test_reconstruction_from_a_level_uses_that_level_alone():
    net, states = network(), some_states()
    G0, G1, G2 = net.generative
    torch.testing.assert_close(net.reconstruct(states), torch.tanh(states[1]) @ G0.T)
    below = torch.tanh(torch.tanh(states[3]) @ G2.T) @ G1.T
    torch.testing.assert_close(net.reconstruct(states, level=3), torch.tanh(below) @ G0.T)


def test_the_seed_fixes_the_weights_and_nothing_else_is_random():
    one, same, other = (network("bpc", seed=s) for s in (3, 3, 4))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(one.generative[0], other.generative[0])
    assert [tuple(G.shape) for G in one.generative] == [(9, 6), (6, 4), (4, 3)]
    assert [tuple(D.shape) for D in one.discriminative] == [(6, 9), (4, 6), (3, 4)]
    limit = 1 / math.sqrt(6)
    assert one.generative[0].abs().max() <= limit < 1.2 * one.generative[0].abs().max()


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sizes": (4,)}, "sizes must be a tuple of the units of at least two levels"),
        ({"sizes": (4, 0)}, "each of sizes must be an integer >= 1, got 0"),
        ({"sizes": (4, 2), "generative": -1.0}, "generative must be a finite number >= 0"),
        ({"sizes": (4, 2), "generative": 0.0}, "generative and discriminative must not both be 0"),
        ({"sizes": (4, 2), "activation": "relu"}, "activation must be one of 'identity', 'tanh'"),
        ({"sizes": (4, 2), "steps": -1}, "steps must be an integer >= 0"),
        ({"sizes": (4, 2), "step_size": 0.0}, "step_size must be a finite number > 0"),
    ],
)
def test_bad_settings_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        PCConfig(**options)


def test_bad_input_is_refused():
    net = network()
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 9\)"):
        net.infer(data(3, 8))
    with pytest.raises(ValueError, match=r"top must have shape \(batch, 3\)"):
        net.infer(data(3), top=data(3, 2))
    with pytest.raises(ValueError, match="NaN"):
        net.infer(data(3) * math.nan)
    with pytest.raises(ValueError, match="level must be an integer >= 1 and <= 3"):
        net.reconstruct(some_states(), level=4)
    with pytest.raises(ValueError, match="generative=0"):
        network("discriminative").reconstruct(some_states())
