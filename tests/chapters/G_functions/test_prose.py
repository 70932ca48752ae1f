"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import pytest
from glued import number

from chapters.G_functions import tables
from vnlib.book import paths, store


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    folder = paths.ROOT / "results" / "paper"
    shared, own = (store.read(folder / f"{name}.nc") for name in ("fig3_functions", "G_functions"))
    return {key.removeprefix("appG-"): text for key, text in tables.numbers(shared, own).items()}


def test_deep_ae_does_not_collapse_by_the_rule(told):
    assert number(told["bend-deep-ae"]) > 25


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
    assert 0.9 < number(told["learned-rounds"]) < 1.1


def test_where_all_are_told_the_mask_some_other_model_is_better(told):
    assert told["won"].startswith("8 of 12") and told["told-won"].startswith("0 of 12")


def test_the_literal_rule_loses_the_signal(told):
    assert min(number(told[f"reading-vn-{depth}-literal-top"]) for depth in (3, 5)) > 85
