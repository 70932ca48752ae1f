"""What the page says of the shipped results, between the numbers that it quotes from them."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import xarray as xr
from glued import ends, number

from chapters.beyond_representation import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median, over_seeds


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    return store.read(paths.result_file(paths.RESULTS, "paper", "beyond_representation"))


BEST = {"spatial": "s_vn_1", "functions": "f_ksparse", "forces": "b_vn_token", "digits": "d_vn_1"}


@pytest.mark.parametrize("name", BEST)
def test_who_errs_least_and_whose_code_is_nearest(results, name):
    models = tables.medians(results, name)
    assert models["error_unseen"].idxmin() == BEST[name]
    assert tables.nearest(models) == ("f_vn_3" if name == "functions" else BEST[name])


def test_how_many_models_are_compared(results):
    assert tables.numbers(results)["beyondrep-models"] == "8, 5, 5 and 4"


def test_where_the_condition_is_met(results):
    everyone = pd.concat([tables.medians(results, name) for name in BEST])
    met = (everyone["linearity"] > 0.99) & (everyone["overlap"] < 0.06)
    assert {m for m in everyone.index[met] if "vn" in m} == {
        "s_vn_1",
        "s_vn_3",
        "s_vn_full",
        "b_vn_gated",
        "b_vn_token",
    }
    assert met["s_bilinear"], "a decoder with a product readout meets it as well"
    for name in ("functions", "digits"):
        vn, other = (tables.medians(results, name, (kind,)) for kind in tables.LEARNED)
        assert vn["overlap"].max() < other["overlap"].min()
        assert vn["linearity"].max() < other["linearity"].min()
        assert vn["overlap"].max() < 0.2


def test_condition_and_error(results):
    ranks = {name: tables.rank(tables.medians(results, name), "condition") for name in BEST}
    assert max(ranks["spatial"], ranks["forces"]) <= -0.5
    by_chance = {name: tables.chance(tables.medians(results, name), "condition") for name in BEST}
    assert max(by_chance["spatial"], by_chance["forces"]) < 0.05
    assert min(by_chance["functions"], by_chance["digits"]) > 0.3, "undecided"


def test_codes_as_near_to_the_condition_may_err_more_and_without_learning_it_says_little(results):
    both = {name: tables.medians(results, name) for name in BEST}
    for name, best, equal in (
        ("spatial", "s_vn_1", "s_vn_3"),
        ("forces", "b_vn_token", "b_vn_gated"),
    ):
        near = both[name]["condition"]
        assert (
            near[best]
            == pytest.approx(near[equal], abs=1e-3)
            == pytest.approx(near.max(), abs=1e-3)
        )
    error = tables.codes_of(results)["error_unseen"]
    assert float((error.sel(model="b_vn_gated") / error.sel(model="b_vn_token")).min()) > 10
    near = both["digits"]["condition"]
    assert 1 < near["d_vn_1"] / near["d_vn_3"] < 1.01, "by a hair"
    for name in ("spatial", "functions"):
        of_all = tables.alone(results, name, tuple(tables.GROUPS))
        assert abs(float(median(tables.ranks(of_all, "condition")))) < 0.35


def test_a_code_may_fail_and_draw_or_be_met_and_not(results):
    free = tables.medians(results, "spatial", ("untrained", "control"))
    assert (
        free.loc["s_product", "error_unseen"] < 1e-12 and free.loc["s_product", "linearity"] < 0.5
    )
    assert free.loc["s_vn_untrained", "linearity"] > 0.99
    assert free.loc["s_vn_untrained", "error_unseen"] > 1, "worse than the zero baseline"


def test_the_answer_is_what_intervals_say(results):
    for name in ("spatial", "forces"):
        assert ends(tables.numbers(results)[f"beyondrep-rank-{name}"])[1] <= -0.5
    overlap = tables.codes_of(results)["overlap"]
    vn, other = (
        over_seeds(overlap.sel(model=m)) for m in (["d_vn_1", "d_vn_3"], ["d_ae", "d_ksparse"])
    )
    assert float(vn["high"].max()) < float(other["low"].min())


def test_atoms_not_learned_meet_the_condition_and_draw_nothing(results):
    codes = tables.codes_of(results).sel(model="s_vn_untrained")
    assert float(over_seeds(codes["linearity"])["low"]) > 0.99
    assert float(over_seeds(codes["error_unseen"])["low"]) > 1


def test_which_atoms_are_active_is_not_linear(results):
    told = tables.numbers(results)
    assert (
        number(told["beyondrep-full-support"])
        < 0.2
        < 0.9
        < number(told["beyondrep-full-linearity"])
    )


def test_the_full_vn_errs_more_where_it_has_no_negative_atoms(results):
    here = median(tables.codes_of(results)["error_unseen"].sel(model="s_vn_full"))
    told = tables.numbers(results)["beyondrep-full-error"]
    assert number(told) == pytest.approx(float(here), rel=0.05)
    other = store.read(paths.result_file(paths.RESULTS, "paper", "beyond_tasks"))
    other = other.sel(model="vn_full", task="base")
    ratio = median(other["mse_ood"] / other["zero_baseline_ood"]) / here
    assert 300 < float(ratio) < 1000, "several hundred times"
    options = [
        json.loads(str(one["run_settings"].values[0]))
        for one in (results.sel(model="s_vn_full"), other)
    ]
    assert not options[0]["options"].get("nonnegative", False)
    assert options[1]["training"]["options"]["nonnegative"]
