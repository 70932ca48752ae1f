"""What is measured of models of forces, on models whose errors are known."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from benchmarks.nbody import measure
from benchmarks.nbody.bodies import Bodies
from benchmarks.nbody.forces import Trained
from data_gen import nbody

PHYSICS = nbody.Physics()


@pytest.fixture(scope="module")
def data():
    return nbody.make(nbody.NBodyConfig(n_train=6, n_val=2, n_test=2))


def exact(given: Bodies, add: float = 0.0):
    """The physics itself plus `add`, and nonsense for absent bodies."""
    found = torch.full_like(given.position, torch.nan)
    for state in range(len(given.position)):
        laws = [law for law, acts in zip(nbody.LAWS, given.forces[state], strict=True) if acts]
        present = given.present[state]
        p, v = (part[state][present].double().numpy() for part in given[:2])
        found[state, present] = torch.from_numpy(
            nbody.acceleration(p, v, laws, PHYSICS) + add
        ).float()
    return found


def test_states_become_tensors(data):
    one = data.isel(state=np.flatnonzero(data["forces"] == "gravity+drag")[-2:])  # three bodies
    found = measure.samples(one)
    assert found.forces.tolist() == [[1, 0, 1, 0]] * 2
    assert found.present.tolist() == [[True] * 3 + [False] * 2] * 2
    assert torch.equal(found.position, torch.from_numpy(one["position"].values).float())
    assert all(
        part.dtype == torch.float32 for part in (found.velocity, found.acceleration, found.forces)
    )


def test_the_physics_itself_has_no_error(data):
    report = measure.study(data, Trained(exact))
    assert (
        report["mse"].max() < 1e-10 and report["gap"].max() < 1e-10 and report["criterion"] < 1e-10
    )
    assert list(report["forces"].values) == list(nbody.FORCE_SETS)
    assert list(report["bodies"].values) == [5, 4, 3] and list(report["inference"].values) == [
        "joint",
        "passes",
    ]


def test_zero_has_the_power_as_its_error(data):
    report = measure.study(data, Trained(lambda given: torch.zeros_like(given.position)))
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
    report = measure.study(data, Trained(partial(exact, add=1.0)))
    n = np.array([len(f.split("+")) for f in report["forces"].values])
    assert np.allclose(report["mse"].sel(inference="joint"), 1, rtol=1e-4)
    assert np.allclose(report["mse"].sel(inference="passes"), n[:, None] ** 2, rtol=1e-4)
    assert np.allclose(report["gap"], (n - 1) ** 2 / report["power"].sel(bodies=5), rtol=1e-3)


def test_states_are_counted(data):
    report = measure.study(data, Trained(exact))
    assert (report["test_states"] == 2 * 5).all()
    assert report["train_states"].values.tolist() == [6 * 5] * 4 + [0] * 11


def test_a_choice_among_candidates_sees_no_test_state(data):
    hidden = data.copy(deep=True)
    for name in ("position", "velocity", "acceleration"):
        hidden[name][data["split"].values == "test"] = np.nan
    report = measure.study(hidden, Trained(exact), tests=False)
    assert "mse" not in report and report["val_error"].notnull().all()
    assert report["criterion"] == pytest.approx(float(report["val_error"].mean()))


@pytest.mark.parametrize(
    ("curve", "wanted"), [(range(20), range(1, 20, 2)), ([3.0, 2.0], [3.0] * 5 + [2.0] * 5)]
)
def test_the_curve_is_read_at_tenths(data, curve, wanted):
    report = measure.study(
        data, Trained(exact, curve=list(curve), facts={"parameters": 7}), tests=False
    )
    assert report["curve"].values.tolist() == list(wanted) and report["fact_parameters"] == 7


def test_rollouts_are_merged_in(data):
    truth = nbody.rollouts(nbody.RolloutConfig(n_starts=1, steps=4, every=2))
    report = measure.study(data, Trained(exact), truth=truth, details=True)
    assert report["drift"].max() < 1e-10 and report["path"].sizes["scene"] == 3
    assert "drift" not in measure.study(data, Trained(exact))
