"""Figures and words of image composition on made-up results."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.fig5_mnist import figures
from chapters.fig5_mnist import figures_motions as moves
from chapters.fig5_mnist import figures_parts as parts
from chapters.fig5_mnist import tables as words
from data_gen import digits, motions

# ID error in 10⁻³ and growth in all other sets.
MODELS = {
    "vn_1": ("vn", 5.0, 1.5),
    "vn_3": ("vn", 6.0, 1.5),
    "ae": ("printed", 5.1, 3.0),
    "ae_signed": ("control", 8.0, 2.0),
    "dct": ("control", 5.0, 1.2),
    "zero_baseline": ("control", 100.0, 3.0),
    "m_vn_1": ("vn", 5.0, 2.0),
    "m_ae": ("printed", 5.5, 4.0),
    "m_zero_baseline": ("control", 40.0, 3.0),
}
SETS = {"digits": digits.SETS, "motions": motions.SETS}
ALL = [*digits.SETS, *motions.SETS]
# Enough for every panel to be drawn, and for tests to be quick.
FEW = ["id", "sub2", "max5", "single", "RTS", "RTS_x3", "RTS_x2_3d"]


def benchmark(model: str) -> str:
    return "motions" if model.startswith("m_") else "digits"


@pytest.fixture(scope="module")
def results() -> xr.Dataset:
    seeds, stages, samples = 3, 4, 5
    r = xr.Dataset(
        coords={
            "model": list(MODELS),
            "seed": range(seeds),
            "reading": ["own", "top", "searched"],
            "set": ALL,
            "layer": [1, 2, 3],
            "stage": range(stages),
            "check": np.arange(1, 11) / 10,
        },
    )

    def empty(*dims: str, **more: int) -> tuple:
        return (*dims, *more), np.full([*(r.sizes[d] for d in dims), *more.values()], np.nan)

    r["mse"], r["zero_baseline"] = (
        empty("model", "seed", "reading", "set"),
        empty("model", "seed", "set"),
    )
    r["active"], r["criterion"] = empty("model", "seed", "layer", "set"), empty("model", "seed")
    r["curve"], r["case"] = (
        empty("model", "seed", "check"),
        empty("model", "seed", "set", sample=samples),
    )
    r["path_mse"], r["path_error"] = (
        empty("model", "seed", "stage", "set"),
        empty("model", "seed", "stage"),
    )
    r["truth"] = empty("model", "seed", "set", y=4, x=4)
    r["drawn"] = empty("model", "seed", "reading", "set", y=4, x=4)
    for model, (_, inside, growth) in MODELS.items():
        sets = SETS[benchmark(model)]
        own = {"model": model, "reading": "own"}
        r["mse"].loc[own | {"set": list(sets)}] = 1e-3 * inside * growth
        r["mse"].loc[own | {"set": sets[0]}] = 1e-3 * inside
        r["zero_baseline"].loc[{"model": model, "set": list(sets)}] = 0.1
        r["criterion"].loc[{"model": model}] = 1e-3 * inside
        r["active"].loc[{"model": model, "layer": 1, "set": list(sets)}] = 60
        r["case"].loc[{"model": model, "seed": 0, "set": list(sets)}] = inside
        r["truth"].loc[{"model": model, "seed": 0, "set": list(sets)}] = 1
        r["drawn"].loc[own | {"seed": 0, "set": list(sets)}] = 0.9
        if "zero_baseline" not in model and model != "dct":
            r["curve"].loc[{"model": model}] = np.linspace(2, 1, 10)
    r["active"].loc[{"model": ["vn_1", "m_vn_1"], "layer": 1, "set": ["addsub4", "RTS_x3"]}] = 90
    r["active"] = r["active"].where(r["zero_baseline"].notnull())
    r["active"].loc[{"model": "vn_3", "layer": [2, 3], "set": list(digits.SETS)}] = 30
    r["mse"].loc[{"model": "vn_3", "reading": "top", "set": list(digits.SETS)}] = 0.2
    r["mse"].loc[{"model": "ae", "reading": "searched"}] = 0.5 * r["mse"].sel(
        model="ae", reading="own"
    )
    r["mse"].loc[{"model": "ae", "set": "sub2"}] *= 10
    for model in ("ae", "m_ae"):
        r["path_error"].loc[{"model": model}] = [0.4, 0.3, 0.2, 0.1]
        r["path_mse"].loc[{"model": model, "set": list(SETS[benchmark(model)])}] = 0.2
    told = {
        "label": ("model", [m.upper() for m in MODELS]),
        "group": ("model", [g for g, _, _ in MODELS.values()]),
        "benchmark": ("model", [benchmark(m) for m in MODELS]),
    }
    return r.assign_coords(told)


DRAWN = {
    "errors": figures.errors,
    "errors, motions": lambda r: figures.errors(r, "motions"),
    "table": figures.table,
    "table, motions": lambda r: figures.table(r, "motions"),
    "growth": figures.growth,
    "samples": parts.samples,
    "samples, motions": lambda r: parts.samples(r, "motions"),
    "path": parts.path,
    "path, motions": lambda r: parts.path(r, "motions"),
    "top": lambda r: parts.readings(r, "digits", "top", more=("ae",)),
    "searched": lambda r: parts.readings(r, "digits", "searched"),
    "active": parts.active,
    "curves": parts.curves,
    "steps": moves.steps,
    "growth of steps": lambda r: moves.steps(r, relative=True),
}
SAID = {
    "summary": words.summary,
    "matching": words.matching,
    "numbers": words.numbers,
    "numbers, motions": lambda r: words.numbers(r, "motions"),
    "worst": words.worst_said,
    "cases": words.cases_said,
    "readings": lambda r: words.readings_said(r, "digits", "top"),
    "searched": lambda r: words.readings_said(r, "motions", "searched"),
    "active": words.active_said,
    "rises": words.rises_said,
    "levelled": words.levelled,
}
CHOICES = {
    "all": list(MODELS),
    "one": ["ae"],
    "motions": ["m_vn_1", "m_ae"],
    "nothing": ["zero_baseline"],
}


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("chosen", CHOICES)
def test_figures_are_made_of_any_models(results, name, chosen):
    figure = DRAWN[name](results.sel(model=CHOICES[chosen], set=FEW))
    assert isinstance(figure, plt.Figure)
    plt.close(figure)


@pytest.mark.parametrize("name", ["errors", "samples", "path", "top", "active", "steps"])
def test_figures_can_be_rendered(results, name):
    figure = DRAWN[name](results.sel(set=FEW))
    figure.canvas.draw()
    plt.close(figure)


@pytest.mark.parametrize("name", SAID)
@pytest.mark.parametrize("chosen", CHOICES)
def test_words_are_found_for_any_models(results, name, chosen):
    assert SAID[name](results.sel(model=CHOICES[chosen])) is not None


def test_sets_are_known_by_the_same_names_as_they_are_made():
    for name, families in figures.FAMILIES.items():
        assert sorted(s for family in families.values() for s in family) == sorted(SETS[name])
    named = {s for _, sets in moves.PANELS.values() for s in sets.values()}
    assert named == set(motions.SETS)
    for sets in (*parts.SOME.values(), *parts.PATHS.values()):
        assert set(sets) <= set(ALL)


def test_points_are_where_the_errors_are(results):
    figure = figures.errors(results.sel(set=FEW))
    panel = next(ax for ax in figure.axes if ax.get_title() == "sub2")
    drawn = np.concatenate([np.asarray(c.get_offsets())[:, 0] for c in panel.collections])
    assert np.isclose(drawn, 0.153).sum() == 3 and np.isclose(drawn, 0.0075).sum() == 3, (
        "every seed a point"
    )
    assert any(np.allclose(line.get_xdata(), 0.1) for line in panel.lines), (
        "the error of drawing nothing"
    )
    plt.close(figure)


def test_samples_are_scaled_set_by_set_and_tell_their_errors(results):
    figure = parts.samples(results)
    mosaic = figure.axes[0].images[0].get_array()
    assert np.nanmax(mosaic) == 1 and np.nanmin(mosaic) == pytest.approx(0.9)
    assert {text.get_text() for text in figure.axes[0].texts} == {"10.00"}
    plt.close(figure)


def test_steps_show_every_seed(results):
    figure = moves.steps(results)
    panel = next(ax for ax in figure.axes if ax.get_title() == "all three, larger")
    points = np.concatenate([np.asarray(c.get_offsets()) for c in panel.collections])
    assert (np.isclose(points[:, 1], 0.022) & (points[:, 0] == 3)).sum() == 3
    plt.close(figure)


def test_growth_is_relative_to_own_id_error(results):
    found = figures.error(results, "digits", relative=True).median("seed")
    assert np.allclose(found.sel(model="ae", set=["id", "add2", "sub2"]), [1, 3, 30])
    assert np.allclose(
        figures.error(results, "motions", relative=True).sel(model="m_ae", set="RTS_x3"), 4
    )
    assert figures.power(results, "digits").sel(set="max5") == pytest.approx(0.1)


def test_no_two_models_look_the_same(results):
    many = xr.concat(
        [
            results[["label", "group"]].assign_coords(model=[f"{m}{n}" for m in MODELS])
            for n in "abc"
        ],
        "model",
    )
    styles = [
        tuple(style.items()) for style in figures.colors(many, list(many["model"].values)).values()
    ]
    assert len(set(styles)) == len(styles) == 27


def test_the_summary_compares_with_the_matched_autoencoder(results):
    said = words.summary(results)
    assert "**Digits, in distribution** (10⁻³ ink²): VN_1 5.00, VN_3 6.00, AE 5.10" in said
    assert "**Digits, AE over VN_1:** from 2.04 (add2) to 20.4 (sub2)" in said
    assert (
        "**Digits, controls with less error than VN_1** in the geometric mean over these sets: DCT."
        in said
    )
    assert "M_VN_1 2.00, M_AE 4.00" in said and "**Motions, controls" not in said
    assert words.summary(results.sel(model=["zero_baseline"])) == words.NOTHING


def test_what_is_matched_is_marked(results):
    table = words.matching(results)
    assert table.loc["AE", "within 5 %"] == "yes" and table.loc["VN_3", "within 5 %"] == ""
    assert table.loc["AE", "over VN-1L, test"] == "1.02"
    assert table.loc["AE", "ID error, test"] == "5.10 [5.10, 5.10]"
    assert words.matching(results, "motions").loc["M_AE", "over VN-1L, validation"] == "1.10"


def test_readings_follow_from_the_numbers(results):
    top = words.readings_said(results, "digits", "top")
    assert "VN_3 33.3 on ID, 22.2 outside" in top and "of 13 sets: VN_3 in 13." in top
    assert "AE 0.50 on ID, 0.50 outside" in words.readings_said(results, "digits", "searched")
    assert words.readings_said(results, "motions", "top") == words.NOTHING
    assert "AE: sub2 20.4 and" in words.worst_said(results)
    assert words.cases_said(results).endswith("salt_pepper 100 %.")
    assert words.active_said(results).endswith(
        "from ID to the set that uses most: VN_1 from 60.0 to 90.0 (addsub4)."
    )
    assert "RTS_x3: M_VN_1 2.00, M_AE 4.00; the power of the signals 1.00" in words.rises_said(
        results
    )
    assert "VN_1 on digits (25 %)" in words.levelled(results) and "DCT" not in words.levelled(
        results
    )


def test_growth_is_averaged_by_family(results):
    table = words.numbers(results.isel(seed=[0]))
    assert table.loc["AE", "ID"] == "5.10" and table.loc["AE", "growth, max"] == "3.00"
    assert table.loc["AE", "growth, add/subtract"] == f"{3 * 10**0.25:.2f}"
    assert list(table.index)[:3] == ["VN_1", "VN_3", "AE"]


def test_settings_that_were_tried_are_told_apart():
    runs = [json.dumps({"training": {"lr": lr, "options": {}}}) for lr in (0.1, 0.2)]
    tuning = xr.Dataset(
        {
            "criterion": (("model", "trial"), [[0.004, 0.003]]),
            "run_settings": (("model", "trial"), [runs]),
        },
        {"model": ["ae"], "trial": [0, 1]},
    )
    assert list(words.trials(tuning).loc["ae"]) == ["lr 0.1: 4.000", "lr 0.2: 3.000 *"]
    assert "first setting" in words.trials(None)


def test_formulas_are_listed():
    lines = words.formulas(digits.FORMULAS).splitlines()
    assert len(lines) == 2 + len(digits.SETS) and "| `add2` | x + y |" in lines


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.1234, "0.12"), (5.309, "5.31"), (21.66, "21.7"), (417.4, "417"), (np.nan, "")],
)
def test_numbers_have_three_digits(value, said):
    assert figures.number(value) == said
