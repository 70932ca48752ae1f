"""What the words between the numbers of the page claim, on the shipped results."""

from __future__ import annotations

import pytest
import xarray as xr
from glued import ends, number

from chapters.I_mnist import tables
from vnlib.book import paths
from vnlib.plots.statistics import median


@pytest.fixture(scope="module")
def shipped() -> xr.Dataset:
    return xr.load_dataset(paths.RESULTS / "paper" / "I_mnist.nc")


@pytest.fixture(scope="module")
def found(shipped) -> dict[str, str]:
    return tables.numbers(shipped)


def test_every_atom_is_used(found):
    assert found["appI-used-least"] == "100 %"
    assert int(found["appI-effective-least"].removesuffix(" %")) > 75, "nearly evenly"


def test_line_search_is_quickest_and_takes_all_that_the_rule_asks(shipped, found):
    locked = tables.locked_all(shipped)
    assert median(locked).sel(model="vn_3").idxmin("solver") == "line_search"
    assert float(median(locked).sel(model="vn_3", solver="line_search")) >= 20
    assert ends(found["appI-locked-vn-3-half"])[0] > 20
    assert float(median(locked).sel(solver="ista").min()) > int(found["appI-last"])
    assert float(locked.sel(solver="restart").min()) > 20


def test_the_drawing_is_done_long_before(shipped):
    ratio = shipped["error_locked"].sel(threshold=0.9) / shipped["error_end"]
    assert float(abs(median(ratio) - 1).max()) < 0.01


def test_depth_makes_codes_sparser_only_where_sizes_do(shipped, found):
    seeds = found["appI-seeds"]
    assert found["appI-falls-vn-3"] == found["appI-falls-vn-3-double"] == seeds
    assert found["appI-falls-vn-3-equal"] == "0"
    share = median(shipped["active_share"].sel(model="vn_3_equal", set="id"))
    assert bool((share.sel(layer=[2, 3]) > share.sel(layer=1)).all()), "denser than the first"


def test_deeper_atoms_are_more_selective_at_most_levels(found):
    levels = ("vn-3-half", "vn-3", "vn-3-double", "vn-3-top24")
    rises = [int(found[f"appI-rises-{level}"]) for level in levels]
    assert sum(one == int(found["appI-seeds"]) for one in rises) == 3


def test_with_a_cap_solvers_rest_elsewhere(shipped):
    end = shipped["end_agreement"].sel(solver=["ista", "restart"])
    assert float(end.sel(model="vn_3_top24").min()) < 0.99
    assert float(end.sel(model="vn_3").min()) > 0.9999


def test_supports_settle_late_and_selectivity_grows_with_depth(found):
    low, high = ends(found["appI-locked-vn-3"])
    assert low >= 20 and high < int(found["appI-last"])
    for model in ("vn-3", "vn-3-half", "vn-3-double", "vn-3-top24", "vn-3-equal"):
        grows = found[f"appI-told-grows-{model}"]  # no interval where its ends are the same
        assert (ends(grows)[0] if "[" in grows else number(grows)) > 1


def test_one_layer_by_itself_settles_later(found):
    assert ends(found["appI-locked-vn-1"])[0] > ends(found["appI-locked-vn-3"])[1]
