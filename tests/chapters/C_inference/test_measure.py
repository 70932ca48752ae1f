"""Schedules, methods and starts: on small random stacks, whose settled point is known from a long
settle.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from chapters.C_inference import measure as study
from vnlib.network import VectorNetwork, VNConfig
from vnlib.prox import NonNegativeL1, TopK
from vnlib.settle import SCHEDULES, SettleConfig, duality_gap
from vnlib.settle.steps import Ista

D = 16  # images of 4 x 4


def network(depth: int = 3) -> VectorNetwork:
    config = VNConfig(
        n_inputs=D, atoms=(8, 6, 4)[:depth], interface=(6, 4)[: depth - 1], sparsity=(0.3,) * depth
    )
    return VectorNetwork(config, seed=1)


def samples(n: int = 5, seed: int = 0) -> torch.Tensor:
    return torch.randn(n, D, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def three(**options: object) -> study.Task:
    return study.with_reference(study.task(network(), samples(), depth=3, feedback=0.5, **options))


class Counting(Ista):
    count = 0

    def step(self, *args):
        self.count += 1
        super().step(*args)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_layer_steps_are_those_that_the_settle_takes(schedule, depth):
    config = VNConfig(
        n_inputs=D, atoms=(12,) * depth, interface=(8,) * (depth - 1), sparsity=(0.1,) * depth
    )
    one = study.task(VectorNetwork(config, seed=0), samples(), depth=depth, feedback=0.5)
    for sweeps in (1, 4):
        rule = Counting()
        one.settler(SettleConfig(method="ista", schedule=schedule, max_sweeps=sweeps, tol=0), rule)(
            one.x
        )
        assert study.layer_steps(depth, schedule, sweeps) == rule.count


def test_sweeps_to_is_exact_on_a_power_law():
    evaluated = [1, 3, 10, 40, 100]
    n = torch.tensor(evaluated, dtype=torch.float64)[:, None]
    heights = torch.cat([n**-2, n**-2 * 1e-9, 1 + 0 * n], 1)
    found = study.sweeps_to(evaluated, heights, 1e-3)
    assert found[0] == pytest.approx(1e3**0.5, rel=1e-9)
    assert found[1] == 1  # below it from the first sweep on
    assert found[2] == torch.inf


def test_evaluated_sweeps_reach_from_one_to_the_last_sweep_without_repeats():
    evaluated = study.evaluated_sweeps(300, 20)
    assert (
        evaluated[0] == 1 and evaluated[-1] == 300 and len(set(evaluated)) == len(evaluated) <= 20
    )
    assert study.evaluated_sweeps(1, 20) == [1]


def test_a_task_is_the_lower_part_of_the_network_in_double_precision():
    net = network()
    one = study.task(net, samples().float(), depth=2, feedback=0.5, top_k=3)
    assert one.x.dtype == one.layers[0].V.dtype == torch.float64
    assert torch.equal(one.layers[1].V, net.V[1].double())
    assert one.layers[0].U is not None and one.layers[1].U is None
    assert one.layers[0].penalty == net.layers[0].penalty
    assert one.layers[1].penalty == TopK(penalty=net.layers[1].penalty, k=3)


def test_the_reference_is_the_minimum_and_heights_count_from_it():
    one = three()
    gap = duality_gap(one.layers, one.codes, one.x, one.feedback)
    assert float((gap / one.energy).max()) < 1e-12
    zero = [torch.zeros_like(c) for c in one.codes]
    assert torch.allclose(one.height(zero), 0.5 * one.x.square().sum(1) / one.energy - 1)
    assert torch.allclose(one.distance(zero), torch.ones(5, dtype=torch.float64))
    assert float(one.height(one.codes).max()) < 1e-12 and float(one.distance(one.codes).max()) == 0


def test_looking_changes_nothing():
    one = three()
    settler = one.settler(SettleConfig(method="line_search"))
    before = settler.config
    *_, walked = study.walk(settler, one.x, [1, 4, 9])
    straight = one.settler(SettleConfig(method="line_search", max_sweeps=9, tol=0))(one.x)
    assert all(map(torch.equal, walked.codes, straight.codes))
    assert settler.config == before


@pytest.mark.parametrize(("schedule", "steps"), [("sweep", 5), ("recurrent", 3)])
def test_the_end_is_given_a_budget_of_layer_steps(schedule, steps):
    """Three layers: 20 steps are 4 sweeps up and down, or 6 of the recurrent schedule."""
    one, rule = three(), Counting()
    settler = one.settler(SettleConfig(method="ista", schedule=schedule), rule)
    (begun,) = study.walk(settler, one.x, [1])
    rule.count = 0
    study.finish(settler, one.x, begun, steps=20)
    assert rule.count == 20 // steps * steps


def test_schedules_and_methods_end_in_the_reference():
    found = study.schedules(
        network(), samples(), depths=[1, 3], betas=[0.1, 1.0], sweeps=100, kept=12, end_steps=6000
    )
    assert float(found["end_distance"].max()) < 1e-4 and float(found["end_height"].max()) < 1e-8
    assert float(found["end_gap"].max()) <= study.GAP and float(found["rises"].max()) == 0
    assert float(found["alone"].max()) < 1e-4
    assert (
        found["height"]
        .isel(beta=0, depth=0)
        .equals(found["height"].isel(beta=1, depth=0).assign_coords(beta=0.1))
    )
    assert bool((found["needed"].sel(level=1e-6) > found["needed"].sel(level=1e-3)).all())
    slow, fast = (
        found["needed"].sel({"solver": name, "level": 1e-3, "depth": 1})
        for name in ("ista", "line_search")
    )
    assert bool((slow > fast).all())
    active = found["active"].sel(depth=3, beta=0.1, solver="line_search").isel(sweep=-1)
    assert bool((active > 0).all()) and bool(found["active"].sel(depth=1, layer=2).isnull().all())
    assert found["steps"].sel(depth=3, schedule="sweep", sweep=100) == 100 * 5


def test_neighbours_are_near():
    x, pool = samples(4), samples(30, seed=3)
    near = study.neighbours(x, pool, noise=0.1, seed=0)
    change = (near["noisy input"] - x).norm(dim=1) / x.norm(dim=1)
    assert torch.allclose(change, torch.full((4,), 0.1, dtype=torch.float64))
    assert torch.equal(
        near["shifted input"].reshape(4, 4, 4)[:, :, 1:], x.reshape(4, 4, 4)[:, :, :-1]
    )
    for row, one in zip(near["nearest sample"], x, strict=True):
        assert (row - one).norm() == (pool - one).norm(dim=1).min()


def test_random_starts_are_seeded_and_as_the_penalties_allow():
    one = three()
    first, same, other = (study.random_start(one, seed=s, scale=2.0) for s in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
    assert not torch.equal(first[0], other[0]) and 1 < first[0].std() < 3
    positive = [replace(layer, penalty=NonNegativeL1(sparsity=0.1)) for layer in one.layers]
    found = study.random_start(replace(one, layers=tuple(positive)), seed=0, scale=0.1)
    assert all((code >= 0).all() and code.any() for code in found)


def test_starts_end_in_one_point_and_the_nearer_the_sooner():
    one = three()
    near = {"itself": one.x, "near": one.x + 1e-3}
    options = {"random": {"random": 0.3}, "sweeps": 100, "kept": 30, "end_steps": 12000, "seed": 0}
    found = study.starts(one, near, study.task(network(), one.x, depth=3, feedback=0.5), **options)
    assert float(found["start_distance"].max()) < 1e-4 and float(found["start_end"].max()) < 1e-8
    assert bool(found["resumed"].all())
    needed = found["start_needed"].sel(level=1e-6)
    # it is there when the first sweep has been made
    assert bool((needed.sel(start="itself") == 1).all())
    assert bool((needed.sel(start="earlier codes") == 1).all())  # nothing was learned in between
    assert bool((needed.sel(start="near") < needed.sel(start="cold")).all())
    zero = [torch.zeros_like(c) for c in one.codes]
    assert float(found["start_height"].sel(start="cold")) == pytest.approx(
        float(one.height(zero).median())
    )
    assert float(found["start_height"].sel(start="itself")) < 1e-12


def test_a_start_that_is_not_resumed_is_told_from_one_that_is(monkeypatch):
    """Codes alone lose the momentum: the test of `resumed` can fail."""
    one, honest = three(), study.walk

    def forgetful(settler, x, evaluated, start=None):
        for settled in honest(settler, x, evaluated[:1], start):
            yield settled
        for sweep in evaluated[1:]:
            yield from honest(settler, x, [sweep - evaluated[0]], settled.codes)

    monkeypatch.setattr(study, "walk", forgetful)
    same = study.resumed(one, half=5)
    assert not same[:, 1:].any()
