"""What comes of predictions, on made-up results, and that those of the shipped ones were fixed before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.confirm.frozen import frozen
from benchmarks.confirm.predictions import FAILS, HOLDS, MISSING
from chapters.best_positions import predictions, study
from vnlib.book import chapter, paths, store

SIDECAR = chapter.spec("best_positions").sidecar
TASKS = [n for n, task in SIDECAR["settings"]["tasks"].items() if "models" not in task]


def test_the_network_is_the_reading_with_the_least_validation_error(results):
    found = predictions.chosen(results)
    assert (found["reading"].sel(task="plain") == "operator").all()
    assert (found["reading"].sel(task="noise") == "operator_settled").all()
    error = predictions.errors(results, predictions.NETWORK)
    assert np.allclose(error.sel(task="plain"), 0.1) and np.allclose(error.sel(task="hidden"), 0.2)


def test_the_hold_out_chooses_nothing(results):
    results["mse_ood"].loc[{"model": "operator", "task": "plain"}] = 99.0
    assert (predictions.chosen(results)["reading"].sel(task="plain") == "operator").all()


def test_there_is_no_network_where_a_reading_is_missing(results):
    results["mse_val"].loc[{"model": "operator_settled", "task": "wide", "seed": 2}] = np.nan
    found = predictions.errors(results, predictions.NETWORK).sel(task="wide")
    assert found.isnull().values.tolist() == [False, False, True, False, False, False]
    with pytest.raises(KeyError, match="network"):
        predictions.chosen(results.drop_sel(model=list(predictions.READINGS)))


def test_a_ratio_is_of_the_same_seed_and_task(results):
    one = predictions.ratio(results, "operator", ["factorised"], ["plain", "ring"])
    assert one.dims == ("seed", "task") and np.allclose(one, 1 / 3)
    assert np.allclose(predictions.ratio(results, "operator", "power", ["plain"]), 0.1)
    assert np.allclose(predictions.ratio(results, "operator", "id", ["plain"]), 2)
    least = predictions.ratio(results, "operator", ["cnn", "factorised_longer"], ["plain"])
    assert np.allclose(least, 0.4)
    results["mse_ood"].loc[{"model": "cnn", "task": "plain", "seed": 1}] = np.nan
    fewer = predictions.ratio(results, "operator", ["cnn"], ["plain", "ring"])
    assert fewer["seed"].values.tolist() == [0, 2, 3, 4, 5]
    with pytest.raises(KeyError):
        predictions.ratio(results, "operator", ["nobody"], ["plain"])


def test_a_task_can_be_compared_with_another(results):
    results["mse_ood"].loc[{"model": "operator", "task": "ring_200"}] *= 4
    found = predictions.ratio(results, "operator@ring_200", ["cnn@ring_800"], ["ring"])
    assert np.allclose(found, 0.2 / 0.8)


def test_wider_penalties_take_the_place_of_the_same_task_and_model(results):
    more = results.sel(task=["noise"], model=["operator"]).copy(deep=True)
    more["mse_val"] = more["mse_val"] * 0
    more["mse_ood"] = more["mse_ood"] * 0 + more["power_ood"]
    both = predictions.widened(results, more)
    assert (predictions.chosen(both)["reading"].sel(task="noise") == "operator").all()
    error = predictions.errors(both, predictions.NETWORK)
    assert np.allclose(error.sel(task="noise"), 1) and np.allclose(error.sel(task="hidden"), 0.2)


def test_verdicts(results):
    found = predictions.decided(results, SIDECAR)
    assert list(found) == [one["id"] for one in SIDECAR["predictions"]]
    assert found["P1"]["verdict"] == HOLDS and found["P1"]["found"] == "12 of 12"
    assert found["P13"]["verdict"] == HOLDS and found["P13"]["found"].startswith("0.33")
    assert found["P12"]["verdict"] == FAILS and found["P20"]["verdict"] == FAILS
    assert found["P17"]["verdict"] == MISSING
    assert found["P25"]["verdict"] == HOLDS


def test_every_prediction_is_of_models_and_tasks_that_there_are():
    models, tasks = SIDECAR["models"], SIDECAR["settings"]["tasks"]
    for one in SIDECAR["predictions"]:
        over = one["over"]
        named = SIDECAR["rivals"].get(over, []) if isinstance(over, str) else over
        for name in [one["own"], *named]:
            model, _, task = name.partition("@")
            assert model in {*models, predictions.NETWORK} and task in {"", *tasks}, one["id"]
        cells = TASKS if one["tasks"] == "all" else one["tasks"]
        assert {*cells} <= {*tasks} and one.get("count", 0) <= len(cells), one["id"]
    assert len(TASKS) == 12


def shipped():
    return store.read(paths.result_file(paths.RESULTS, "paper", "best_positions"))


def test_shipped_results_carry_the_hash_of_the_committed_settings():
    texts = {text for text in shipped()["run_settings"].values.ravel().tolist() if text}
    assert {json.loads(text)["frozen"] for text in texts} == {frozen(SIDECAR)}
    seeds = {json.loads(text)["draw_seed"] for text in texts}
    first, count = SIDECAR["settings"]["draw_seed"], SIDECAR["profiles"]["paper"]["seeds"]
    assert seeds == set(range(first, first + count))


def test_settings_are_those_of_the_shipped_runs():
    given = chapter.spec("best_positions")
    paper = chapter.Chapter(given, given.check({"profile": "paper", "device": "cpu"}))
    for text in shipped()["run_settings"].stack(run=("task", "model", "seed")):
        if str(text.item()):
            axes = {name: text[name].item() for name in ("task", "model", "seed")}
            assert study.settings(paper, axes) == json.loads(str(text.item())), axes
