"""`vnbook compare`: the statements of two folders of results."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from book.site import comparison
from vnlib.book import ledger as claims
from vnlib.book import store
from vnlib.book.evidence import bounded
from vnlib.book.ledger import Claim, Decision


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Two folders of results of one claim, that an error is below 1: its median is 0.5, the
    logarithms of the seeds lie 0.1 apart; in the second all is larger by exp(0.1 f).
    """

    def decide(ds: xr.Dataset) -> Decision:
        return Decision([bounded("error", "<", 1.0, vn=ds["error"].sel(model="vn").median("seed"))])

    one = Claim("VN-X1", "Fig. 1", "fig1_architecture", "fig1", "It errs little.", decide)
    monkeypatch.setattr(claims, "all_claims", lambda: {"VN-X1": one})
    monkeypatch.setattr(comparison.ledger, "fingerprint", lambda *args: "0")

    def make(factor: float):
        for name, more in (("a", 0.0), ("b", 0.1 * factor)):
            logs = np.log(0.5) + 0.1 * np.arange(-2, 3) + more
            error = xr.DataArray(
                [np.exp(logs)], {"model": ["vn"], "seed": range(5)}, ("model", "seed")
            )
            (tmp_path / name).mkdir()
            store.write(xr.Dataset({"error": error}), tmp_path / name / "fig1_architecture.nc")
        return tmp_path / "a", tmp_path / "b"

    return make


@pytest.mark.parametrize(("factor", "same"), [(1.0, True), (10.0, False)])
def test_both_numbers_their_distance_and_the_verdicts_are_told(folders, vnbook, factor, same):
    first, second = folders(factor)
    (one,) = comparison.compared(first, second)
    np.testing.assert_allclose(one.values, (0.5, 0.5 * np.exp(0.1 * factor)), rtol=1e-3)
    # Of -2, -1, 0, 1, 2 the standard deviation is the root of 2.5; a larger error is a smaller margin.
    assert one.distance == pytest.approx(-factor / np.sqrt(2.5), rel=1e-2)
    assert one.same is same and one.verdicts[0] == "holds"
    said = vnbook("compare", first, second)
    assert said.code == 0 and f"1 statements compared, {int(same)} with the same" in said.out
    assert ("ANOTHER VERDICT" in said.out) is not same and "seed spreads" in said.out


def test_a_folder_that_is_not_there_is_named(vnbook, tmp_path):
    said = vnbook("compare", tmp_path, tmp_path / "none")
    assert said.code == 1 and str(tmp_path / "none") in said.err and "\n" not in said.err.strip()
