"""Codes of least l1 against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from benchmarks.nbody.least_l1 import LeastL1, excess


def atoms(d: int, count: int, seed: int = 0) -> np.ndarray:
    V = np.random.default_rng(seed).normal(size=(d, count))
    return V / np.linalg.norm(V, axis=0)


def least(V: np.ndarray, x: np.ndarray) -> float:
    """min |a|_1 with V a = x, as a linear program in the parts a = p - n."""
    both = np.concatenate([V, -V], 1)
    return linprog(np.ones(both.shape[1]), A_eq=both, b_eq=x, bounds=(0, None)).fun


def code(V: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The codes (rows, atoms), written out."""
    found, a = LeastL1(V)(x), np.zeros((len(x), V.shape[1]))
    for row, (where, weights) in enumerate(zip(found.atoms, found.weights, strict=True)):
        np.add.at(a[row], where, weights)
    return a


@pytest.mark.parametrize(("d", "count"), [(2, 2), (2, 9), (3, 3), (3, 40)])
def test_codes_are_exact_and_no_others_are_shorter(d, count):
    V, x = atoms(d, count), np.random.default_rng(1).normal(size=(60, d))
    a = code(V, x)
    np.testing.assert_allclose(a @ V.T, x, atol=1e-10)
    wanted = [least(V, one) for one in x]
    np.testing.assert_allclose(np.abs(a).sum(1), wanted, rtol=1e-8)
    assert ((a != 0).sum(1) <= d).all()


def test_an_atom_codes_itself_and_has_no_excess():
    V = atoms(3, 30)
    infer, x = LeastL1(V), np.concatenate([2.5 * V.T, -V.T, np.zeros((1, 3))])
    found = infer(x)
    assert (excess(found, x) == 0).all()
    np.testing.assert_allclose(np.abs(found.weights).max(1)[:30], 2.5)
    others = np.random.default_rng(2).normal(size=(20, 3))
    codes = infer(others)
    wanted = [least(V, one) / np.linalg.norm(one) - 1 for one in others]
    np.testing.assert_allclose(excess(codes, others), wanted, atol=1e-8)


def test_inputs_on_one_facet_have_the_same_atoms():
    V, x = atoms(3, 25), np.random.default_rng(3).normal(size=(400, 3))
    found = LeastL1(V)(x)
    for facet in np.unique(found.facet):
        assert len(np.unique(found.atoms[found.facet == facet], axis=0)) == 1


def test_atoms_that_do_not_span_are_refused():
    V = atoms(3, 10)
    V[2] = 0
    with pytest.raises(ValueError, match="V must have atoms that span its 3 dimensions"):
        LeastL1(V)
