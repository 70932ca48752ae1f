"""Families of models of forces: each trains, repeats itself, and leaves absent bodies alone."""

from __future__ import annotations

import pytest
import torch
import xarray as xr

from benchmarks.nbody import measure
from benchmarks.nbody.bodies import N_BODIES, Bodies, Samples
from benchmarks.nbody.dynamics import predictor, train_dynamics
from benchmarks.nbody.forces import relative_errors
from data_gen import nbody

TRAINING = {"lr": 1e-3, "steps": 3, "batch_size": 16}
SMALL_VN = {"reading": "token", "atoms": [8], "sparsity": [0.1], "samples": 64}


@pytest.fixture(scope="module")
def data() -> xr.Dataset:
    return nbody.make(nbody.NBodyConfig(n_train=6, n_val=2, n_test=2))


@pytest.fixture(scope="module")
def held(data) -> Samples:
    """Validation samples."""
    return measure.samples(nbody.subset(data, "val"))


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
def test_families_train_and_repeat(data, held, tmp_path, family, options):
    model, again = (
        train_dynamics(data, 0, tmp_path / part, family=family, options=options, **TRAINING)
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


def test_networks_keep_the_step_that_validates_best(data, held, tmp_path):
    long = TRAINING | {"steps": 20, "lr": 0.5}
    model = train_dynamics(data, 0, tmp_path, family="mlp", options={"width": 8}, **long)
    assert len(model.curve) == 20
    assert float(relative_errors(model.predict, held).mean()) == pytest.approx(
        min(model.curve), rel=1e-5
    )


def test_an_unknown_family_is_refused(data, tmp_path):
    with pytest.raises(ValueError, match=r"family must be one of 'vn', .*, got 'hamiltonian'"):
        train_dynamics(data, 0, tmp_path, family="hamiltonian", options={}, **TRAINING)


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
