"""The ablation of feedback: its settings and variants, and its errors where they are known."""

from __future__ import annotations

import inspect
import itertools
import json

import numpy as np
import pytest
import torch
import xarray as xr

from benchmarks.nbody.bodies import LAWS, Accelerations, Bodies
from benchmarks.nbody.forces import Trained
from benchmarks.nbody.vector_networks import vector_network
from chapters.H_nbody import study
from data_gen import nbody
from vnlib.book import chapter, paths, store
from vnlib.book.store.variables import described


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return nbody.make(nbody.NBodyConfig(n_train=1, n_val=2, n_test=2, steps=10, every=10))


def physics(bodies: Bodies, without: str) -> Accelerations:
    """The truth, but for one law, state by state."""
    found = torch.zeros_like(bodies.position)
    for row in range(len(found)):
        present = bodies.present[row]
        laws = [
            law for law, on in zip(LAWS, bodies.forces[row], strict=True) if on and law != without
        ]
        p, v = (part[row][present].double().numpy() for part in bodies[:2])
        found[row, present] = torch.from_numpy(
            nbody.acceleration(p, v, laws, nbody.Physics())
        ).float()
    return found


@pytest.fixture(scope="module")
def zero(data) -> xr.Dataset:
    return study.errors(
        data, Trained(lambda bodies: torch.zeros_like(bodies.position), facts={"dead": 3.0})
    )


@pytest.fixture(scope="module")
def dragless(data) -> xr.Dataset:
    return study.errors(data, Trained(lambda bodies: physics(bodies, "drag")))


def test_predicting_zero_errs_by_all_there_is(zero, data):
    for name in ("criterion", "id_error", "ood_error", "error_number", "val_error"):
        np.testing.assert_allclose(zero[name], 1, rtol=1e-6)
    np.testing.assert_allclose(zero["mse"], zero["power"], rtol=1e-12)
    rows = (data["split"] == "test") & (data["forces"] == "gravity+drag") & (data["bodies"] == 3)
    truth = data["acceleration"].values[rows.values][:, :3]
    np.testing.assert_allclose(
        zero["power"].sel(forces="gravity+drag", bodies=3), np.square(truth).mean(), rtol=1e-12
    )
    np.testing.assert_allclose(
        zero["mse_number"].sel(number=4), zero["power"].sel(forces="+".join(LAWS))
    )


def test_facts_are_kept_and_every_number_has_a_name(zero):
    assert float(zero["fact_dead"]) == 3
    named = described(zero, study.VARIABLES)
    assert named["ood_mse"].attrs["units"] == named["power"].attrs["units"] == "(box/s^2)^2"
    assert zero["error_number"].dims == ("number", "bodies")
    assert zero["number"].values.tolist() == [1, 2, 3, 4]


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


def opened(**given: object) -> chapter.Chapter:
    one = chapter.spec("H_nbody")
    return chapter.Chapter(one, one.check({"device": "cpu", **given}))


def test_variants_differ_in_one_thing():
    found = study.variants(opened(betas="0,0.02,0.3"))
    assert len(found) == 8 and list(found)[:2] == ["beta 0", "beta 0.02"]
    assert found["beta 0.02"] == {"beta": 0.02, "revive": False, "kind": "plain"}
    assert found["beta 0.3, revived"] == {"beta": 0.3, "revive": True, "kind": "plain"}
    assert found["split"] == found["beta 0.02"] | {"kind": "split"}
    assert found["inverted"] == found["beta 0.02"] | {"kind": "inverted"}


@pytest.mark.parametrize(
    ("variant", "differs"),
    [
        ("beta 0.02", {}),
        ("beta 0", {"feedback": 0}),
        ("beta 0.02, revived", {"revive_after": 3}),
        ("split", {"readout_per_force": True}),
        ("inverted", {"inverted": True}),
    ],
)
def test_a_variant_sets_options_of_the_network(variant, differs):
    axes = {"model": "token", "variant": variant, "seed": 0}
    plain = {"feedback": 0.02, "revive_after": None, "readout_per_force": False, "inverted": False}
    options = study.settings(opened(), axes)["training"]["options"]
    assert options == options | plain | differs
    assert set(options) <= set(inspect.signature(vector_network).parameters)


@pytest.mark.parametrize("betas", ["0.02,0.1", "0,0.1"])
def test_grids_without_what_is_compared_are_refused(betas):
    with pytest.raises(ValueError, match=r"betas must hold 0(\.02)? as well"):
        study.variants(opened(betas=betas))


def test_settings_are_those_of_the_shipped_runs():
    paper = opened(profile="paper")
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "H_nbody"))["run_settings"]
    for model, variant, seed in itertools.product(
        *(stored[d].values.tolist() for d in stored.dims)
    ):
        axes = {"model": model, "variant": variant, "seed": seed}
        assert study.settings(paper, axes) == json.loads(str(stored.sel(axes).item())), axes


def test_a_run_is_trained_and_measured(tmp_path):
    axes = {"model": "token", "variant": "beta 0.02, revived", "seed": 0}
    settings = study.settings(opened(), axes)
    assert settings["training"]["options"]["atoms"] == [16, 8, 8], "the profile's size"
    found = study.run(opened(), axes, settings, tmp_path)
    assert np.isfinite(found["ood_error"]) and found["fact_parameters"] > 0


def test_twice_the_updates_is_all_that_is_other():
    one = chapter.spec("H_nbody")
    paper = chapter.Chapter(one, one.check({"profile": "paper"}))
    axes = {"model": "token", "variant": "beta 0.02", "seed": 0}
    own = study.settings(paper, axes)
    longer = study.twice(own)
    assert longer["data"] == own["data"]
    was, now = own["training"], longer["training"]
    assert now["steps"] == 2 * was["steps"]
    assert now["options"] == was["options"] | {"passes": 2 * was["options"]["passes"]}
    assert {*study.COMPARED} <= {*study.variants(paper)}
