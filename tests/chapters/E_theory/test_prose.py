"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import numbers

from chapters.E_theory import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "E_theory.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_below_the_bound_all_supports_come_back_and_beyond_it_half(said):
    assert said["appE-below"] == 100 and 45 < said["appE-above"] < 60


def test_the_bound_of_the_learned_dictionary_allows_one_atom(said):
    assert said["appE-mu"] > 1 / 3 and 1 < said["appE-bound"] < 2
    assert said["appE-overlap"] < 90


def test_the_gradient_is_exact_for_one_layer_and_f_alone(said):
    assert max(said["appE-error-one-layer"], said["appE-error-three-layers"]) < 1e-6
    assert min(said["appE-error-summed"], said["appE-error-ReLU"]) > 0.5


def test_f_never_rises_and_the_added_energies_in_most_sweeps(shipped, said):
    assert float(shipped["sweep_rises"].sel(counted="joint").max()) == 0
    assert said["appE-rises-joint"] == 0 and said["appE-rises-summed"] > 50


def test_decorrelation_helps_surplus_atoms_and_harms_where_none_is(said):
    assert said["appE-named-with"] > said["appE-named-without"] + 10
    assert said["appE-found-with"] < said["appE-found-without"] - 10


def test_accept_reject_does_not_mend_a_step_that_is_too_long(shipped):
    longest = shipped["end_gap"].isel(factor=-1).sel(safeguard="reject")
    assert float(median(longest).max()) > 1


def test_the_rank_is_the_number_of_active_atoms_and_the_library_is_larger(shipped):
    assert bool((shipped["rank"] == shipped["active_atoms"]).all())
    assert float((shipped["library"] / shipped["dense"]).min()) > 1
