"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_capacity.figures import error
from chapters.beyond_capacity.tables import ends
from vnlib.book import paths, store
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "beyond_capacity"))


def line(results: xr.Dataset, task: str, part: str, model: str) -> xr.DataArray:
    """Errors (size, seed) of a model at its own sizes."""
    return error(results, task, part).sel(model=model).dropna("size", how="all")


def ratio(results: xr.Dataset, task: str, part: str, model: str) -> xr.DataArray:
    return ends(error(results, task, part))["ratio"].sel(model=model)


def test_more_atoms_help_on_bodies_less_on_digits_and_hardly_on_signals(results):
    bodies = ratio(results, "forces", "ood", "forces_vn_token")
    images = ratio(results, "digits", "ood", "digits_vn")
    signals = ratio(results, "whole", "ood", "signals_vn")
    assert bodies.max() < images.min() and images.max() < signals.min()
    assert bodies.max() < 0.5 and images.max() < 0.7 and 0.8 < signals.min() <= signals.max() < 1


def test_vector_networks_err_less_with_every_doubling_on_digits_and_bodies(results):
    for task, model in (("digits", "digits_vn"), ("forces", "forces_vn_token")):
        for part in ("id", "ood"):
            assert (median(line(results, task, part, model)).diff("size") < 0).all(), (task, part)


def test_no_size_changes_the_order_on_bodies(results):
    by = {
        m: line(results, "forces", "ood", m)
        for m in ("forces_rbf", "forces_vn_token", "forces_mlp")
    }
    rbf, vn, mlp = by.values()
    assert vn.max() < mlp.min(), "at any two sizes"
    at = {name: ends(error(results, "forces", "ood"))[name] for name in ("usual", "largest")}
    for found in at.values():
        assert (found.sel(model="forces_rbf") < found.sel(model="forces_vn_token")).all()
    assert rbf.sel(size=512).max() < vn.sel(size=2432).min()
    assert mlp.sel(size=512).min() > 0.5


def test_nothing_fills_in_the_hidden_end_of_a_hard_signal(results):
    values = error(results, "quarter", "ood")
    assert values.min() > 0.6, "of all models, sizes and seeds"
    known = median(values.sel(model="signals_vn").dropna("size", how="all"))
    assert known.min() > 0.7 and known.max() < 1.4


def test_with_as_many_coefficients_the_network_errs_less_on_sums_than_fixed_codes(results):
    own = median(line(results, "digits", "ood", "digits_vn"))
    at = median(results["active"].sel(model="digits_vn", size=own["size"]))
    for model in ("digits_pca", "digits_dct"):
        theirs = median(line(results, "digits", "ood", model))
        there = np.interp(np.log(at), np.log(theirs["size"]), np.log(theirs))
        assert (np.log(own) < there).all(), model
    assert at[-1] < 2 * at.sel(size=512), "at little cost in coefficients"


def test_fixed_codes_cross_the_network_between_one_and_two_times_their_size(results):
    usual, twice = (
        {m: median(line(results, "digits", "ood", m)) for m in ("digits_pca", "digits_dct")}
        for _ in range(2)
    )
    atoms = median(line(results, "digits", "ood", "digits_vn"))
    for model in usual:
        assert usual[model].sel(size=117) > atoms.sel(size=512), model
        assert twice[model].sel(size=234) < atoms.sel(size=1024), model


def test_on_whole_signals_networks_have_as_many_active_atoms_at_every_size(results):
    active = median(results["active"].sel(model="signals_vn")).dropna("size")
    assert 2.4 < active.min() < active.max() < 3.6


def test_width_helps_the_autoencoder_more_in_distribution_on_whole_signals(results):
    sums, seen = (ratio(results, "digits", part, "digits_ae") for part in ("ood", "id"))
    assert sums.max() < 0.8 and seen.max() < 0.8
    hard, easy = (ratio(results, "whole", part, "signals_deep_ae") for part in ("ood", "id"))
    assert (easy < 0.5 * hard).all()


def test_the_autoencoder_errs_more_on_sums_than_the_network_at_the_same_multiple(results):
    found = ends(error(results, "digits", "ood"))["usual"]
    assert (found.sel(model="digits_ae") > found.sel(model="digits_vn")).all()
    wide = line(results, "digits", "ood", "digits_ae").sel(size=256)
    assert (wide > line(results, "digits", "ood", "digits_vn").sel(size=1024)).all()


def test_with_optimised_codes_the_autoencoder_is_between_larger_networks(results):
    optimised = line(results, "digits", "ood", "digits_ae_optimised")
    network = line(results, "digits", "ood", "digits_vn")
    assert (optimised.sel(size=128) > network.sel(size=512)).all()
    assert (optimised.sel(size=256) < network.sel(size=1024)).all()
    assert (optimised.sel(size=256) > network.sel(size=3136)).all()


def test_training_had_not_settled_least_of_all_that_of_large_dictionaries(results):
    for model in ("digits_vn", "forces_vn_token"):
        late = median(results["late_gain"].sel(model=model)).dropna("size")
        usual = int(results["usual"].sel(model=model))
        assert 0.02 < late.sel(size=usual) < late[-1], model
    signals = median(results["late_gain"].sel(model="signals_vn"))
    assert signals.sel(size=256) < 0.02 and signals.max() < 0.05


def test_the_order_stays_but_for_pca_and_cosines(results):
    for task in ("whole", "digits", "forces"):
        found = {n: median(v) for n, v in ends(error(results, task, "ood")).items()}
        models = [
            m for m in found["usual"]["model"].values if m not in ("digits_pca", "digits_dct")
        ]
        orders = [
            found[n].sel(model=models).sortby(found[n].sel(model=models))
            for n in ("usual", "largest")
        ]
        assert orders[0]["model"].values.tolist() == orders[1]["model"].values.tolist(), task
        assert (found["ratio"] < 1).all(), "by medians all err less at their largest size"


def test_pca_draws_whole_hard_signals_better_from_24_components_on(results):
    own = median(line(results, "whole", "ood", "signals_vn"))
    theirs = median(line(results, "whole", "ood", "signals_pca"))
    assert theirs.sel(size=[24, 48, 96]).max() < own.min() and theirs.sel(size=6) > own.max()


def test_only_pca_cosines_and_optimised_codes_cross_the_line_of_the_network(results):
    names = {"whole": "signals_vn", "digits": "digits_vn", "forces": "forces_vn_token"}
    crossing = set()
    for task, network in names.items():
        values = median(error(results, task, "ood"))
        lines = {
            str(m): (own["size"] / own["usual"], np.log(own))
            for m in values["model"].values
            if (own := values.sel(model=m).dropna("size")).size
        }
        at, known = lines.pop(network)
        for model, (size, own) in lines.items():
            both = size[(size >= at.min()) & (size <= at.max())]
            gap = own.sel(size=both["size"]) - np.interp(np.log(both), np.log(at), known)
            if (gap > 0).any() and (gap < 0).any():
                crossing.add(model)
    assert crossing == {"signals_pca", "digits_pca", "digits_dct", "digits_ae_optimised"}


def test_pca_of_twice_the_components_overtakes_every_dictionary_on_sums(results):
    theirs = line(results, "digits", "ood", "digits_pca").sel(size=234)
    assert theirs.max() < line(results, "digits", "ood", "digits_vn").min()
