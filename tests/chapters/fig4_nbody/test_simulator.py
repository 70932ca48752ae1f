"""The simulator's report, on the simulator and on broken ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from chapters.fig4_nbody import simulator
from data_gen import nbody

PHYSICS = nbody.Physics()


def reported(
    trajectory=nbody.trajectory, acceleration=nbody.acceleration, energy=nbody.energy, **constants
):
    return simulator.report(
        trajectory, acceleration, energy, replace(PHYSICS, **constants), steps=120
    )


def test_the_simulator_is_what_it_should_be():
    report = reported()
    assert report["sim_exact"].max() < 1e-8 and report["sim_energy"].max() < 1e-6
    assert (
        report["sim_momentum"] < 1e-12
        and report["sim_superposition"] < 1e-12
        and report["sim_boundary"] < 1e-12
    )
    assert report["sim_order"] == pytest.approx(4, abs=0.3)
    assert reported(gravity=1.0, stiffness=2.0, drag=0.3, rotation=3.0)["sim_exact"].max() < 1e-7


@pytest.mark.parametrize("law", nbody.LAWS)
def test_a_wrong_law_leaves_its_closed_form(law):
    def stronger(p, v, laws, physics, *, steps):
        scaled = {
            "gravity": "gravity",
            "spring": "stiffness",
            "drag": "drag",
            "lorentz": "rotation",
        }[law]
        return nbody.trajectory(
            p, v, laws, replace(physics, **{scaled: 1.1 * getattr(physics, scaled)}), steps=steps
        )

    off = reported(stronger)["sim_exact"]
    assert off.sel(law=law) > 1e-4 and off.drop_sel(law=law).max() < 1e-8


def euler(p, v, laws, physics, *, steps):
    yield p, v
    for _ in range(steps):
        p, v = p + physics.dt * v, v + physics.dt * nbody.acceleration(p, v, laws, physics)
        yield nbody.bounded(p, v, physics)


def test_another_integrator_has_another_order():
    report = reported(euler)
    assert report["sim_order"] == pytest.approx(1, abs=0.3) and report["sim_energy"].max() > 1e-4


def test_what_does_not_add_up_is_seen():
    def coupled(p, v, laws, physics):
        return nbody.acceleration(p, v, laws, physics) * (1 + 0.1 * (len(laws) > 2))

    def one_sided(p, v, laws, physics, *, steps):
        def pulled(p, v):
            return nbody.acceleration(p, v, laws, physics) + np.array([0.1, 0])

        return nbody.integrate(pulled, p, v, physics, steps=steps)

    def hard(p, v, laws, physics, *, steps):
        for now in nbody.trajectory(p, v, laws, replace(physics, side=1e9), steps=steps):
            yield np.clip(now[0], -physics.side / 2, physics.side / 2), now[1]

    assert reported(acceleration=coupled)["sim_superposition"] > 0.01
    assert reported(one_sided)["sim_momentum"] > 0.01
    assert reported(hard)["sim_boundary"] > 0.01
