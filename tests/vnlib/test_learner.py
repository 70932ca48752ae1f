"""Local learning: what one update does, what it leaves alone, and every option that keeps a
dictionary in shape.
"""

from __future__ import annotations

import pytest
import torch
from learner_cases import SPARSE, THREE, X, draw, make, planted, snapshot, train
from scipy.optimize import linear_sum_assignment

from vnlib.fit import FitConfig, fit
from vnlib.learning.learner import LocalLearner, directions, learn
from vnlib.learning.rules import atomic_hebb, subspace_rule, unit_columns
from vnlib.network import VectorNetwork
from vnlib.settle import SettleConfig


@pytest.mark.parametrize("rule", ["subspace", "frozen", "atomic_hebb"])
def test_one_update_follows_the_rules_at_the_old_dictionaries(rule):
    """The first step of Adam is lr * g / |g|, elementwise, so one update shows every direction."""
    network = make(interface_rule=rule, **THREE).double()
    x = X.double()
    old, settled = snapshot(network), network.settle(x)
    loss = LocalLearner(network, lr=0.02, interface_lr=0.005).step(
        (x,), scale=0.5, generator=torch.Generator()
    )
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
        moments = {
            name: t.clone() for name, t in learner.state().items() if name.startswith("step.")
        }
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
                now, then = (
                    tensors[f"step.V.{i}.{name}"] for tensors in (learner.state(), moments)
                )
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
            n_inputs=12,
            atoms=(16, 12),
            interface=(8,),
            sparsity=(0.2, 0.05),
            feedback=0.2,
            interface_rule=rule,
            settle=SettleConfig(max_sweeps=20, tol=0),
        )
        network.start_from_samples(x, seed=0)
        train(LocalLearner(network, lr=2e-2, interface_lr=2e-2), x, steps=120, batch=64)
        settled, power = network.settle(x), x.square().mean()
        # the first layer is well in any case
        assert (network.reconstruct(settled) - x).square().mean() < 0.15 * power
        lost[rule] = ((network.decode(settled.codes[-1]) - x).square().mean() / power).item()
    assert lost["subspace"] < 0.75 * lost["frozen"]
    assert lost["atomic_hebb"] > 0.6 and lost["atomic_hebb"] > 2 * lost["subspace"]


def test_the_learner_uses_the_settle_it_is_given():
    networks = [make(**THREE) for _ in range(2)]
    brief = SettleConfig(max_sweeps=2, tol=0)
    loss = LocalLearner(networks[0], settle=brief).step(
        (X,), scale=1.0, generator=torch.Generator()
    )
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
    counters = {"revived", "unused.0", "unused.1", "unused.2"}  # at rest while every atom is in use
    assert counters < set(state)
    assert all(not torch.equal(state[name], before[name]) for name in state if name not in counters)
    assert torch.equal(state["model.V.1"], network.V[1])


def test_double_precision_agrees():
    narrow, wide = make(**THREE), make(**THREE).double()
    alike = {"lr": 1e-2, "settle": SettleConfig.training(max_sweeps=200)}
    learners = [LocalLearner(network, **alike) for network in (narrow, wide)]
    for _ in range(3):
        learners[0].step((X,), scale=1.0, generator=torch.Generator())
        learners[1].step((X.double(),), scale=1.0, generator=torch.Generator())
    for a, b in zip(narrow.parameters(), wide.parameters(), strict=True):
        assert a.dtype == torch.float32 and b.dtype == torch.float64
        torch.testing.assert_close(a.double(), b, rtol=0, atol=1e-4)


# --- Danskin: the update is the gradient of the settled energy ---


@pytest.mark.parametrize("depth", [1, 3])
def test_directions_are_minus_the_gradient_of_the_settled_energy(depth):
    """Finite differences through the settle (VN Thm. 2); dU too, where it follows the paper's
    rule.
    """
    sizes = THREE if depth == 3 else {"n_inputs": 12, "atoms": (18,), "sparsity": (0.2,)}
    exact = SettleConfig(max_sweeps=20000, tol=1e-15)
    network = make(interface_rule="atomic_hebb", **(sizes | {"settle": exact})).double()
    x, beta = X[:6].double(), 0.2
    found = directions(network, network.settle(x))

    def energy() -> float:
        return float(network.settle(x).energy.mean())

    for layer in range(depth):
        for kind, direction in found[layer].items():
            W = getattr(network, kind)[layer]
            move = draw(*W.shape, seed=50, dtype=torch.float64)
            ends = []
            for sign in (1, -1):
                W.add_(sign * 1e-4 * move)
                ends.append(energy())
                W.sub_(sign * 1e-4 * move)
            slope = (ends[0] - ends[1]) / 2e-4
            assert slope == pytest.approx(
                -(beta**layer) * float((direction * move).sum()), rel=1e-3, abs=1e-7
            )
            assert abs(slope) > 1e-5


def test_a_small_step_changes_the_settled_energy_as_danskin_says():
    """The whole update of plain descent, without its renormalisation: dF* = -lr sum_l beta^(l-1)
    |dV_l|^2.
    """
    exact = SettleConfig(max_sweeps=20000, tol=1e-15)
    network = make(interface_rule="frozen", **(THREE | {"settle": exact})).double()
    settled, lr = network.settle(X.double()), 1e-5
    wanted = directions(network, settled)
    learner = LocalLearner(network, lr=lr, optimizer="sgd")
    for index, move in enumerate(wanted):
        learner.steps[index]["V"].ascend(
            network.V[index],
            move["V"],
            torch.ones(network.V[index].shape[1], dtype=torch.bool),
            lr,
            unit_norm=False,
        )
    fall = float(settled.energy.mean() - network.settle(X.double()).energy.mean())
    assert fall == pytest.approx(
        lr * sum(0.2**i * float(w["V"].square().sum()) for i, w in enumerate(wanted)), rel=1e-2
    )


# --- what moves and what does not ---


@pytest.mark.parametrize(("optimizer", "masked"), [("adam", True), ("sgd", True), ("adam", False)])
def test_only_unmasked_adam_moves_idle_atoms(optimizer, masked):
    network = make(**SPARSE)
    learner = LocalLearner(network, optimizer=optimizer, masked=masked)
    train(learner, X, steps=5, batch=40)  # gives momentum to all
    idle_seen, idle_moved = 0, 0
    for row in X[:5]:
        before, code = snapshot(network), network.settle(row[None]).codes[0]
        learner.step((row[None],), scale=1.0, generator=torch.Generator())
        idle = (code == 0)[0]
        idle_seen += int(idle.sum())
        idle_moved += int((network.V[0] != before["V.0"]).any(0)[idle].sum())
    assert idle_seen > 20
    assert idle_moved == (0 if masked else idle_seen)


def test_sgd_is_the_plain_step():
    network, x = make(**THREE).double(), X.double()
    old, wanted = snapshot(network), directions(network, network.settle(x))
    LocalLearner(network, optimizer="sgd", lr=0.4, interface_lr=0.2).step(
        (x,), scale=0.5, generator=torch.Generator()
    )
    torch.testing.assert_close(network.V[0].data, unit_columns(old["V.0"] + 0.2 * wanted[0]["V"]))
    torch.testing.assert_close(network.U[1].data, unit_columns(old["U.1"] + 0.1 * wanted[1]["U"]))


def test_updates_without_use_are_counted():
    network = make(**SPARSE)
    learner, uses = LocalLearner(network), []
    for row in X[:4]:
        uses.append([(code != 0)[0] for code in network.settle(row[None]).codes])
        learner.step((row[None],), scale=1.0, generator=torch.Generator())
    for layer, count in enumerate(learner.unused):
        for atom in range(len(count)):
            last = max((i for i, use in enumerate(uses) if use[layer][atom]), default=-1)
            assert count[atom] == 3 - last


# --- untied dictionaries and relative sparsity ---


@pytest.mark.parametrize("rule", ["subspace", "frozen", "atomic_hebb"])
def test_an_untied_reader_learns_by_the_literal_rule_and_by_itself(rule):
    network = make(untied=True, interface_rule=rule, **THREE).double()
    for B in network.B:
        B.copy_(B.flip(0))
    x = X.double()
    old, settled = snapshot(network), network.settle(x)
    LocalLearner(network, optimizer="sgd", lr=0.1, interface_lr=0.3).step(
        (x,), scale=1.0, generator=torch.Generator()
    )
    for i, code in enumerate(settled.codes[:2]):
        target = settled.codes[i + 1] @ old[f"V.{i + 1}"].T
        expected = old[f"B.{i}"] + 0.3 * 0.2 * atomic_hebb(target - code @ old[f"B.{i}"].T, code)
        torch.testing.assert_close(network.B[i].data, unit_columns(expected))
        # U goes where it would go without B, given the same codes.
        wanted = directions(network, settled)[i].get("U", torch.zeros(()))
        assert (rule == "frozen") == torch.equal(network.U[i], old[f"U.{i}"]), wanted


def test_a_reader_that_starts_as_a_copy_parts_from_u():
    network = make(untied=True, **THREE)
    train(LocalLearner(network, interface_lr=0.05), X, steps=5, batch=40)
    assert all(
        not torch.allclose(B, U, atol=1e-3) for B, U in zip(network.B, network.U, strict=True)
    )


def test_the_scales_follow_the_batches():
    network = make(**(THREE | {"relative_sparsity": True, "sparsity": (0.05, 0.05, 0.05)}))
    network.track_scale(network.settle(X).inputs)
    before, settled = network.input_scale.clone(), network.settle(3 * X)
    norms = torch.stack([h.square().sum(1).mean().sqrt() for h in settled.inputs])
    LocalLearner(network, memory=0.8).step((3 * X,), scale=1.0, generator=torch.Generator())
    torch.testing.assert_close(network.input_scale, 0.8 * before + 0.2 * norms)
    fixed = network.input_scale.clone()
    network.settle(X)
    assert torch.equal(network.input_scale, fixed)


# --- the same bits again ---

EVERYTHING = {
    "untied": True,
    "relative_sparsity": True,
    "sparsity": (0.15, 0.1, 0.1),
    "top_k": 4,
}


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_resumed_run_ends_in_the_same_bits_with_all_options_on(tmp_path, optimizer):
    x = torch.cat([X, draw(60, 12, seed=5)]) + 0.5

    def learner() -> LocalLearner:
        network = make(**(THREE | EVERYTHING))
        network.start_from_samples(x, seed=0)
        options = {"remove_dc": True, "decorrelation": 0.2, "revive_after": 2, "remember": len(x)}
        return LocalLearner(network, lr=0.05, optimizer=optimizer, **options)

    def run(one: LocalLearner, stop: int | None, path) -> LocalLearner:
        steps = 0

        def validate() -> float:
            nonlocal steps
            steps += 1
            if stop is not None and steps > stop:
                raise KeyboardInterrupt
            return float(one.network.settle(x[:20]).energy.mean())

        config = FitConfig(steps=12, batch_size=5, eval_every=2, checkpoint_every=1)
        data = (x, torch.arange(len(x)))
        fit(one, data, config, seed=3, validate=validate, checkpoint=path)
        return one

    whole = run(learner(), None, None)
    with pytest.raises(KeyboardInterrupt):
        run(learner(), 3, tmp_path / "fit.safetensors")
    resumed = run(learner(), None, tmp_path / "fit.safetensors")
    assert int(whole.revived.sum()) > 0, "the case must revive atoms"
    assert whole.state().keys() == resumed.state().keys() and "model.input_scale" in whole.state()
    for name, tensor in whole.state().items():
        assert torch.equal(tensor, resumed.state()[name]), name


def test_a_generator_is_asked_for_where_it_is_needed():
    network = make(**THREE)
    with pytest.raises(
        ValueError, match="generator, which draws what revive_after asks for, is needed"
    ):
        LocalLearner(network, revive_after=1).update(network.settle(X))
    LocalLearner(network).update(network.settle(X))


@pytest.mark.parametrize("atoms", [(10,), (10, 6)])
def test_a_settle_starts_from_the_codes_of_the_last_visit(atoms):
    network = VectorNetwork.for_data(X, atoms=atoms, seed=0, settle=SettleConfig(max_sweeps=1))
    learner = LocalLearner(network, lr=1e-9, remember=len(X), memory=1.0)
    rng, batches = torch.Generator(), [(X[rows], rows) for rows in torch.arange(40).split(20)]
    first = [float(learner.step(batch, scale=1.0, generator=rng)) for batch in batches]
    for _ in range(30):
        last = [float(learner.step(batch, scale=1.0, generator=rng)) for batch in batches]
    exact = network.settle(X, config=SettleConfig(max_sweeps=500)).energy.split(20)
    assert sum(first) > 1.001 * sum(last)
    assert last == pytest.approx([float(e.mean()) for e in exact], rel=1e-3)


def test_a_resumed_run_starts_from_the_codes_of_the_first(tmp_path):
    class Stopped(LocalLearner):
        left = 6

        def step(self, *given, **options):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().step(*given, **options)

    def run(left: int, path=None) -> torch.Tensor:
        settle = SettleConfig(max_sweeps=1)
        learner = Stopped(
            VectorNetwork.for_data(X, atoms=(10,), seed=0, settle=settle), remember=len(X)
        )
        learner.left = left
        config = FitConfig(steps=6, batch_size=20, checkpoint_every=1, keep="last")
        fit(learner, (X, torch.arange(len(X))), config, seed=3, checkpoint=path)
        return learner.network.V[0]

    with pytest.raises(KeyboardInterrupt):
        run(4, tmp_path / "fit.safetensors")
    assert torch.equal(run(2, tmp_path / "fit.safetensors"), run(6))


def test_codes_are_kept_by_the_number_of_a_sample():
    with pytest.raises(ValueError, match=r"batch must be \(x, numbers\) to remember, got 1 tensor"):
        train(LocalLearner(make(**THREE), remember=len(X)), X, steps=1, batch=5)


@pytest.mark.parametrize(("steps", "kept"), [(44, 0), (45, 36)])
def test_learn_remembers_samples_that_it_visits_often(steps, kept):
    class Watched(LocalLearner):
        def __init__(self, network, *, remember, **options):
            super().__init__(network, remember=remember, **options)
            seen.append(remember)

    seen, network = [], make(**THREE)
    learn(network, X, seed=0, steps=steps, batch_size=16, learner=Watched)
    assert seen == [kept]


# --- bad input ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 0}, r"lr must be a finite number > 0, got 0"),
        ({"interface_lr": -1.0}, r"interface_lr must be a finite number > 0, got -1.0"),
        ({"optimizer": "lion"}, r"optimizer must be one of 'adam', 'sgd', got 'lion'"),
        ({"decorrelation": 2.0}, r"decorrelation must be a finite number >= 0 and <= 1, got 2.0"),
        ({"revive_after": 0}, r"revive_after must be an integer >= 1, got 0"),
        ({"remember": -1}, r"remember must be an integer >= 0, got -1"),
        ({"memory": 1.5}, r"memory must be a finite number >= 0 and <= 1, got 1.5"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        LocalLearner(make(**THREE), **options)


def test_pixels_without_a_mean_are_not_nonnegative():
    with pytest.raises(ValueError, match="remove_dc must be False for a nonnegative network"):
        LocalLearner(make(nonnegative=True, **THREE), remove_dc=True)
