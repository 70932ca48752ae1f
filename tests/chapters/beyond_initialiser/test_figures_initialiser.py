"""Figures and sentences about learned starts, where what they must say is known beforehand."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_initialiser import figures
from chapters.beyond_initialiser import tables as words

MODELS = {"free": "FREE", "capped": "CAPPED"}
NEEDED = {"cold": 100.0, "nearest": 90.0, "untrained": 95.0, "lista": 40.0, "mlp": 80.0}
COST = {"cold": 0.0, "nearest": 30.0, "untrained": 2.0, "lista": 4.0, "mlp": 1.0}


@pytest.fixture
def results() -> xr.Dataset:
    """LISTA saves most; momentum needs a fifth of the sweeps; sums gain nothing; under the cap no
    perceptron.
    """
    coords = {
        "model": list(MODELS),
        "seed": [0, 1],
        "start": list(NEEDED),
        "solver": list(figures.SOLVERS),
        "level": [1e-2, 1e-3, 1e-4],
        "set": list(figures.SETS),
        "look": [0, 1, 10, 100],
        "layer": [1, 2],
        "timed_solver": ["restart", "line_search"],
    }
    ds = xr.Dataset(coords=coords).assign_coords(label=("model", list(MODELS.values())))

    def over(*dims: str, value: float | xr.DataArray = 0.0) -> xr.DataArray:
        names = ("model", "seed", *dims)
        zero = xr.DataArray(
            np.zeros([ds.sizes[d] for d in names]), dims=names, coords={d: ds[d] for d in names}
        )
        return (zero + value).transpose(*names)

    start = {"start": list(NEEDED)}
    needed = xr.DataArray(list(NEEDED.values()), dims="start", coords=start)
    needed = needed.where(ds["set"] != "sum", 100.0) * xr.DataArray([1, 0.2, 0.1], dims="solver")
    cost = xr.DataArray(list(COST.values()), dims="start", coords=start)
    cell = ("start", "solver", "level", "set")
    ds["sweeps"], ds["cost"] = over(*cell, value=needed), over("start", value=cost)
    cold = ds["sweeps"].sel(start="cold", drop=True)
    ds["saved"], ds["saved_paid"] = 1 - ds["sweeps"] / cold, 1 - (ds["sweeps"] + ds["cost"]) / cold
    ds["height"] = over("start", "solver", "look", "set", value=1 / (1 + ds["look"]))
    for name in (
        "start_height",
        "start_distance",
        "end_distance",
        "end_height",
        "end_differs",
        "end_lower",
    ):
        ds[name] = over("start", "set", value=1e-7)
    ds["end_differs"] = ds["end_differs"].where(ds["model"] == "free", 0.25)
    for name in ("overlap", "recall", "precision"):
        ds[name] = over("start", "layer", "set", value=0.5)
    ds["end_gap"] = over("set", value=1e-9).where(ds["model"] == "free")
    for name in ("train_time", "rate", "excess", "excess_untrained"):
        ds[name] = over("start", value=0.25)
    ds["time_ratio"] = over("start", "timed_solver", value=0.5).where(ds["model"] == "free")
    gone = (ds["model"] == "capped") & (ds["start"] == "mlp")
    return ds.map(lambda v: v.where(~gone) if "start" in v.dims else v, keep_attrs=True)


@pytest.mark.parametrize("name", ("descent", "saved", "supports", "ends"))
def test_figures_draw_all_there_is(results, name):
    figure = getattr(figures, name)(results)
    figure.canvas.draw()
    texts = " ".join(
        t.get_text()
        for ax in figure.axes
        for t in (ax.title, ax.xaxis.label, *ax.get_yticklabels())
    )
    texts += " ".join(t.get_text() for legend in figure.legends for t in legend.get_texts())
    assert "LISTA, from codes" in texts and "FREE" in texts
    plt.close(figure)


@pytest.mark.parametrize("name", ("descent", "saved", "supports", "ends"))
def test_figures_of_one_network_and_one_seed(results, name):
    for model in MODELS:
        figure = getattr(figures, name)(results.sel(model=[model], seed=[0]))
        figure.canvas.draw()
        plt.close(figure)


def test_starts_and_networks_that_there_are(results):
    assert figures.starts(results, "capped") == ["cold", "nearest", "untrained", "lista"]
    assert figures.starts(results) == list(NEEDED)
    assert figures.free(results) == ["free"]


def test_the_cheapest_pair_counts_the_cost(results):
    # Line search: LISTA needs 40/10 + 4 = 8, the perceptron 80/10 + 1 = 9, the cold start 10.
    assert words.cheapest(results, "free", learned=True) == (
        "lista",
        "line_search",
        pytest.approx(8),
    )
    assert words.cheapest(results, "free", learned=False) == (
        "cold",
        "line_search",
        pytest.approx(10),
    )
    assert words.cheapest(results, "free", "sum", learned=True)[2] == pytest.approx(11)


def test_sentences_hold_the_numbers(results):
    said = words.summary(results)
    assert (
        "Sweeps of plain steps: 100 from a cold start, 44 after the best guess (LISTA, from codes)"
        in said
    )
    assert (
        "8.0 with something learned (LISTA, from codes, then momentum and line search), "
        "10.0 with nothing" in said
    )
    assert "(cold, then momentum and line search): 20 % fewer." in said
    assert "at most 1e-07" in said and "for 25 % of inputs" in said
    _, _, known, sums, *_ = words.against(results).splitlines()
    how = "momentum and line search"
    assert (
        known
        == f"| FREE | in distribution | 8.0 (LISTA, from codes, {how}) | 10.0 (cold, {how}) | "
        "-20 % |"
    )
    assert "| FREE | sums of two | 11.0 (" in sums and sums.endswith("| 10 % |")


def test_what_is_left_out_of_distribution(results):
    # In distribution (100 - 44)/100, (20 - 12)/20, (10 - 8)/10; sums: 4, 20 and 40 % longer.
    said = words.outside(results)
    assert "| FREE | plain steps | LISTA, from codes | 56 % | -4 % | 56 % |" in said
    assert "| FREE | momentum, restarted | LISTA, from codes | 40 % | -20 % | 40 % |" in said
    assert "| FREE | momentum and line search | LISTA, from codes | 20 % | -40 % | 20 % |" in said


def test_what_a_guess_is_worth(results):
    # The cold settle falls as 1 / (1 + look), read off at 0, 1, 10 and 100.
    start = {"model": "free", "start": "lista"}
    for height, sweeps in ((0.5, 1), (1 / 11, 10), (1 / np.sqrt(2), 0.5)):
        results["start_height"].loc[start] = height
        assert words.worth(results, "free", "lista", "ista") == pytest.approx(sweeps)
    results["start_height"].loc[start] = 0.5
    results["start_height"].loc[{"model": "free", "start": "mlp"}] = 0.7
    results["start_height"].loc[{"model": "free", "start": "cold"}] = 2.0
    said = words.tail(results).splitlines()[0]
    assert (
        "The lowest guess (LISTA, from codes) is 0.5 above" in said and "zero codes are 2." in said
    )
    assert "1.0 of 100 (plain steps)" in said and "1.0 of 20 (momentum, restarted)" in said


def test_what_is_not_reached_is_said(results):
    results["sweeps"].loc[{"start": "cold", "solver": "ista"}] = np.inf
    assert "plain steps: more than were tried from a cold start, 44 after" in words.summary(results)
    assert "not reached" in words.sweeps_table(results).loc[("FREE", "cold")].tolist()
    results["sweeps"].loc[{"solver": "ista"}] = np.inf
    assert "plain steps: more than were tried, from any start" in words.summary(results)


def test_tables(results):
    assert (
        words.sweeps_table(results).loc[
            ("FREE", "LISTA, from codes"), ("in distribution", "plain steps")
        ]
        == "40"
    )
    assert words.training_table(results).loc[("FREE", "perceptron"), "cost [sweeps]"] == "1.0"
    assert words.training_table(results).loc[("CAPPED", "cold"), "time, momentum, restarted"] == ""
    assert (
        words.ends_table(results).loc[("CAPPED", "LISTA, from codes"), "other support [%]"] == "25"
    )
    assert (
        words.starts_table(results).loc[("FREE", "cold"), ("sums of two", "overlap by layer")]
        == "0.50 / 0.50"
    )
    assert ("CAPPED", "perceptron") not in words.ends_table(results).index
