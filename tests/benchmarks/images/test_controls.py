"""Controls of images: fixed and otherwise learned dictionaries, against formulas, scikit-learn and
the network.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning, SparseCoder

from benchmarks.baselines.dictionaries import fixed_network
from benchmarks.images import controls
from benchmarks.images.vector_networks import vector_network
from vnlib.fit import Training
from vnlib.settle import SettleConfig

PARTS = torch.rand(10, 16, generator=torch.Generator().manual_seed(5)) - 0.3
EXACT = SettleConfig(method="cd", criterion="gap", tol=1e-9, max_sweeps=1000)


def images(n: int, seed: int) -> torch.Tensor:
    """Sums of two of the parts, with noise, so that all 16 axes have some variance."""
    rng = torch.Generator().manual_seed(seed)
    weights = torch.rand(n, 10, generator=rng)
    noise = 0.05 * torch.randn(n, 16, generator=rng)
    return weights.where(weights.argsort(1).argsort(1) >= 8, 0) @ PARTS + noise


TRAIN, VALIDATION, TEST = images(300, 0), images(50, 1), images(20, 2)


def trained(family, steps: int = 30, seed: int = 0, **options):
    training = Training(lr=0.1, steps=steps, batch_size=32, seed=seed, workdir=Path("unused"))
    return family(TRAIN, VALIDATION, training, **options)


def own(model, x: torch.Tensor = TEST) -> torch.Tensor:
    return model.readings["own"](x)


def error(model, x: torch.Tensor) -> float:
    return float((own(model, x) - x).square().mean())


# --- a dictionary learned by scikit-learn ---------------------------------------------------------


def test_online_dictionary_learning_is_scikit_learns_with_the_networks_lambda():
    found = trained(controls.dictionary_learning, atoms=10, sparsity=0.05)
    alpha = 0.05 * float(TRAIN.square().sum(1).mean().sqrt())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MiniBatchDictionaryLearning(
            n_components=10,
            alpha=alpha,
            batch_size=32,
            max_iter=60,
            random_state=1,
            fit_algorithm="cd",
        ).fit(TRAIN.double().numpy())
        coder = SparseCoder(
            model.components_, transform_algorithm="lasso_cd", transform_alpha=alpha
        )
        codes = coder.transform(VALIDATION.double().numpy())
    theirs = float(np.mean((codes @ model.components_ - VALIDATION.numpy()) ** 2))
    # Another start and order: the errors are alike, and far from those of the start.
    assert error(found, VALIDATION) == pytest.approx(theirs, rel=0.15)
    assert error(found, VALIDATION) < 0.8 * error(
        trained(controls.dictionary_learning, 0, atoms=10, sparsity=0.05), TEST
    )
    assert found.facts["active_1"] == pytest.approx((codes != 0).sum(1).mean(), rel=0.15)
    assert found.facts["parameters"] == 160 and list(found.readings) == ["own"]


def test_no_batches_leave_normalised_training_images():
    found = trained(controls.dictionary_learning, 0, atoms=10, sparsity=0.05)
    x = TRAIN[:50] * 3
    drawn = [
        i
        for i in range(len(TRAIN))
        if float((own(found, 100 * TRAIN[i : i + 1]) / 100 - TRAIN[i]).norm()) < 0.01
    ]
    assert len(drawn) >= 10 and own(found, x).shape == x.shape


def test_dictionary_learning_is_seeded():
    first, again, other = (
        trained(controls.dictionary_learning, 3, s, atoms=10, sparsity=0.05) for s in (3, 3, 4)
    )
    assert torch.equal(own(first), own(again)) and not torch.equal(own(first), own(other))


def test_more_batches_than_images_go_round():
    assert error(trained(controls.dictionary_learning, 12, atoms=10, sparsity=0.05), TEST) < 0.02


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"atoms": 0, "sparsity": 0.1}, "atoms must be an integer >= 1, got 0"),
        (
            {"atoms": 301, "sparsity": 0.1},
            "atoms must be <= 300, the number of nonzero images to start from, got 301",
        ),
        ({"atoms": 5, "sparsity": 0}, "sparsity must be a finite number > 0, got 0"),
    ],
)
def test_bad_dictionary_learning_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        trained(controls.dictionary_learning, **options)


# --- principal axes -------------------------------------------------------------------------------


def test_pca_is_scikit_learns():
    expected = PCA(4).fit(TRAIN.double().numpy())
    x = TEST.double().numpy()
    np.testing.assert_allclose(
        own(trained(controls.pca, k=4)),
        expected.inverse_transform(expected.transform(x)),
        atol=1e-5,
    )
    found = trained(controls.pca, k=4)
    assert found.active(TEST).tolist() == [[4] * 20] and found.facts["parameters"] == 16 + 4 * 16


def test_adaptive_pca_keeps_the_largest_coefficients_of_each_image():
    expected = PCA(16).fit(TRAIN.double().numpy())
    codes = expected.transform(TEST.double().numpy())
    kept = np.where(np.argsort(np.argsort(-np.abs(codes), 1), 1) < 4, codes, 0)
    found = trained(controls.pca_adaptive, k=4)
    np.testing.assert_allclose(own(found), expected.inverse_transform(kept), atol=1e-5)
    assert found.active(TEST).tolist() == [[4] * 20] and found.facts["parameters"] == 16 + 256
    assert error(found, TEST) < error(trained(controls.pca, k=4), TEST)
    torch.testing.assert_close(own(trained(controls.pca_adaptive, k=16)), TEST, atol=1e-5, rtol=0)


@pytest.mark.parametrize("family", [controls.pca, controls.pca_adaptive, controls.dct])
@pytest.mark.parametrize("k", [0, 17, 2.5])
def test_a_count_out_of_range_is_refused(family, k):
    with pytest.raises(ValueError, match=f"k must be an integer >= 1 and <= 16, got {k}"):
        own(trained(family, k=k))


# --- cosines --------------------------------------------------------------------------------------


def test_cosines_by_their_formula():
    V, n = controls.cosines(16), np.arange(4)
    torch.testing.assert_close(V.T @ V, torch.eye(16, dtype=torch.float64))
    for p in range(4):
        for q in range(4):
            atom = np.outer(np.cos(np.pi * p * (n + 0.5) / 4), np.cos(np.pi * q * (n + 0.5) / 4))
            np.testing.assert_allclose(
                V[:, 4 * p + q], (atom / np.linalg.norm(atom)).ravel(), atol=1e-12
            )
    with pytest.raises(ValueError, match="images must be square, got 15 pixels"):
        controls.cosines(15)


def test_the_threshold_is_the_lasso_of_a_network_with_that_dictionary():
    found = trained(controls.dct, sparsity=0.1)
    network = fixed_network(controls.cosines(16).float(), TRAIN, sparsity=0.1, settle=EXACT)
    settled = network.settle(TEST)
    torch.testing.assert_close(own(found), network.reconstruct(settled), atol=1e-5, rtol=0)
    assert found.active(TEST).tolist() == [(settled.codes[0] != 0).sum(1).tolist()]
    assert found.facts["sparsity"] == pytest.approx(0.1) and found.facts["parameters"] == 0
    assert found.facts["active_1"] == float(found.active(VALIDATION).float().mean())


def test_lambda_is_found_on_the_validation_images():
    found = trained(controls.dct, target=0.01)
    assert error(found, VALIDATION) == pytest.approx(0.01, rel=1e-3)
    again = trained(controls.dct, sparsity=found.facts["sparsity"])
    torch.testing.assert_close(own(again), own(found), atol=1e-5, rtol=0)


def test_the_largest_cosines():
    found, codes = trained(controls.dct, k=3), TEST.double().numpy() @ controls.cosines(16).numpy()
    kept = np.where(np.argsort(np.argsort(-np.abs(codes), 1), 1) < 3, codes, 0)
    np.testing.assert_allclose(own(found), kept @ controls.cosines(16).numpy().T, atol=1e-5)
    assert found.active(TEST).tolist() == [[3] * 20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of sparsity, target and k, got sparsity=None, target=None, k=None"),
        ({"sparsity": 0.1, "k": 3}, "give one of sparsity, target and k"),
        ({"sparsity": -0.1}, "sparsity must be a finite number >= 0"),
        ({"target": 0}, "target must be a finite number > 0"),
        ({"target": 9.0}, "target must be below the mean square of the validation images"),
    ],
)
def test_bad_cosines_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        trained(controls.dct, **options)


# --- nothing learned ------------------------------------------------------------------------------


def test_untrained_is_the_network_without_updates():
    found = trained(controls.untrained, 30, atoms=[10], sparsity=[0.05])
    expected = trained(vector_network, 0, atoms=[10], sparsity=[0.05])
    assert (
        torch.equal(own(found), own(expected))
        and found.facts == expected.facts
        and found.curve == []
    )
    assert torch.equal(found.active(TEST), expected.active(TEST))


def test_the_zero_baseline_draws_nothing():
    found = trained(controls.zero_baseline)
    assert not own(found).any() and own(found).shape == TEST.shape and not found.active(TEST).any()
