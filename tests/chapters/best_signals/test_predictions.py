"""What comes of predictions, on made-up results, and that those of shipped ones were fixed before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.confirm.frozen import frozen
from benchmarks.confirm.predictions import FAILS, HOLDS, MISSING
from chapters.best_signals import predictions, study
from vnlib.book import chapter, paths, store

SIDECAR = chapter.spec("best_signals").sidecar
OWN = ["vn_2048", "carried"]


def test_only_signals_that_all_were_given_are_compared(results):
    changed = results.copy(deep=True)
    changed["hidden"].loc[{"model": "vn_2048", "case": 7}] = 1e6
    found = predictions.ratio(changed, OWN, [["vn_256", "carried"]], "run")
    assert np.allclose(found, 0.5)
    whole = predictions.ratio(changed, OWN, [["exemplars", "drawn"]], "run")
    assert float(whole.min()) > 1e3


def test_the_rival_is_the_least_of_all_in_each_cell(results):
    changed = results.copy(deep=True)
    changed["hidden"].loc[{"model": "process_se", "mask": "block_128", "set": "hard"}] = 1e-3
    over = SIDECAR["rivals"]["processes"]
    found = predictions.ratio(changed, OWN, over).isel(seed=0)
    assert float(found.sel(cell="block_128 hard")) == pytest.approx(0.02 * 0.5 / 1e-3)
    assert float(found.sel(cell="block_128 easy")) == pytest.approx(0.05)


def test_kinds_of_cells(results):
    each = predictions.error(results, "linear")
    assert predictions.within(each, "run").sizes["cell"] == 9
    assert predictions.within(each, "all").sizes["cell"] == 12
    assert predictions.within(each, "random_30 hard").dims == ("seed",)
    with pytest.raises(ValueError, match="cells"):
        predictions.within(each, "curved")


def test_a_share_counts_signals(results):
    changed = results.copy(deep=True)
    changed["hidden"].loc[{"model": "linear", "case": [0, 1]}] = 0.0
    assert np.allclose(predictions.share(changed, OWN, ("linear", "drawn")), 6 / 8)
    few = predictions.share(results, ("vn_256", "carried"), ("linear", "drawn"))
    assert np.allclose(predictions.within(few, "run"), 1)
    assert few.sel(cell="random_30 id").isnull().all()


def test_what_was_not_run_is_said(results):
    found = predictions.decided(results, SIDECAR)
    assert list(found) == [one["id"] for one in SIDECAR["predictions"]]
    assert found["S8"]["verdict"] == HOLDS and found["S15"]["verdict"] == FAILS
    missing = predictions.decided(results.drop_sel(model="vn_no_fine"), SIDECAR)["S8"]
    assert missing["verdict"] == MISSING and missing["found"] == ""


def test_shipped_results_carry_the_hash_of_the_committed_settings():
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "best_signals"))
    texts = {text for text in stored["run_settings"].values.ravel().tolist() if text}
    assert {json.loads(text)["frozen"] for text in texts} == {frozen(SIDECAR)}
    added = {name for name, one in SIDECAR["models"].items() if one.get("added")}
    assert added == {"vn_longer"}, "what was added afterwards, in no prediction"


def test_settings_are_those_of_the_shipped_runs():
    given = chapter.spec("best_signals")
    paper = chapter.Chapter(given, given.check({"profile": "paper"}))
    stored = store.read(paths.result_file(paths.RESULTS, "paper", "best_signals"))
    settings = stored["run_settings"].stack(run=("model", "seed"))
    for text in settings:
        if str(text.item()):
            axes = {name: text[name].item() for name in ("model", "seed")}
            assert study.settings(paper, axes) == json.loads(str(text.item())), axes
