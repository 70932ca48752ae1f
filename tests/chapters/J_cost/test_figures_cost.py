"""What it costs, drawn and said: numbers on the page against made-up results whose ratios and
exponents are known.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from chapters.J_cost import cost_chapters, figures
from chapters.J_cost import tables as words
from chapters.J_cost.measure import AXES, TASKS

SEEDS, PLACES = 2, 3
FACTOR = {"sweep": 3, "settle": 50, "coordinates": 20, "update": 80, "forward": 1, "backward": 4}


def scaling() -> xr.Dataset:
    """Every cost is a multiple of the size; the last place is not there along one axis."""
    sizes = np.broadcast_to([10.0, 20.0, 40.0], (len(AXES), SEEDS, PLACES)).copy()
    sizes[AXES.index("depth"), :, -1] = np.nan
    factor = np.array([FACTOR[task] for task in TASKS])[:, None]
    counts = factor * sizes[:, :, None, :]
    counts[:, :, TASKS.index("coordinates")] = np.nan
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
    ds["operations_exponent"].loc[{"task": "coordinates"}] = np.nan
    ds["time_exponent"].loc[{"vary": "K", "seed": 1}] = 2.0
    return ds


def results() -> xr.Dataset:
    """A chapter that is known, one without measured runs, and one without results."""
    stored = {
        "runs": 5,
        "seconds": 7200.0,
        "bytes": 2e6,
        "weights": 3e6,
        "tuning_weights": 0.0,
        "date": "2026",
    }
    most = {"peak": 5e8, "own": 2e8, "checkpoints": 4e3, "finished": 0.0}
    parts = [
        cost_chapters.account(stored, most),
        cost_chapters.account({**stored, "weights": -1.0}, {}),
        cost_chapters.account({"missing": "no results of lost"}, {}),
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
    joined = xr.concat(
        [cost_chapters.table(more), cost_chapters.table(one)], "chapter", join="outer"
    )
    return joined.assign_coords(chapter=["whole", "other"])


def test_ratios_are_those_that_were_put_in():
    found = figures.ratio(scaling(), "settle", "forward")
    assert np.allclose(found["operations"].values[np.isfinite(found["operations"].values)], 50)
    assert np.nanmax(abs(found["time"].values - 50)) < 1e-9
    table = words.ratios(scaling())
    assert table.loc[("d, numbers per input", "10", "settle / pass"), "operations"] == "50.0"
    assert table.loc[("layers", "20", "update / backprop"), "time"] == "20.0"
    assert ("layers", "40", "settle / pass") not in table.index


def test_exponents_show_their_spread_and_what_was_not_counted():
    table = words.exponents(scaling())
    label = figures.TASKS["settle"][0]
    assert table.loc[(label, "time"), "K, atoms per layer"] == "1.50 [1.00, 2.00]"
    assert table.loc[(label, "operations"), "K, atoms per layer"] == "1.00"
    assert (figures.TASKS["coordinates"][0], "operations") not in table.index


def test_sentences_hold_the_numbers():
    said = words.summary(results(), scaling())
    assert "2 chapters took 4.0 h of one core, 10 runs in all, and 4 MB" in said
    assert (
        "one of `whole`: 500 MB, of which 300 MB are Python" in said and "No GPU was used" in said
    )
    assert "A settle takes 50 times" in said and "A local update takes 20 times" in said
    assert "from 5 to 20 as d goes from 10 to 40" in words.needed(scaling())
    assert "from 5 to 10 as layers goes from 10 to 20" in words.needed(scaling())
    assert "2.0%" in words.weights(scaling())


def test_a_gpu_is_told_where_there_was_one():
    assert words.gpu(results().assign(device_peak=("chapter", [1e9, np.nan, 2e9]))) == (
        "Tensors held at most 2 GB on a GPU."
    )


def test_what_lacks_is_said():
    said = words.lacking(results(), measured())
    assert "No stored results of `lost`" in said
    assert "Not measured: runs of `part`" in said
    assert "`whole` (stopped after 40 s)" in said and "other" not in said
    fine = words.lacking(results().isel(chapter=[0]), measured().isel(chapter=[1]))
    assert fine.startswith("All chapters have results")


def test_the_account_sums_what_is_known():
    table = words.chapters(results())
    assert table.loc["whole", "largest process"] == "≥ 500 MB"
    assert table.loc["part", "weights"] == "" and table.loc["lost", "core time"] == ""
    assert table.loc["all", "core time"] == "4.0 h" and table.loc["all", "weights"] == "3 MB"
    assert (
        table.loc["whole", "of tuning"] == "0 B" and table.loc["all", "largest process"] == "500 MB"
    )


def test_runs_that_are_only_filled_up_are_not_listed():
    table = words.runs(measured())
    assert list(table.index) == [("whole", "a, 0"), ("whole", "b, 0"), ("other", "a, 0")]
    assert table["to its end"].tolist() == ["yes", "no", "yes"]


def test_models_are_listed_and_what_is_unknown_left_empty():
    found = xr.Dataset(
        {
            "runs": ("model", [5.0, 5.0, 1.0]),
            "seconds": ("model", [9.0, 700.0, 1.0]),
            "median": ("model", [2.0, 140.0, 1.0]),
            "weights": ("model", [np.nan, 3000.0, np.nan]),
        },
        {"model": ["a", "b", "lost"], "chapter": ("model", ["whole", "whole", "lost"])},
    )
    table = words.models(found, measured())
    assert table["weights"].tolist() == ["", "3000", ""] and table["their size"].tolist() == [
        "",
        "12 kB",
        "",
    ]
    assert table.loc[("whole", "b"), "all runs"] == "12 min"
    # The run of b was stopped.
    assert table["largest process"].tolist() == ["500 MB", "≥ 500 MB", ""]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(12, "12 s"), (99, "99 s"), (120, "2 min"), (5940, "99 min"), (7200, "2.0 h")],
)
def test_durations(seconds, said):
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"), [(12, "12 B"), (4e3, "4 kB"), (5.5e8, "550 MB"), (1.6e9, "1.6 GB")]
)
def test_sizes(number, said):
    assert words.size(number) == said


@pytest.mark.parametrize("axes", [list(AXES), ["K"]])
def test_figures_are_drawn(axes):
    some = scaling().sel(vary=axes)
    for draw, data, panels in (
        (figures.growth, some, 2 * len(axes)),
        (figures.slowdown, some, 2 * len(axes)),
        (figures.account, results(), 3),
    ):
        figure = draw(data)
        figure.canvas.draw()
        assert len(figure.axes) == panels
        assert all(ax.lines for ax in figure.axes)
        plt.close(figure)


def test_the_figure_shows_times_in_the_measure_of_its_axis():
    figure = figures.growth(scaling().sel(vary=["d"]))
    settle = next(
        one for one in figure.axes[1].lines if one.get_label() == figures.TASKS["settle"][0]
    )
    assert np.allclose(settle.get_ydata(), [50 * n * 1e-4 for n in (10, 20, 40)])
    plt.close(figure)


def test_hollow_points_stopped_early():
    figure = figures.account(results())
    first = figure.axes[1].lines[0]
    assert first.get_markerfacecolor() == "none" and float(first.get_xdata()[0]) == 500
    assert figure.axes[0].lines[0].get_markerfacecolor() != "none"
    plt.close(figure)
