"""Superposition and recovery on dictionaries for which the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.E_theory import recovery as study
from vnlib.layer import Layer
from vnlib.metrics import coherence
from vnlib.prox import L1
from vnlib.seeding import generator
from vnlib.settle import SettleConfig, Settler

OPTIONS = {"samples": 6, "share": 0.01, "gap": 1e-6, "seed": 0}


def orthonormal(d: int) -> torch.Tensor:
    return torch.linalg.qr(torch.randn(d, d, generator=generator(0, "Q"), dtype=torch.float64)).Q


def test_bound_of_known_coherences():
    assert study.bound(1 / 3) == pytest.approx(2)
    assert study.bound(1 / 7) == pytest.approx(4)
    assert study.bound(0) == float("inf")


@pytest.mark.parametrize("family", study.FAMILIES)
@pytest.mark.parametrize("mu", [0.25, 0.3, 0.7, 0.99])
def test_bases_have_the_coherence_asked_for(family, mu):
    V = study.overlapping_bases(16, mu, family)
    assert V.shape[1] == 32 and torch.allclose(V.norm(dim=0), torch.ones(32, dtype=torch.float64))
    assert coherence(V) == pytest.approx(mu)


@pytest.mark.parametrize(
    ("d", "mu", "family", "message"),
    [
        (12, 0.5, "pairs", "d must be a power of 2, got 12"),
        (16, 0.2, "pairs", "mu must be .* got 0.2"),
        (16, 1.0, "common", "mu must be < 1, got 1.0"),
        (16, 0.5, "pair", "family must be one of 'pairs', 'common'"),
    ],
)
def test_impossible_bases_are_refused(d, mu, family, message):
    with pytest.raises(ValueError, match=message):
        study.overlapping_bases(d, mu, family)


def test_simplex_sums_to_zero_with_equal_overlaps():
    V = study.simplex(8)
    assert coherence(V) == pytest.approx(1 / 7)
    assert V.sum(1).abs().max() < 1e-12


def test_planted_codes_have_the_sizes_that_they_say():
    codes = study.planted_codes(50, 9, 4, generator(0, "a"))
    assert ((codes != 0).sum(1) == 4).all()
    assert codes[codes != 0].abs().min() >= 1 and codes.abs().max() <= 2
    assert (codes > 0).any() and (codes < 0).any()
    assert set(study.planted_codes(5, 9, 4, generator(0, "a"), signed=False).unique().tolist()) == {
        0,
        1,
    }
    with pytest.raises(ValueError, match="active must be an integer >= 1 and <= 9, got 10"):
        study.planted_codes(5, 9, 10, generator(0, "a"))


def test_linearity_holds_to_rounding_and_is_lost_behind_a_relu():
    V = study.overlapping_bases(16, 0.5, "pairs")
    a, b = (study.planted_codes(20, 32, 5, generator(0, name)) for name in "ab")
    found = study.linearity(V, a, b)
    assert found["dtype"].values.tolist() == ["float32", "float64"]
    assert (found["rounding"] < 8).all() and (found["rounding"] > 0).all()
    assert found["relu_error"] > 0.1
    # a ReLU of what is positive is linear
    assert study.linearity(V.abs(), a.abs(), b.abs())["relu_error"] < 1e-12


def test_orthonormal_atoms_are_always_recovered():
    found = study.recovery(orthonormal(12), [1, 4, 8, 12], **OPTIONS)
    assert (found["recovered"] == 1).all()
    assert found["bound"] > 1e10 and found["settled"] == 1 and found["largest_gap"] <= 1e-6


def test_a_simplex_fails_from_the_bound_on():
    """A sum of half of the atoms is minus the sum of the others, so that no method can tell them
    apart.
    """
    found = study.recovery(study.simplex(8), [2, 3, 4, 5], signed=False, **OPTIONS)
    assert found["bound"] == pytest.approx(4)
    assert found["recovered"].sel(rule="exact").values.tolist() == [1, 1, 0, 0]


def test_too_large_a_lambda_loses_atoms():
    options = OPTIONS | {"share": 0.9}
    assert study.recovery(orthonormal(12), [6], **options)["recovered"].sel(rule="exact").item() < 1


def test_diagram_recovers_everything_below_the_bound():
    found = study.recovery_diagram(16, [0.25, 0.5], [1, 2, 10], **OPTIONS)
    assert found["recovered"].dims == ("family", "coherence", "rule", "active")
    exact = found["recovered"].sel(rule="exact")
    assert exact.where(found["active"] < found["bound"]).min() == 1
    assert exact.sel(active=10).max() < 1
    np.testing.assert_allclose(found["mu"].sel(family="common"), [0.25, 0.5])


def test_sums_of_disjoint_orthonormal_codes_superpose():
    Q = orthonormal(8)
    x, y = Q[:, :2].T * torch.tensor([[2.0], [3.0]]), Q[:, 2:4].T * torch.tensor([[1.0], [-2.0]])
    found = study.sums(Q, x.double(), y.double(), share=0.1, gap=1e-9)
    assert (found["sum_overlap"] == 1).all() and (found["sum_distance"] < 1e-6).all()
    assert found["sum_active"].values.tolist() == found["union_active"].values.tolist() == [2, 2]


def test_sums_that_cancel_lose_the_atom():
    Q = orthonormal(8)
    found = study.sums(Q, 2 * Q[:, :1].T, (-2 * Q[:, :1] + 3 * Q[:, 1:2]).T, share=0.1, gap=1e-9)
    assert found["sum_overlap"].item() == pytest.approx(0.5)


def test_sums_by_count_use_different_atoms_and_superpose_below_the_bound():
    V = study.overlapping_bases(16, 0.25, "pairs")
    found = study.sums_by_count(V, [1, 8], **OPTIONS)
    assert found["sum_bound"].item() == pytest.approx(2.5)
    assert (found["sum_overlap"].sel(each=1) == 1).all()
    assert (found["union_active"].sel(each=1) == 2).all()
    assert found["sum_overlap"].sel(each=8).mean() < 1


def test_noise_enters_the_code_exactly_where_lambda_is_below_it():
    found = study.noisy_recovery(
        orthonormal(16), 3, [0.5, 1.01, 3.0, 1000.0], noise=0.01, samples=10, gap=1e-9, seed=0
    )
    # On an orthonormal dictionary the lasso is a soft threshold: |V'e|_inf is the exact limit for
    # wrong atoms.
    assert found["noisy_false"].values[0] > 0 and found["noisy_false"].values[1:].tolist() == [
        0,
        0,
        0,
    ]
    assert found["noisy_recovered"].values.tolist() == [0, 1, 1, 0]
    assert found["noisy_missed"].values.tolist() == [0, 0, 0, 3]


def test_stopped_settles_are_those_of_the_settler():
    V = study.overlapping_bases(16, 0.8, "common")
    x = study.planted_codes(5, 32, 3, generator(0, "x")) @ V.T
    found = study.stopped_early(V, x, share=0.05, sweeps=[1, 7, 60])
    layer = Layer(V, None, L1(sparsity=0.05 * float((x @ V).abs().amax(1).mean())))
    for solver in ("ista", "restart"):
        whole = Settler([layer], config=SettleConfig(method=solver, max_sweeps=7, tol=0))(x)
        active = found["stopped_active"].sel(solver=solver, sweep=7).item()
        assert active == pytest.approx((whole.codes[0] != 0).double().sum(1).mean().item())
    assert (found["stopped_active"].isel(sweep=0) > found["settled_active"]).all()
    assert (found["stopped_height"].diff("sweep") < 0).all() and (
        found["stopped_update"].diff("sweep") < 0
    ).all()


def test_one_step_settles_an_orthonormal_code():
    found = study.stopped_early(
        orthonormal(10), torch.eye(10, dtype=torch.float64), share=0.05, sweeps=[1, 5]
    )
    assert (abs(found["stopped_height"]) < 1e-3).all() and (found["stopped_update"] < 0.01).all()
