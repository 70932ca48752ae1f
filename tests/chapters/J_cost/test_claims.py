"""The rule of VN-J: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

from functools import partial

import judging
import numpy as np
import pytest
import xarray as xr

from chapters.J_cost.claims import CARD, DISK, MEMORY
from vnlib.book.ledger import NOT_TESTABLE, PARTLY, REPRODUCED

VALUES = {
    "runs": 10,
    "seconds": 3600,
    "bytes": 1e6,
    "weights": 2e6,
    "selection_weights": 1e6,
    "peak": 8e8,
    "own": 4e8,
    "checkpoints": 1e6,
    "device_peak": np.nan,
    "finished": 1,
}


def made() -> xr.Dataset:
    """Two chapters of the paper, and one of the other paper."""
    r = xr.Dataset({name: ("chapter", np.full(3, float(value))) for name, value in VALUES.items()})
    r = r.assign_coords(chapter=["fig2", "G", "FR1"])
    return r.assign(paper=("chapter", ["VN", "VN", "FR"]), missing=("chapter", ["", "", ""]))


judged = partial(judging.judged, "VN-J")
failing = partial(judging.failing, "VN-J")


def put(chapter: str, **values: float) -> xr.Dataset:
    r = made()
    for name, value in values.items():
        r[name].loc[{"chapter": chapter}] = value
    return r


def test_all_as_printed():
    row = judged(made())
    assert row["verdict"] == REPRODUCED == row["verdict_controls"], row
    figures = row["numbers"]
    assert figures["paper_core_hours"] == 2 and figures["book_core_hours"] == 3
    assert (
        figures["peak_GB.the paper's chapters"] == 0.8 and figures["peak_GB.the whole book"] == 1.6
    )
    # Results 2 + weights 4 + a checkpoint, four times 0.3; results 3 + weights 9 + two checkpoints.
    assert (
        figures["disk_MB.the paper's chapters"] == 3.2
        and figures["kept_at_most_MB.the paper's chapters"] == 7.2
    )
    assert (
        figures["disk_MB.the whole book"] == 5.4
        and figures["kept_at_least_MB.the whole book"] == 14.4
    )


@pytest.mark.parametrize(
    ("chapter", "values", "expected"),
    [
        ("G", {"peak": MEMORY}, ([0], [0])),
        ("G", {"peak": 0.99 * MEMORY}, ([], [0])),  # one at a time would do
        ("FR1", {"peak": MEMORY}, ([], [0])),  # not of this paper
        ("fig2", {"own": CARD}, ([1], [1])),
        ("fig2", {"own": 0.6 * CARD}, ([], [1])),
        ("fig2", {"bytes": DISK}, ([2, 3], [2, 3])),
        ("fig2", {"weights": DISK}, ([3], [3])),
        ("fig2", {"selection_weights": DISK}, ([], [3])),  # tried, not kept
        ("G", {"checkpoints": DISK}, ([2, 3], [2, 3])),
        ("FR1", {"bytes": DISK}, ([], [2, 3])),
    ],
)
def test_each_part_can_fail(chapter, values, expected):
    assert failing(put(chapter, **values)) == expected


def test_what_tensors_held_on_a_gpu_goes_before_the_bound():
    assert failing(put("G", own=2 * CARD, device_peak=1e9)) == ([], [])
    assert failing(put("G", device_peak=CARD)) == ([1], [1])
    said = [part["says"] for part in judged(put("G", device_peak=1e9))["parts"]]
    assert "held on a GPU" in said[1]
    assert "no GPU was used" in judged(made())["parts"][1]["says"]


def test_weights_that_are_not_known_do_not_help():
    """Ten runs of G count as the runs of fig2, 0.3 MB each, or as those that have most."""
    figures = judged(put("G", weights=np.nan))["numbers"]
    assert figures["kept_at_least_MB.the paper's chapters"] == 5.2
    assert figures["kept_at_most_MB.the paper's chapters"] == 8.2
    assert failing(put("G", weights=np.nan, runs=1e5)) == ([3], [3])
    r = made()
    r["weights"][:] = np.nan
    assert failing(r) == ([3], [3])


def test_a_part_that_fails_makes_it_partly():
    assert judged(put("fig2", bytes=DISK))["verdict"] == PARTLY


def test_what_is_not_known_is_counted_and_not_zero():
    r = put("G", peak=np.nan, own=np.nan, checkpoints=np.nan, finished=np.nan, weights=np.nan)
    figures = judged(r)["numbers"]
    assert figures["chapters_measured.the paper's chapters"] == 1
    assert figures["chapters_not_measured.the paper's chapters"] == 1
    assert figures["chapters_stopped_early.the paper's chapters"] == 0
    early = judged(put("G", finished=0))["numbers"]
    assert early["chapters_stopped_early.the paper's chapters"] == 1


@pytest.mark.parametrize(
    ("name", "message"), [("peak", "measured runs of the paper's"), ("bytes", "stored results of")]
)
def test_without_measured_runs_or_results_it_is_not_testable(name, message):
    r = made()
    r[name][:] = np.nan
    row = judged(r)
    assert row["verdict"] == NOT_TESTABLE and message in row["missing"]
