"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.spatial.errors import DRAWS
from benchmarks.spatial.settling import late_gain
from chapters.FR4_stripes.claims import (
    ALONE,
    FEW,
    MOST,
    OPEN,
    STRIPES,
    hidden,
    middle,
    zero_baseline,
)
from chapters.FR4_stripes.laws import laws
from vnlib.book import paths, store
from vnlib.book.evidence import SETTLED


@pytest.fixture(scope="module")
def results():
    return store.read(paths.RESULTS / "paper" / "FR4_stripes.nc")


def test_stripes_give_the_place_and_100_bumps_the_form(results):
    for model in ("cnn", "cnn_square"):
        alone = results.sel(model=model, diet=STRIPES)
        assert (alone["hit_ood"] > 0.95).all() and (alone["cross_share_ood"] > 0.95).all()
        assert (one_of(results, "bump_hit_ood", model, FEW) > 0.8).all()
    assert middle(results, "mse_ood", "cnn", FEW) < 0.5 * zero_baseline(results, "cnn")


def one_of(results, name: str, model: str, diet: str):
    return results[name].sel(model=model, diet=diet).dropna("seed")


def test_other_networks_draw_crosses_in_some_seeds_and_bumps_in_others(results):
    for model in ("cnn_deep", "cnn_bright"):
        crosses = one_of(results, "cross_share_ood", model, STRIPES)
        assert 0 < (crosses > 0.5).mean() < 1
        assert one_of(results, "bump_hit_ood", model, STRIPES).max() > 0.8
    drawn = {diet: one_of(results, "bump_hit_ood", "cnn_deep", diet) for diet in (STRIPES, FEW)}
    assert (drawn[STRIPES] > 0.5).mean() > 0.5 and drawn[FEW].median() > 0.95, "in most seeds"


def test_no_training_with_stripes_has_settled_and_twice_the_updates_change_neither(results):
    gain = late_gain(results.sel(model="cnn")).median("seed")
    assert gain.sel(diet=ALONE) < SETTLED < gain.sel(diet=[STRIPES, FEW, MOST]).min()
    for model in ("cnn_longer", "cnn_square_longer"):
        alone = results.sel(model=model, diet=STRIPES).dropna("seed", subset=["hit_ood"])
        assert alone.sizes["seed"] == 5
        assert (alone["hit_ood"] > 0.95).all() and (alone["cross_share_ood"] > 0.95).all()
        assert (one_of(results, "bump_hit_ood", model, FEW) > 0.95).all()


def test_what_layers_do_is_undecided(results):
    rest = {m: _rest_gained(results, m) for m in ("cnn", "cnn_longer")}
    assert [(int((one > 0).sum()), one.size) for one in rest.values()] == [(5, 5), (4, 5)]
    for model in rest:
        rough = results["volume_rough"].sel(model=model, diet=[FEW, MOST])
        rough = rough.sel(layer=hidden(rough)).mean("layer").dropna("seed")
        assert int((rough.sel(diet=FEW) < rough.sel(diet=MOST)).sum()) == 3
        assert rough.sizes["seed"] == 5


def _rest_gained(results, model: str):
    rest = results["tuning_quantile"].sel(model=model, diet=FEW, quantile=0.5)
    first, *_, last = hidden(rest)
    return (rest.sel(layer=last) - rest.sel(layer=first)).dropna("seed")


def test_100_bumps_alone_teach_less_than_half_of_the_bump_in_distribution(results):
    """After twice the updates hardly more than half."""
    fit = (results["mse_id"] / results["zero_baseline_id"]).sel(diet=ALONE).median("seed")
    assert fit.sel(model="cnn") > DRAWS and 0.4 < fit.sel(model="cnn_longer") < DRAWS


def test_bumps_alone_do_not_make_the_cnn_compose(results):
    for diet in (ALONE, MOST):
        assert middle(results, "hit_ood", "cnn", diet) < 0.2
    assert middle(results, "mse_ood", "cnn", MOST) > zero_baseline(results, "cnn")


def test_a_product_readout_needs_no_stripes(results):
    for model in ("vn_axes", "vn_joint", "factorised"):
        assert middle(results, "bump_hit_ood", model, ALONE) > 0.95
    assert middle(results, "bump_hit_ood", "vn_flat", ALONE) < 0.05
    drawn = {
        m: one_of(results, "bump_hit_ood", m, ALONE) > 0.95
        for m in ("vn_axes", "vn_joint", "factorised")
    }
    assert drawn["vn_axes"].all() and drawn["factorised"].all()
    assert (drawn["vn_joint"].sum(), drawn["vn_joint"].size) == (3, 5)
    with_stripes = one_of(results, "bump_hit_ood", "vn_joint", FEW)
    assert with_stripes.median() < 0.5, "which harm it"


def test_stripes_alone_suffice_for_decoders_that_can_draw_one(results):
    for model in ("vn_axes_const", "factorised"):
        assert middle(results, "bump_hit_ood", model, STRIPES) > 0.95
    for model in ("vn_axes", "vn_flat"):
        assert middle(results, "bump_hit_ood", model, STRIPES) == 0


def test_what_each_reading_of_the_law_can_show(results):
    found = laws(results).sel(target=0.8)
    place = found.sel(kind="stripes", measure="joint")
    assert (place["at_once"] == 1).all(), "the stripes alone suffice"
    np.testing.assert_allclose(place["exponent"], 1)
    alone = found.sel(kind="bumps", measure="joint")
    assert float(alone["reached"].sel(region="corner").max()) == 0
    fit = alone.sel(**OPEN)
    assert 1 < float(fit["low"]) < float(fit["exponent"]) < 3 < float(fit["high"]), "undecided"
    assert 0.9 < float(fit["reached"]) < 1, "a run that misses the target"


def test_no_stripe_says_how_bright_a_bump_is(results):
    for model in ("vn_axes_const", "factorised"):
        assert middle(results, "mse_ood", model, STRIPES) > zero_baseline(results, model)


def test_how_many_seeds_the_answer_rests_on(results):
    seeds = results["hit_ood"].sel(model="cnn").count("seed")
    assert seeds.sel(diet=STRIPES) == 10
    assert (seeds.sel(diet=[FEW, ALONE]) == 5).all()
    assert one_of(results, "hit_ood", "vn_axes", ALONE).size == 5


@pytest.mark.parametrize(("model", "place"), [("cnn", 0), ("vn_axes", 1), ("factorised", 1)])
def test_which_of_the_learning_rates_that_were_tried_validates_best(model, place):
    one = store.read(paths.RESULTS / "paper" / "FR4_stripes.selection.nc").sel(model=model)
    rates = [json.loads(str(text))["training"]["lr"] for text in one["run_settings"].values]
    chosen = rates[int(one["mse_val"].isel(diet=0).argmin("candidate"))]
    assert sorted(set(rates)).index(chosen) == place and len(set(rates)) == 3
