"""The scikit-learn transformer: it keeps scikit-learn's contract, and its codes are those of the
network.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from vnlib.estimator import VectorNetworkCoder
from vnlib.network import VectorNetwork
from vnlib.serialize import load, save

QUICK = {"steps": 3, "max_sweeps": 40, "random_state": 0}


@parametrize_with_checks(
    [
        VectorNetworkCoder(atoms=8, **QUICK),
        VectorNetworkCoder(atoms=[6, 4], sparsity=[0.05, 0.02], top_k=3, steps=2, max_sweeps=20),
        VectorNetworkCoder(atoms=4, nonnegative=True, steps=2, max_sweeps=20),
        VectorNetworkCoder(atoms=4, learning="hebb", sparsity=0.02, steps=2, center=False),
    ]
)
def test_what_scikit_learn_asks_of_an_estimator(estimator, check):
    check(estimator)


def planted(n: int, seed: int = 0, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """Samples that are sums of 2 of 12 unit atoms in 16 dimensions, and the atoms (12, 16)."""
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(12, 16))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    code = np.zeros((n, 12))
    for row in code:
        row[rng.choice(12, 2, replace=False)] = rng.uniform(1, 2, 2) * rng.choice([-1, 1], 2)
    return (code @ atoms).astype(dtype), atoms


@pytest.fixture(scope="module")
def fitted() -> VectorNetworkCoder:
    coder = VectorNetworkCoder(
        12, sparsity=0.05, center=False, steps=300, batch_size=64, random_state=0
    )
    return coder.fit(planted(400)[0])


def test_planted_atoms_are_found_and_samples_come_back(fitted):
    x, atoms = planted(400)
    overlap = np.abs(fitted.components_ @ atoms.T).max(0)
    assert fitted.components_.shape == (12, 16)
    start = VectorNetwork.for_data(torch.tensor(x), atoms=(12,), seed=0).V[0].T.numpy()
    assert overlap.min() > 0.99 > np.abs(start @ atoms.T).max(0).max(), "samples are no atoms"
    code = fitted.transform(x)
    assert (code != 0).sum(1).mean() < 3, "two of them make a sample"
    error = ((fitted.inverse_transform(code) - x) ** 2).mean() / (x**2).mean()
    assert (
        error
        < 0.02
        < ((PCA(6).fit(x).inverse_transform(PCA(6).fit_transform(x)) - x) ** 2).mean()
        / (x**2).mean()
    )
    assert len(fitted.validation_) == 10 and fitted.validation_[-1] < fitted.validation_[0]


def test_codes_are_those_of_the_network_however_the_rows_are_split(fitted, monkeypatch):
    x = planted(9, seed=1)[0]
    settled = fitted.network_.settle(torch.tensor(x))
    np.testing.assert_array_equal(fitted.transform(x), settled.codes[-1].numpy())
    np.testing.assert_allclose(
        fitted.inverse_transform(fitted.transform(x)),
        fitted.network_.reconstruct(settled).numpy(),
        rtol=1e-12,
    )
    monkeypatch.setattr("vnlib.estimator._ROWS", 4)
    np.testing.assert_allclose(fitted.transform(x), settled.codes[-1].numpy(), atol=1e-12)


def test_a_stack_gives_its_top_code_and_reads_it_back_strictly():
    x = planted(200)[0]
    options = {"sparsity": [0.02, 0.01], "center": False, "steps": 20, "random_state": 0}
    coder = VectorNetworkCoder([16, 10], **options).fit(x)
    code = coder.transform(x)
    assert code.shape == (200, 10) and list(coder.get_feature_names_out()[:2]) == [
        "vectornetworkcoder0",
        "vectornetworkcoder1",
    ]
    settled = coder.network_.settle(torch.tensor(x))
    strict = coder.network_.decode(settled.codes[-1]).numpy()
    np.testing.assert_allclose(coder.inverse_transform(code), strict, rtol=1e-12)
    assert not np.allclose(strict, coder.network_.reconstruct(settled).numpy())
    assert coder.components_.shape == (16, 16)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_are_kept_on_the_way_there_and_back(dtype):
    x = planted(40, dtype=dtype)[0]
    coder = VectorNetworkCoder(8, **QUICK).fit(x)
    code = coder.transform(x)
    assert code.dtype == coder.components_.dtype == coder.inverse_transform(code).dtype == dtype
    assert coder.network_.V[0].dtype == (torch.float32 if dtype == np.float32 else torch.float64)
    other = np.float64 if dtype == np.float32 else np.float32
    assert coder.transform(x.astype(other)).dtype == other


def test_units_do_not_matter():
    """Sparsity is relative, so the same data in other units have the same code in those; Adam's
    epsilon has none.
    """
    x = planted(60)[0]
    code, larger = (
        VectorNetworkCoder([8, 6], **QUICK).fit_transform(x * unit) for unit in (1.0, 1024.0)
    )
    np.testing.assert_allclose(larger, 1024 * code, rtol=1e-2, atol=0.1)
    back, larger = (
        VectorNetworkCoder([8, 6], **QUICK).fit(x * unit).inverse_transform(code * unit)
        for unit in (1.0, 1024.0)
    )
    np.testing.assert_allclose(larger, 1024 * back, rtol=1e-2, atol=0.1)


@pytest.mark.parametrize("learning", ["online", "hebb"])
def test_an_offset_costs_nothing_where_it_is_centred(learning):
    """The same codes with and without it; uncentred, it is most of what the atoms explain."""
    x = planted(200)[0]
    quick = {"learning": learning, "steps": 20, "random_state": 0, "sparsity": 0.05}
    moved = VectorNetworkCoder(12, **quick).fit(x + 100)
    np.testing.assert_allclose(moved.mean_, x.mean(0) + 100, atol=1e-10)
    code = VectorNetworkCoder(12, **quick).fit_transform(x)
    np.testing.assert_allclose(moved.transform(x + 100), code, atol=1e-6)
    back = moved.inverse_transform(moved.transform(x + 100))
    assert ((back - x - 100) ** 2).mean() < 0.3 * x.var()
    left = VectorNetworkCoder(12, center=False, **quick).fit(x + 100)
    assert not left.mean_.any() and left.score(x + 100) < moved.score(x + 100) - 0.3


@pytest.mark.parametrize(("atoms", "wanted"), [(40, 5.0), (40, None), ([30, 20], 3)])
def test_an_automatic_sparsity_gives_as_many_active_atoms_as_asked_for(atoms, wanted):
    x = np.random.default_rng(1).normal(size=(256, 24))
    coder = VectorNetworkCoder(atoms, n_active=wanted, steps=10, random_state=0).fit(x)
    active = (coder.transform(x) != 0).sum(1).mean()
    assert active == pytest.approx(4 if wanted is None else wanted, rel=0.15)
    assert 0 < coder.sparsity_[0] == coder.sparsity_[-1] < 1


def test_the_score_is_the_share_of_variance_of_scikit_learn(fitted):
    x = planted(50)[0]
    back = fitted.inverse_transform(fitted.transform(x))
    expected = r2_score(x, back, multioutput="variance_weighted")
    assert fitted.score(x) == pytest.approx(expected) and expected > 0.9
    assert fitted.score(x) == pytest.approx(1 - ((x - back) ** 2).mean() / x.var(0).mean())


def test_codes_may_be_sparse_and_are_read_back(fitted):
    x = planted(30, seed=4)[0]
    dense = fitted.transform(x)
    sparse = clone(fitted).set_params(sparse_output=True).fit(planted(400)[0]).transform(x)
    assert issparse(sparse) and sparse.format == "csr" and sparse.nnz == (dense != 0).sum()
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_array_equal(fitted.inverse_transform(sparse), fitted.inverse_transform(dense))


def test_it_learns_in_parts():
    """Planted atoms are found from batches alone; the mean is that of all samples so far."""
    x, atoms = planted(5000)
    x = x + 5
    coder = VectorNetworkCoder(12, sparsity=0.05, random_state=0)
    first = coder.partial_fit(x[:100]).score(x)
    for start in range(100, 5000, 100):
        coder.partial_fit(x[start : start + 100])
    np.testing.assert_allclose(coder.mean_, x.mean(0), atol=1e-10)
    assert coder.n_samples_seen_ == 5000 and coder.score(x) > max(0.9, first)
    assert np.median(np.abs(coder.components_ @ atoms.T).max(0)) > 0.99
    fresh = clone(coder).fit(x[:300])
    again = coder.fit(x[:300])
    np.testing.assert_array_equal(fresh.components_, again.components_)


def test_codes_that_have_not_settled_are_told():
    x = planted(40)[0]
    coder = VectorNetworkCoder([8, 6], sparsity=0.01, steps=2, max_sweeps=2, tol=1e-12).fit(x)
    with pytest.warns(
        ConvergenceWarning, match=r"\d+ of 40 samples have not settled in max_sweeps=2"
    ):
        coder.transform(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VectorNetworkCoder(8, **QUICK).fit_transform(x)


def test_the_seed_decides():
    x = planted(40)[0]
    first, again, other = (
        VectorNetworkCoder(8, **(QUICK | {"random_state": seed})).fit_transform(x)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("nonnegative", [False, True])
def test_more_atoms_than_samples(nonnegative):
    """The rest starts at random."""
    x = np.abs(planted(5)[0])
    coder = VectorNetworkCoder([9, 7], nonnegative=nonnegative, **QUICK).fit(x)
    assert np.isfinite(coder.transform(x)).all()
    np.testing.assert_allclose(np.linalg.norm(coder.components_, axis=1), 1)
    assert (coder.components_ >= 0).all() or not nonnegative
    assert np.isfinite(VectorNetworkCoder(4, **QUICK).fit_transform(np.zeros((6, 3)))).all()


def test_it_works_in_a_pipeline_and_a_search():
    x = planted(60)[0]
    y = (np.abs(x[:, 0]) > 0.3).astype(int)
    search = GridSearchCV(
        make_pipeline(VectorNetworkCoder(8, **QUICK), LogisticRegression()),
        {"vectornetworkcoder__atoms": [6, (8, 4)]},
        cv=2,
    )
    search.fit(x, y)
    assert search.predict(x).shape == (60,)


def test_the_fitted_network_can_be_saved(fitted, tmp_path):
    save(fitted.network_, tmp_path / "coder.safetensors")
    x = planted(7, seed=2)[0]
    again = load(tmp_path / "coder.safetensors")
    np.testing.assert_array_equal(
        again.settle(torch.tensor(x)).codes[-1].numpy(), fitted.transform(x)
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"atoms": 0}, "atoms of layer 1 must be an integer >= 1, got 0"),
        ({"atoms": [8, 2.5]}, "atoms of layer 2 must be an integer >= 1, got 2.5"),
        ({"atoms": None}, "atoms of layer 1 must be an integer >= 1, got None"),
        ({"atoms": []}, "atoms must name the number of atoms"),
        ({"sparsity": -1.0}, "sparsity of layer 1 must be"),
        ({"sparsity": [0.1, 0.1]}, "sparsity must have one entry per layer"),
        ({"sparsity": "few"}, "sparsity must be one of 'auto', got 'few'"),
        ({"n_active": 9}, "n_active must be .* <= 8 .*got 9"),
        ({"n_active": 0}, "n_active must be .*> 0, got 0"),
        ({"learning": "fast"}, "learning must be one of 'auto', 'hebb', 'online', got 'fast'"),
        ({"learning": "online", "atoms": [8, 4]}, "one layer, got 2; LocalLearner"),
        ({"nonnegative": True, "center": True}, "center must be False or None where nonnegative"),
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"batch_size": 1.5}, "batch_size must be an integer >= 1, got 1.5"),
        ({"learning_rate": 0}, "learning_rate must be .* > 0, got 0"),
        ({"fit_tol": -1}, "fit_tol must be .* >= 0, got -1"),
        ({"tol": "small"}, "tol must be .*got 'small'"),
        ({"top_k": 100}, "top_k must be .* <= 8, got 100"),
        ({"device": "zz"}, "device 'zz' cannot be used here .*; use another, such as 'cpu'"),
        ({"device": -1}, "device -1 cannot be used here"),
        ({"device": 99}, "device 99 cannot be used here"),
        ({"device": "meta"}, "device 'meta' cannot be used here"),
    ],
)
def test_bad_settings_are_named_when_it_is_fitted(given, words):
    coder = clone(VectorNetworkCoder(8, **QUICK)).set_params(**given)
    with pytest.raises(ValueError, match=words):
        coder.fit(planted(20)[0])


def test_bad_codes_and_bad_signs(fitted):
    with pytest.raises(ValueError, match=r"one column per atom \(12\), got shape \(3, 11\)"):
        fitted.inverse_transform(np.zeros((3, 11)))
    with pytest.raises(ValueError, match="Negative values in data passed to VectorNetworkCoder"):
        VectorNetworkCoder(4, nonnegative=True, **QUICK).fit(planted(20)[0])
