"""Capacity, copies and learned dictionaries, on cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from chapters.E_theory import measure
from chapters.E_theory.matching import match_atoms
from chapters.E_theory.recovery import overlapping_bases
from vnlib.learning.rules import unit_columns
from vnlib.network import VectorNetwork, VNConfig
from vnlib.seeding import generator

HEBB = {"sparsity": 0.1, "steps": 60, "batch_size": 32, "lr": 3e-2, "train_sweeps": 30}


def test_rank_never_exceeds_the_active_atoms_and_equals_them_for_generic_ones():
    config = VNConfig(
        n_inputs=12, atoms=(20, 16), interface=(10, 14), sparsity=(0.3, 0.05), top_k=3
    )
    found = measure.operator_ranks(
        VectorNetwork(config, seed=0), torch.randn(9, 12, generator=generator(0, "x"))
    )
    limit = np.minimum(found["active_atoms"], found["rank_limit"])
    assert (found["rank"] == limit).all() and (found["active_atoms"].sel(layer=1) > 0).all()
    assert (found["active_atoms"].sel(layer=2) == 3).all()
    assert found["cap"].values.tolist() == [20, 3] and found["rank_limit"].values.tolist() == [
        10,
        10,
    ]
    assert found["per_atom"].values.tolist() == [22, 24] and found["dense"].values.tolist() == [
        120,
        140,
    ]
    assert found["library"].values.tolist() == [440, 384]


def test_a_capped_code_leaves_all_but_the_largest_parts():
    V = torch.eye(8, dtype=torch.float64)
    parts = torch.diag(torch.tensor([3.0, 2.0, 1.0, 0.5])).double()
    parts = torch.cat([parts, torch.zeros(4, 4)], 1)[None]
    found = measure.capacity(V, parts, k=2, share=0.01, sweeps=50)
    expected = [0, 0, 1 / 14, 1.25 / 14.25]
    np.testing.assert_allclose(found["left"].sel(kind="capped"), expected, atol=1e-12)
    np.testing.assert_allclose(found["left"].sel(kind="free"), 0, atol=1e-12)
    assert found["used"].sel(kind="capped").values.tolist() == [1, 2, 2, 2]
    assert found["used"].sel(kind="free").values.tolist() == [1, 2, 3, 4]


def test_planted_parts_are_different_atoms():
    V = torch.eye(6, dtype=torch.float64)
    parts = measure.planted_parts(V, 4, samples=30, seed=0)
    assert parts.shape == (30, 4, 6)
    assert ((parts != 0).sum(2) == 1).all() and ((parts.sum(1) != 0).sum(1) == 4).all()
    assert parts[parts != 0].abs().min() >= 1
    assert len({tuple(p.argmax(1).tolist()) for p in parts.abs()}) > 20, (
        "not in the order of the atoms"
    )


def test_copies_are_confused_when_they_are_exact_and_only_with_each_other():
    V = overlapping_bases(16, 0.25, "pairs")
    found = measure.twins(V, [0.3, 1.0], [0.0, 0.05], 2, samples=10, share=0.03, gap=1e-5, seed=0)
    assert (found["twin_recovered"].sel(cosine=0.3) == 1).all()
    assert (found["twin_recovered"].sel(cosine=1.0) == 0).all()
    assert (found["twin_folded"] == 1).all()
    assert (found["twin_left"] < 0.01).all()
    assert found["twin_mu"].values[1] == pytest.approx(1) and found["twin_bound"].values[
        1
    ] == pytest.approx(1)
    assert found["twin_mu"].values[0] < 0.9


def test_samples_of_single_atoms_teach_them_all():
    V, x = measure.planted_samples(8, 4, 1, 200, seed=0)
    start = unit_columns(V + 0.3 * torch.randn(V.shape, generator=generator(0, "off")))
    before = start.clone()
    training = HEBB | {"steps": 200}
    learned = measure.learn_dictionary(x, start, seed=0, **training)
    assert torch.equal(start, before)
    assert match_atoms(learned, V)[0].min() > 0.99 > match_atoms(start, V)[0].min()
    assert torch.equal(learned, measure.learn_dictionary(x, start, seed=0, **training))


def test_learning_finds_more_than_it_started_with_and_fails_for_dense_mixtures():
    found = measure.learning_recovers(12, 8, [2, 8], samples=400, seed=0, **(HEBB | {"steps": 300}))
    assert found["found"].sel(mixed=2) > 0.8 > found["found_at_start"].sel(mixed=2)
    assert found["found"].sel(mixed=8) < 0.5
    assert found["planted_mu"].values[0] == found["planted_mu"].values[1], (
        "the same dictionary for all mixtures"
    )


def test_decorrelation_lowers_coherence():
    found = measure.decorrelation(
        8, 4, [4, 7], [0.0, 0.5], 1, samples=200, share=0.01, gap=1e-4, seed=0, **HEBB
    )
    assert (found["grown_mu"].sel(strength=0.5) < found["grown_mu"].sel(strength=0.0)).all()
    assert found["grown_twins"].sel(atoms=7, strength=0.0) > 0, "surplus atoms become copies"
    assert found["grown_named"].dims == ("atoms", "strength")
    share = found["grown_named"].values
    assert ((share >= 0) & (share <= 1)).all()


def test_atoms_that_are_found_are_named_right_and_too_much_decorrelation_loses_them():
    found = measure.decorrelation(
        16,
        4,
        [4],
        [0.0, 0.5],
        2,
        samples=300,
        share=0.01,
        gap=1e-4,
        seed=3,
        **(HEBB | {"steps": 200}),
    ).isel(atoms=0)
    assert found["grown_found"].values[0] == found["grown_named"].values[0] == 1
    assert found["grown_found"].values[1] < 1 and found["grown_named"].values[1] < 1
    assert found["grown_mu"].values[1] < 1e-3, "orthogonal, which the planted atoms are not"


def test_prefix_renames_variables_and_dimensions():
    ds = measure.xr.Dataset({"left": ("parts", [1.0, 2.0])}, {"parts": [1, 2]})
    renamed = measure.prefixed(ds, "digits")
    assert set(renamed.variables) == {"digits_left", "digits_parts"} and renamed[
        "digits_left"
    ].dims == ("digits_parts",)
