"""What comes of predictions, on made-up results, and that those of the shipped ones were fixed before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.confirm.frozen import frozen
from benchmarks.confirm.predictions import FAILS, HOLDS, MISSING, UNDECIDED, verdict
from chapters.best_digits import figures, predictions, study
from vnlib.book import chapter, paths, store
from vnlib.plots.statistics import over_seeds

SIDECAR = chapter.spec("best_digits").sidecar
RIVALS = SIDECAR["rivals"]


def one(**changes: object) -> dict:
    plain = {"own": ["vn_512", "swaps"], "over": [["exemplars_512", "swaps"]], "k": 24}
    return plain | {"sets": "id", "below": 0.75} | changes


def came(results, **changes: object) -> tuple[str, str]:
    asked = one(**changes)
    bounds = {key: asked[key] for key in ("below", "above", "count") if key in asked}
    return verdict(predictions.compared(results, asked, RIVALS), **bounds)


def test_a_prediction_holds_fails_or_is_undecided_by_its_whole_interval(results):
    assert came(results) == (HOLDS, "0.50"), "the same factor in both: all seeds have 0.5"
    assert came(results, below=0.4)[0] == FAILS
    assert came(results, above=0.45)[0] == HOLDS and came(results, above=0.6)[0] == FAILS
    wide = results.copy(deep=True)
    wide["mse"].loc[{"model": "exemplars_512", "seed": 0}] *= 0.1
    assert came(wide)[0] == UNDECIDED


def test_of_all_sets_those_are_counted_that_are_surely_below(results):
    each = {"sets": "each", "below": 1.0, "count": 13}
    assert came(results, **each) == (HOLDS, "14 of 14")
    some = results.copy(deep=True)
    some["mse"].loc[{"model": "vn_512", "set": ["add2", "sub2"]}] *= 10
    assert came(some, **each) == (FAILS, "12 of 14")
    tied = results.copy(deep=True)
    tied["mse"].loc[{"model": "vn_512", "set": ["add2", "sub2"], "seed": [0, 1]}] *= 10
    assert came(tied, **each) == (UNDECIDED, "12 (and 2 tied) of 14")


def test_the_rival_is_the_least_of_all_in_each_set_and_only_where_all_were_run(results):
    least = predictions.least(results, RIVALS["shipped"], 24)
    assert np.allclose(least.sel(seed=0), 0.1 * 0.41), "scikit-learn's"
    better = results.copy(deep=True)
    better["mse"].loc[{"model": "pca", "set": "max2", "way": "own"}] = 1e-4
    assert float(predictions.least(better, RIVALS["shipped"], 24).sel(seed=0, set="max2")) == 1e-4
    without = results.copy(deep=True)
    without["mse"].loc[{"model": "ksparse_512", "seed": 3}] = np.nan
    found = predictions.least(without, RIVALS["shipped"], 24)
    assert found.isnull().all("set").values.tolist() == [False] * 3 + [True] + [False] * 2
    with pytest.raises(KeyError, match="rivals"):
        predictions.least(results, [["ksparse_512", "own"]], 8)


def test_what_was_not_run_is_said(results):
    found = predictions.decided(results, SIDECAR)
    assert list(found) == [one["id"] for one in SIDECAR["predictions"]]
    assert found["D6"]["verdict"] == HOLDS and found["D6"]["seeds"] == 6
    without = results.drop_sel(model="exemplars_512")
    missing = predictions.decided(without, SIDECAR)["D6"]
    assert missing["verdict"] == MISSING and missing["found"] == "" and missing["seeds"] == 0
    few = found["D16"]
    assert few["verdict"] == FAILS and few["found"] == "1.5", "of the first few images"


def test_shipped_results_carry_the_hash_of_the_committed_settings():
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "best_digits"))
    texts = {text for text in stored["run_settings"].values.ravel().tolist() if text}
    assert {json.loads(text)["frozen"] for text in texts} == {frozen(SIDECAR)}
    seeds = {json.loads(text)["data"]["test_seed"] for text in texts}
    assert seeds == {SIDECAR["settings"]["test_seed"]} and not seeds & {5}


def test_settings_are_those_of_the_shipped_runs():
    given = chapter.spec("best_digits")
    paper = chapter.Chapter(given, given.check({"profile": "paper"}))
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "best_digits"))
    settings = stored["run_settings"].stack(run=("model", "seed"))
    for text in settings:
        if str(text.item()):
            axes = {name: text[name].item() for name in ("model", "seed")}
            assert study.settings(paper, axes) == json.loads(str(text.item())), axes


def test_least_squares_in_each_pick_and_swaps_share_the_gain_of_the_inference():
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "best_digits"))
    steps = ("least squares in each pick / matching pursuit", "swaps / none")
    for step in steps:
        found = over_seeds(figures.changed(stored, step).sel(set="id"))
        assert 0.88 < found["low"] < found["high"] < 0.95, step
