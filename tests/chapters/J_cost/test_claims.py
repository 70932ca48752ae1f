"""The rule of VN-J: each part shown to hold, and to fail, on made-up results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from judging import absent, changed, failing, judged, rules, told

VALUES = {
    "runs": 10,
    "seconds": 3600,
    "bytes": 1e6,
    "weights": 2e6,
    "selection_weights": 1e6,
    "peak": 8e8,
    "own": 4e8,
    "checkpoints": 1e6,
    "device_peak": 1e9,
    "finished": 1,
}
PAPER, BOOK = "the paper's chapters", "the whole book"


def made() -> xr.Dataset:
    """Two chapters of the paper, and one of the other paper."""
    r = xr.Dataset({name: ("chapter", np.full(3, float(value))) for name, value in VALUES.items()})
    return r.assign_coords(chapter=["fig2", "G", "FR1"], paper=("chapter", ["VN", "VN", "FR"]))


def put(chapter: str, **values: float) -> xr.Dataset:
    r = made()
    for name, value in values.items():
        r = changed(r, name, {"chapter": chapter}, value)
    return r


def numbers(results: xr.Dataset, tag: str = PAPER) -> dict[str, float]:
    found = told("VN-J", results)
    return {name.removesuffix(f".{tag}"): value for name, value in found.items()}


FIG2, G, OTHER = ({"chapter": name} for name in ("fig2", "G", "FR1"))
CASES = [
    ("VN-J", "peak", G, 16e9, [0], [0]),
    ("VN-J", "peak", G, 15.9e9, [], [0]),  # one at a time would do
    ("VN-J", "peak", OTHER, 16e9, [], [0]),  # not of this paper
    ("VN-J", "device_peak", FIG2, 6e9, [], [1]),
    ("VN-J", "device_peak", G, 11e9, [1], [1]),
    ("VN-J", "bytes", FIG2, 1e9, [2, 3], [2, 3]),
    ("VN-J", "weights", FIG2, 1e9, [3], [3]),
    ("VN-J", "selection_weights", FIG2, 1e9, [], [3]),  # tried, not kept
    ("VN-J", "weights", {}, np.nan, [3], [3]),
    ("VN-J", "checkpoints", G, 1e9, [2, 3], [2, 3]),
    ("VN-J", "bytes", OTHER, 1e9, [], [2, 3]),
]
test_as_printed, test_each_part_can_fail, _ = rules({"VN-J": made}, CASES)


def test_the_numbers_are_those_of_the_chapters():
    paper, book = numbers(made()), numbers(made(), BOOK)
    assert (paper["paper_core_hours"], book["book_core_hours"]) == (2, 3)
    assert (paper["peak_GB"], book["peak_GB"]) == (0.8, 1.6)
    # Results 2 + weights 4 + a checkpoint, four times 0.3; results 3 + weights 9 + two checkpoints.
    assert (paper["disk_MB"], paper["kept_at_most_MB"]) == (3.2, 7.2)
    assert (book["disk_MB"], book["kept_at_least_MB"]) == (5.4, 14.4)


def test_what_was_not_measured_on_a_gpu_says_nothing_of_a_card():
    without = changed(made(), "device_peak", {}, np.nan)
    for found in (without, made().drop_vars("device_peak")):
        parts = [each[1] for each in (judged("VN-J", found).parts, judged("VN-J", found).controls)]
        assert all("not measured" in part.missing for part in parts)
    assert not judged("VN-J", made()).parts[1].missing


def test_weights_that_are_not_known_do_not_help():
    """Ten runs of G count as the runs of fig2, 0.3 MB each, or as those that have most."""
    found = numbers(put("G", weights=np.nan))
    assert (found["kept_at_least_MB"], found["kept_at_most_MB"]) == (5.2, 8.2)
    assert failing("VN-J", put("G", weights=np.nan, runs=1e5)) == ([3], [3])


def test_what_is_not_known_is_counted_and_not_zero():
    names = ("peak", "own", "checkpoints", "finished", "weights")
    found = numbers(put("G", **dict.fromkeys(names, np.nan)))
    assert (found["chapters_measured"], found["chapters_not_measured"]) == (1, 1)
    assert found["chapters_stopped_early"] == 0
    assert numbers(put("G", finished=0))["chapters_stopped_early"] == 1


@pytest.mark.parametrize(
    ("name", "message"), [("peak", "measured runs of the paper's"), ("bytes", "stored results of")]
)
def test_without_measured_runs_or_results_it_is_not_testable(name, message):
    assert message in absent("VN-J", changed(made(), name, {}, np.nan))
