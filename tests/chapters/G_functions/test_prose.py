"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from glued import ends, number

from benchmarks.functions.names import ELEVEN, VN
from chapters.G_functions import figures_gallery as gallery
from chapters.G_functions import tables
from chapters.G_functions.claims import signatures
from vnlib.book import paths, store
from vnlib.plots.statistics import over_seeds

FOLDER = paths.ROOT / "results" / "paper"


@pytest.fixture(scope="module")
def results():
    return store.read(FOLDER / "fig3_functions.nc")


@pytest.fixture(scope="module")
def own():
    return store.read(FOLDER / "G_functions.nc")


@pytest.fixture(scope="module")
def told(results, own) -> dict[str, str]:
    return {key.removeprefix("appG-"): text for key, text in tables.numbers(results, own).items()}


def test_deep_ae_does_not_collapse_by_the_rule_and_vector_networks_keep_no_more(told, results):
    assert ends(told["bend-deep-ae"])[0] > 25
    bend = signatures(results)["bend"]
    over = over_seeds(bend.sel(model=list(VN)) / bend.sel(model="deep_ae"))
    assert float(over["median"].max()) < 1 and float(over["high"].max()) < 1.05


def test_what_is_seen_on_the_hidden_quarter(told, results):
    assert ends(told["coders-tail-power-most"])[1] <= 25
    assert ends(told["vn-tail-power-least"])[0] > ends(told["coders-tail-power-most"])[1]
    last = over_seeds(signatures(results)["last_eighth"].sel(model=["neural_ode", "rslds"]))
    assert float(last["low"].max()) < 1.05, "no drift beyond silence"


def test_no_signature_holds_whole_beside_the_vector_networks(results):
    found = signatures(results).median("seed")
    vn, mamba = (
        found.sel(model=list(VN)).max("model"),
        found.sel(model=["mamba", "mamba_bottleneck"]),
    )
    bottleneck = mamba.sel(model="mamba_bottleneck")
    assert bottleneck["missed_high"] > vn["missed_high"], "this part tells them apart"
    assert bottleneck["missed_low"] > vn["missed_low"], "it should miss less"
    assert mamba["tail_vs_power"].min() < vn["tail_vs_power"], "VN-1L errs more than silence"
    assert mamba["seen"].max() > vn["seen"], "both should follow what is seen"


def test_baselines_lose_low_bands_as_well_as_detail(told):
    for model in ("rnn", "mamba-bottleneck"):
        assert 10 < number(told[f"missed-low-{model}"]) < number(told[f"missed-high-{model}"])
    assert number(told["vn-missed-low-most"]) < 10 < 90 < number(told["vn-missed-high-least"])


def test_a_largest_gap_is_many_times_the_median_one(told):
    for name in ("whole", "tail"):
        assert number(told[f"gap-{name}-most"]) > 10 * number(told[f"gap-{name}-median"])


def test_no_theorem_settles_which_atoms_are_in_use(told):
    assert number(told["active"]) >= number(told["bound"])


def test_more_rounds_do_not_remove_the_residual(told):
    for end in ("least", "most"):
        assert number(told[f"limit-rms-{end}"]) > 0.9 * number(told[f"rms-{end}"]) > 0.001


def test_learned_atoms_matter_little(told):
    for how in ("limit", "rounds"):
        low, high = ends(told[f"learning-{how}"])
        assert 0.9 < low < high < 1.15
    assert ends(told["learned-fig3"])[1] < 0.9, "more in the networks of Fig. 3"
    low, high = ends(told["learned-cell-hard-forecast-25"])
    assert low < 1 < high, "undecided"
    assert ends(told["learned-cell-id-random-30"])[0] > 1, "worse"
    assert ends(told["learned-cell-easy-block-128"])[1] < 1, "better"


def test_where_all_are_told_the_mask_some_other_model_is_better(told):
    assert (told["won"], told["won-all"]) == ("4 of 4", "12 of 12")
    assert re.fullmatch(r"0\b.* of 4", told["told-won"]) and re.fullmatch(
        r"0\b.* of 12", told["told-won-all"]
    )


def test_the_literal_rule_loses_the_signal(told):
    assert min(number(told[f"reading-vn-{depth}-literal-top"]) for depth in (3, 5)) > 85


def test_the_best_vector_network_misses_most_of_the_hidden_quarter(told, results):
    low, high = ends(told["vn-tail-error-least"])
    assert 0.5 < low < high < 1
    tail = signatures(results)["tail_vs_power"].sel(model=list(VN))
    middle = tail.median("seed")
    assert middle.idxmax() == "vn_1" and number(told["vn-tail-error-most"]) > 1, (
        "worse than silence"
    )
    hidden = results["hidden"].sel(mask="forecast_25", set="hard")
    held = hidden.sel(model="hold_last", protocol="mask_aware").median()
    assert held < over_seeds(hidden.sel(model=list(VN), protocol="mask_aware"))["low"].min()


def test_sequence_models_copy_the_zeros_that_they_are_shown(results):
    tail = signatures(results)["tail_vs_power"].sel(model=["transformer", "mamba", "rslds"])
    assert float(abs(tail - 1).max()) < 0.01


def test_the_first_code_hides_what_the_top_code_has_lost(told):
    first, top = (told[f"reading-vn-3-literal-{name}"] for name in ("first", "top"))
    assert number(first) < 10 < number(told["reading-vn-3-top"]) < ends(top)[0]


def test_what_rounds_gain_they_gain_in_the_first_ten(own):
    curve = own["curve_hidden"].sel(model=list(VN), set=["id", "easy", "hard"]).median("seed")
    first, tenth, last = (curve.sel(round=at) for at in (1, 10, 80))
    assert float((first - tenth).min()) > 0
    assert float(((tenth - last) / (first - tenth)).max()) < 0.5, "what the other seventy gain"
    limit = own["hidden"].sel(model=list(VN), set="hard", mask="forecast_25", reading="first")
    limit = limit.sel(solver="limit") / own["zero_baseline"].sel(set="id", model=list(VN))
    assert float(over_seeds(limit)["low"].min()) > 0.5, "the minimum does not mend that"


def test_which_networks_leave_more_than_the_last_value_held_of_other_signals_too(results):
    """By the draw of Hard signals, first seed: VN-1L surely, which may still leave less than zero."""
    told = {"protocol": "mask_aware", "mask": "forecast_25", "seed": 0}
    models = [*VN, "hold_last", "zero_baseline"]
    errors = results["hidden_hard"].sel(model=models, **told).dropna("case")
    assert errors.sizes["case"] > 200
    draws = np.random.default_rng(0).integers(
        errors.sizes["case"], size=(2000, errors.sizes["case"])
    )

    def ratio(model: str, other: str) -> np.ndarray:
        one, two = (errors.sel(model=name).values[draws].mean(axis=1) for name in (model, other))
        return np.quantile(one / two, [0.025, 0.975])

    held = {model: ratio(model, "hold_last") for model in VN}
    assert {model for model, (low, _) in held.items() if low > 1} == {"vn_1"}
    assert all(high > 1 for _, high in held.values())
    low, high = ratio("vn_1", "zero_baseline")
    assert low < 1 < high


def test_captions_of_forecasts(results):
    """Who comes nearest of the paper's eleven models, signal by signal."""
    error = gallery.errors(results, gallery.PRINTED).sel(model=[*ELEVEN])
    gap = gallery.gaps(results, gallery.PRINTED)
    neutral, largest = (
        error.sel(example=gallery.pick(gap, rule, 3)) for rule in ("neutral", "largest")
    )
    ours, rest = ([*VN], [m for m in ELEVEN if m not in VN])
    nearest = neutral.sel(model=ours) < neutral.sel(model=rest).min("model")
    assert int(nearest.any("model").sum()) == 2 and int(nearest.all("model").sum()) == 1
    second = largest.isel(example=1)
    close = second.sel(model=["deep_ae", "neural_ode"]) / second.sel(model="vn_3")
    assert (close < 1.05).all() and (second.sel(model=rest) > 0.95 * second.sel(model="vn_3")).all()
