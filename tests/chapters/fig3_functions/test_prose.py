"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import pytest
from glued import number

from benchmarks.functions.names import MASKS
from chapters.fig3_functions import tables
from vnlib.book import paths, store
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def results():
    return store.read(paths.ROOT / "results" / "paper" / "fig3_functions.nc")


def test_inference_matters_more_than_learning(results):
    told = {name: number(tables.numbers(results)[f"fig3-{name}"]) for name in ("solved", "learned")}
    assert told["solved"] < told["learned"] < 1


def test_the_rnn_still_fell_most_of_all_networks(results):
    gain = tables.late_gain(results)
    assert median(gain).idxmax("model").item() == "rnn"


def test_solving_helps_where_samples_are_scattered_and_not_where_an_end_is_hidden(results):
    told = tables.numbers(results)
    hard = {mask: number(told[f"fig3-solved-on-hard-{mask.replace('_', '-')}"]) for mask in MASKS}
    assert hard["random_30"] < 0.1 and min(hard["forecast_25"], hard["forecast_50"]) > 1.1


def test_vector_networks_lead_most_cells_as_printed_and_none_where_all_are_told(results):
    told = tables.numbers(results)
    assert told["fig3-won"].startswith("8 of 12") and told["fig3-told-won"].startswith("0 of 12")
    assert told["fig3-unlearned"] == "9 of 12, tied in 3"
