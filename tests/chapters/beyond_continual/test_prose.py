"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import json

import pytest
import xarray as xr
from glued import ends as ends_of
from glued import number

from benchmarks.baselines.longer import longer
from book.site import ledger
from chapters.beyond_continual import tables
from chapters.beyond_continual.claims import final, forgotten, transfer
from chapters.beyond_continual.figures import models_of
from vnlib.book import paths
from vnlib.book.ledger import all_claims
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return xr.load_dataset(paths.RESULTS / "paper" / "beyond_continual.nc")


@pytest.fixture(scope="module")
def ratio(shipped) -> dict[str, float]:
    return by_model(median(forgotten(shipped)).sel(stream="sequence"))


@pytest.fixture(scope="module")
def ends(shipped) -> dict[str, dict[str, float]]:
    errors = median(final(shipped))
    return {stream: by_model(errors.sel(stream=stream)) for stream in errors["stream"].values}


def by_model(values: xr.DataArray) -> dict[str, float]:
    return values.to_series().to_dict()


def test_vn_forgets_more_but_ends_lower(ratio, ends):
    autoencoders = ["ae", "ae_long", "ksparse_linear", "ksparse_linear_long"]
    assert ratio["vn_1"] > max(ratio[m] for m in autoencoders)
    end = ends["sequence"]
    assert end["vn_1"] < end["ae"] and end["vn_1"] < end["ksparse_linear"]


def test_against_all_mixed_it_ties_with_the_sparse_autoencoder(shipped):
    left = final(shipped)
    lost = left.sel(stream="sequence") / left.sel(stream="joint")
    over = over_seeds(lost.sel(model="vn_1") / lost.sel(model="ksparse_linear"))
    assert 0.9 < float(over["low"]) < 1 < float(over["high"]) < 1.1


def test_a_task_profits_from_those_before_it_most_in_the_autoencoder(shipped):
    before = over_seeds(transfer(shipped).sel(stream="sequence"))
    vn, other = (before.sel(model=m) for m in ("vn_1", "ksparse_linear"))
    assert float(other["high"]) < float(vn["low"]) < float(vn["high"]) < 1


def test_added_atoms_help_only_if_old_ones_rest(ratio, ends):
    end = ends["sequence"]
    assert end["vn_1_rest"] < end["vn_1"] < end["vn_1_grow"]
    assert ratio["vn_1_rest"] <= 1, "nothing is forgotten"
    assert end["vn_1_rest"] == pytest.approx(ends["joint"]["vn_1"], rel=0.1)


def test_sparse_codes_do_not_keep_digits_apart(shipped):
    shared = shipped["shared_units"].sel(stream="sequence").mean(("task", "other"))
    found = by_model(median(shared))
    assert found["vn_1"] > max(found["ae"], found["ksparse_linear_long"])


def test_laws_are_kept_apart_by_tokens_and_local_updates(shipped, ratio, ends):
    assert ratio["b_vn_token"] == pytest.approx(1, abs=0.01)
    assert min(ratio["b_mlp"], ratio["b_token_mlp"]) > 40, "nearly all"
    assert ends["replay"]["b_token_mlp"] < ends["replay"]["b_vn_token"], "ahead with replay"
    assert ends["sequence"]["b_vn_token"] < ends["replay"]["b_token_mlp"] / 2, "without replay"
    last = ends["sequence"]
    assert last["b_vn_fixed"] > 2 * last["b_vn_literal"], "hardly learns later laws"
    forces = models_of(shipped, "forces")
    assert min(forces, key=ends["sequence"].get) == "b_vn_token"


def test_few_images(shipped):
    texts = tables.numbers(shipped)
    assert texts["beyond-cont-lowest-id"].startswith("PCA")
    assert texts["beyond-cont-lowest-add2"] == "VN-1L"
    errors = median(shipped["data_error"].sel(set="id"))
    assert bool((errors.sel(model="vn_1") < errors.sel(model="ae")).all()), "from any number"


def test_after_twice_the_updates_most_of_the_lead_with_many_images_is_lost(shipped):
    found = ledger.results_of(all_claims()["VN-disc"], paths.RESULTS / "paper")
    for r, least, most in ((shipped, 1.7, 1.9), (longer(found), 1.1, 1.3)):
        lead = r["data_error"].sel(model="ae_long") / r["data_error"].sel(model="vn_1")
        few, many = (over_seeds(lead.sel(set="add2").isel(images=i)) for i in (0, -1))
        assert 1.75 < few["low"] < few["high"] < 1.95
        assert least < many["low"] < many["high"] < most
    tied = over_seeds(lead.sel(set="id", images=[4096, 16384]))
    assert (tied["low"] > 0.95).all() and (tied["high"] < 1.05).all()


def test_inference_takes_twice_a_pass_and_learned_starts_help_sweeps_little(shipped):
    vn = shipped.sel(model="vn_1", set="id", solver="ista", level=1e-3).median("seed")
    assert 1.5 < vn["inference_ratio"] < 2.5
    said = tables.numbers(shipped)
    assert number(said["beyond-cont-ms-guess"]) > number(said["beyond-cont-ms-cold"])
    sweeps = vn["inference_sweeps"]
    assert sweeps.sel(start="lista") > 0.75 * sweeps.sel(start="cold")


def test_the_answer_is_what_intervals_say(shipped):
    told = tables.numbers(shipped)
    assert ends_of(told["beyond-cont-forgotten-vn-1"])[0] > 1
    assert ends_of(told["beyond-cont-forgotten-vn-1-rest"])[1] < 1
    assert ends_of(told["beyond-cont-forgotten-b-token-mlp"])[0] > 1000
    assert ends_of(told["beyond-cont-saved"])[1] < 0.25, "too few sweeps"
    for model in ("token", "literal", "fixed"):
        said = told[f"beyond-cont-forgotten-b-vn-{model}"]
        assert said == "1.0", "the interval is that, too"
    end = final(shipped).sel(stream="sequence")
    for model in ("ae", "ksparse_linear"):
        assert float(over_seeds(end.sel(model="vn_1") / end.sel(model=model))["high"]) < 1
    grow = over_seeds(end.sel(model="vn_1_grow") / end.sel(model="vn_1"))
    assert float(grow["low"]) > 1, "added atoms alone make it worse"


def test_updates_of_two_laws_share_nothing(shipped):
    shared = shipped["shared_units"].sel(stream="sequence", model=["b_vn_token", "b_vn_literal"])
    assert float(shared.max()) < 0.01


def test_after_twice_the_updates_replay_puts_the_network_ahead_no_more():
    def lead(r: xr.Dataset) -> xr.DataArray:
        left = median(final(r)).sel(stream="replay")
        return left.sel(model="vn_1") / left.sel(model=["ae_long", "ksparse_linear_long"])

    found = ledger.results_of(all_claims()["VN-disc"], paths.RESULTS / "paper")
    assert (lead(found) < 0.95).all() and (lead(longer(found)) > 1).any()
    twice = [
        need["verdict"]
        for one in json.loads((paths.RESULTS / "paper" / "ledger.json").read_text())["statements"]
        for need in one["needs"]
        if one["claim"] == "VN-disc" and "twice" in need["says"]
    ]
    assert twice.count("fails") == 2
