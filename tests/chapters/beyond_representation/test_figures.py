"""Figures and sentences about linear and orthogonal factors, where what they must say is known
beforehand.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.beyond_representation import figures
from chapters.beyond_representation import tables as words

# model -> benchmark, group, linearity of its code, overlap, error at new combinations
MODELS = {
    "s_a": ("spatial", "vn", 1.0, 0.0, 1e-4),
    "s_b": ("spatial", "backprop", 0.5, 0.5, 1e-1),
    "s_c": ("spatial", "backprop", 0.25, 0.5, 1.0),
    "s_d": ("spatial", "control", 1.0, 0.0, 0.9),
    "f_a": ("functions", "vn", 0.6, 0.2, 1e-3),
    "f_b": ("functions", "backprop", 0.9, 0.2, 1e-2),
    "f_c": ("functions", "backprop", 0.95, 0.2, 1e-1),
    "f_d": ("functions", "control", 1.0, 0.1, 0.0),
    "b_a": ("forces", "vn", 1.0, 0.0, 0.01),
    "d_a": ("digits", "untrained", 0.7, 0.6, 2.0),
}
FIGURES = ("codes", "paths", "relation", "effects")
TABLES = ("correlations_table", "codes_table", "layers_table")


@pytest.fixture
def results() -> xr.Dataset:
    """Two seeds; layers "hidden 1" and "code 1", with a support for Vector Networks; forces have no
    hidden layer.
    """
    layers = ["code 1", "hidden 1", "support 1"]
    coords = {"model": list(MODELS), "seed": [0, 1], "layer": layers}
    shape = tuple(len(values) for values in coords.values())
    told = np.array([row[2:] for row in MODELS.values()])
    names = (
        "shared",
        "transfer",
        "overlap_random",
        "cosine",
        "cosine_random",
        "read_first",
        "read_second",
        "error_linear",
        "units",
    )
    ds = xr.Dataset({name: (tuple(coords), np.full(shape, 0.3)) for name in names}, coords)
    for k, name in enumerate(("linearity", "overlap")):
        # Hidden layers have half of the code's, supports a quarter.
        values = told[:, k, None, None] * np.array([1, 0.5, 0.25])[None, None] * np.ones((1, 2, 1))
        ds[name] = (tuple(coords), values)
    ds["order"] = (tuple(coords), np.broadcast_to(np.array([1.0, 0, 2]), shape).copy())
    ds["is_code"] = (tuple(coords), np.broadcast_to(np.array([1.0, 0, 0]), shape).copy())
    ds["error_unseen"] = (("model", "seed"), told[:, 2:] * np.ones((1, 2)))
    ds["error_seen"] = ds["error_unseen"] / 2
    kinds = [row[1] for row in MODELS.values()]
    gone = xr.DataArray([k != "vn" for k in kinds], {"model": list(MODELS)}) & (
        ds["layer"] == "support 1"
    )
    gone = gone | ((ds["model"] == "b_a") & (ds["layer"] == "hidden 1"))
    ds = ds.map(lambda v: v.where(~gone) if "layer" in v.dims else v)
    table = np.full((len(MODELS), 2, 5, 5), np.nan)
    table[0, 0], table[4, 0, :4, :4] = np.eye(5), np.eye(4)
    effects = [0, 1, 2, 100, 101]
    ds = ds.assign_coords(
        effect=effects, other=effects, label=("model", [m.upper() for m in MODELS])
    )
    ds["cosines"] = (("model", "seed", "effect", "other"), table)
    return ds.assign_coords(
        group=("model", kinds), benchmark=("model", [row[0] for row in MODELS.values()])
    )


def texts(figure: plt.Figure) -> str:
    parts = [t for ax in figure.axes for t in (ax.title, *ax.texts, *ax.get_yticklabels())]
    parts += [t for ax in figure.axes if ax.get_legend() for t in ax.get_legend().get_texts()]
    return " ".join(t.get_text() for t in parts)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_draw_all_there_is(results, name):
    figure = getattr(figures, name)(results)
    figure.canvas.draw()
    shown = {
        "codes": list(MODELS),
        "relation": list(MODELS),
        "paths": [m for m in MODELS if m[-1] in "abc"][:-1],
        "effects": ["s_a", "f_a"],
    }[name]
    assert all(m.upper() in texts(figure) for m in shown)
    plt.close(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_one_model_and_one_seed(results, name):
    for model in ("s_a", "d_a"):
        figure = getattr(figures, name)(results.sel(model=[model], seed=[0]))
        figure.canvas.draw()
        plt.close(figure)


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_a_row_for_every_model_or_measure(results, name):
    table = getattr(words, name)(results)
    wanted = {
        "correlations_table": 2 * len(words.MEASURES),
        "codes_table": len(MODELS),
        "layers_table": 22,
    }[name]
    assert len(table) == wanted
    assert len(getattr(words, name)(results.sel(model=["s_a"], seed=[0])))


def test_the_code_is_the_layer_that_counts_as_one(results):
    assert figures.layers(results, "s_a") == ["hidden 1", "code 1", "support 1"]
    assert figures.layers(results, "b_a") == ["code 1", "support 1"]
    one = figures.code(results, "f_a")
    assert one["layer"].item() == "code 1"
    assert one["condition"].values == pytest.approx([0.48, 0.48])
    swapped = results.assign(is_code=(results["layer"] == "hidden 1") * 1.0 + 0 * results["order"])
    assert float(figures.code(swapped, "f_a")["linearity"][0]) == pytest.approx(0.3)


def test_rank_correlations_by_hand(results):
    assert words.rank(words.known(results, "spatial"), "condition") == pytest.approx(-1)
    functions = words.known(results, "functions")
    # Among functions the code with more linearity has the larger error; overlaps are equal.
    assert words.rank(functions, "linearity") == pytest.approx(1)
    assert np.isnan(words.rank(functions, "overlap"))
    # Of all four the control has the least error and most linearity: ranks 1 2 3 4 and 2 3 4 1.
    every = words.known(results, "functions", tuple(figures.GROUPS))
    assert words.rank(every, "linearity") == pytest.approx(-0.2)
    # The control's overlap is the least, the others' are equal: ranks 4 2 2 2 of 1 - overlap, 1 2 3
    # 4 of errors.
    assert words.rank(every, "overlap") == pytest.approx(-(0.6**0.5))
    assert np.isnan(words.rank(words.known(results, "forces"), "condition"))
    # All errors are twice those where nothing is new.
    assert np.isnan(words.rank(words.known(results, "spatial"), "condition", gap=True))


def test_the_summary_says_who_is_best_and_who_is_nearest(results):
    said = words.summary(results)
    assert (
        "Vector Networks 1.00 and 0.00; back-propagation 0.25 to 0.50 and 0.50. Of these "
        "models S_A has" in said
    )
    assert "(0.0001) and the code nearest to the condition." in said
    assert (
        "F_A has the least error at new combinations (0.001); the code nearest to the "
        "condition is that of F_C (0.1)." in said
    )
    assert (
        "-1.00 (positions) and +1.00 (functions)" in said and "at or below -0.5 are 1 of 2" in said
    )
    assert "Digits" not in said  # nothing was trained there
    assert "Too few" in words.summary(results.sel(model=["s_a"]))


def test_supports_are_set_beside_codes(results):
    assert "Positions: S_A 0.25 (1.00)." in words.supports(results)
    assert "S_B" not in words.supports(results)


def test_what_is_free_names_controls_and_untrained_models(results):
    said = words.free(results)
    assert (
        "| functions | F_D | 1.00 | 0.10 | 0 |" in said
        and "| digits | D_A | 0.70 | 0.60 | 2 |" in said
    )
    assert "F_A" not in said
