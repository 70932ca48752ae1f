"""Tables of the settings that were tried: named as readers know the models, with the chosen one
marked.
"""

from __future__ import annotations

import json

import pytest
import xarray as xr

from chapters.fig2_spatial import figures as spatial
from chapters.fig3_functions import tables as functions_words

RESULTS = xr.Dataset(
    coords={"model": ["cnn2", "mlp"], "label": ("model", ["CNN, 2 blocks", "MLP"])}
)


def tuning(criterion: str, errors: list[float], runs: list[dict]) -> xr.Dataset:
    over = ("model", "trial")
    said = [json.dumps(run) for run in runs]
    return xr.Dataset(
        {criterion: (over, [errors]), "run_settings": (over, [said])},
        {"model": ["cnn2"], "trial": [0, 1]},
    )


@pytest.mark.parametrize("of", [spatial.trials, functions_words.trials])
def test_where_nothing_was_tuned_it_is_said(of):
    assert "first setting" in of(None, RESULTS)


def test_settings_of_decoders_show_what_differs():
    runs = [{"lr": lr, "options": {"sparsity": 0.1, "channels": 32}} for lr in (0.1, 0.2)]
    table = spatial.trials(tuning("mse_val", [4e-3, 3e-3], runs), RESULTS)
    assert list(table.loc["CNN, 2 blocks"]) == ["lr 0.1: 4.0e-03", "lr 0.2: 3.0e-03 *"]


def test_settings_of_signal_models_show_what_differs():
    runs = [{"training": {"lr": 0.1, "options": {"factor": factor}}} for factor in (1.0, 0.5)]
    table = functions_words.trials(tuning("criterion", [0.2, 0.3], runs), RESULTS)
    assert list(table.loc["CNN, 2 blocks"]) == ["factor 1: 0.200 *", "factor 0.5: 0.300"]
