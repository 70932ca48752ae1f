"""What the page's sentences claim of the shipped results, beside the numbers in them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from glued import ends, number

from benchmarks.functions import tables as functions
from benchmarks.functions.names import OTHERS, VN
from benchmarks.functions.protocols import PRINTED
from benchmarks.functions.tables import of_masks
from chapters.fig3_functions import tables, tables_live
from chapters.fig3_functions.claims import decide_masked
from vnlib.book import paths, store
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def results():
    return store.read(paths.ROOT / "results" / "paper" / "fig3_functions.nc")


@pytest.fixture(scope="module")
def told(results) -> dict[str, str]:
    return {key.removeprefix("fig3-"): text for key, text in tables.numbers(results).items()}


def test_inference_matters_more_than_learning(told):
    assert number(told["solved"]) < number(told["learned"]) < number(told["learned-rounds"]) < 1


def test_what_solving_does_where_an_end_is_hidden_depends_on_depth(told):
    """Of Hard signals it lowers the error of VN-3L and raises that of VN-1L, in all of the
    intervals; where samples are scattered it lowers both.
    """
    for mask in ("forecast-25", "forecast-50"):
        three, one = (
            [told[f"left-{how}-vn-{depth}-{mask}"] for how in ("solved", "rounds")]
            for depth in (3, 1)
        )
        assert ends(three[0])[1] < ends(three[1])[0] and ends(one[0])[0] > ends(one[1])[1]
    for depth in (1, 3):
        scattered = [
            number(told[f"left-{how}-vn-{depth}-random-30"]) for how in ("solved", "rounds")
        ]
        assert scattered[0] < 0.1 * scattered[1]


def test_networks_and_vn_1l_had_not_settled(results, told):
    gain = median(tables.late_gains(results))
    unsettled = {m for m in gain["model"].values if gain.sel(model=m) > tables.SETTLED}
    assert unsettled == {*tables.networks(results), "vn_1", "vn_dense"}
    assert (told["watched"], told["unsettled"]) == ("15", "12")
    low, high = ends(told["late-vn-1"])
    assert low < 0 < high, "VN-1L not surely"


def test_who_leads_on_hard_signals_and_in_all_cells(told):
    """The answer: as printed yes, beside networks trained with masks too, beside all no."""
    assert (told["won"], told["won-all"]) == ("4 of 4", "12 of 12")
    assert told["trained"] == "4 of 4" and re.fullmatch(r"9\b.* of 12", told["trained-all"])
    assert re.fullmatch(r"0\b.* of 4", told["told-won"]) and re.fullmatch(
        r"0\b.* of 12", told["told-won-all"]
    )
    assert re.fullmatch(r"3\b.* of 4", told["rounds-won"]), "the detail beside it"
    sure = [told[f"sure-{key}"] for key in ("won", "trained", "told-won")]
    assert sure == ["all 4 masks", "all 4 masks", "no mask"], "as the answer says it"
    page = paths.notebook("fig3_functions").read_text(encoding="utf-8")
    assert page.count(" under {glue:text}`fig3-sure-") == 3
    assert "of the four masks" not in page


def test_masks_are_said_as_a_reader_would():
    said = [of_masks(np.arange(4) < count) for count in (0, 1, 4)]
    assert said == ["no mask", "1 of 4 masks", "all 4 masks"]


def test_the_main_reading_is_that_of_the_ledger(results):
    """VN-F3c compares the masked problem solved with others that are shown zeros."""
    cells = functions.cells(results, VN, PRINTED).min("model")
    solved = (
        results["hidden"].sel(protocol="mask_aware", model=list(VN)).median("seed").min("model")
    )
    np.testing.assert_allclose(cells, solved.sel(set=cells["set"], mask=cells["mask"]))
    rest = functions.cells(results, OTHERS, PRINTED)
    zeros = results["hidden"].sel(protocol="zero_filled", model=list(OTHERS)).median("seed")
    np.testing.assert_allclose(rest, zeros.sel(set=rest["set"]).transpose(*rest.dims))
    over = {part.says: part for part in decide_masked(results).parts}
    first = next(
        says for says in over if says.startswith("VN over the best of the eight others, on")
    )
    assert "five rounds" not in first


def test_the_last_value_held_errs_least_on_hard_signals_with_the_last_quarter_hidden(results):
    tail = results["hidden"].sel(mask="forecast_25", set="hard")
    tail = median(tail).where(tail["model"] != "linear")  # which holds it, too
    assert tail.min("protocol").idxmin() == "hold_last"


def test_what_vn_1l_leaves_of_an_interval_depends_on_where_it_is():
    """Far less than zero where samples are seen on both sides, about as much at the end of Hard signals."""
    kept = store.read(paths.ROOT / "results" / "paper" / "fig3_functions.live.nc")
    told = {key.removeprefix("fig3-live-"): text for key, text in tables_live.numbers(kept).items()}
    error, begin, end = (kept[name].isel(seed=0) for name in ("error", "begin", "end"))
    sets = kept["signal_set"].isel(seed=0).values
    for place, where in {
        "inside": (begin > 0) & (end < 1),
        "end": (begin > 0) & (end == 1),
    }.items():
        assert told[place] == str(int(where.sum()))
        for name in ("id", "easy", "hard"):
            some = error.values[:, where.values][:, :, sets == name]
            vn, zero = (
                some[kept["filler"].values.tolist().index(one)] for one in ("vn_1", "zero_baseline")
            )
            left = np.median(vn[zero > 1e-6] / zero[zero > 1e-6])
            assert number(told[f"{place}-{name}"]) == pytest.approx(left, rel=0.05)
    assert all(number(told[f"inside-{name}"]) < 0.2 for name in ("id", "easy", "hard"))
    assert 0.9 < number(told["end-hard"]) < 1.1
