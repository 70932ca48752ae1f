"""What appendix D measures: against autograd, closed forms, and cases whose answer is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from chapters.D_learning import interface
from chapters.D_learning import interference as meeting
from chapters.D_learning import measure as learning
from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import L1
from vnlib.settle import SettleConfig

BRIEF = SettleConfig(max_sweeps=15, tol=0)


def draw(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(
        *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    ).float()


X = draw(120, 10, seed=1) @ draw(10, 10, seed=2)
ONE = VNConfig(n_inputs=10, atoms=(24,), sparsity=(2.0,))
TWO = VNConfig(n_inputs=10, atoms=(24, 12), interface=(8,), sparsity=(0.5, 0.2), feedback=0.2)


# --- locality ---


@pytest.fixture(scope="module")
def local():
    network = learning.start(ONE, X, seed=0)
    return learning.locality(
        network,
        X,
        batch_sizes=(1, 8, 64),
        updates=3,
        warm_up=3,
        lr={"adam": 1e-2, "sgd": 0.1},
        settle=BRIEF,
        seed=0,
    )


def test_idle_atoms_are_told_nothing_and_only_plain_adam_moves_them(local):
    one = local.sel(batch_size=1)
    assert (one["local_idle"] > 0.1).all()
    assert (one["local_idle_direction"] == 0).all()
    assert (one["local_idle_moved"].sel(way=["masked Adam", "SGD"]) == 0).all()
    assert (one["local_idle_change"].sel(way=["masked Adam", "SGD"]) == 0).all()
    assert (one["local_idle_moved"].sel(way="Adam") == 1).all()
    assert (one["local_active_change"] > 0).all()


def test_larger_batches_idle_less(local):
    idle = local["local_idle"].mean("update")
    assert (idle.diff("batch_size") < 0).all()
    assert np.isnan(local["local_idle_change"].where(local["local_idle"] == 0)).all()


def test_the_shared_residual_is_compared_with_the_lone_one_atom_by_atom():
    network = learning.start(ONE, X, seed=0)
    found = learning.shared_residual(network, X[:4])
    code, V, expected = network.settle(X[:4]).codes[0], network.V[0], []
    for x, a in zip(X, code, strict=False):
        for k in a.nonzero().flatten():
            together, alone = x - V @ a, x - a[k] * V[:, k]
            expected.append(torch.cosine_similarity(together, alone, dim=0))
    torch.testing.assert_close(found, torch.stack(expected), rtol=1e-4, atol=1e-5)
    assert len(found) > 10 and found.max() < 1


def test_an_atom_that_acts_alone_learns_from_its_own_residual():
    network = VectorNetwork(VNConfig(n_inputs=10, atoms=(1,), sparsity=(0.1,)), seed=0)
    torch.testing.assert_close(
        learning.shared_residual(network, X[:5]), torch.ones(5), rtol=1e-4, atol=1e-4
    )


# --- upkeep ---


def test_upkeep_tells_what_each_option_does():
    variants = {
        "as it is": {},
        "DC removed": {"remove_dc": True},
        "decorrelated": {"decorrelation": 0.5},
        "dead atoms re-drawn": {"revive_after": 3},
        "centred": {"remove_dc": True, "centred": True},
    }
    x = X + 3.0
    found = learning.upkeep(
        ONE,
        x[:80],
        x[80:],
        {name: v | {"lr": 1e-2} for name, v in variants.items()},
        sparsities=(2.0, 8.0),
        steps=12,
        batch_size=8,
        settle=BRIEF,
        seed=0,
    )
    plain = found.sel(variant="as it is")
    assert (
        found["upkeep_dc"].sel(variant="DC removed", start="samples", upkeep_sparsity=2.0) < 0.05
    ).all()
    apart = found["upkeep_coherence"].sel(variant="decorrelated", start="samples")
    assert (apart < plain["upkeep_coherence"].sel(start="samples")).all()
    # The shared mean of these samples is most of what they are: atoms without it cannot draw them.
    assert (
        found["upkeep_mse"].sel(variant="DC removed")
        > 2 * found["upkeep_mse"].sel(variant="centred")
    ).all()
    sparse = found.sel(upkeep_sparsity=8.0, start="chance")
    assert sparse["upkeep_revived"].sel(variant="dead atoms re-drawn") > 0
    assert sparse["upkeep_revived"].sel(variant="as it is") == 0
    assert sparse["upkeep_dead"].sel(variant="dead atoms re-drawn") < sparse["upkeep_dead"].sel(
        variant="as it is"
    )
    assert ((found["upkeep_idle"] >= 0) & (found["upkeep_idle"] <= 1)).all()


def test_practice_is_repeatable_and_tells_every_step():
    networks, seen = [learning.start(ONE, X, seed=0) for _ in range(2)], []
    for network in networks:
        learning.practise(
            LocalLearner(network), X, steps=3, batch_size=8, seed=5, after=seen.append
        )
    assert torch.equal(networks[0].V[0], networks[1].V[0]) and seen == [1, 2, 3, 1, 2, 3]


# --- interference ---


def sparse_model(sparsity: float = 1.0) -> meeting.Sparse:
    return meeting.Sparse(unit_columns(draw(10, 16, seed=3)).double(), L1(sparsity=sparsity))


def dense_model(relu: bool = False) -> meeting.Dense:
    return meeting.Dense(
        0.3 * draw(6, 10, seed=4).double(), 0.3 * draw(10, 6, seed=5).double(), relu
    )


@pytest.mark.parametrize("relu", [False, True])
def test_dense_gradients_are_those_of_autograd(relu):
    model, x = dense_model(relu), X[:7].double()
    E, D = (W.clone().requires_grad_() for W in (model.E, model.D))
    h = (x @ E.T).clamp_min(0) if relu else x @ E.T
    (0.5 * (x - h @ D.T).square().sum()).backward()
    for found, expected in zip(model.gradients(x), (E.grad, D.grad), strict=True):
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(model.loss(x).sum(), (0.5 * (x - h @ D.T).square().sum()).detach())


@pytest.mark.parametrize("model", [sparse_model(), dense_model(), dense_model(True)])
def test_the_cosine_of_two_updates_is_the_product_of_two_cosines(model):
    code, residual = model.read(X[:5].double())
    updates = torch.stack(
        [torch.outer(e, a).flatten() for e, a in zip(residual, code, strict=True)]
    )
    found = meeting.cosines(residual) * meeting.cosines(code)
    torch.testing.assert_close(found, meeting.cosines(updates))


def test_disjoint_supports_do_not_meet():
    V = torch.eye(10, dtype=torch.float64)
    model, x = meeting.Sparse(V, L1(sparsity=0.1)), torch.zeros(2, 10, dtype=torch.float64)
    x[0, :3], x[1, 5:8] = 1.0, 2.0
    code = model.read(x)[0]
    assert meeting.cosines(code)[0, 1] == 0 and meeting.overlaps(code != 0)[0, 1] == 0
    passed = meeting.passed_on(model, x + 0.01 * draw(2, 10, seed=6).double(), fall=1e-3)
    torch.testing.assert_close(passed, torch.eye(2, dtype=torch.float64), rtol=0, atol=1e-2)


def test_whitening_keeps_the_function_and_makes_the_code_white():
    model, x = dense_model(), X.double()
    white = model.whitened(x)
    torch.testing.assert_close(white.read(x)[1], model.read(x)[1])
    code = white.code(x)
    torch.testing.assert_close(
        code.T @ code / len(x), torch.eye(6, dtype=torch.float64), rtol=0, atol=1e-8
    )
    with pytest.raises(ValueError, match="relu must be False"):
        dense_model(True).whitened(x)


@pytest.mark.parametrize("model", [sparse_model(), dense_model(), dense_model(True)])
def test_a_small_step_lowers_the_own_loss_by_the_share_asked_for(model):
    x = X[:4].double()
    for i in range(4):
        one = x[i : i + 1]
        fall = 1 - float(model.after(one, 1e-4).loss(one) / model.loss(one))
        assert fall == pytest.approx(1e-4, rel=0.1)


def test_what_is_passed_on_is_the_first_order_overlap_of_gradients():
    model, x = dense_model(), X[:4].double()
    passed = meeting.passed_on(model, x, fall=1e-6)
    flat = torch.stack([torch.cat([g.flatten() for g in model.gradients(row[None])]) for row in x])
    inner, loss = flat @ flat.T, model.loss(x)
    expected = (inner / loss) / (inner.diag() / loss)[:, None]
    torch.testing.assert_close(passed, expected, rtol=1e-3, atol=1e-6)
    assert (passed.diag() == 1).all()


def test_pairs_and_overlaps_go_together():
    support = torch.tensor([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]]).bool()
    found = meeting.overlaps(support)
    torch.testing.assert_close(meeting.pairs(found), torch.tensor([1 / 3, 0.0, 0.0]))
    assert torch.equal(found, found.T)


def test_interference_compares_all_models():
    size = {"atoms": 12, "steps": 4, "batch_size": 20, "lr": 1e-2}
    found = meeting.interference(
        X[:80],
        X[80:90],
        np.arange(10) % 2,
        sparsities=(1.0, 4.0),
        main=1.0,
        sources=4,
        fall=0.02,
        sparse=size | {"settle": BRIEF},
        dense=size,
        seed=0,
    )
    assert list(found["model"].values) == ["VN 1", "VN 4", "linear", "whitened", "ReLU"]
    assert list(found["stepped"].values) == ["VN 1", "linear", "whitened", "ReLU"]
    assert found.sizes["pair"] == 45 and found.sizes["arrow"] == 12
    assert (abs(found["meet_pair_cosine"]) <= 1 + 1e-6).all()
    assert (
        found["meet_active_share"].sel(model="VN 4")
        < found["meet_active_share"].sel(model="VN 1")
        < 1
    )
    assert float(found["meet_mse"].sel(model="linear")) == pytest.approx(
        float(found["meet_mse"].sel(model="whitened"))
    )
    assert int(found["meet_same_label"].sum()) == 20


# --- interfaces ---


def test_effective_rank_of_known_matrices():
    assert interface.effective_rank(torch.eye(5)) == pytest.approx(5)
    assert interface.effective_rank(torch.outer(torch.ones(4), draw(7, seed=7))) == pytest.approx(
        1, abs=1e-4
    )
    p = torch.tensor([3.0, 1.0])
    expected = math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25))
    assert interface.effective_rank(torch.diag(p)) == pytest.approx(expected)


def test_captured_power_is_that_in_the_row_space():
    U, code = torch.eye(3, 5), torch.tensor([[1.0, 0, 0, 2.0, 0], [0, 1.0, 0, 0, 0]])
    assert interface.captured(U, code) == pytest.approx(2 / 6)
    assert interface.captured(torch.eye(5), code) == pytest.approx(1)
    one = torch.outer(torch.ones(3), torch.tensor([1.0, 0, 0, 0, 0]))
    # rank counts, not the number of rows
    assert interface.captured(one, code) == pytest.approx(1 / 6)


def test_readback_is_nothing_for_an_isometry_and_the_code_for_silence():
    code = draw(6, 4, seed=8)
    assert interface.readback(torch.linalg.qr(draw(4, 4, seed=9)).Q, code) == pytest.approx(
        0, abs=1e-6
    )
    power = float(0.5 * code.square().sum(1).mean())
    assert interface.readback(torch.zeros(3, 4), code) == pytest.approx(power)


def test_silence_is_a_unit_norm_interface_of_rank_one():
    network = learning.start(TWO, X, seed=0)
    silent = interface.silence(network, seed=0)
    assert interface.effective_rank(silent.U[0]) == pytest.approx(1, abs=1e-3)
    torch.testing.assert_close(silent.U[0].norm(dim=0), torch.ones(24))
    assert torch.equal(silent.V[1], network.V[1]) and not torch.equal(silent.U[0], network.U[0])
    assert interface.state(silent, X)["message"] < 0.8 * interface.state(network, X)["message"]


def test_interfaces_are_told_apart():
    found = interface.interfaces(
        TWO,
        X[:80],
        X[80:],
        stages=(0, 30),
        batch_size=40,
        lr=2e-2,
        interface_lr=2e-2,
        settle=BRIEF,
        seed=0,
    )
    first, last = found.isel(stage=0), found.isel(stage=-1)
    assert float(first["interface_mse"].sel(rule="subspace")) == float(
        first["interface_mse"].sel(rule="literal")
    )
    assert (
        np.isnan(first["interface_energy"].sel(rule="silent"))
        and last["interface_energy"].notnull().all()
    )
    strict = last["interface_mse_from_top"]
    assert strict.sel(rule="subspace") < strict.sel(rule="literal")
    assert last["interface_energy"].sel(rule="literal") < last["interface_energy"].sel(
        rule="subspace"
    )
    rank = found["interface_rank"].sel(rule="frozen")
    assert float(rank[0]) == float(rank[1]) == pytest.approx(8, abs=1e-3)


def test_the_two_objectives_move_as_their_rules_say():
    found = interface.two_objectives(
        TWO,
        X,
        before=5,
        steps=10,
        batch_size=60,
        lr=1e-2,
        interface_lr=1e-2,
        settle=SettleConfig(),
        seed=0,
    )["objective_change"]
    assert found.sel(moved="V", objective="F") < 0
    assert (
        found.sel(moved="U, subspace", objective="C")
        < 0
        < found.sel(moved="U, literal", objective="C")
    )
    assert found.sel(moved="U, literal", objective="F") < 0


def test_relative_sparsity_knows_no_contrast():
    three = VNConfig(
        n_inputs=10, atoms=(16, 12, 8), interface=(8, 6), sparsity=(1.0, 1.0, 1.0), feedback=0.1
    )
    found = interface.units_of_sparsity(
        three,
        X[:80],
        X[80:],
        sparsity={"absolute": (2.0, 2.0, 2.0), "relative": (0.2, 0.2, 0.2)},
        contrasts=(0.125, 1.0, 8.0),
        steps=3,
        batch_size=20,
        lr=1e-2,
        interface_lr=1e-2,
        settle=BRIEF,
        seed=0,
    )["units_active"]
    # Adam's step has no units, but its epsilon has: equal to a small fraction of an atom.
    assert float((found.sel(sparsity_in="relative").std("contrast")).max()) < 0.5
    absolute = found.sel(sparsity_in="absolute", layer=1)
    assert (absolute.diff("contrast") > 1).all()
