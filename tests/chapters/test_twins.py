"""Networks that decide statements and had not settled were trained with twice the updates, too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import xarray as xr

from benchmarks.baselines.longer import once, twins
from book.site.ledger import results_of
from chapters.fig3_functions import tables as signals
from chapters.fig4_nbody import tables as bodies
from chapters.fig5_mnist.curves import late_gain
from vnlib.book import paths
from vnlib.book.evidence import SETTLED
from vnlib.book.ledger import all_claims, decided
from vnlib.plots.statistics import median

GAINS = {
    "fig3_functions": signals.late_gains,
    "fig4_nbody": bodies.late_gains,
    "fig5_mnist": late_gain,
}
CLAIMS = [(name, GAINS[one.results]) for name, one in all_claims().items() if one.results in GAINS]


@pytest.mark.parametrize("name, gain", CLAIMS, ids=[name for name, _ in CLAIMS])
def test_no_rule_reads_a_network_that_had_not_settled_and_has_no_twin(
    name: str, gain: Callable[[xr.Dataset], xr.DataArray]
):
    claim = all_claims()[name]
    results = results_of(claim, paths.RESULTS / "paper")
    late = median(gain(once(results)))
    unsettled = {*late["model"].values[(late > SETTLED).values].tolist()}
    alone = unsettled - {*twins(results)}
    assert unsettled, "or this shows nothing"
    assert decided(claim, results.drop_sel(model=[*alone])) == decided(claim, results), alone
