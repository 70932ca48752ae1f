"""What the page says of the shipped results, between its numbers."""

from __future__ import annotations

import json

import pytest

from benchmarks.spatial.settling import late_gain
from book.site.ledger import results_of
from chapters.FR2_manifold.claims import (
    at,
    before_training,
    counted,
    drawing,
    error,
    have_learned,
    middle,
)
from chapters.FR2_manifold.tables import numbers
from vnlib.book import paths
from vnlib.book.evidence import SETTLED
from vnlib.book.ledger import UNDECIDED, all_claims
from vnlib.plots.frames import in_groups
from vnlib.plots.statistics import over_seeds

MLPS = ["longer_bump_4", "longer_ramp_4"]
LEDGER = json.loads((paths.RESULTS / "paper" / "ledger.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def results():
    return before_training(results_of(all_claims()["FR-2"], paths.RESULTS / "paper"))


@pytest.fixture(scope="module")
def drawn(results):
    return counted(results)


def test_mlps_that_have_settled_squeeze_the_hold_out_as_cnns_do(results):
    last = middle(drawing(results), "last").sel(model=[*MLPS, "longer_cnn_bump_4", "cnn_ramp_10"])
    assert (last["volume_in"] < last["volume_out"] - 0.1).all()
    assert late_gain(results.sel(model=MLPS)).median("seed").max() < SETTLED


def share_of_zero(results, models):
    return error(drawing(results), "ood", models) / float(results["zero_baseline_ood"].median())


def test_no_network_that_draws_composes_and_vector_networks_with_a_product_do(results, drawn):
    assert len(drawn) > 3 and share_of_zero(results, drawn).min() > 0.5
    product = ["vn_full", "vn_axes_1", "vn_axes_2", "vn_axes_3"]
    assert share_of_zero(results, product).max() < 0.01
    assert share_of_zero(results, ["vn_flat"])[0] > 1


def test_factorisation_falls_and_is_higher_where_decoders_compose(results, drawn):
    trained, random = (middle(drawing(results), "last", w)["F"] for w in ("trained", "untrained"))
    F = trained.sel(model=["vn_full", "vn_axes_1", "vn_axes_2", "vn_axes_3"])
    own = trained.sel(model=drawn).median()
    lower = trained.sel(model=drawn) < random.sel(model=drawn)
    assert {*lower["model"].values[~lower.values]} == {"longer_bump_4"}
    assert own < random.sel(model=drawn).median() < 1 and F.min() == F[0] > own


def test_factorisation_tells_by_a_hair_who_composes(results, drawn):
    F = middle(drawing(results), "last")["F"]
    flat, full = (float(F.sel(model=name)) for name in ("vn_flat", "vn_full"))
    highest = max(float(F.sel(model=drawn).max()), flat)
    assert highest < full < highest + 0.02 and flat < full
    verdicts = {s["id"]: s["verdict"] for s in LEDGER["statements"]}
    asked = {"FR-2.13": UNDECIDED, "FR-2.14": "holds", "FR-2.16": "holds"}
    asked |= dict.fromkeys(["FR-2.26", "FR-2.28"], "fails")
    asked |= {"FR-2.27": "tie", "FR-2.29": "holds"}
    assert {name: verdicts[name] for name in asked} == asked


def test_probes_hardly_fall_and_perfect_images_lose_them_in_the_hold_out(results, drawn):
    assert middle(drawing(results), "last").sel(model=drawn)["probe"].median() > 0.95
    assert middle(results, "output")["probe_ood"].sel(model="perfect") < 0.9


def test_which_networks_draw(results, drawn):
    assert {f"cnn_bump_{n}" for n in (2, 4, 6, 8, 10)} <= {*drawn}
    assert {f"cnn_ramp_{n}" for n in (4, 6, 8, 10)} <= {*drawn} and "cnn_ramp_2" not in drawn
    assert not any(name.startswith("mlp") for name in drawn)
    able = {*have_learned(results, in_groups(results, "cnn", "mlp", "longer"))}
    assert {*drawn} > {*MLPS}, "which have settled"
    assert able - {*drawn} == {"longer_cnn_bump_4", "longer_cnn_ramp_8"}, "which have not"


def test_factorisation_falls_visibly_with_ramps_only(results, drawn):
    runs = drawing(results)
    fall = middle(runs, "input") - middle(runs, "last")
    bump, ramp = ([m for m in drawn if m.startswith(f"cnn_{code}")] for code in ("bump", "ramp"))
    assert fall["F"].sel(model=bump).median() < 0.05 < fall["F"].sel(model=ramp).min()
    assert (fall["one_factor"].sel(model=bump) > 0.5).all()


def test_terms_fall_in_cnns_with_bumps_and_grow_in_mlps_and_in_one_cnn_with_ramps(results, drawn):
    first, last = (
        at(drawing(results), name)["terms"].sel(model=drawn) for name in ("input", "last")
    )
    grown = over_seeds(last / first)
    bump, ramp = ([m for m in drawn if m.startswith(f"cnn_{code}")] for code in ("bump", "ramp"))
    assert (grown["median"].sel(model=bump) < 1).all()
    assert (grown["low"].sel(model=MLPS) > 1.5).all()
    above = grown["low"].sel(model=ramp) > 1
    assert [m for m, one in zip(ramp, above.values, strict=True) if one] == ["cnn_ramp_4"]


def test_the_hold_out_surely_spreads_more_in_cnns_and_not_surely_in_mlps(results, drawn):
    last = at(drawing(results), "last").sel(model=drawn)
    ratio = over_seeds(last["spread_in"] / last["spread_out"])
    surely = ratio["low"] > 1
    assert {*drawn} - {*ratio["model"].values[surely.values]} == {"cnn_ramp_4", *MLPS}
    assert (ratio["median"].sel(model=MLPS) > 1).all() and ratio["median"].sel(
        model="cnn_ramp_4"
    ) < 1


def test_by_a_hair_two_trainings_have_not_settled(results):
    gain = late_gain(results).sel(model=["cnn_bump_10", "longer_cnn_ramp_8"]).median("seed")
    assert ((gain > SETTLED) & (gain < 1.5 * SETTLED)).all()


def test_deeper_cnns_err_hardly_less_in_the_hold_out(results):
    error = results["mse_ood"].sel(weights="trained").median("seed")
    for code in ("bump", "ramp"):
        assert 0.8 < error.sel(model=f"cnn_{code}_10") / error.sel(model=f"cnn_{code}_2") < 1


def test_the_hold_out_is_distorted_most_in_most_networks_and_not_in_the_flat_one(results, drawn):
    assert numbers(results)["fr2-distorted"] == "10 of 11"
    flat = middle(drawing(results), "last").sel(model="vn_flat")
    assert 0.8 < float(flat["spread_in"] / flat["spread_out"]) < 1
    assert numbers(results)["fr2-unsettled"] == "9 of 11"
    own, random = (
        middle(drawing(results), "last", w).sel(model=drawn) for w in ("trained", "untrained")
    )
    assert own["spread_in"].median() > 2 * own["spread_out"].median()
    assert own["spread_out"].median() > random["spread_in"].median()


def test_a_table_has_as_few_terms_as_the_perfect_images(results):
    output = middle(results, "output")
    assert (output["terms"].sel(model=["table", "perfect"]) < 1.1).all()
    assert output["one_factor"].sel(model="perfect") < 0.5, "no sum of its factors"
