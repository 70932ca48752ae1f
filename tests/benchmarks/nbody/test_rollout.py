"""Rollouts of models whose course is known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.nbody.bodies import LAWS
from benchmarks.nbody.forces import Trained
from benchmarks.nbody.rollout import rollout
from data_gen import nbody

PHYSICS = nbody.Physics()
PANELS = ("gravity", "spring", "gravity+lorentz", "spring+drag")
STEPS = 60


@pytest.fixture(scope="module")
def truth():
    return nbody.rollouts(nbody.RolloutConfig(panels=PANELS, n_starts=3, steps=STEPS, every=20))


def true(bodies):
    """The simulator's accelerations, of whatever forces the model is told of."""
    p, v, found = bodies.position.double().numpy(), bodies.velocity.double().numpy(), []
    for row, forces in enumerate(bodies.forces):
        laws = [law for law, on in zip(LAWS, forces, strict=True) if on]
        found.append(nbody.acceleration(p[row], v[row], laws, PHYSICS))
    return torch.from_numpy(np.stack(found)).float()


def zero(bodies):
    return torch.zeros_like(bodies.position)


def run(model, truth, **options):
    model = model if isinstance(model, Trained) else Trained(model)
    physics = {"physics": PHYSICS}
    return rollout(
        model,
        truth,
        partial(nbody.integrate, **physics),
        partial(nbody.energy, **physics),
        **options,
    )


def test_true_accelerations_follow_the_truth(truth):
    found = run(true, truth, details=True)
    assert found["drift"].dims == ("panel", "start", "step") and found["drift"].dtype == np.float32
    assert found["drift"].max() < 1e-10
    assert list(found["panel"].values) == list(PANELS) and list(found["step"].values) == [
        0,
        20,
        40,
        60,
    ]
    assert list(found["scene"].values) == ["gravity+lorentz", "spring+drag"]
    off = found["path"] - truth["position"].sel(panel=found["scene"].values).rename(
        panel="scene"
    ).drop_vars("scene")
    assert np.abs(off).max() <= 1 / 512 + 1e-5
    assert (found["path"] * 256 % 1 == 0).all() and found["path"].dtype == np.float32
    assert "path" not in run(zero, truth)


def test_without_acceleration_bodies_go_straight(truth):
    # Started near the middle and slow, none of them comes to the boundary.
    calm = truth.copy(deep=True)
    calm["position"][:, :, 0] *= 0.5
    calm["velocity"][:, :, 0] *= 0.5
    found = run(zero, calm)
    straight = (
        calm["position"].isel(step=0) + calm["velocity"].isel(step=0) * calm["step"] * PHYSICS.dt
    )
    wanted = (
        ((straight - calm["position"]) ** 2)
        .sum("axis")
        .mean("body")
        .transpose("panel", "start", "step")
    )
    assert np.abs(straight).max() < 2.5
    assert np.allclose(found["drift"], wanted, rtol=1e-5, atol=1e-12) and wanted.max() > 0.1
    assert np.allclose(found["energy"].sel(panel="gravity").isel(step=0), 0)


def test_the_true_energy_stays_where_nothing_rubs():
    # Lorentz forces do no work; away from the boundary the integrator is exact to far below this.
    config = nbody.RolloutConfig(
        panels=("gravity", "gravity+lorentz", "gravity+drag"), n_starts=3, steps=40, every=40
    )
    truth = nbody.rollouts(config)
    inside = (truth["reach"] < 2.5).values
    assert inside[0].any()
    whole = run(true, truth)
    found = whole["energy"]
    assert np.allclose(found, whole["energy_true"], atol=1e-4, equal_nan=True)
    assert (whole["energy_true"].isel(panel=slice(2)).values[~inside[:2]] <= 1e-4).all(), (
        "the boundary takes energy"
    )
    assert (
        found.sel(panel="gravity+drag").isnull().all()
        and found.isel(panel=slice(2)).notnull().all()
    )
    assert np.abs(found.values[:2][inside[:2]]).max() < 1e-4
    # A model without gravity moves through its potential: its energy changes as the closed form
    # says.
    other = run(zero, truth)["energy"].sel(panel="gravity").isel(step=-1).values
    p, v = (truth[n].sel(panel="gravity").isel(step=0).values for n in ("position", "velocity"))
    *_, (last, speed) = nbody.integrate(lambda p, v: 0 * p, p, v, PHYSICS, steps=40)
    wanted = nbody.energy(last, speed, ["gravity"], PHYSICS) - nbody.energy(
        p, v, ["gravity"], PHYSICS
    )
    assert np.allclose(other, wanted, atol=1e-6) and np.abs(wanted).max() > 0.01


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e12])
def test_a_rollout_that_is_lost_leaves_the_others_alone(truth, value):
    calls = []

    def broken(bodies):
        assert bodies.position.isfinite().all() and bodies.position.abs().max() < 1e7
        found = zero(bodies)
        calls.append(len(found))
        if len(calls) == 30 * 4 + 1:
            found[4] = value
        return found

    found, whole = run(broken, truth, details=True), run(zero, truth, details=True)
    lost = np.isinf(found["drift"]).values
    assert set(calls) == {12}, "one batch of all panels and starts"
    assert lost[1, 1].tolist() == [False, False, True, True] and lost.sum() == 2
    assert np.array_equal(found["drift"].values[~lost], whole["drift"].values[~lost])
    assert np.isinf(found["energy"].values[1, 1]).tolist() == lost[1, 1].tolist()
    assert found["path"].notnull().all(), "the lost one is in no scene"


def test_a_lost_path_ends(truth):
    def broken(bodies):
        found = zero(bodies)
        found[6] = torch.nan
        return found

    path = run(broken, truth, details=True)["path"]
    assert (
        path[0, 0, 0].notnull().all()
        and path[0, 0, 1:].isnull().all()
        and path[0, 1:].notnull().all()
    )


def test_a_follower_is_made_once_and_asked_four_times_a_step(truth):
    made, asked = [], []

    def follow():
        made.append(1)

        def predict(bodies):
            asked.append(bodies)
            return zero(bodies)

        return predict

    run(Trained(lambda bodies: pytest.fail("the follower is there"), follow=follow), truth)
    assert len(made) == 1 and len(asked) == 4 * STEPS
    first = asked[0]
    assert first.forces[::3].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0]]
    assert (
        first.position.dtype == torch.float32
        and first.present.all()
        and first.present.dtype == torch.bool
    )


def test_bad_input_is_named(truth):
    with pytest.raises(ValueError, match="step of truth must begin with 0, got 20"):
        run(zero, truth.isel(step=slice(1, None)))
    with pytest.raises(ValueError, match="truth must have 5 bodies, got 4"):
        run(zero, truth.isel(body=slice(4)))
    with pytest.raises(
        ValueError, match=r"panels must be laws of gravity, .*, got 'gravity\+wind'"
    ):
        run(zero, truth.isel(panel=[0]).assign_coords(panel=["gravity+wind"]))
