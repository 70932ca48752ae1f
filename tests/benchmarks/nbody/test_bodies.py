"""What models read of bodies: against definitions body by body, and what must not matter."""

from __future__ import annotations

import pytest
import torch

from benchmarks.nbody.bodies import (
    Bodies,
    Samples,
    gated,
    in_passes,
    literal,
    pairs,
    scales_of,
    tokens,
)


@pytest.fixture
def samples():
    rng = torch.Generator().manual_seed(0)
    n = 6
    present = torch.arange(5) < torch.tensor([5, 5, 4, 4, 3, 3])[:, None]
    forces = torch.tensor(
        [[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    )
    p, v, a = (torch.randn(n, 5, 2, generator=rng) for _ in range(3))
    return Samples(p, v, present, forces, a)


def garbled(bodies: Bodies) -> Bodies:
    """The same with something else in the places of absent bodies."""
    away = ~bodies.present[..., None]
    return bodies._replace(
        position=torch.where(away, 1e3, bodies.position),
        velocity=torch.where(away, torch.nan, bodies.velocity),
    )


def test_pairs_hold_what_lies_between_a_body_and_each_other_one(samples):
    between = pairs(samples.bodies)
    for b in range(len(samples.position)):
        for i in range(5):
            for place, j in enumerate(j for j in range(5) if j != i):
                both = bool(samples.present[b, i] and samples.present[b, j])
                assert bool(between.present[b, i, place]) == both
                wanted = (samples.position[b, j] - samples.position[b, i]) * both
                torch.testing.assert_close(between.displacement[b, i, place], wanted)
                torch.testing.assert_close(
                    between.velocity[b, i, place],
                    (samples.velocity[b, j] - samples.velocity[b, i]) * both,
                )


def test_scales_are_root_mean_squares_of_what_is_there(samples):
    scales, between = scales_of(samples), pairs(samples.bodies)
    shown = torch.cat([samples.velocity[b, :n].flatten() for b, n in enumerate((5, 5, 4, 4, 3, 3))])
    assert scales.velocity == pytest.approx(float(shown.square().mean().sqrt()), rel=1e-6)
    n_pairs = 2 * (20 + 12 + 6)
    assert scales.displacement == pytest.approx(
        float(between.displacement.square().sum() / (2 * n_pairs)) ** 0.5
    )
    assert scales_of(Samples(*garbled(samples.bodies), samples.acceleration)) == scales


def test_literal_holds_22_numbers_in_their_units(samples):
    scales = scales_of(samples)
    x = literal(samples.bodies, scales, code=10.0)
    assert x.shape == (6, 5, 22)
    between = pairs(samples.bodies)
    torch.testing.assert_close(x[3, 1, :2], samples.velocity[3, 1] / scales.velocity)
    torch.testing.assert_close(
        x[3, 1, 2:10], between.displacement[3, 1].flatten() / scales.displacement
    )
    torch.testing.assert_close(
        x[3, 1, 10:18], between.velocity[3, 1].flatten() / scales.relative_velocity
    )
    torch.testing.assert_close(x[3, 1, 18:], torch.tensor([10.0, 10, 0, 0]))
    assert not x[5, 3:].any()  # absent bodies


def test_gated_is_the_product_of_the_force_code_and_the_state(samples):
    scales = scales_of(samples)
    x = gated(samples.bodies, scales).unflatten(2, (4, 22))
    state = literal(samples.bodies, scales)[..., :18]
    for law in range(4):
        acts = samples.forces[:, law, None, None]
        torch.testing.assert_close(x[:, :, law, :18], acts * state)
        torch.testing.assert_close(x[:, :, law, 18:], acts * pairs(samples.bodies).present.float())


def test_tokens_hold_the_body_itself_and_each_pair(samples):
    scales, between = scales_of(samples), pairs(samples.bodies)
    x = tokens(samples.bodies, scales, relative_velocity=0.3, presence=0.7)
    assert x.shape == (6, 5, 4, 5, 7)
    own = x[4, 2, 3, 0]
    torch.testing.assert_close(
        own, torch.cat([samples.velocity[4, 2] / scales.velocity, torch.zeros(5)])
    )
    pair = x[4, 2, 1, 1]
    torch.testing.assert_close(pair[2:4], between.displacement[4, 2, 0] / scales.displacement)
    torch.testing.assert_close(
        pair[4:6], 0.3 * between.velocity[4, 2, 0] / scales.relative_velocity
    )
    assert float(pair[6]) == pytest.approx(0.7)
    assert not pair[:2].any()
    assert not x[4, 2, (0, 2)].any()  # laws that do not act
    assert not x[4, 2, 1, 3:].any() and not x[4, 3:].any()  # absent bodies


@pytest.mark.parametrize("read", [literal, gated, tokens])
def test_what_absent_bodies_hold_never_matters(samples, read):
    scales = scales_of(samples)
    torch.testing.assert_close(
        read(garbled(samples.bodies), scales), read(samples.bodies, scales), rtol=0, atol=0
    )


def test_passes_sum_what_each_law_gives_alone(samples):
    def predict(bodies):
        assert ((bodies.forces != 0).sum(1) == 1).all()
        weight = bodies.forces @ torch.tensor([1.0, 10.0, 100.0, 1000.0])
        return weight[:, None, None] * bodies.position

    found = in_passes(predict, samples.bodies)
    weights = torch.tensor([1.0, 10, 100, 11, 1010, 1111])
    torch.testing.assert_close(found, weights[:, None, None] * samples.position)


def test_wrong_shapes_and_scales_are_named(samples):
    bodies = samples.bodies
    with pytest.raises(
        ValueError, match=r"velocity must have the shape \(6, 5, 2\), got \(6, 4, 2\)"
    ):
        pairs(bodies._replace(velocity=bodies.velocity[:, :4]))
    with pytest.raises(ValueError, match="present must be bool"):
        pairs(bodies._replace(present=bodies.present.float()))
    with pytest.raises(ValueError, match="velocity that is not 0 everywhere"):
        scales_of(samples._replace(velocity=torch.zeros_like(samples.velocity)))
