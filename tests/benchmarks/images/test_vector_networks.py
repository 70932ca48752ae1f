"""Vector Networks of images: training, the readings, and what is counted, on small pictures made of
few parts.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.images.vector_networks import (
    Remembered,
    active_units,
    facts_of,
    of_network,
    settle_in_batches,
    train_network,
    vector_network,
)
from vnlib.fit import History, Training, fit
from vnlib.learning.learner import LocalLearner
from vnlib.network import VectorNetwork

PARTS = torch.rand(12, 16, generator=torch.Generator().manual_seed(5)) - 0.3
SINGLE = {"atoms": [12], "sparsity": [0.05]}
DEEP = {"atoms": [12, 8], "sparsity": [0.05, 0.05], "interface": [6], "test_sweeps": 60}


def images(n: int, seed: int) -> torch.Tensor:
    """Sums of two of the parts."""
    rng = torch.Generator().manual_seed(seed)
    weights = torch.rand(n, 12, generator=rng)
    return weights.where(weights.argsort(1).argsort(1) >= 10, 0) @ PARTS


TRAIN, VALIDATION = images(200, 0), images(30, 1)


def training(steps: int = 40, seed: int = 0, lr: float = 0.02) -> Training:
    return Training(lr=lr, steps=steps, batch_size=32, seed=seed, workdir=Path("unused"))


def error(draw, x: torch.Tensor) -> float:
    return float((draw(x) - x).square().mean())


@pytest.mark.parametrize("options", [SINGLE, DEEP], ids=["single", "deep"])
def test_it_learns_and_the_curve_ends_at_the_network_that_is_kept(options):
    network, curve = train_network(TRAIN, VALIDATION, training(), **options)
    start, none = train_network(TRAIN, VALIDATION, training(steps=0), **options)
    own = error(lambda x: network.reconstruct(network.settle(x)), VALIDATION)
    assert none == [] and len(curve) == 5
    assert curve[-1] == pytest.approx(own, rel=1e-6)
    assert own < 0.8 * error(lambda x: start.reconstruct(start.settle(x)), VALIDATION)


def test_the_last_step_is_kept_even_where_it_is_not_the_best(monkeypatch):
    plans = []

    def spy(learner, data, plan, **options) -> History:
        plans.append(plan)
        return fit(learner, data, plan, **options)

    monkeypatch.setattr("benchmarks.images.vector_networks.fit", spy)
    network, curve = train_network(TRAIN, VALIDATION, training(10), **DEEP, evaluations=10)
    own = error(lambda x: network.reconstruct(network.settle(x)), VALIDATION)
    assert curve[-1] == pytest.approx(own, rel=1e-6) and len(curve) == 10
    assert plans[0].keep == "last"


def test_without_updates_atoms_are_normalised_training_images():
    network, _ = train_network(TRAIN, VALIDATION, training(steps=0), **SINGLE)
    units = TRAIN / TRAIN.norm(dim=1, keepdim=True)
    nearest = (network.V[0].T[:, None] - units[None]).norm(dim=2).amin(1)
    torch.testing.assert_close(nearest, torch.zeros(12), atol=1e-6, rtol=0)


def test_same_seed_same_bits_another_seed_others():
    first, again, other = (
        vector_network(TRAIN, VALIDATION, training(6, seed), **DEEP) for seed in (3, 3, 4)
    )
    assert torch.equal(first.readings["own"](VALIDATION), again.readings["own"](VALIDATION))
    assert first.curve == again.curve and first.facts == again.facts
    assert not torch.equal(first.readings["own"](VALIDATION), other.readings["own"](VALIDATION))


def test_options_reach_the_network_and_the_learner():
    options = {
        **DEEP,
        "factor": 2.0,
        "feedback": 0.2,
        "top_k": 3,
        "interface_rule": "atomic_hebb",
        "test_sweeps": 77,
    }
    network, curve = train_network(TRAIN, VALIDATION, training(4), **options, evaluations=2)
    config = network.config
    assert (
        config.sparsity == (0.1, 0.1) and config.feedback == 0.2 and config.settle.max_sweeps == 77
    )
    assert config.top_k == 3 and int(active_units(network.settle(VALIDATION))[1].max()) == 3
    assert config.interface_rule == "atomic_hebb" and config.interface == (6,) and len(curve) == 2
    still, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP, interface_rule="frozen")
    begun, _ = train_network(TRAIN, VALIDATION, training(0), **DEEP, interface_rule="frozen")
    assert torch.equal(still.U[0], begun.U[0]) and not torch.equal(still.V[0], begun.V[0])
    slow, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP, interface_lr=1e-9)
    fast, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP, interface_lr=1e-2)
    begun, _ = train_network(TRAIN, VALIDATION, training(0), **DEEP)
    assert (slow.U[0] - begun.U[0]).abs().max() < 1e-6 < 1e-3 < (fast.U[0] - begun.U[0]).abs().max()
    hasty, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP, sweeps=1)
    assert not torch.equal(
        hasty.V[0], train_network(TRAIN, VALIDATION, training(4), **DEEP)[0].V[0]
    )


def test_dead_atoms_are_drawn_anew_as_asked_for(monkeypatch):
    given = []

    class Learner(LocalLearner):
        def __init__(self, network: VectorNetwork, **options: object) -> None:
            given.append(options)
            super().__init__(network, **options)

    monkeypatch.setattr("benchmarks.images.vector_networks.LocalLearner", Learner)
    for after in (None, 2):
        train_network(TRAIN, VALIDATION, training(1, lr=0.5), **SINGLE, revive_after=after)
    assert [options["revive_after"] for options in given] == [None, 2] and given[0]["lr"] == 0.5


def test_readings_of_a_deep_network_are_those_of_the_network():
    network, curve = train_network(TRAIN, VALIDATION, training(10), **DEEP)
    found, x = of_network(network, VALIDATION, curve=curve), images(40, 2)
    settled = network.settle(x)
    assert list(found.readings) == ["own", "top"] and found.curve == curve
    torch.testing.assert_close(found.readings["own"](x), settled.codes[0] @ network.V[0].T)
    torch.testing.assert_close(found.readings["top"](x), network.decode(settled.codes[-1]))
    assert found.active(x).tolist() == [(code != 0).sum(1).tolist() for code in settled.codes]


def test_one_layer_has_one_reading_and_is_settled_exactly():
    found = vector_network(TRAIN, VALIDATION, training(0), **SINGLE)
    network, _ = train_network(TRAIN, VALIDATION, training(0), **SINGLE)
    x = images(30, 2)
    V, lam = network.V[0].data, network.layers[0].penalty.sparsity
    settled = network.settle(x)
    assert list(found.readings) == ["own"] and found.facts["converged"] == 1
    correlation = (x - found.readings["own"](x)) @ V
    assert correlation.abs().max() < 1.2 * lam  # what optimality asks for, up to the gap
    assert bool(
        (correlation.sign() == settled.codes[0].sign())[settled.codes[0].abs() > 0.05].all()
    )


def test_batches_change_no_code():
    network, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP)
    whole, parts = network.settle(VALIDATION), settle_in_batches(network, VALIDATION, batch=7)
    for name in ("codes", "inputs"):
        for one, other in zip(getattr(whole, name), getattr(parts, name), strict=True):
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(whole.energy, parts.energy)
    assert (
        len(parts.sweeps) == len(parts.converged) == len(VALIDATION)
        and parts.criterion == whole.criterion
    )


def test_the_same_images_are_settled_once_and_others_anew(monkeypatch):
    network, _ = train_network(TRAIN, VALIDATION, training(0), **DEEP)
    calls, settle = [], VectorNetwork.settle
    monkeypatch.setattr(
        VectorNetwork, "settle", lambda self, x: calls.append(len(x)) or settle(self, x)
    )
    remembered, x = Remembered(network), images(9, 2)
    first = remembered(x)
    assert remembered(x.clone()) is first and calls == [9]
    x[0] *= 2  # in place: not the images of before
    assert remembered(x) is not first and remembered(x[:4]).codes[0].shape == (4, 12)
    assert calls == [9, 9, 4]


def test_facts_by_hand():
    network, _ = train_network(TRAIN, VALIDATION, training(4), **DEEP)
    settled = network.settle(VALIDATION)
    facts, (a, b), h = facts_of(network, settled), settled.codes, settled.inputs[1]
    assert facts["parameters"] == 16 * 12 + 6 * 12 + 6 * 8
    assert facts["used_1"] == int((a != 0).any(0).sum()) and facts["used_2"] == int(
        (b != 0).any(0).sum()
    )
    assert facts["active_2"] == pytest.approx(float((b != 0).sum() / len(b)))
    missed = (h - b @ network.V[1].T).square().sum() / h.square().sum()
    assert facts["explained_2"] == pytest.approx(1 - float(missed), abs=1e-5)
    U = network.U[0].data
    carried = (a @ torch.linalg.pinv(U) @ U).square().sum() / a.square().sum()
    assert (
        facts["carried_1"] == pytest.approx(float(carried), abs=1e-4) and "carried_2" not in facts
    )
    blank = facts_of(network, network.settle(torch.zeros(3, 16)))
    assert blank["used_1"] == blank["carried_1"] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"factor": 0}, "factor must be a finite number > 0, got 0"),
        ({"evaluations": 0}, "evaluations must be an integer >= 1, got 0"),
        ({"sparsity": 0.1}, "sparsity must be a list with one number per layer, got 0.1"),
        ({"sparsity": [0.1]}, r"sparsity must have one entry per layer \(2\)"),
        ({"interface": []}, "interface must have 1 or 2 entries"),
        ({"interface_rule": "best"}, "interface_rule must be one of"),
        ({"top_k": 9}, "top_k must be an integer >= 1 and <= 8, got 9"),
        ({"sweeps": 0}, "max_sweeps must be an integer >= 1, got 0"),
        ({"test_sweeps": 0}, "max_sweeps must be an integer >= 1, got 0"),
        ({"feedback": -1}, "feedback must be a finite number >= 0"),
        ({"revive_after": 0}, "revive_after must be an integer >= 1"),
        ({"interface_lr": 0}, "interface_lr must be a finite number > 0"),
        ({"atoms": [400, 8]}, "layer 1 needs at least 400 nonzero samples"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        vector_network(TRAIN, VALIDATION, training(2), **{**DEEP, **options})


def test_a_single_layer_with_a_hard_cap():
    found = vector_network(TRAIN, VALIDATION, training(4), **SINGLE, top_k=2)
    assert int(found.active(VALIDATION).max()) <= 2
