"""What it costs, drawn and said: numbers on the page against made-up results whose ratios and
exponents are known.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.J_cost import account, figures, names, tables
from chapters.J_cost.measure import AXES, TASKS

SEEDS, PLACES = 2, 3
FACTOR = {"sweep": 3, "settle": 50, "line_search": 20, "update": 80, "forward": 1, "backward": 4}


def scaling() -> xr.Dataset:
    """Every cost is a multiple of the size; the last place is not there along one axis."""
    sizes = np.broadcast_to([10.0, 20.0, 40.0], (len(AXES), SEEDS, PLACES)).copy()
    sizes[AXES.index("depth"), :, -1] = np.nan
    factor = np.array([FACTOR[task] for task in TASKS])[:, None]
    counts = factor * sizes[:, :, None, :]
    times = (factor * sizes[:, :, None, :])[..., None] * np.array([0.9, 1.0, 1.3]) * 1e-4
    dims = ("vary", "seed", "task", "place")
    ds = xr.Dataset(
        {
            "time": ((*dims, "repeat"), times),
            "operations": (dims, counts),
            "size": (("vary", "seed", "place"), sizes),
            "needed": (("vary", "seed", "place"), sizes / 2),
            "weights": (("vary", "seed", "place"), sizes * 100),
            "other_weights": (("vary", "seed", "place"), sizes * 102),
            "time_exponent": (dims[:3], np.ones((len(AXES), SEEDS, len(TASKS)))),
            "operations_exponent": (dims[:3], np.ones((len(AXES), SEEDS, len(TASKS)))),
        },
        {"vary": list(AXES), "seed": range(SEEDS), "task": list(TASKS)},
    )
    ds["time_exponent"].loc[{"vary": "K", "seed": 1}] = 2.0
    return ds


def results() -> xr.Dataset:
    """A chapter that is known, one without measured runs, and one without results."""
    stored = {
        "runs": 5,
        "seconds": 7200.0,
        "bytes": 2e6,
        "weights": 3e6,
        "selection_weights": 0.0,
        "date": "2026",
    }
    most = {"peak": 5e8, "own": 2e8, "checkpoints": 4e3, "finished": 0.0}
    parts = [
        account.account(stored, most),
        account.account({**stored, "weights": -1.0}, {}),
        account.account({"missing": "no results of lost"}, {}),
    ]
    return xr.concat(parts, "chapter").assign_coords(chapter=["whole", "part", "lost"])


def measured() -> xr.Dataset:
    entry = {
        "part": "whole",
        "run": "a, 0",
        "done": 1,
        "before": 3e8,
        "peak": 5e8,
        "wall": 2.0,
        "cpu": 1.5,
        "checkpoints": 4e3,
        "device_peak": float("nan"),
    }
    more = {
        "entries": [entry, {**entry, "run": "b, 0", "done": 0}],
        "why": "OutOfTime: stopped after 40 s",
        "program": 3e8,
    }
    one = {"entries": [entry], "why": "", "program": 3e8}
    joined = xr.concat([account.table(more), account.table(one)], "chapter", join="outer")
    return joined.assign_coords(chapter=["whole", "other"])


def test_ratios_are_those_that_were_put_in():
    found = figures.ratio(scaling(), "settle", "forward")
    assert np.allclose(found["operations"].values[np.isfinite(found["operations"].values)], 50)
    assert np.nanmax(abs(found["time"].values - 50)) < 1e-9
    frame = tables.ratios(scaling()).frame
    settle = frame.loc[("d, numbers per input", "10", "default settle / pass")]
    assert settle["operations", "median"] == 50 and settle["operations", "high"] == 50
    update = frame.loc[("layers", "20", "update, default settle / backprop")]
    assert update["time", "median"] == pytest.approx(20)
    assert update["single repeats, most", ""] == pytest.approx(20)
    assert ("layers", "40", "default settle / pass") not in frame.index


def test_the_fastest_exact_settle_is_chosen_at_each_place():
    """Line search is the faster here, but for the first place of one axis."""
    given = scaling()
    first = {"vary": "d", "place": 0, "task": "line_search"}
    given["time"].loc[first] *= 4
    at = figures.ratio(given, "exact", "forward").sel(vary="d", drop=True)
    assert np.allclose(at["time"].median("repeat").values, [[50, 20, 20]] * SEEDS)
    assert np.allclose(at["operations"].values, [[50, 20, 20]] * SEEDS)
    update = figures.ratio(given, "exact_update", "backward").sel(vary="d")
    assert np.allclose(update["time"].median("repeat").values, [[20, 12.5, 12.5]] * SEEDS)
    slower = figures.ratio(figures.along(given, "d"), "settle", "exact")["time"]
    assert np.allclose(slower.median("repeat").values, [[1, 2.5, 2.5]] * SEEDS)


def test_exponents_show_their_spread():
    table, label = tables.exponents(scaling()), figures.TASKS["settle"][0]
    row = table.frame.loc[(label, "time")]["K, atoms per layer"]
    assert row[["median", "low", "high"]].tolist() == [1.5, 1, 2]
    assert table.shown().loc[(label, "operations"), "d, numbers per input"] in (
        "1",
        "1.00",
        "1.0",
    )


def test_the_prose_gets_the_numbers():
    said = tables.numbers(results(), scaling(), 5e7)
    assert said["appj-chapters"] == "2" and said["appj-time"] == "4.0 h"
    assert said["appj-runs"] == "10" and said["appj-disk"] == "4.0 MB"
    assert said["appj-largest"] == "whole" and said["appj-peak"] == "500 MB"
    assert said["appj-program"] == "300 MB" and said["appj-mnist"] == "50 MB"
    tasks = ("exact", "settle", "line-search", "exact-update", "update")
    times = [said[f"appj-{what}-time"] for what in tasks]
    assert times == [f"{n} ({n} to {n})" for n in (20, 50, 20, 12, 20)]
    assert said["appj-slower"].startswith("2.5")
    assert [said[f"appj-d-needed-{one}"] for one in ("first", "last")] == ["5", "20"]
    assert said["appj-depth-size-last"] == "20" and said["appj-off"] == "2.0"


def test_the_account_sums_what_is_known():
    table = tables.chapters(results())
    shown = table.shown()
    assert shown.loc["whole", "largest process"] == "500 MB"
    assert shown.loc["part", "weights"] == "" and shown.loc["lost", "core time"] in ("", "0 s")
    assert shown.loc["all", "core time"] == "4.0 h" and shown.loc["all", "weights"] == "3.0 MB"
    assert shown.loc["whole", "weights of candidates"] == "0 B"
    assert shown["to its end"].tolist() == ["no", "", "", "no"]
    assert table.frame.loc["all", "largest process"] == 5e8


def test_runs_that_are_only_filled_up_are_not_listed():
    shown = tables.runs(measured()).shown()
    assert sorted(shown.index) == [
        ("other", "a, first seed"),
        ("whole", "a, first seed"),
        ("whole", "b, first seed"),
    ]
    assert shown["to its end"].loc["whole"].tolist() == ["yes", "no"]


def test_models_are_listed_and_what_is_unknown_left_empty():
    found = xr.Dataset(
        {
            "runs": ("model", [5.0, 5.0, 1.0]),
            "seconds": ("model", [9.0, 700.0, 1.0]),
            "median": ("model", [2.0, 140.0, 1.0]),
            "gpu": ("model", [0.0, 0.5, 1.0]),
            "weights": ("model", [np.nan, 3000.0, np.nan]),
        },
        {"model": ["a", "b", "lost"], "chapter": ("model", ["whole", "whole", "lost"])},
    )
    shown = tables.models(found, measured()).shown()
    assert shown["weights"].tolist() == ["", "3,000", ""]
    assert shown["with a GPU"].tolist() == ["0 %", "50 %", "100 %"]
    assert shown["their size"].tolist() == ["", "12 kB", ""]
    assert shown.loc[("whole", "b"), "all runs"] == "12 min"
    assert shown["largest process"].tolist() == ["500 MB", "500 MB", ""]


def test_chapters_and_models_have_the_names_that_readers_know():
    rows = [("whole", "a"), ("fig3_functions", "vn_1"), ("E_theory", "E_theory")]
    said = names.labels(rows)
    assert said[0] == ("whole", "a")
    assert said[1] == ("Function composition (VN Fig. 3)", "VN-1L")
    assert said[2] == 2 * ("Theory (VN App. E)",)
    alike = names.labels([("J_cost", "some_a"), ("J_cost", "some_a")])
    assert {label for _, label in alike} == {"some_a (some a)"}, (
        "whose rows could not be told apart"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(12, "12 s"), (99, "99 s"), (120, "2.0 min"), (5940, "99 min"), (7200, "2.0 h")],
)
def test_durations(seconds, said):
    assert tables.duration(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"), [(12, "12 B"), (4e3, "4.0 kB"), (5.5e8, "550 MB"), (1.6e9, "1.6 GB")]
)
def test_sizes(number, said):
    assert tables.size(number) == said


def test_figures_are_drawn():
    for draw, data, panels in (
        (figures.growth, scaling(), 2 * len(AXES)),
        (figures.slowdown, scaling(), 2 * len(AXES)),
        (figures.account, results(), 3),
    ):
        figure = draw(data)
        figure.canvas.draw()
        assert len(figure.axes) == panels
        assert all(ax.lines for ax in figure.axes)
        plt.close(figure)


def test_the_figure_shows_times_in_the_measure_of_its_axis():
    figure = figures.growth(scaling())
    settle = next(
        one for one in figure.axes[len(AXES)].lines if one.get_label() == figures.TASKS["settle"][0]
    )
    assert np.allclose(settle.get_ydata(), [50 * n * 1e-4 for n in (10, 20, 40)])
    plt.close(figure)


def test_hollow_points_stopped_early():
    figure = figures.account(results())
    first = figure.axes[1].lines[0]
    assert first.get_markerfacecolor() == "none" and float(first.get_xdata()[0]) == 0.5
    assert figure.axes[0].lines[0].get_markerfacecolor() != "none"
    plt.close(figure)


def test_the_example_says_how_many_passes_each_task_is():
    first, last = figures.example(scaling()).axes
    assert [text.get_text() for text in first.texts] == ["", "× 50", "× 20", "× 4.0", "× 80"]
    assert (first.get_title(), last.get_title()) == ("10 layers", "20 layers")
    plt.close("all")
