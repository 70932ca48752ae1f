"""The study of force composition, on models whose errors are known; the simulator's report, on
broken simulators.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.nbody import measure as bodies
from benchmarks.nbody.bodies import N_BODIES, Bodies, Samples
from benchmarks.nbody.dynamics import predictor, train_dynamics
from benchmarks.nbody.forces import Trained, relative_errors
from chapters.fig4_nbody import simulator
from data_gen import nbody

PHYSICS = nbody.Physics()
TRAINING = {"lr": 1e-3, "steps": 3, "batch_size": 16, "seed": 0}
SMALL_VN = {"reading": "token", "atoms": [8], "sparsity": [0.1], "samples": 64}


@pytest.fixture(scope="module")
def data():
    return nbody.make(nbody.NBodyConfig(n_train=6, n_val=2, n_test=2))


def exact(given: Bodies, add: float = 0.0):
    """The physics itself plus `add`, and nonsense for absent bodies."""
    found = torch.full_like(given.position, torch.nan)
    for state in range(len(given.position)):
        laws = [law for law, acts in zip(nbody.LAWS, given.forces[state], strict=True) if acts]
        here = given.present[state]
        p, v = (part[state][here].double().numpy() for part in given[:2])
        found[state, here] = torch.from_numpy(nbody.acceleration(p, v, laws, PHYSICS) + add).float()
    return found


def test_states_become_tensors(data):
    one = data.isel(state=np.flatnonzero(data["forces"] == "gravity+drag")[-2:])  # three bodies
    found = bodies.samples(one)
    assert found.forces.tolist() == [[1, 0, 1, 0]] * 2
    assert found.present.tolist() == [[True] * 3 + [False] * 2] * 2
    assert torch.equal(found.position, torch.from_numpy(one["position"].values).float())
    assert all(
        part.dtype == torch.float32 for part in (found.velocity, found.acceleration, found.forces)
    )


def test_the_physics_itself_has_no_error(data):
    report = bodies.study(data, Trained(exact))
    assert (
        report["mse"].max() < 1e-10 and report["gap"].max() < 1e-10 and report["criterion"] < 1e-10
    )
    assert list(report["forces"].values) == list(nbody.FORCE_SETS)
    assert list(report["bodies"].values) == [5, 4, 3] and list(report["way"].values) == [
        "joint",
        "passes",
    ]


def test_zero_has_the_power_as_its_error(data):
    report = bodies.study(data, Trained(lambda given: torch.zeros_like(given.position)))
    assert np.allclose(report["mse"], report["power"], rtol=1e-12) and np.allclose(
        report["val_error"], 1
    )
    cell = data.isel(
        state=np.flatnonzero(
            (data["split"] == "test") & (data["forces"] == "drag") & (data["bodies"] == 4)
        )
    )
    assert report["power"].sel(forces="drag", bodies=4) == pytest.approx(
        float((1.5 * cell["velocity"].values[:, :4] ** 2 * 1.5).mean()), rel=1e-9
    )


def test_an_offset_counts_once_jointly_and_once_per_pass(data):
    report = bodies.study(data, Trained(partial(exact, add=1.0)))
    n = np.array([len(f.split("+")) for f in report["forces"].values])
    assert np.allclose(report["mse"].sel(way="joint"), 1, rtol=1e-4)
    assert np.allclose(report["mse"].sel(way="passes"), n[:, None] ** 2, rtol=1e-4)
    assert np.allclose(report["gap"], (n - 1) ** 2 / report["power"].sel(bodies=5), rtol=1e-3)


def test_states_are_counted(data):
    report = bodies.study(data, Trained(exact))
    assert (report["test_states"] == 2 * 5).all()
    assert report["train_states"].values.tolist() == [6 * 5] * 4 + [0] * 11


def test_tuning_sees_no_test_state(data):
    blind = data.copy(deep=True)
    for name in ("position", "velocity", "acceleration"):
        blind[name][data["split"].values == "test"] = np.nan
    report = bodies.study(blind, Trained(exact), tests=False)
    assert "mse" not in report and report["val_error"].notnull().all()
    assert report["criterion"] == pytest.approx(float(report["val_error"].mean()))


@pytest.mark.parametrize(
    ("curve", "wanted"), [(range(20), range(1, 20, 2)), ([3.0, 2.0], [3.0] * 5 + [2.0] * 5)]
)
def test_the_curve_is_read_at_tenths(data, curve, wanted):
    report = bodies.study(
        data, Trained(exact, curve=list(curve), facts={"parameters": 7}), tests=False
    )
    assert report["curve"].values.tolist() == list(wanted) and report["fact_parameters"] == 7


def test_rollouts_are_merged_in(data):
    truth = nbody.rollouts(nbody.RolloutConfig(n_starts=1, steps=4, every=2))
    world = {
        name: partial(getattr(nbody, name), physics=PHYSICS) for name in ("integrate", "energy")
    }
    report = bodies.study(data, Trained(exact), truth=truth, **world, details=True)
    assert report["drift"].max() < 1e-10 and report["path"].sizes["scene"] == 3
    assert "drift" not in bodies.study(data, Trained(exact))


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("mlp", {"width": 8}),
        ("gnn", {"width": 8}),
        ("factorized", {"structure": "pairwise", "width": 8}),
        ("token_network", {"hidden": [8]}),
        ("ridge", {"features": "gated"}),
        ("mean", {}),
        ("vn", SMALL_VN),
    ],
)
def test_families_train_and_repeat(data, tmp_path, family, options):
    train, held = (bodies.samples(nbody.subset(data, one)) for one in ("train", "val"))
    model, again = (
        train_dynamics(
            train, held, family=family, options=options, workdir=tmp_path / part, **TRAINING
        )
        for part in "ab"
    )
    found = model.predict(held.bodies)
    assert torch.equal(found, again.predict(held.bodies)), "the same seed, the same bits"
    assert (
        found.shape == held.position.shape
        and torch.isfinite(found).all()
        and model.facts["parameters"] > 0
    )
    assert torch.isfinite(relative_errors(model.predict, held)).all()
    some = Samples(*held).bodies._replace(present=torch.arange(N_BODIES).expand(len(found), -1) < 3)
    assert (model.predict(some)[:, 3:] == 0).all()


def test_networks_keep_the_update_that_validates_best(data, tmp_path):
    train, held = (bodies.samples(nbody.subset(data, one)) for one in ("train", "val"))
    model = train_dynamics(
        train,
        held,
        family="mlp",
        options={"width": 8},
        workdir=tmp_path,
        **TRAINING | {"steps": 20, "lr": 0.5},
    )
    assert len(model.curve) == 20
    assert float(relative_errors(model.predict, held).mean()) == pytest.approx(
        min(model.curve), rel=1e-5
    )


def test_an_unknown_family_is_refused(data, tmp_path):
    held = bodies.samples(nbody.subset(data, "val"))
    with pytest.raises(ValueError, match=r"family must be one of 'vn', .*, got 'hamiltonian'"):
        train_dynamics(held, held, family="hamiltonian", options={}, workdir=tmp_path, **TRAINING)


def test_many_states_are_predicted_in_parts():
    seen = []

    def model(given):
        seen.append(len(given.position))
        return given.velocity

    n = 5000
    some = Bodies(
        torch.zeros(n, 5, 2),
        torch.randn(n, 5, 2),
        torch.ones(n, 5, dtype=torch.bool),
        torch.ones(n, 4),
    )
    assert torch.equal(predictor(model)(some), some.velocity) and seen == [4096, 904]


# --- The simulator --------------------------------------------------------------------------------


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
