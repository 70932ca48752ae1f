"""Checks of arguments: what passes, what does not, and that the message names parameter, value and
what is allowed.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vnlib import checks

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        (0, {"low": 0}),
        (0.0, {"low": 0, "high": 0}),
        (1e-300, {"above": 0}),
        (np.float32(0.5), {"low": 0, "high": 1}),
        (np.int64(3), {"low": 1, "integer": True}),
        (Fraction(1, 2), {"low": 0}),
        (-7, {}),
        (10**30, {"integer": True}),
    ],
)
def test_good_numbers_pass(value, rules):
    checks.number("rate", value, **rules)


@pytest.mark.parametrize(
    ("value", "rules", "message"),
    [
        (-0.1, {"low": 0}, "rate must be a finite number >= 0, got -0.1"),
        (1.5, {"low": 0, "high": 1}, "rate must be a finite number >= 0 and <= 1, got 1.5"),
        (0, {"above": 0}, "rate must be a finite number > 0, got 0"),
        (NAN, {}, "rate must be a finite number, got nan"),
        (INF, {"low": 0}, "rate must be a finite number >= 0, got inf"),
        (-INF, {}, "rate must be a finite number, got -inf"),
        (2.0, {"low": 1, "integer": True}, "rate must be an integer >= 1, got 2.0"),
        (True, {"low": 0, "integer": True}, "rate must be an integer >= 0, got True"),
        ("3", {"low": 1, "integer": True}, "rate must be an integer >= 1, got '3'"),
        (None, {"low": 0}, "rate must be a finite number >= 0, got None"),
        (1j, {}, "rate must be a finite number, got 1j"),
        ([1], {"low": 0}, "rate must be a finite number >= 0, got [1]"),
    ],
)
def test_bad_numbers_are_named(value, rules, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        checks.number("rate", value, **rules)


@given(st.floats(), st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bounds_decide_as_the_inequalities_do(value, low, high):
    inside = np.isfinite(value) and low <= value <= high
    try:
        checks.number("rate", value, low=low, high=high)
    except ValueError:
        assert not inside
    else:
        assert inside


def test_a_wrong_name_lists_the_right_ones():
    checks.choice("method", "ista", ("ista", "fista"))
    with pytest.raises(ValueError, match=r"^method must be one of 'ista', 'fista', got 'adam'$"):
        checks.choice("method", "adam", ("ista", "fista"))
    with pytest.raises(ValueError, match=r"got \['ista'\]"):  # not hashable
        checks.choice("method", ["ista"], {"ista": 1})
    checks.choice("method", "ista", (name for name in ("fista", "ista")))


def test_finite_counts_what_is_wrong():
    checks.finite("x", torch.zeros(3))
    with pytest.raises(ValueError, match=r"^x holds 2 value\(s\) that are NaN or infinite"):
        checks.finite("x", torch.tensor([NAN, 1.0, -INF]))


@pytest.mark.parametrize(
    ("value", "kind"), [(torch.zeros(2, dtype=torch.int64), "torch.int64"), ([1.0], "list")]
)
def test_finite_wants_floating_point_tensors(value, kind):
    with pytest.raises(
        ValueError,
        match=f"^x must be a dense floating-point tensor, float32 or float64, got (Tensor )?{kind}",
    ):
        checks.finite("x", value)


@pytest.mark.parametrize("shape", [(4,), (4, 2), (2, 4, 3), ()])
def test_matrix_names_the_shape(shape):
    checks.matrix("x", torch.zeros(4, 3), 3, "one row per sample")
    message = f"x must have shape (batch, 3) (one row per sample), got {shape}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        checks.matrix("x", torch.zeros(shape), 3, "one row per sample")


def test_matrix_refuses_nan():
    with pytest.raises(ValueError, match=r"x holds 1 value"):
        checks.matrix("x", torch.tensor([[NAN, 0.0]]), 2, "one row per sample")


def test_what_has_to_be_given():
    assert checks.given("U", 0) == 0
    with pytest.raises(ValueError, match="U is needed here and missing"):
        checks.given("U", None)
