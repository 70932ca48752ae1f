"""The Vector Network: its dictionaries, both readings of a code, and what local learning does and leaves alone."""

from __future__ import annotations

import pytest
import torch
from scipy.optimize import linear_sum_assignment

from vnlib.learning import atomic_hebb, subspace_rule, unit_columns
from vnlib.metrics import operator_rank
from vnlib.network import LocalLearner, VectorNetwork, VNConfig
from vnlib.prox import soft_threshold
from vnlib.settle import SettleConfig, Settler

QUICK = SettleConfig(max_sweeps=30, tol=0)
THREE = {"n_inputs": 12, "atoms": (18, 14, 10), "interface": (9, 8), "sparsity": (0.2, 0.05, 0.02), "feedback": 0.2}


def draw(*shape: int, seed: int, dtype=torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def make(seed: int = 0, **options) -> VectorNetwork:
    return VectorNetwork(VNConfig(**({"settle": QUICK} | options)), seed=seed)


def planted(n: int, seed: int, *, d=16, K=20, active=2) -> tuple[torch.Tensor, torch.Tensor]:
    """A dictionary, and samples that are sums of a few of its atoms with a little noise."""
    rng = torch.Generator().manual_seed(seed)
    atoms = unit_columns(torch.randn(d, K, generator=rng))
    code = torch.zeros(n, K)
    where = torch.rand(n, K, generator=rng).topk(active, dim=1).indices
    signs = torch.where(torch.rand(n, active, generator=rng) < 0.5, -1.0, 1.0)
    code.scatter_(1, where, (1 + torch.rand(n, active, generator=rng)) * signs)
    return atoms, code @ atoms.T + 0.01 * torch.randn(n, d, generator=rng)


def train(learner: LocalLearner, x: torch.Tensor, *, steps: int, batch: int, seed: int = 0) -> list[float]:
    rng = torch.Generator().manual_seed(seed)
    losses = []
    for step in range(steps):
        rows = torch.randperm(len(x), generator=rng)[:batch]
        losses.append(learner.step((x[rows],), scale=1.0 if step < 0.6 * steps else 0.1, generator=rng))
    return losses


def snapshot(network: VectorNetwork) -> dict[str, torch.Tensor]:
    return {name: p.clone() for name, p in network.named_parameters()}


X = draw(40, 12, seed=77)


# --- construction ---


def test_dictionaries_have_unit_columns_and_the_right_shapes():
    network = make(**THREE)
    assert [tuple(V.shape) for V in network.V] == [(12, 18), (9, 14), (8, 10)]
    assert [tuple(U.shape) for U in network.U] == [(9, 18), (8, 14)]
    for W in network.parameters():
        torch.testing.assert_close(W.norm(dim=0), torch.ones(W.shape[1]))
        assert not W.requires_grad
    assert network.layers[2].U is None


@pytest.mark.parametrize("m", [10, 15])
def test_an_interface_that_is_wide_enough_is_an_isometry(m):
    U = make(n_inputs=6, atoms=(10, 5), interface=(m,), sparsity=(0.1, 0.1)).U[0]
    torch.testing.assert_close(U.T @ U, torch.eye(10), rtol=0, atol=1e-5)


def test_the_seed_fixes_the_dictionaries():
    first, again, other = (snapshot(make(seed, **THREE)) for seed in (3, 3, 4))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first)
    state = torch.get_rng_state()
    make(**THREE)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_nonnegative_network_starts_with_nonnegative_input_atoms():
    network = make(nonnegative=True, **THREE)
    assert (network.V[0] >= 0).all()
    assert (network.settle(X).codes[2] >= 0).all()


def test_settings_reach_the_layers():
    network = make(top_k=3, **THREE)
    penalties = [layer.penalty for layer in network.layers]
    assert [p.soft.sparsity for p in penalties] == [0.2, 0.05, 0.02]
    assert [getattr(p, "k", None) for p in penalties] == [None, None, 3]
    expected = Settler(network.layers, feedback=0.2, config=QUICK)(X)
    found = network.settle(X)
    assert all(torch.equal(a, b) for a, b in zip(found.codes, expected.codes, strict=True))
    assert network.settle(X, config=SettleConfig(max_sweeps=4, tol=0), trace=True).sweeps.tolist() == [4] * 40
    warm = network.settle(X, start=found.codes)
    assert (warm.energy <= found.energy + 1e-5).all()
    rectified = make(top_k=3, activation="relu", **THREE).settle(X)
    assert all((h >= 0).all() for h in rectified.inputs[1:])


def test_double_precision_agrees():
    narrow, wide = make(**THREE), make(**THREE).double()
    learners = [LocalLearner(network, lr=1e-2) for network in (narrow, wide)]
    for _ in range(3):
        learners[0].step((X,), scale=1.0, generator=torch.Generator())
        learners[1].step((X.double(),), scale=1.0, generator=torch.Generator())
    for a, b in zip(narrow.parameters(), wide.parameters(), strict=True):
        assert a.dtype == torch.float32 and b.dtype == torch.float64
        torch.testing.assert_close(a.double(), b, rtol=0, atol=1e-4)


# --- reading ---


def test_reconstruct_reads_the_first_layer():
    network = make(**THREE)
    settled = network.settle(X)
    torch.testing.assert_close(network.reconstruct(settled), settled.codes[0] @ network.V[0].T)


def isometric(sparsity, *, nonnegative: bool = False) -> VectorNetwork:
    """Three layers whose dictionaries are all square and orthonormal, so that every code has a closed form."""
    network = make(
        n_inputs=6, atoms=(6, 6, 6), interface=(6, 6), sparsity=sparsity, feedback=0.0, nonnegative=nonnegative,
        settle=SettleConfig(max_sweeps=100, tol=0),
    ).double()  # fmt: skip
    for i, V in enumerate(network.V):
        V.copy_(torch.linalg.qr(draw(6, 6, seed=60 + i, dtype=torch.float64)).Q)
    return network


def test_strict_reading_undoes_isometries():
    network, x = isometric((0.0, 0.0, 0.0)), draw(5, 6, seed=9, dtype=torch.float64)
    settled = network.settle(x)
    torch.testing.assert_close(network.reconstruct_from_top(settled, sparsity=0.0), x, rtol=0, atol=1e-5)
    torch.testing.assert_close(network.reconstruct(settled), x, rtol=0, atol=1e-8)


def test_strict_reading_equals_its_closed_form():
    network, x = isometric((0.1, 0.2, 0.3)), draw(5, 6, seed=9, dtype=torch.float64)
    settled = network.settle(x)
    code = settled.codes[2]
    for layer in (1, 0):
        code = soft_threshold((code @ network.V[layer + 1].T) @ network.U[layer], 0.05)
    found = network.reconstruct_from_top(settled, sparsity=0.05)
    torch.testing.assert_close(found, code @ network.V[0].T, rtol=0, atol=1e-5)
    assert (found - network.reconstruct(settled)).abs().max() > 0.1


def test_strict_reading_of_a_nonnegative_network_reads_nonnegative_codes():
    network, x = isometric((0.1, 0.2, 0.3), nonnegative=True), draw(5, 6, seed=9, dtype=torch.float64)
    settled = network.settle(x)
    code = settled.codes[2]
    for layer in (1, 0):
        code = ((code @ network.V[layer + 1].T) @ network.U[layer] - 0.05).clamp_min(0)
    found = network.reconstruct_from_top(settled, sparsity=0.05)
    torch.testing.assert_close(found, code @ network.V[0].T, rtol=0, atol=1e-5)


def test_strict_reading_of_one_layer_is_the_reconstruction():
    network = make(n_inputs=12, atoms=(18,))
    settled = network.settle(X)
    assert torch.equal(network.reconstruct_from_top(settled), network.reconstruct(settled))


def test_the_operator_belongs_to_its_layer_and_its_rank_to_the_code():
    network = make(**THREE)
    settled = network.settle(X)
    for layer in (0, 1):
        W = network.operator(settled, layer)
        expected = network.U[layer] @ torch.diag(settled.codes[layer][7]) @ network.V[layer].T
        torch.testing.assert_close(W[7], expected)
        assert (operator_rank(W) <= (settled.codes[layer] != 0).sum(1)).all()
    for layer in (2, -1):
        with pytest.raises(ValueError, match=rf"layer must be one that has an interface U, 0..1, got {layer}"):
            network.operator(settled, layer)


def test_the_top_layer_may_have_an_operator_too():
    network = make(n_inputs=12, atoms=(18,), interface=(5,))
    assert network.operator(network.settle(X)).shape == (40, 5, 12)
    assert torch.equal(network.settle(X).codes[0], make(n_inputs=12, atoms=(18,)).settle(X).codes[0])


# --- starting from samples ---


def sources(atoms: torch.Tensor, samples: torch.Tensor) -> list[int]:
    """Which row of `samples` each atom is, normalised."""
    cosine = unit_columns(samples.T).T @ atoms
    torch.testing.assert_close(cosine.max(0).values, torch.ones(atoms.shape[1]), rtol=0, atol=1e-5)
    return cosine.argmax(0).tolist()


def test_atoms_start_as_different_normalised_samples():
    network = make(**THREE)
    x = torch.cat([torch.zeros(5, 12), 3 * X])  # samples without length are passed over
    network.start_from_samples(x, seed=1)
    for V in network.V:
        torch.testing.assert_close(V.norm(dim=0), torch.ones(V.shape[1]))
    picked = sources(network.V[0], x)
    assert len(set(picked)) == 18 and min(picked) >= 5


def test_upper_atoms_start_as_messages_of_other_samples():
    network, x = make(**THREE), draw(600, 12, seed=5)
    network.start_from_samples(x, seed=1)
    below = Settler(network.layers[:1], config=SettleConfig(max_sweeps=50, tol=0))(x)
    picked = sources(network.V[1], below.codes[0] @ network.U[0].T)
    assert len(set(picked)) == 14
    assert not set(picked) & set(sources(network.V[0], x))
    # Data may be sorted: the atoms come from all of them, not from the first ones.
    assert max(picked) > 300 > min(picked)


def test_the_seed_fixes_the_start():
    networks = [make(**THREE) for _ in range(3)]
    for network, seed in zip(networks, (1, 1, 2), strict=True):
        network.start_from_samples(X, seed=seed)
    first, again, other = map(snapshot, networks)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["V.0"], other["V.0"]) and torch.equal(first["U.0"], other["U.0"])


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (X[:17], {}, r"layer 1 needs at least 18 nonzero samples to start from, got 17"),
        (X * (torch.arange(40) < 10)[:, None], {}, r"layer 1 needs at least 18 nonzero samples .*got 10"),
        (X[:18], {"atoms": (18, 30, 10)}, r"layer 2 needs at least 30 nonzero samples to start from, got 18"),
        (X, {"sparsity": (100.0, 0.1, 0.1)}, r"layer 2 needs at least 14 nonzero samples to start from, got 0"),
        (X[:, 1:], {}, r"x must have shape \(batch, 12\) .*got \(40, 11\)"),
        (X / 0, {}, r"x holds 480 value\(s\) that are NaN or infinite"),
        (X, {"nonnegative": True}, r"x must be >= 0 to start a nonnegative network, got a minimum of -\d"),
    ],
)
def test_samples_that_cannot_start_a_network_are_named(x, options, message):
    with pytest.raises(ValueError, match=message):
        make(**(THREE | options)).start_from_samples(x, seed=0)


# --- local learning ---


@pytest.mark.parametrize("rule", ["subspace", "frozen", "atomic_hebb"])
def test_one_update_follows_the_rules_at_the_old_dictionaries(rule):
    """The first step of Adam is lr * g / |g|, elementwise, so one update shows every direction."""
    network = make(interface_rule=rule, **THREE).double()
    x = X.double()
    old, settled = snapshot(network), network.settle(x)
    loss = LocalLearner(network, lr=0.02, interface_lr=0.005).step((x,), scale=0.5, generator=torch.Generator())
    assert loss == pytest.approx(settled.energy.mean().item())

    def moved(W, g, code, lr):
        active = (code != 0).any(0)
        return torch.where(active, unit_columns(W + lr * g / (g.abs() + 1e-8)), W)

    for i, code in enumerate(settled.codes):
        V = old[f"V.{i}"]
        residual = settled.inputs[i] - code @ V.T
        expected = moved(V, residual.T @ code / 40, code, 0.01)
        torch.testing.assert_close(network.V[i].data, expected, rtol=1e-6, atol=1e-8)
        if i < 2:
            U = old[f"U.{i}"]
            if rule == "subspace":
                g = subspace_rule(U, code)
            else:
                g = 0.2 * atomic_hebb(settled.codes[i + 1] @ old[f"V.{i + 1}"].T - code @ U.T, code)
            expected = U if rule == "frozen" else moved(U, g, code, 0.0025)
            torch.testing.assert_close(network.U[i].data, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_unused_atoms_keep_every_bit_while_the_others_learn(nonnegative):
    network = make(nonnegative=nonnegative, **(THREE | {"sparsity": (0.7, 0.1, 0.05)}))
    learner = LocalLearner(network)
    train(learner, X, steps=5, batch=40)  # gives momentum to all
    seen = 0
    for row in X[:5]:
        before, settled = snapshot(network), network.settle(row[None])
        moments = {name: t.clone() for name, t in learner.state().items() if "adam" in name}
        learner.step((row[None],), scale=1.0, generator=torch.Generator())
        for i, code in enumerate(settled.codes):
            idle = (code == 0)[0]
            seen += int(idle.sum())
            assert torch.equal(network.V[i][:, idle], before[f"V.{i}"][:, idle])
            if not idle.all():
                assert not torch.equal(network.V[i][:, ~idle], before[f"V.{i}"][:, ~idle])
            if i < 2:
                assert torch.equal(network.U[i][:, idle], before[f"U.{i}"][:, idle])
            for name in ("first", "second", "steps"):
                now, then = (tensors[f"V_adam.{i}.{name}"] for tensors in (learner.state(), moments))
                assert torch.equal(now[..., idle], then[..., idle])
    assert seen > 20


@pytest.mark.parametrize("rule", ["subspace", "atomic_hebb"])
def test_columns_stay_normalised_and_the_top_interface_stays(rule):
    network = make(interface_rule=rule, **(THREE | {"interface": (9, 8, 4)}))
    top = network.U[2].clone()
    train(LocalLearner(network, lr=0.1, interface_lr=0.1), X, steps=10, batch=16)
    for W in network.parameters():
        torch.testing.assert_close(W.norm(dim=0), torch.ones(W.shape[1]))
    assert torch.equal(network.U[2], top)


def test_frozen_interfaces_keep_every_bit():
    network = make(interface_rule="frozen", **THREE)
    before = snapshot(network)
    train(LocalLearner(network), X, steps=10, batch=16)
    assert all(torch.equal(U, before[f"U.{i}"]) for i, U in enumerate(network.U))
    assert not any(torch.equal(V, before[f"V.{i}"]) for i, V in enumerate(network.V))


def test_isometric_interfaces_have_nothing_to_learn():
    network = make(**(THREE | {"interface": (18, 14)}))
    before = snapshot(network)
    train(LocalLearner(network), X, steps=5, batch=16)
    assert all(torch.equal(U, before[f"U.{i}"]) for i, U in enumerate(network.U))


def test_nonnegative_networks_stay_so():
    network, x = make(nonnegative=True, **THREE), X.abs()
    network.start_from_samples(x, seed=0)
    assert (network.V[0] >= 0).all()
    before = snapshot(network)
    train(LocalLearner(network, lr=0.1), x - 0.5, steps=15, batch=16)
    assert (network.V[0] >= 0).all() and (network.V[0] == 0).any()
    torch.testing.assert_close(network.V[0].norm(dim=0), torch.ones(18))
    assert not torch.equal(network.V[0], before["V.0"])


def test_learning_lowers_the_settled_energy():
    _, x = planted(300, seed=2, d=12, K=16)
    network = make(**THREE)
    before = network.settle(x).energy.mean()
    losses = train(LocalLearner(network, lr=2e-2), x, steps=60, batch=64)
    assert network.settle(x).energy.mean() < 0.8 * before
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.parametrize("seed", range(2))
def test_planted_atoms_are_recovered(seed):
    atoms, x = planted(800, seed)
    network = make(seed, n_inputs=16, atoms=(20,), sparsity=(0.2,))
    network.start_from_samples(x, seed=seed)

    def found() -> float:
        cosine = (atoms.T @ network.V[0]).abs()
        mine, theirs = linear_sum_assignment(-cosine.numpy())
        return float((cosine[mine, theirs] > 0.95).double().mean())

    assert found() < 0.3, "the case is too easy to show anything"
    train(LocalLearner(network, lr=5e-2), x, steps=200, batch=128)
    assert found() > 0.9


def test_messages_stay_informative_under_the_subspace_rule_and_not_under_the_literal_one():
    _, x = planted(600, seed=0, d=12, K=16)
    lost = {}
    for rule in ("frozen", "subspace", "atomic_hebb"):
        network = make(
            n_inputs=12, atoms=(16, 12), interface=(8,), sparsity=(0.2, 0.05), feedback=0.2, interface_rule=rule,
            settle=SettleConfig(max_sweeps=20, tol=0),
        )  # fmt: skip
        network.start_from_samples(x, seed=0)
        train(LocalLearner(network, lr=2e-2, interface_lr=2e-2), x, steps=120, batch=64)
        settled, power = network.settle(x), x.square().mean()
        assert (network.reconstruct(settled) - x).square().mean() < 0.15 * power  # the first layer is well in any case
        lost[rule] = ((network.reconstruct_from_top(settled) - x).square().mean() / power).item()
    assert lost["subspace"] < 0.75 * lost["frozen"]
    assert lost["atomic_hebb"] > 0.6 and lost["atomic_hebb"] > 2 * lost["subspace"]


def test_the_learner_uses_the_settle_it_is_given():
    networks = [make(**THREE) for _ in range(2)]
    brief = SettleConfig(max_sweeps=2, tol=0)
    loss = LocalLearner(networks[0], settle=brief).step((X,), scale=1.0, generator=torch.Generator())
    assert loss == pytest.approx(networks[1].settle(X, config=brief).energy.mean().item())
    assert loss != pytest.approx(networks[1].settle(X).energy.mean().item())


def test_the_state_holds_every_tensor_that_changes():
    network = make(**THREE)
    learner = LocalLearner(network)
    state = learner.state()
    before = {name: t.clone() for name, t in state.items()}
    learner.step((X,), scale=1.0, generator=torch.Generator())
    assert {name for name in state if name.startswith("model.")} == {
        f"model.{n}" for n, _ in network.named_parameters()
    }
    assert all(not torch.equal(state[name], before[name]) for name in state)
    assert torch.equal(state["model.V.1"], network.V[1])


# --- bad input ---

GOOD = {"n_inputs": 12, "atoms": (18, 14), "interface": (9,), "sparsity": (0.1, 0.1)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_inputs": 0}, r"n_inputs must be an integer >= 1, got 0"),
        ({"atoms": ()}, r"atoms must name the number of atoms of at least one layer, got \(\)"),
        ({"atoms": 18}, r"atoms must be a tuple with one entry per layer, got 18"),
        ({"atoms": (18, 0)}, r"atoms of layer 2 must be an integer >= 1, got 0"),
        ({"atoms": (18, 2.5)}, r"atoms of layer 2 must be an integer >= 1, got 2.5"),
        ({"interface": ()}, r"interface must have 1 or 2 entries for 2 layer\(s\), got \(\)"),
        ({"interface": (9, 9, 9)}, r"interface must have 1 or 2 entries for 2 layer\(s\), got \(9, 9, 9\)"),
        ({"interface": (-1,)}, r"interface of layer 1 must be an integer >= 1, got -1"),
        ({"interface": 9}, r"interface must be a tuple with one entry per layer, got 9"),
        ({"sparsity": (0.1,)}, r"sparsity must have one entry per layer \(2\), got \(0.1,\)"),
        ({"sparsity": 0.1}, r"sparsity must be a tuple with one entry per layer, got 0.1"),
        ({"sparsity": (0.1, -0.1)}, r"sparsity of layer 2 must be a finite number >= 0, got -0.1"),
        ({"feedback": float("nan")}, r"feedback must be a finite number >= 0, got nan"),
        ({"top_k": 0}, r"top_k must be an integer >= 1 and <= 14, got 0"),
        ({"top_k": 15}, r"top_k must be an integer >= 1 and <= 14, got 15"),
        ({"activation": "gelu"}, r"activation must be one of 'identity', 'relu', got 'gelu'"),
        ({"interface_rule": "hebb"}, r"interface_rule must be one of 'subspace', 'frozen', 'atomic_hebb', got 'hebb'"),
    ],
)
def test_bad_configurations_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        VNConfig(**(GOOD | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0}, r"lr must be a finite number > 0, got 0"),
        ({"interface_lr": -1.0}, r"interface_lr must be a finite number > 0, got -1.0"),
    ],
)
def test_bad_learning_rates_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LocalLearner(make(**THREE), **options)


def test_bad_inputs_are_named():
    network = make(**THREE)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, 12\) .*got \(40, 11\)"):
        network.settle(X[:, 1:])
    with pytest.raises(ValueError, match=r"x holds 1 value\(s\) that are NaN"):
        LocalLearner(network).step(
            (X.index_fill(1, torch.tensor(0), torch.nan)[:1],), scale=1.0, generator=torch.Generator()
        )
