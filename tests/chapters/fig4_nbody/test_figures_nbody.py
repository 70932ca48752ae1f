"""Figures and words of force composition on made-up results."""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.nbody import figures
from chapters.fig4_nbody import figures_parts as parts
from chapters.fig4_nbody import tables as words
from data_gen import nbody

LAWS = ("gravity", "spring", "drag", "lorentz")
FORCES = ["+".join(laws) for n in range(1, 5) for laws in combinations(LAWS, n)]
GROUPS = {
    "vn_literal_1": "vn",
    "vn_token_1": "vn",
    "mlp": "printed",
    "factorized": "printed",
    "random": "printed",
    "rbf_tokens": "control",
}


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    """Errors are the number of forces times a model's own factor; passes halve those of the MLP."""
    coords = {
        "model": list(GROUPS),
        "seed": [0, 1, 2],
        "way": ["joint", "passes"],
        "forces": FORCES,
    }
    r = xr.Dataset(coords=coords | {"bodies": [5, 4, 3], "share": np.arange(1, 11) / 10})
    factor = xr.DataArray([0.09, 0.01, 0.2, 0.02, 1.0, 0.001], dims="model")
    number = xr.DataArray([1.0 + f.count("+") for f in FORCES], dims="forces")
    ones = xr.DataArray(
        np.ones([r.sizes[d] for d in ("model", "seed", "way", "forces", "bodies")]),
        dims=("model", "seed", "way", "forces", "bodies"),
    )
    r["mse"] = ones * factor * number * xr.DataArray([1.0, 0.8, 0.5], dims="bodies")
    r["mse"].loc[{"model": "mlp", "way": "passes"}] *= 0.5
    r["power"] = ones.isel(way=0) * number * xr.DataArray([1.0, 0.7, 0.25], dims="bodies")
    r["gap"] = ones.isel(way=0, bodies=0) * xr.DataArray(
        [0.1, 0.0, 0.4, 0.0, 0.0, 0.0], dims="model"
    )
    r["curve"] = (
        ones.isel(way=0, forces=0, bodies=0) * xr.DataArray(np.linspace(1, 0.1, 10), dims="share")
    ).where(xr.DataArray([m not in ("random", "rbf_tokens") for m in GROUPS], dims="model"))
    return r.assign_coords(
        label=("model", [m.upper() for m in GROUPS]), group=("model", list(GROUPS.values()))
    )


DRAWN = {
    "errors": figures.errors,
    "relative": lambda r: figures.errors(r, relative=True),
    "table": figures.table,
    "diagonal": figures.diagonal,
    "passes": parts.passes,
    "laws": parts.laws,
    "curves": parts.curves,
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize(
    "models", [list(GROUPS), ["mlp"], ["vn_token_1", "rbf_tokens"], ["random"]]
)
def test_figures_are_drawn_of_any_models(results, name, models):
    figure = DRAWN[name](results.sel(model=models))
    assert isinstance(figure, plt.Figure)
    figure.canvas.draw()
    plt.close(figure)


def test_the_task_shows_all_laws_and_their_mixture():
    figure = figures.task(
        nbody.make(nbody.NBodyConfig(n_train=1, n_val=1, n_test=1, steps=10, every=5))
    )
    titles = [ax.get_title() for ax in figure.axes]
    assert (
        len(titles) == 6 and titles[3].startswith("Lorentz") and titles[-1] == "all four, 3 bodies"
    )
    plt.close(figure)


def test_means_are_over_the_right_sets(results):
    inside, outside = figures.inside_and_out(figures.error(results))
    n = np.array([1 + f.count("+") for f in FORCES[4:]])
    assert np.allclose(inside.sel(model="mlp"), 0.2)
    assert np.allclose(outside.sel(model="mlp"), 0.2 * n.mean() * np.mean([1, 0.8, 0.5]))
    three = figures.by_number(results, figures.error(results, relative=True)).sel(
        number=3, bodies=3, model="mlp"
    )
    assert np.allclose(three, 0.2 * 0.5 / 0.25)
    assert [figures.short(f) for f in ("drag", "gravity+spring+lorentz")] == ["D", "GSL"]


def test_errors_of_both_groups_are_where_they_belong(results):
    figure = figures.errors(results)
    for number, ax in enumerate(figure.axes[:4], 1):
        medians = [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]
        assert (
            np.isclose(medians, 0.2 * number).any()
            and np.isclose(medians, 0.001 * number * 0.5).any()
        )
    plt.close(figure)


def test_the_summary_counts(results):
    said = words.summary(results)
    assert (
        "3 of 4 trained models have a relative error of at most 0.1; the highest is 0.200 (MLP)"
        in said
    )
    assert "VN_LITERAL_1 in 0; VN_TOKEN_1 in 9" in said
    assert "VN_LITERAL_1 in 9; VN_TOKEN_1 in 9" in said, "without Factorized"
    assert "RBF_TOKENS has less error in 9 cells" in said
    assert "MLP 0.500" in said and "FACTORIZED 0" not in said
    assert words.summary(results.sel(model=["random"])) == words.NOTHING


def test_readings_follow_from_the_numbers(results):
    assert words.rises_said(results).startswith(
        "With five bodies the MSE rises from one force to four without "
        "exception for 5 of 5 models, the relative MSE"
    )
    assert "0 of 5 models" in words.rises_said(results), "the relative error is flat"
    said = words.dropout_said(results)
    assert (
        "in MSE for 0 of 5 models; in relative MSE for 5 of 5 models" in said
        and "0.25 times the power" in said
    )
    assert "RBF_TOKENS 0.002" in words.diagonal_said(results)
    assert words.passes_said(results) == (
        "Of 5 models 3 superpose forces exactly, as they are built; the others deviate by, in "
        "shares of the power: MLP 0.400; VN_LITERAL_1 0.100."
    )
    assert "MLP (75 %)" in words.levelled(results) and "RBF" not in words.levelled(results)


def test_tables_hold_every_model(results):
    table = words.numbers(results)
    assert list(table.index) == [
        "VN_LITERAL_1",
        "VN_TOKEN_1",
        "MLP",
        "FACTORIZED",
        "RANDOM",
        "RBF_TOKENS",
    ]
    assert table.loc["MLP", "3 forces"] == "0.600" and table.loc["RANDOM", "relative, 4"] == "1.000"
    ratio = words.dropped(results)
    assert (
        ratio.loc["MLP", "mixtures, MSE"] == "0.500"
        and ratio.loc["MLP", "mixtures, relative MSE"] == "2.000"
    )
    assert words.simulator(results) == words.NOTHING
