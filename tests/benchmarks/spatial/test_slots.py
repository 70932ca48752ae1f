"""Codes settled on slots, against mixtures of normal distributions written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from benchmarks.spatial import slots
from data_gen import shapes
from data_gen.corrupted import corrupted


@pytest.fixture(scope="module")
def slot() -> slots.Slot:
    rng = np.random.default_rng(0)
    root = 0.3 * rng.normal(size=(7, 5, 5))
    return slots.Slot(
        rng.normal(size=(7, 5)), root @ root.transpose(0, 2, 1), rng.uniform(0.1, 0.3, 5)
    )


def written_out(
    slot: slots.Slot, code: np.ndarray, seen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The posterior of all atoms, and the mean of each given what is seen."""
    weights, means = [], []
    for atom, fine in zip(slot.atoms, slot.fine, strict=True):
        inner = (fine + np.diag(slot.noise))[np.ix_(seen, seen)]
        weights.append(multivariate_normal(atom[seen], inner).pdf(code[seen]))
        means.append(atom + fine[:, seen] @ np.linalg.inv(inner) @ (code - atom)[seen])
    return np.array(weights) / np.sum(weights), np.array(means)


@pytest.mark.parametrize("seen", [(1, 1, 1, 1, 1), (1, 0, 1, 1, 0), (0, 0, 0, 1, 0)])
def test_a_half_is_settled_to_the_mean_of_the_mixture(slot, seen):
    code = np.random.default_rng(1).normal(size=5)
    seen = np.array(seen, dtype=bool)
    weights, means = written_out(slot, code, seen)
    one = {"codes": code[None], "observed": seen[None]}
    found = slot.settled(**one, weighed=True, fine=True)[0]
    np.testing.assert_allclose(found, weights @ means, atol=1e-10)
    best = slot.settled(**one, weighed=False, fine=True)[0]
    np.testing.assert_allclose(best, means[weights.argmax()], atol=1e-10)


def test_without_a_fine_layer_a_code_is_a_mean_of_atoms(slot):
    code, seen = np.zeros((1, 5)), np.ones((1, 5), dtype=bool)
    plain = slots.Slot(slot.atoms, 0 * slot.fine, slot.noise)
    weights, _ = written_out(plain, code[0], seen[0])
    found = slot.settled(code, seen, weighed=True, fine=False)[0]
    np.testing.assert_allclose(found, weights @ slot.atoms, atol=1e-10)


def learned(noise: float, hidden: float) -> tuple[slots.Slots, np.ndarray]:
    """Slots of 100 bumps, and their clean codes."""
    data = shapes.make(shapes.ShapeConfig(grid=8, scattered=100, split_seed=1))
    dirty = corrupted(data, noise=noise, hidden=hidden, seed=2)
    codes = dirty["code"].values.astype(float)
    found = slots.learned(codes, dirty["observed"].values, data["image"].values.astype(float))
    return found, data["code"].values.astype(float)


def test_clean_codes_are_atoms_as_they_are():
    found, clean = learned(noise=0.0, hidden=0.0)
    np.testing.assert_allclose(found.atoms, clean, atol=1e-3)
    everything = np.ones(clean.shape, dtype=bool)
    np.testing.assert_allclose(found.settled(clean, everything), clean, atol=1e-3)


def test_noise_is_inferred_and_smoothed_away():
    found, clean = learned(noise=0.1, hidden=0.0)
    for slot in (found.of_x, found.of_y):
        assert np.sqrt(slot.noise).mean() == pytest.approx(0.1, rel=0.15)
    assert np.square(found.atoms - clean).mean() < 0.2 * 0.1**2


def test_hidden_entries_of_training_codes_are_learned_from_other_positions():
    found, clean = learned(noise=0.0, hidden=0.3)
    assert np.square(found.atoms - clean).mean() < 1e-4 * np.square(clean).mean()


def test_the_image_is_not_read_when_a_code_is_settled():
    found, clean = learned(noise=0.1, hidden=0.3)
    seen = np.random.default_rng(3).random(clean.shape) > 0.3
    one = found.settled(clean, seen)
    changed = found.settled(np.where(seen, clean, 9.0), seen)
    np.testing.assert_array_equal(one, changed)
