"""The ablation of feedback: its variants, and its errors where they are known."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies
from benchmarks.nbody.forces import Trained
from benchmarks.nbody.vector_networks import vector_network
from chapters.H_nbody import feedback
from data_gen import nbody


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return nbody.make(nbody.NBodyConfig(n_train=1, n_val=2, n_test=2, steps=10, every=10))


def physics(bodies: Bodies, without: str) -> Accelerations:
    """The truth, but for one law, state by state."""
    found = torch.zeros_like(bodies.position)
    for row in range(len(found)):
        here = bodies.present[row]
        laws = [
            law for law, on in zip(LAWS, bodies.forces[row], strict=True) if on and law != without
        ]
        p, v = (part[row][here].double().numpy() for part in bodies[:2])
        found[row, here] = torch.from_numpy(nbody.acceleration(p, v, laws, nbody.Physics())).float()
    return found


@pytest.fixture(scope="module")
def blank(data) -> xr.Dataset:
    return feedback.study(
        data, Trained(lambda bodies: torch.zeros_like(bodies.position), facts={"dead": 3.0})
    )


@pytest.fixture(scope="module")
def dragless(data) -> xr.Dataset:
    return feedback.study(data, Trained(lambda bodies: physics(bodies, "drag")))


def test_predicting_zero_errs_by_all_there_is(blank, data):
    for name in ("criterion", "id_error", "ood_error", "error_number", "val_error"):
        np.testing.assert_allclose(blank[name], 1, rtol=1e-6)
    np.testing.assert_allclose(blank["mse"], blank["power"], rtol=1e-12)
    rows = (data["split"] == "test") & (data["forces"] == "gravity+drag") & (data["bodies"] == 3)
    truth = data["acceleration"].values[rows.values][:, :3]
    np.testing.assert_allclose(
        blank["power"].sel(forces="gravity+drag", bodies=3), np.square(truth).mean(), rtol=1e-12
    )
    np.testing.assert_allclose(
        blank["mse_number"].sel(number=4), blank["power"].sel(forces="+".join(LAWS))
    )


def test_facts_and_units_are_kept(blank):
    assert float(blank["fact_dead"]) == 3 and blank["fact_dead"].attrs["units"] == "1"
    assert blank["ood_mse"].attrs["units"] == blank["power"].attrs["units"] == "(box/s^2)^2"
    assert blank["error_number"].dims == ("number", "bodies") and list(blank["number"].values) == [
        1,
        2,
        3,
        4,
    ]


def test_a_missing_law_costs_where_it_acts(dragless):
    acts = np.array(["drag" in name for name in dragless["forces"].values])
    assert float(dragless["mse"][~acts].max()) < 1e-9
    np.testing.assert_allclose(dragless["val_error"], [0, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose([dragless["criterion"], dragless["id_error"]], 0.25, rtol=1e-5)
    relative = (dragless["mse"] / dragless["power"]).values
    mixed = np.array(["+" in name for name in dragless["forces"].values])
    np.testing.assert_allclose(dragless["ood_error"], relative[mixed].mean(), rtol=1e-12)
    np.testing.assert_allclose(
        dragless["ood_mse"], dragless["mse"].values[mixed].mean(), rtol=1e-12
    )
    # The error is the drag itself: gamma^2 v^2 in every mixture.
    assert float(dragless["mse"][acts & mixed].min()) > 0.01


def test_variants_differ_in_one_thing():
    found = feedback.variants([0, 0.05, 0.3], beta=0.05)
    assert len(found) == 8 and list(found)[:2] == ["beta 0", "beta 0.05"]
    assert found["beta 0.05"] == {"beta": 0.05, "revive": False, "kind": "plain"}
    assert found["beta 0.3, revived"] == {"beta": 0.3, "revive": True, "kind": "plain"}
    assert found["split"] == found["beta 0.05"] | {"kind": "split"}
    assert found["inverted"] == found["beta 0.05"] | {"kind": "inverted"}


def test_a_variant_sets_options_of_the_network():
    found = {
        name: feedback.options(**one, revive_after=7)
        for name, one in feedback.variants([0, 0.1], beta=0.1).items()
    }
    plain = {"feedback": 0.1, "revive_after": None, "readout_per_force": False, "inverted": False}
    assert found["beta 0.1"] == plain and found["beta 0"] == plain | {"feedback": 0}
    assert found["beta 0.1, revived"] == plain | {"revive_after": 7}
    assert found["split"] == plain | {"readout_per_force": True} and found["inverted"] == plain | {
        "inverted": True
    }
    taken = inspect.signature(vector_network).parameters
    assert set(plain) <= set(taken)
    with pytest.raises(ValueError, match="kind"):
        feedback.options(0.1, False, "upside down", revive_after=7)


@pytest.mark.parametrize(
    ("betas", "beta", "message"),
    [
        ([0, 0.05], 0, "beta must be"),
        ([0.05, 0.1], 0.05, "hold 0 and the default 0.05"),
        ([0, 0.1], 0.05, "hold 0 and the default 0.05"),
        ([0, 0.05, -0.1], 0.05, "each of betas"),
        ([0, 0.05, 0.05], 0.05, "different numbers"),
        (0.05, 0.05, "a list of different numbers"),
    ],
)
def test_bad_grids_are_named(betas, beta, message):
    with pytest.raises(ValueError, match=message):
        feedback.variants(betas, beta=beta)
