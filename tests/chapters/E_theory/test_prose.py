"""What the page says between its numbers holds for the shipped results."""

from __future__ import annotations

import pytest
from glued import numbers

from chapters.E_theory import tables
from chapters.E_theory.claims import diagram, mending
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def shipped():
    return store.read(paths.RESULTS / "paper" / "E_theory.nc")


@pytest.fixture(scope="module")
def said(shipped) -> dict[str, float]:
    return numbers(tables.numbers(shipped))


def test_below_the_bound_all_supports_come_back_and_beyond_it_half(shipped, said):
    below, above = (over_seeds(share) for share in diagram(shipped))
    assert said["appE-below"] == 100 == 100 * float(below["low"])
    assert 0.45 < float(above["low"]) < float(above["high"]) < 0.6


def test_the_bound_of_the_learned_dictionary_allows_one_atom_and_four_come_back(shipped):
    mu, bound = (over_seeds(shipped[f"learned_{name}"]) for name in ("mu", "bound"))
    assert float(mu["low"]) > 1 / 3 and 1 < float(bound["low"]) < float(bound["high"]) < 2
    found = over_seeds(shipped["learned_recovered"].sel(learned_rule="exact"))
    assert float(found["low"].sel(learned_active=4)) > 0.9
    assert float(found["high"].sel(learned_active=16)) == 0


def test_the_support_of_a_sum_of_digits_is_not_the_union(shipped):
    overlap = over_seeds(shipped["digits_sum_overlap"].median("digits_pair"))
    assert 0.5 < float(overlap["low"]) < float(overlap["high"]) < 0.6


def test_the_gradient_is_exact_for_one_layer_and_f_alone(said):
    exact = ("one-layer", "three-layers", "top-k")
    assert max(said[f"appE-error-{case}"] for case in exact) < 1e-6
    assert min(said["appE-error-summed"], said["appE-error-ReLU"]) > 0.5


def test_f_never_rises_and_the_added_energies_in_many_sweeps(shipped, said):
    assert float(shipped["sweep_rises"].sel(counted="joint").max()) == 0
    summed = over_seeds(shipped["sweep_rises"].sel(counted="summed").mean("penalty"))
    assert said["appE-rises-joint"] == 0 and float(summed["low"]) > 0.4
    worst = 100 * float(shipped["sweep_rises"].sel(counted="summed").max())
    assert said["appE-rises-most"] == round(worst) > 100 * float(summed["high"])


def test_decorrelation_loses_planted_atoms_and_names_surplus_ones_at_its_strongest(shipped, said):
    best, _ = mending(shipped)
    named = shipped["grown_named"].isel(atoms=-1)
    more = over_seeds(named - named.sel(strength=0))
    at_best, strongest = more.sel(strength=best), more.isel(strength=-1)
    assert float(at_best["low"]) < 0 < float(at_best["high"]), "undecided"
    assert float(strongest["low"]) > 0
    found = shipped["grown_found"].isel(atoms=[0, -1])
    lost = over_seeds(found.sel(strength=0) - found)
    assert (lost["low"].sel(strength=best) > 0.05).all()
    assert (lost["low"].isel(strength=-1) > 0).all()
    medians = [said[f"appE-lost-{atoms}"] for atoms in ("needed", "surplus")]
    assert medians == (100 * lost["median"].sel(strength=best)).round().values.tolist()
    alike = shipped["grown_mu"].isel(atoms=-1)
    assert float(over_seeds(alike.sel(strength=best) / alike.sel(strength=0))["high"]) < 1


def test_lambda_has_a_window_under_noise(shipped):
    found = over_seeds(shipped["noisy_recovered"])
    assert float(found["low"].sel(multiple=2)) == 1
    assert (found["high"].sel(multiple=[1, 8]) < 0.7).all()
    assert (found["high"].sel(multiple=[0.125, 16]) == 0).all()
    many, few = (shipped[f"noisy_{name}"].median("seed") for name in ("false", "missed"))
    assert many.sel(multiple=1) > 0 == few.sel(multiple=1)
    assert few.sel(multiple=8) > 0 == many.sel(multiple=8)


def test_accept_reject_does_not_mend_a_step_that_is_too_long(shipped):
    longest = shipped["end_gap"].isel(factor=-1).sel(safeguard="reject")
    assert float(median(longest).max()) > 1


def test_the_rank_is_the_number_of_active_atoms_and_the_library_is_larger(shipped):
    assert bool((shipped["rank"] == shipped["active_atoms"]).all())
    assert float((shipped["library"] / shipped["dense"]).min()) > 1
