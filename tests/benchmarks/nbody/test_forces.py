"""The interface of models of dynamics, and the error they are chosen by."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from benchmarks.baselines.parts import built
from benchmarks.nbody.baseline import Dynamics
from benchmarks.nbody.bodies import Samples, Scales
from benchmarks.nbody.forces import relative_errors

SCALES = Scales(displacement=2.0, velocity=0.5, relative_velocity=1.0, acceleration=3.0)


class Weighted(Dynamics):
    """Each body is pushed along its velocity."""

    def __init__(self, *, scales: Scales, gain: float = 1.0) -> None:
        super().__init__(scales=scales)
        self.weight, self.gain = nn.Parameter(torch.randn(2)), gain

    def respond(self, bodies):
        return self.gain * self.weight * bodies.velocity


def samples(n=8):
    rng = torch.Generator().manual_seed(1)
    p, v, a = (torch.randn(n, 5, 2, generator=rng) for _ in range(3))
    present = torch.ones(n, 5, dtype=torch.bool)
    present[-1, 3:] = False
    return Samples(p, v, present, torch.eye(4).repeat(n // 4, 1), a)


def test_accelerations_come_in_their_units_and_are_zero_for_absent_bodies():
    model, data = built(Weighted, scales=SCALES, seed=0), samples()
    found = model(data.bodies)
    torch.testing.assert_close(found[0], 3.0 * model.weight * data.velocity[0])
    assert not found[-1, 3:].any() and found[-1, :3].all()


def test_the_loss_is_over_present_bodies_in_the_scale_of_accelerations():
    model, data = built(Weighted, scales=SCALES, seed=0), samples()
    error = (model(data.bodies) - data.acceleration)[data.present] / 3.0
    rng = torch.Generator().manual_seed(0)
    torch.testing.assert_close(model.loss(*data, generator=rng), error.square().mean())
    other = data.acceleration.clone()
    other[-1, 3:] = 1e6
    torch.testing.assert_close(
        model.loss(*data._replace(acceleration=other), generator=rng),
        model.loss(*data, generator=rng),
    )


def test_the_seed_fixes_the_weights_and_leaves_the_global_state():
    torch.manual_seed(3)
    wanted = torch.rand(1)
    torch.manual_seed(3)
    first, again, other = (built(Weighted, scales=SCALES, seed=seed).weight for seed in (5, 5, 6))
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(torch.rand(1), wanted)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="Weighted has no option width; it has gain"):
        built(Weighted, scales=SCALES, seed=0, width=3)
    with pytest.raises(ValueError, match="velocity of scales must be a finite number > 0, got 0"):
        built(Weighted, scales=SCALES._replace(velocity=0), seed=0)
    model, data = built(Weighted, scales=SCALES, seed=0), samples()
    with pytest.raises(ValueError, match=r"forces must have the shape \(8, 4\), got \(8, 3\)"):
        model(data.bodies._replace(forces=data.forces[:, :3]))
    with pytest.raises(
        ValueError, match=r"acceleration must have the shape \(8, 5, 2\), got \(8, 5\)"
    ):
        model.loss(
            *data._replace(acceleration=data.acceleration[..., 0]), generator=torch.Generator()
        )


def test_relative_errors_weigh_each_law_by_its_own_power():
    data = samples()
    scaled = data.acceleration * torch.tensor([1.0, 10, 100, 0.1]).repeat(2)[:, None, None]
    data = data._replace(acceleration=scaled)
    shrunk = torch.tensor([0.1, 0.2, 0.3, 0.4])

    def predict(bodies):
        return scaled * (1 - bodies.forces @ shrunk)[:, None, None]

    torch.testing.assert_close(
        relative_errors(predict, data), shrunk.double() ** 2, rtol=1e-5, atol=0
    )
    mixed = torch.cat([data.forces[:4], torch.ones(4, 4)])
    later = data._replace(forces=mixed)
    torch.testing.assert_close(  # mixtures do not count
        relative_errors(lambda b: predict(data.bodies), later),
        shrunk.double() ** 2,
        rtol=1e-5,
        atol=0,
    )
    with pytest.raises(ValueError, match="got none of lorentz"):
        relative_errors(lambda bodies: bodies.velocity, Samples(*(part[:3] for part in data)))
