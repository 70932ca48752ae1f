"""Danskin's theorem measured: where it holds, and where the measurement must say that it does
not.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.E_theory.gradient import (
    CASES,
    Case,
    danskin,
    danskin_cases,
    random_stack,
)

SMALL = {"d": 5, "K": 6, "batch": 4, "feedback": 0.3, "sparsity": 0.3, "directions": 2, "seed": 0}


def measure(case: Case, *, sweeps: int = 300):
    return danskin(case, sweeps=sweeps, early=[1, 10, 100], **SMALL)


def test_stack_is_a_function_of_its_seed():
    one, same, other = (random_stack(4, 5, 3, sparsity=0.1, seed=s, top_k=2) for s in (0, 0, 1))
    assert torch.equal(one[2].V, same[2].V) and not torch.equal(one[2].V, other[2].V)
    assert one[2].U is None and one[2].penalty.k == 2 and one[1].penalty.sparsity == 0.05


def test_one_layer_has_an_exact_gradient_of_v_and_no_u():
    found = measure(CASES["one layer"])
    assert found["gradient_error"].sel(kind="V") < 1e-6
    assert found["gradient_cosine"].sel(kind="V") == pytest.approx(1)
    assert np.isnan(found["gradient_error"].sel(kind="U"))


@pytest.mark.parametrize("name", ["three layers", "top-k"])
def test_the_joint_energy_has_exact_gradients_of_v_and_u(name):
    found = measure(CASES[name], sweeps=600)
    assert (found["gradient_error"] < 1e-4).all() and (found["gradient_cosine"] > 0.9999).all()


@pytest.mark.parametrize("name", ["summed", "ReLU"])
def test_what_the_settle_does_not_minimise_has_another_gradient(name):
    assert measure(CASES[name], sweeps=100)["gradient_error"].max() > 0.05


def test_the_error_falls_with_the_gap():
    found = measure(CASES["one layer"])
    error = found["early_error"].sel(kind="V").values
    assert (np.diff(error) < 0).all() and (np.diff(found["early_gap"]) < 0).all()
    assert error[0] > 0.01 > 1e-3 > error[-1]
    assert np.isnan(measure(CASES["top-k"], sweeps=20)["early_gap"]).all()


def test_all_cases_are_measured():
    found = danskin_cases(sweeps=5, early=[1], **SMALL)
    assert found["case"].values.tolist() == list(CASES) and found["early_error"].dims == (
        "case",
        "kind",
        "early",
    )
