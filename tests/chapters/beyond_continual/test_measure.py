"""Streams of tasks and what is measured of them, on models whose errors and updates are known
beforehand.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks.images.networks import built
from chapters.beyond_continual import inference
from chapters.beyond_continual import measure as study
from chapters.beyond_continual.images import Network

TASKS = [(torch.full((n, 1), float(i)),) for i, n in enumerate((8, 6, 4))]


class Last:
    """Knows the mean of what it saw last, and has one more unit after every turn."""

    def __init__(self) -> None:
        self.mean, self.turns = -1.0, 0

    def learn(self, data, *, seed):
        self.mean, self.turns = float(data[0].mean()), self.turns + 1

    def error(self, data):
        return float((data[0] - self.mean).square().mean())

    def weights(self):
        return [torch.arange(1.0, self.turns + 1)[:, None]]

    def activity(self, data):
        return [torch.ones(self.turns)]

    def facts(self):
        return {"units": float(self.turns)}


def test_errors_by_hand():
    found = study.measure(lambda first: Last(), TASKS, TASKS, seed=0)
    assert found["error"].values.tolist() == [[1, 4, 9], [0, 1, 4], [1, 0, 1], [4, 1, 0]]
    assert found["fact_units"].values.tolist() == [0, 1, 2, 3]


def test_updates_of_added_units_lie_apart():
    found = study.measure(lambda first: Last(), TASKS, TASKS, seed=0)
    for name in ("cosine", "shared_weights", "shared_units"):
        assert np.isnan(np.diag(found[name])).all()
        assert found[name].values[np.triu_indices(3, 1)].tolist() == [0, 0, 0]
    # One unit of two, one of three, two of three.
    np.testing.assert_allclose(
        found["shared_code"].values[np.triu_indices(3, 1)], [1 / 2, 1 / 3, 2 / 3]
    )


def test_a_turn_without_data_teaches_nothing():
    found = study.measure(
        lambda first: Last(), study.stream("last", TASKS, kept=1, seed=0), TASKS, seed=0
    )
    assert np.isnan(found["error"].values[1:3]).all() and found["error"].values[3].tolist() == [
        4,
        1,
        0,
    ]
    assert np.isnan(found["cosine"].values).all()


def test_overlap_by_hand():
    one, other = torch.tensor([[3.0, 0], [0, 1]]), torch.tensor([[0, 3.0], [0, -1]])
    found = study.overlap([one], [other])
    assert found["cosine"] == pytest.approx(-0.1)
    assert found["shared_units"] == pytest.approx(1) and found["shared_weights"] == pytest.approx(
        0.1
    )
    assert study.overlap([one], [2 * one]) == pytest.approx(
        {"cosine": 1, "shared_weights": 1, "shared_units": 1}
    )
    assert study.overlap([one], [torch.zeros(3, 2)]) == pytest.approx(
        {"cosine": 0, "shared_weights": 0, "shared_units": 0}
    )


def test_replay_is_half_of_what_is_seen_and_from_kept_samples_only():
    turns = study.stream("replay", TASKS, kept=2, seed=0)
    assert [len(turn[0]) for turn in turns] == [8, 12, 8]
    assert turns[1][0].flatten().tolist() == [1.0] * 6 + [0.0] * 6
    assert sorted(turns[2][0].flatten().tolist()) == [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    many = [(torch.arange(100.0)[:, None] + 1000 * i,) for i in range(2)]
    again = study.stream("replay", many, kept=3, seed=1)[1][0].flatten()
    assert len(set(again[100:].tolist())) == 3 and bool((again[100:] < 100).all())
    assert torch.equal(again, study.stream("replay", many, kept=3, seed=1)[1][0].flatten())


def test_joint_and_sequence():
    joint = study.stream("joint", TASKS, kept=1, seed=0)
    assert len(joint) == 3 and all(len(turn[0]) == 18 for turn in joint)
    assert study.stream("sequence", TASKS, kept=1, seed=0) == TASKS


def test_order_keeps_the_first_and_differs_by_seed():
    orders = [study.order(5, seed=seed) for seed in range(8)]
    assert all(one[0] == 0 and sorted(one) == [0, 1, 2, 3, 4] for one in orders)
    assert len({tuple(one) for one in orders}) > 3 and study.order(5, seed=0) == orders[0]


def test_learned_from_one_set():
    found = study.learned(lambda first: Last(), TASKS[1], {"a": TASKS[1], "b": TASKS[2]}, seed=0)
    assert found["error"].sel(set="a") == 0 and found["error"].sel(set="b") == 1


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="stream"):
        study.stream("backward", TASKS, kept=1, seed=0)
    with pytest.raises(ValueError, match="kept"):
        study.stream("replay", TASKS, kept=5, seed=0)
    with pytest.raises(ValueError, match="tests must be one per turn"):
        study.measure(lambda first: Last(), TASKS, TASKS[:2], seed=0)
    with pytest.raises(ValueError, match="turns must hold data"):
        study.measure(lambda first: Last(), [None], TASKS[:1], seed=0)


def test_operations_of_a_pass_and_a_settle():
    x = torch.rand(60, 16, generator=torch.Generator().manual_seed(0)) ** 3
    model = Network(x, lr=1e-2, steps=2, batch_size=16, seed=0, atoms=[12], sparsity=[0.05])
    plain = built(pixels=16, seed=0, hidden=[8], latent=4)
    sizes = {
        "sweeps": dict.fromkeys(("ista", "restart", "line_search"), 200),
        "settled": 1,
        "end": 500,
        "gap": 1e-6,
        "timed": 2,
        "repeats": 1,
    }
    found = inference.measure(
        model,
        plain,
        x[:40],
        x[40:],
        {"id": x[:3], "add2": x[:3] + x[3:6]},
        training={"steps": 10, "batch_size": 20},
        unrolled=2,
        rates={"linear": [1e-2]},
        targets={"tol": 1e-4, "sweeps": 300},
        sizes=sizes,
        seed=0,
    )
    assert float(found["forward"]) == 2 * (16 * 8 + 8 * 4) * 2, "two operations per weight"
    # By coordinates there is one product with V, of 3 images filled up to 16, and one for the energy.
    assert float(found["operations"]) >= 2 * 16 * 12 * (16 + 3) / 3
    assert float(found["ratio"]) == pytest.approx(float(found["operations"] / found["forward"]))
    assert found["start"].values.tolist() == ["cold", "untrained", "linear"]
    assert float(found["saved"].sel(start="cold").max()) == 0
