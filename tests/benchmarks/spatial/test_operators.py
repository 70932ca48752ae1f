"""The operator of a code against operators that are known, and against scikit-learn's ridge."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from benchmarks.spatial import operators


def made_up(terms: int, count: int = 120, seed: int = 0) -> tuple[operators.Operator, np.ndarray]:
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(2, 6, terms, 4)) / 6**0.5
    return operators.Operator(maps[0], maps[1], 0.0), rng.normal(size=(count, 5))


def test_an_image_is_the_operator_of_the_code_applied_to_the_code():
    one, codes = made_up(terms=2)
    c = np.append(codes[0], 1.0)
    tensor = np.einsum("krj,lri->kjil", one.columns, one.rows)  # W(c) = sum_k c_k W_k
    image = np.einsum("jil,l->ij", np.einsum("k,kjil->jil", c, tensor), c)
    np.testing.assert_allclose(one(codes[:1])[0], image, atol=1e-12)
    assert one.terms == 2


def test_an_operator_is_found_from_its_images_alone():
    truth, codes = made_up(terms=2, count=200)
    images = truth(codes)
    train, held = (codes[:150], images[:150]), (codes[150:], images[150:])
    found = operators.fitted(train, held, terms=4, penalties=(1e-10,), starts=2, seed=0)
    np.testing.assert_allclose(found(codes), images, atol=1e-3 * images.std())
    few = operators.fitted(train, held, terms=1, penalties=(1e-10,), starts=2, seed=0)
    assert few.terms == 1 and np.square(few(codes) - images).mean() > 0.1 * images.var()


def test_a_side_is_scikit_learns_ridge_given_the_other():
    truth, codes = made_up(terms=1)
    images = truth(codes) + 0.1 * np.random.default_rng(1).normal(size=(len(codes), 4, 4))
    with_1 = np.hstack([codes, np.ones((120, 1))])
    one = operators.settled(with_1, images, truth.columns, 1e-2)
    # Columns were regressed last: on all products of an entry and the rows. With a single term the
    # sizes that are made alike afterwards change nothing of that.
    rows = np.einsum("pk,kri->pri", with_1, one.rows)
    design = np.einsum("pk,pri->pikr", with_1, rows).reshape(120 * 4, -1)
    scale = np.square(design).sum() / design.shape[1]
    ridge = Ridge(alpha=1e-2 * scale, fit_intercept=False, solver="cholesky")
    told = ridge.fit(design, images.reshape(120 * 4, 4)).predict(design).reshape(120, 4, 4)
    np.testing.assert_allclose(one(codes), told, atol=1e-10)


def test_validation_chooses_and_nothing_else():
    truth, codes = made_up(terms=1, count=60)
    images = truth(codes)
    train = codes[:40], images[:40]
    other = codes[40:], -images[40:]  # whoever draws least is best here
    kept = {"terms": 2, "penalties": (1e-8, 1e3), "starts": 1, "seed": 0}
    assert operators.fitted(train, (codes[40:], images[40:]), **kept).penalty == 1e-8
    assert operators.fitted(train, other, **kept).penalty == 1e3


def test_the_same_seed_gives_the_same_bits():
    truth, codes = made_up(terms=2)
    pair = (codes, truth(codes))
    kept = {"terms": 2, "penalties": (1e-6,), "starts": 1}
    one, again = (operators.fitted(pair, pair, seed=4, **kept) for _ in range(2))
    assert (one.rows == again.rows).all() and (one.columns == again.columns).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"terms": 0}, "terms must be an integer >= 1, got 0"),
        ({"starts": 0}, "starts must be an integer >= 1, got 0"),
        ({"penalties": (0.0,)}, "penalty must be a finite number > 0, got 0.0"),
    ],
)
def test_bad_values_are_refused_by_name(given, said):
    truth, codes = made_up(terms=1, count=10)
    pair = (codes, truth(codes))
    with pytest.raises(ValueError, match=said):
        operators.fitted(
            pair, pair, **{"terms": 1, "penalties": (1e-6,), "starts": 1, "seed": 0} | given
        )
