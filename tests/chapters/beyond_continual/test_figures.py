"""Figures and sentences about tasks in turn, where what they must say is known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_continual import figures
from chapters.beyond_continual import tables as words

LABELS = {"vn_1": "VN", "ae": "AE", "pca": "PCA", "b_vn": "TOKENS"}
DRAWN = ("matrices", "ends", "overlaps", "data")


@pytest.fixture
def results() -> xr.Dataset:
    """Errors are 1 right after a task and grow by the model's factor; before, they are 4, and 8 at
    the start.
    """
    coords = {
        "model": list(LABELS),
        "seed": [0, 1],
        "stream": list(figures.STREAMS),
        "after": range(6),
        "task": range(5),
        "other": range(5),
        "images": [64, 512],
        "set": list(figures.SETS),
        "start": ["cold", "untrained", "lista", "linear"],
        "solver": list(words.SOLVERS),
        "level": [1e-2, 1e-3],
    }
    ds = xr.Dataset(coords=coords).assign_coords(
        label=("model", list(LABELS.values())),
        group=("model", ["vn", "backprop", "control", "vn"]),
        tasks=("model", ["digits"] * 3 + ["forces"]),
    )

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        names = ("model", "seed", *dims)
        zero = xr.DataArray(
            np.zeros([ds.sizes[d] for d in names]), dims=names, coords={d: ds[d] for d in names}
        )
        return (zero + value).transpose(*names)

    factor = xr.DataArray([1.5, 3.0, 5.0, 1.0], dims="model", coords={"model": list(LABELS)})
    ahead = xr.where(ds["after"] == 0, 8.0, 4.0)
    errors = xr.where(
        ds["after"] == ds["task"] + 1, 1.0, xr.where(ds["after"] > ds["task"], factor, ahead)
    )
    forces = ds["tasks"] == "forces"
    inside = (ds["task"] < 4) & (ds["after"] < 5)
    ds["error"] = over("stream", "after", "task", value=errors).where(~forces | inside)
    ds["error"] = ds["error"].where((ds["stream"] != "last") | (ds["model"] != "pca"))
    ds["power"] = over("task", value=10.0).where(~forces | (ds["task"] < 4))
    for name, value in {
        "cosine": -0.1,
        "shared_weights": 0.25,
        "shared_units": 0.5,
        "shared_code": 0.75,
    }.items():
        ds[name] = over("stream", "task", "other", value=value).where(ds["task"] != ds["other"])
    ds["shared_code"] = ds["shared_code"] + 0.01 * ds["task"] + 0.01 * ds["other"]
    ds["shared_units"] = ds["shared_units"] - 0.01 * ds["task"] - 0.01 * ds["other"]
    ds["fact_units"], ds["fact_revived"] = (
        over("stream", "after", value=7.0),
        over("stream", "after"),
    )
    ds["data_error"] = over("images", "set", value=factor / ds["images"]).where(~forces)
    alone = ds["model"] == "vn_1"
    ds["inference_ratio"] = over(value=30.0).where(alone)
    ds["inference_cost"] = over("start", value=2.0).where(alone)
    ds["inference_sweeps"] = over("start", "solver", "level", "set", value=40.0).where(alone)
    return ds


@pytest.mark.parametrize("name", DRAWN)
def test_figures_draw_all_models(results, name):
    figure = getattr(figures, name)(results)
    figure.canvas.draw()
    texts = " ".join(
        t.get_text() for ax in figure.axes for t in (ax.title, *ax.get_yticklabels(), *ax.texts)
    )
    texts += " ".join(
        t.get_text() for ax in figure.axes if ax.get_legend() for t in ax.get_legend().get_texts()
    )
    assert "AE" in texts and "PCA" in texts
    plt.close(figure)


@pytest.mark.parametrize("model", sorted(LABELS))
def test_figures_and_sentences_of_one_model_and_one_seed(results, model):
    one = results.sel(model=[model], seed=[0], stream=["sequence"])
    if model != "vn_1":
        one = one.drop_vars([name for name in one.data_vars if name.startswith("inference")])
    if model == "b_vn":
        one = one.drop_vars("data_error")
    for name in DRAWN:
        figure = getattr(figures, name)(one)
        figure.canvas.draw()
        plt.close(figure)
    assert LABELS[model] in words.summary(one)
    for name in ("table", "overlaps_table", "inference_table", "related"):
        getattr(words, name)(one)


def test_measures_by_hand(results):
    forgotten = figures.forgotten(results).sel(stream="sequence", seed=0)
    assert forgotten.values.tolist() == pytest.approx([1.5, 3, 5, 1])
    # Four of five tasks have grown; digits are in units of their mean square, which is 10.
    final = figures.final(results).sel(stream="sequence", seed=0)
    assert final.values.tolist() == pytest.approx([0.14, 0.26, 0.42, 1.0])
    assert figures.transfer(results).sel(
        stream="sequence", seed=0
    ).values.tolist() == pytest.approx([0.5] * 4)


def test_measures_of_streams_that_lack_are_missing(results):
    one = results.sel(stream=["sequence"])
    assert bool(figures.final(one).sel(stream="joint").isnull().all())
    assert float(figures.final(one).sel(stream="sequence", model="ae")[0]) == pytest.approx(0.26)


def test_sentences_hold_the_numbers(results):
    said = words.summary(results)
    results["fact_units"].loc[{"model": "ae", "after": 1}] = 3.0
    grown = words.summary(results)
    # Updates share 0.5 less a hundredth of the sum of both tasks, which is 4 on average (of four
    # tasks: 3).
    assert (
        "| VN | 1.5 | 0.14 | 0.14 | 0.46 | 7 |" in said
        and "| TOKENS | 1 | 1 | 1 | 0.46 | 7 |" in said
    )
    assert "| AE | 3 | 0.26 | 0.26 | 0.46 | 3 to 7 |" in grown
    assert "64: VN; 512: VN" in said
    assert "VN takes 30 times the operations" in said
    assert "VN -1.00; AE -1.00" in words.related(results)


def test_tables(results):
    table = words.table(results)
    assert table.loc[("pairs of digits", "AE"), "forgotten (×)"] == "3"
    assert table.loc[("force laws", "TOKENS"), "error, in turn"] == "1"
    assert table.loc[("pairs of digits", "PCA"), "error, the last alone"] == ""
    assert words.overlaps_table(results).loc[("force laws", "TOKENS"), "cosine"] == "-0.10"
    assert words.inference_table(results).loc[("VN", "LISTA"), "sums of two, momentum"] == "40"
    results["inference_sweeps"][:] = np.inf
    assert "not reached" in words.inference_table(results).loc[("VN", "cold")].tolist()
