"""What keeps a dictionary in shape: free of its mean, incoherent, and without dead atoms."""

from __future__ import annotations

import torch
from learner_cases import SPARSE, THREE, X, make, snapshot, train

from vnlib.learning.learner import LocalLearner
from vnlib.learning.rules import unit_columns
from vnlib.metrics import coherence
from vnlib.network import VectorNetwork

# --- what keeps a dictionary in shape ---


def test_dc_free_atoms_stay_so():
    network, x = make(**THREE), X + 2.0
    network.start_from_samples(x, seed=0)
    assert network.V[0].mean(0).abs().min() > 0.05
    learner = LocalLearner(network, lr=0.1, remove_dc=True)
    for _ in range(12):
        train(learner, x, steps=1, batch=40)
        used = learner.unused[0] == 0
        assert used.any() and network.V[0][:, used].mean(0).abs().max() < 1e-6
        torch.testing.assert_close(network.V[0].norm(dim=0), torch.ones(18))
    assert network.V[1].mean(0).abs().max() > 0.05  # messages have no DC to remove
    kept = make(**THREE)
    train(LocalLearner(kept, lr=0.1), x, steps=12, batch=40)
    assert kept.V[0].mean(0).abs().max() > 0.05


def test_decorrelation_lowers_coherence_where_it_is_asked_for():
    found = {}
    for strength in (0.0, 0.5):
        network = make(**THREE)
        network.start_from_samples(X + 1.0, seed=0)
        train(LocalLearner(network, decorrelation=strength), X + 1.0, steps=15, batch=40)
        found[strength] = [coherence(V) for V in network.V]
        torch.testing.assert_close(network.V[0].norm(dim=0), torch.ones(18))
    plain, apart = found.values()
    assert apart[0] < plain[0] - 0.03 and apart[1] < plain[1] - 0.03


def test_decorrelation_leaves_idle_atoms_alone():
    network = make(**SPARSE)
    learner = LocalLearner(network, decorrelation=0.5, remove_dc=True)
    before, code = snapshot(network), network.settle(X[:1]).codes[0]
    learner.step((X[:1],), scale=1.0, generator=torch.Generator())
    idle = (code == 0)[0]
    assert idle.any() and torch.equal(network.V[0][:, idle], before["V.0"][:, idle])


# --- dead atoms ---


def with_dead_atoms(dead=(3, 7), **options) -> tuple[VectorNetwork, torch.Tensor]:
    """A network two of whose atoms look where no sample is: at coordinates that are always zero."""
    x = X.clone()
    x[:, 10:] = 0
    network = make(n_inputs=12, atoms=(18,), sparsity=(0.2,), **options)
    network.V[0][10:] = 0
    network.V[0].copy_(unit_columns(network.V[0]))
    for k in dead:
        network.V[0][:, k] = 0
        network.V[0][10, k] = 1
    return network, x


def test_dead_atoms_become_samples_and_are_counted(caplog):
    network, x = with_dead_atoms()
    learner = LocalLearner(network, lr=1e-3, revive_after=3)
    rng = torch.Generator().manual_seed(0)
    with caplog.at_level("INFO", logger="vnlib.learning.learner"):
        for step in range(3):
            assert learner.revived.tolist() == [0], step
            learner.step((x,), scale=1.0, generator=rng)
    assert learner.revived.tolist() == [2]
    assert "layer 1: 2 dead atom(s) drawn anew, 2 so far" in caplog.text
    cosine = unit_columns(x.T).T @ network.V[0][:, [3, 7]]
    torch.testing.assert_close(cosine.max(0).values, torch.ones(2))
    assert cosine.argmax(0).unique().numel() == 2
    assert (learner.steps[0]["V"].kept["steps"][[3, 7]] == 0).all() and learner.unused[
        0
    ].tolist() == [0] * 18
    learner.step((x,), scale=1.0, generator=rng)
    assert learner.unused[0][[3, 7]].tolist() == [0, 0], "the new atoms are in use"


def test_without_the_option_dead_atoms_stay_dead():
    network, x = with_dead_atoms()
    before, learner = snapshot(network), LocalLearner(network)
    train(learner, x, steps=6, batch=40)
    assert torch.equal(network.V[0][:, [3, 7]], before["V.0"][:, [3, 7]])
    assert learner.unused[0][[3, 7]].tolist() == [6, 6] and learner.revived.tolist() == [0]


def test_the_generator_draws_the_new_atoms_from_what_is_worst_explained():
    drawn = {}
    for seed in (0, 0, 1):
        network, x = with_dead_atoms()
        learner = LocalLearner(network, revive_after=1)
        learner.step((x,), scale=1.0, generator=torch.Generator().manual_seed(seed))
        atoms = network.V[0][:, [3, 7]].clone()
        assert torch.equal(drawn.setdefault(seed, atoms), atoms)
    assert not torch.equal(drawn[0], drawn[1])
    # A sample that the code explains to the end is never drawn: here all but two are zero.
    network, x = with_dead_atoms()
    x[2:] = 0
    learner = LocalLearner(network, revive_after=1)
    learner.step((x,), scale=1.0, generator=torch.Generator())
    alike = unit_columns(x[:2].T).T @ network.V[0]
    assert learner.revived.tolist() == [2] and (alike > 1 - 1e-6).sum(1).tolist() == [1, 1]


def test_more_dead_atoms_than_samples_wait_their_turn():
    network, x = with_dead_atoms(dead=(1, 2, 3, 4, 5))
    learner = LocalLearner(network, revive_after=1)
    learner.step((x[:2],), scale=1.0, generator=torch.Generator())
    assert learner.revived.tolist() == [2]


def test_revived_atoms_obey_the_options():
    network, x = with_dead_atoms()
    learner = LocalLearner(network, revive_after=1, remove_dc=True)
    learner.step((x + 1.0,), scale=1.0, generator=torch.Generator())
    assert network.V[0].mean(0).abs().max() < 1e-6
    torch.testing.assert_close(network.V[0].norm(dim=0), torch.ones(18))
    positive, x = with_dead_atoms(nonnegative=True)
    LocalLearner(positive, revive_after=1).step((x,), scale=1.0, generator=torch.Generator())
    assert (positive.V[0] >= 0).all()
