"""Greedy pursuit against scikit-learn, a plain loop and what least squares promises."""

from __future__ import annotations

import pytest
import torch
from sklearn.linear_model import orthogonal_mp
from sparse_cases import dictionary, draw, planted

from vnlib.greedy import orthogonal_matching_pursuit, polish
from vnlib.learning.rules import unit_columns

# --- orthogonal matching pursuit ---


@pytest.mark.parametrize("tilt", [0.0, 0.5])
@pytest.mark.parametrize("k", [1, 4, 10])
def test_orthogonal_matching_pursuit_equals_scikit_learn(k, tilt):
    V, x = dictionary(tilt=tilt), draw(8, 15, seed=3)
    found = orthogonal_matching_pursuit(V, x, k=k)
    expected = (
        torch.from_numpy(orthogonal_mp(V.numpy(), x.T.numpy(), n_nonzero_coefs=k)).reshape(30, 8).T
    )
    torch.testing.assert_close(found, expected, atol=1e-9, rtol=0)
    assert ((found != 0).sum(1) == k).all()


def test_the_residual_is_orthogonal_to_what_was_taken():
    V, x = dictionary(tilt=1.0), draw(8, 15, seed=5)
    found = orthogonal_matching_pursuit(V, x, k=6)
    assert (((x - found @ V.T) @ V) * (found != 0)).abs().max() < 1e-10


def test_planted_atoms_are_found_below_the_coherence_bound():
    V = dictionary(200, 30, seed=6)
    coherence = float(((V.T @ V) - torch.eye(30)).abs().max())
    active = 2
    assert active < (1 + 1 / coherence) / 2
    code, x = planted(V, 20, active, seed=7)
    torch.testing.assert_close(
        orthogonal_matching_pursuit(V, x, k=active), code, atol=1e-10, rtol=0
    )


def test_it_stops_where_nothing_is_left_to_explain():
    """Four atoms in a plane, two of them the same: two picks explain all; further ones would be of
    rounding errors.
    """
    V = dictionary(2, 4, seed=8)[:, [0, 1, 2, 2]]
    V = torch.cat([V, torch.zeros(3, 4, dtype=torch.float64)])
    inside = torch.tensor([[1.0, 2.0, 0, 0, 0]], dtype=torch.float64)
    outside = torch.tensor([[0, 0, 1.0, 0, 0]], dtype=torch.float64)
    x = torch.cat([inside, inside + outside, outside, 0 * outside])
    found = orthogonal_matching_pursuit(V, x, k=4)
    assert (found != 0).sum(1).tolist() == [2, 2, 0, 0]
    left = torch.cat([0 * inside, outside, outside, 0 * outside])
    torch.testing.assert_close(x - found @ V.T, left, atol=1e-12, rtol=0)


def test_orthonormal_atoms_give_the_largest_coefficients():
    V = torch.linalg.qr(draw(10, 10, seed=9)).Q
    x = draw(7, 10, seed=10)
    exact = x @ V
    keep = exact.abs().topk(4, dim=1).indices
    expected = torch.zeros_like(exact).scatter(1, keep, exact.gather(1, keep))
    torch.testing.assert_close(orthogonal_matching_pursuit(V, x, k=4), expected, atol=1e-12, rtol=0)


def test_a_sample_does_not_depend_on_its_batch():
    V = dictionary()
    x = draw(9, 15, seed=11) * torch.logspace(-3, 3, 9, dtype=torch.float64)[:, None]
    together = orthogonal_matching_pursuit(V, x, k=8)
    for row in range(9):
        alone = orthogonal_matching_pursuit(V, x[row : row + 1], k=8)
        torch.testing.assert_close(
            alone[0], together[row], atol=1e-12 * float(x[row].norm()), rtol=0
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_arguments_are_untouched_and_their_type_kept(dtype):
    V, x = dictionary().to(dtype), draw(6, 15, seed=12, dtype=dtype)
    V_before, before = V.clone(), x.clone()
    found = orthogonal_matching_pursuit(V, x, k=5)
    assert torch.equal(x, before) and torch.equal(V, V_before)
    assert found.dtype == dtype and ((found != 0).sum(1) <= 5).all()


def test_no_sample_and_an_all_zero_sample():
    V = dictionary()
    nothing = torch.zeros(2, 15, dtype=torch.float64)
    assert orthogonal_matching_pursuit(V, nothing[:0], k=3).shape == (0, 30)
    assert not orthogonal_matching_pursuit(V, nothing, k=3).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, r"k must be an integer >= 1, got 0"),
        (
            {"x": torch.zeros(3, 14, dtype=torch.float64)},
            r"x must have shape \(batch, 15\).*got \(3, 14\)",
        ),
        (
            {"x": torch.full((3, 15), torch.nan, dtype=torch.float64)},
            r"x holds 45 value\(s\) that are NaN",
        ),
        ({"V": 2 * dictionary()}, r"V must have unit columns, got norms from 2 to 2"),
        ({"V": dictionary()[:, 0]}, r"V must have shape \(d, atoms\), got \(15,\)"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {"V": dictionary(), "x": draw(3, 15, seed=13), "k": 3} | change
    with pytest.raises(ValueError, match=message):
        orthogonal_matching_pursuit(**arguments)


def test_dependent_atoms_are_not_taken_twice_in_single_precision():
    """An atom that is the sum of two others, in float32: the codes stay finite and small."""
    V = dictionary(6, 5, seed=28).float()
    V = torch.cat([V, unit_columns(V[:, :1] + V[:, 1:2])], 1)
    x = (V @ torch.tensor([1.0, 1.0, 0.5, 0, 0, 0.0]))[None]
    found = orthogonal_matching_pursuit(V, x, k=6)
    torch.testing.assert_close(found @ V.T, x, atol=1e-5, rtol=0)
    assert (found != 0).sum() <= 3 and found.abs().max() < 2


# --- polish ---


def test_polish_is_least_squares_on_the_support():
    V, x = dictionary(tilt=0.5), draw(300, 15, seed=14)  # more than one part
    code = draw(300, 30, seed=15) * (
        torch.rand(300, 30, generator=torch.Generator().manual_seed(16)) < 0.25
    )
    code[3] = 0
    found = polish(V, x, code)
    for row in (0, 1, 2, 3, 255, 256, 299):
        on = code[row] != 0
        expected = torch.zeros(30, dtype=torch.float64)
        expected[on] = torch.linalg.lstsq(V[:, on], x[row][:, None], driver="gelsd").solution[:, 0]
        torch.testing.assert_close(found[row], expected, atol=1e-9, rtol=0)
        assert ((found[row] != 0) == on).all()


def test_polish_of_a_polished_code_changes_nothing():
    V, x = dictionary(), draw(6, 15, seed=17)
    once = orthogonal_matching_pursuit(V, x, k=5)
    torch.testing.assert_close(polish(V, x, once), once, atol=1e-12, rtol=0)


def test_polish_of_dependent_atoms_takes_the_nearest_solution():
    """The same atom twice: the two coefficients are corrected by the same amount."""
    V = dictionary(5, 2, seed=18)[:, [0, 0, 1]]
    x, code = draw(1, 5, seed=19), torch.tensor([[1.0, 3.0, 0.0]], dtype=torch.float64)
    found = polish(V, x, code)[0]
    total = V[:, 0] @ x[0]
    torch.testing.assert_close(
        found, torch.stack([total / 2 - 1, total / 2 + 1, 0 * total]), atol=1e-10, rtol=0
    )


def test_polish_explains_as_much_as_the_span_allows():
    """More active atoms than dimensions: nothing is left."""
    V, x = dictionary(8, 20), draw(4, 8, seed=20)
    torch.testing.assert_close(polish(V, x, draw(4, 20, seed=21)) @ V.T, x, atol=1e-10, rtol=0)


def test_polish_takes_back_the_shrinkage_of_the_lasso():
    """A soft-thresholded code of orthonormal atoms is the true one minus lambda; polished, it is
    the true one.
    """
    V = torch.linalg.qr(draw(10, 10, seed=22)).Q
    code, x = planted(V, 5, 3, seed=23)
    shrunk = code - code.clamp(-0.3, 0.3)
    assert (polish(V, x, shrunk) - code).abs().max() < 1e-12 < 0.29 < (shrunk - code).abs().max()


def test_polish_keeps_dtype_and_its_argument():
    V, x = dictionary().float(), draw(6, 15, seed=24, dtype=torch.float32)
    code = draw(6, 30, seed=25, dtype=torch.float32) * (draw(6, 30, seed=26) > 1)
    before = code.clone()
    found = polish(V, x, code)
    assert found.dtype == torch.float32 and torch.equal(code, before)
    assert polish(V, x[:0], code[:0]).shape == (0, 30)
    assert torch.equal(polish(V, x, torch.zeros_like(code)), torch.zeros_like(code))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (torch.zeros(6, 29), r"code must have shape \(batch, 30\)"),
        (torch.zeros(5, 30), r"code must have one row per sample of x \(6\), got 5"),
    ],
)
def test_polish_names_a_wrong_code(code, message):
    with pytest.raises(ValueError, match=message):
        polish(dictionary(), draw(6, 15, seed=27), code.double())
