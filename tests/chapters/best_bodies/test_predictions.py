"""What comes of predictions, on made-up results, and that those of the shipped ones were fixed before."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.confirm.frozen import frozen
from benchmarks.confirm.predictions import FAILS, HOLDS, MISSING, UNDECIDED
from chapters.best_bodies import predictions, study
from vnlib.book import chapter, paths, store

SIDECAR = chapter.spec("best_bodies").sidecar


def test_cells_are_those_of_their_laws(results):
    found = predictions.error(results, "vn_256")
    sizes = {"all": 45, "linear": 9, "curved": 36, "springs": 24, "smooth": 12}
    for kind, size in sizes.items():
        assert predictions.within(found, kind).sizes["cell"] == size
    linear = predictions.within(found, "linear")["forces"].values
    assert set(linear) == {"drag", "lorentz", "drag+lorentz"}
    with pytest.raises(ValueError, match="cells must be one of all, linear"):
        predictions.within(found, "some")


def test_a_ratio_is_of_the_same_seed_and_cell(results):
    assert np.allclose(predictions.ratio(results, "vn_256", ["token_mlp"]), 0.05)
    assert np.allclose(predictions.ratio(results, "vn_256", "power"), 0.01)
    fewer = predictions.ratio(results, "vn_256", ["token_mlp", "mlp"])
    assert fewer.sizes == {"seed": 3, "cell": 45} and np.allclose(fewer, 0.05)
    with pytest.raises(KeyError):
        predictions.ratio(results.drop_sel(model="mlp"), "vn_256", ["mlp"])


def test_the_rival_is_the_least_of_all_in_each_cell(results):
    results["mse"].loc[{"model": "gnn", "forces": "drag", "bodies": 4}] *= 1e-3
    found = predictions.least(results, SIDECAR["rivals"]["literal"])
    relative = found / predictions.power(results, "gnn")
    assert np.isclose(relative.min(), 5e-4) and np.isclose(relative.max(), 0.4)
    assert (relative < 0.1).sum("cell").values.tolist() == [1] * 3


def test_the_mean_over_cells_is_geometric(results):
    results["mse"].loc[{"model": "vn_256", "forces": "gravity"}] *= 4
    found = predictions.mean_ratio(predictions.ratio(results, "vn_256", ["token_mlp"], "curved"))
    assert found.dims == ("seed",) and np.allclose(found, 0.05 * 4 ** (3 / 36))


def test_verdicts(results):
    found = predictions.decided(results, SIDECAR)
    assert list(found) == [one["id"] for one in SIDECAR["predictions"]]
    verdicts = {name: one["verdict"] for name, one in found.items()}
    assert verdicts["B1"] == HOLDS and found["B1"]["found"] == "45 of 45"
    assert verdicts["B4"] == HOLDS and found["B4"]["seeds"] == 3
    assert verdicts["B5"] == HOLDS and found["B5"]["found"] == "0.050"
    assert verdicts["B13"] == HOLDS and verdicts["B14"] == FAILS
    assert verdicts["B16"] == FAILS and verdicts["B12"] == verdicts["B20"] == MISSING
    results["mse"].loc[{"model": "vn_256", "seed": 0}] *= 100
    assert predictions.decided(results, SIDECAR)["B5"]["verdict"] == UNDECIDED


def shipped():
    return store.read(paths.result_file(paths.RESULTS, "paper", "best_bodies"))


def test_shipped_results_carry_the_hash_of_the_committed_settings():
    texts = {text for text in shipped()["run_settings"].values.ravel().tolist() if text}
    assert {json.loads(text)["frozen"] for text in texts} == {frozen(SIDECAR)}
    seeds = {json.loads(text)["data"]["test_seed"] for text in texts}
    first = SIDECAR["settings"]["test_seed"]
    assert seeds <= set(range(first, first + 8)) and first in seeds


def test_settings_are_those_of_the_shipped_runs():
    given = chapter.spec("best_bodies")
    paper = chapter.Chapter(given, given.check({"profile": "paper", "device": "cpu"}))
    for text in shipped()["run_settings"].stack(run=("model", "seed")):
        if str(text.item()):
            axes = {name: text[name].item() for name in ("model", "seed")}
            assert study.settings(paper, axes) == json.loads(str(text.item())), axes


def test_every_prediction_is_of_models_and_cells_that_there_are(results):
    models, found = SIDECAR["models"], predictions.error(results, "vn_256")
    for one in SIDECAR["predictions"]:
        over = one["over"]
        rivals = [] if over == "power" else SIDECAR["rivals"][over] if over == "literal" else over
        assert {one["own"], *rivals} <= set(models), one["id"]
        assert one.get("count", 0) <= predictions.within(found, one["cells"]).sizes["cell"]
