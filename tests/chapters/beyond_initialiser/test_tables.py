"""Tables of learned starts, from results that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.beyond_initialiser import tables

PLAIN, BEST = "plain steps", "momentum and line search"


def test_the_cheapest_pair_counts_the_cost(results):
    # Line search: LISTA needs 40/10 + 4 = 8, the perceptron 80/10 + 1 = 9, the cold start 10.
    for learned, start, needed in ((True, "lista", 8), (False, "cold", 10)):
        fewest = tables.cheapest(results, learned=learned).sel(model="free", set="id")
        assert (fewest["start"], fewest["solver"]) == (start, "line_search")
        assert fewest.values.tolist() == [needed] * 2
    sums = tables.cheapest(results, learned=True).sel(model="free", set="sum")
    assert sums.values == pytest.approx([11, 11])
    frame = tables.against_table(results).frame
    row = frame.loc[("FREE", "in distribution")]
    learned = row["something learned"]
    assert learned["sweeps"].tolist() == [8, 8, 8, 2], "with its interval over two seeds"
    assert [learned["start"].item(), learned["solver"].item()] == ["LISTA, from codes", BEST]
    assert row["change [%]", "", "median"] == pytest.approx(-20)
    sums = frame.loc[("FREE", "sums of two"), ("change [%]", "", "median")]
    assert sums == pytest.approx(10)


def test_a_change_is_paired_by_seed(results):
    """Both need twice as many sweeps with one seed: the change is the same with both."""
    results["sweeps"] = results["sweeps"] * xr.DataArray([1.0, 2.0], dims="seed")
    results["cost"] = results["cost"] * xr.DataArray([1.0, 2.0], dims="seed")
    row = tables.against_table(results).frame.loc[("FREE", "in distribution")]
    assert row["change [%]", ""].tolist()[:3] == pytest.approx([-20] * 3)
    assert row["something learned", "sweeps", "high"] == 16


def test_what_is_left_out_of_distribution(results):
    # In distribution (100 - 44)/100, (20 - 12)/20, (10 - 8)/10; sums: 4, 20 and 40 % longer.
    frame = tables.outside_table(results).frame.loc["FREE"]
    assert frame["start"].tolist() == ["LISTA, from codes"] * 3
    np.testing.assert_allclose(frame["in distribution", "median"], [56, 40, 20])
    np.testing.assert_allclose(frame["sums of two", "high"], [-4, -20, -40])


def test_what_a_guess_is_worth(results):
    # The cold settle falls as 1 / (1 + sweep), read off at 0, 1, 10 and 100.
    start = {"model": "free", "start": "lista"}
    for height, sweeps in ((0.5, 1), (1 / 11, 10), (1 / np.sqrt(2), 0.5)):
        results["start_height"].loc[start] = height
        assert tables.worth(results, "free", "lista", "ista").values == pytest.approx([sweeps] * 2)
    results["start_height"].loc[start] = 0.5
    results["start_height"].loc[{"model": "free", "start": "mlp"}] = 0.7
    results["start_height"].loc[{"model": "free", "start": "cold"}] = 2.0
    row = tables.tail_table(results).frame.loc["FREE"]
    assert row["lowest guess", "start"].item() == "LISTA, from codes"
    assert row["lowest guess", "F above minimum", "median"] == 0.5
    assert row["zero codes", "F above minimum", "low"] == 2
    assert row[PLAIN, "sweeps it is worth"].tolist()[:3] == pytest.approx([1] * 3)
    assert row[PLAIN, "of", "median"] == 100 and row[BEST, "of", "median"] == 10


def test_what_is_not_reached_is_said(results):
    results["sweeps"].loc[{"start": "cold", "solver": "ista"}] = np.inf
    table = tables.sweeps_table(results)
    assert table.frame.loc[("FREE", "cold"), ("in distribution", PLAIN, "median")] == np.inf
    assert table.shown().loc[("FREE", "cold")].tolist().count("> 100") == 3
    results["sweeps"].loc[{"start": "cold", "solver": "ista", "seed": 0}] = 50
    shown = tables.sweeps_table(results).shown().loc[("FREE", "cold"), ("in distribution", PLAIN)]
    assert shown == "> 100 [50, > 100]", "half of the seeds got there"


def test_tables_have_a_row_for_every_start_of_a_network(results):
    shown = tables.sweeps_table(results).shown().loc[("FREE", "LISTA, from codes")]
    assert shown[("in distribution", PLAIN)] == "40"
    training = tables.training_table(results).frame
    assert training.loc[("FREE", "perceptron"), ("cost [sweeps]", "median")] == 1
    spent = tables.times_table(results).frame
    middle = spent.xs("median", axis=1, level=-1)
    assert middle.loc[("FREE", "cold")].tolist() == [8, 4, 1] and "CAPPED" not in spent.index
    assert middle.loc[("FREE", "perceptron"), "coordinate descent"] == 0.5
    assert np.isnan(training.loc[("FREE", "cold"), ("training [s]", "median")]), "not learned"
    ends = tables.ends_table(results).frame
    assert ends.loc[("CAPPED", "LISTA, from codes"), ("other support [%]", "median")] == 25
    assert ("CAPPED", "perceptron") not in ends.index and ("FREE", "cold") not in ends.index
    guesses = tables.guesses_table(results).frame.loc[("FREE", "cold")]
    assert guesses["sums of two", "overlap, layer 2", "high"] == 0.5


def test_times_that_were_not_taken_are_said_to_lack(results):
    capped = results.sel(model=["capped"]).drop_vars(["time_ratio", "time_cold"])
    assert "Not computed" in tables.times_table(capped).data


def test_no_share_is_minus_zero():
    assert [tables.WHOLE.format(share) for share in (-0.4, -0.6, 12.5)] == ["0", "-1", "12"]


def test_numbers_follow_from_the_results(results):
    names = {"free": "digits_3", "capped": "digits_3_capped"}
    results["time_ratio"].loc[{"model": "free", "start": "lista"}] = 1.25
    results["model"] = [names[name] for name in results["model"].values]
    found = tables.numbers(results)
    assert (
        found["beyondinit-learned-digits-3"] == "8.0" and found["beyondinit-free-digits-3"] == "10"
    )
    assert found["beyondinit-change-digits-3"] == "20" and found["beyondinit-plain-guess"] == "44"
    assert found["beyondinit-ms-cold-digits-3-coordinates"] == "1.0"
    assert (
        found["beyondinit-ms-guess-digits-3"] == "0.50"
        and found["beyondinit-longer-digits-3"] == "−50"
    )
    assert found["beyondinit-plain-start"] == "LISTA, from codes"
    assert found["beyondinit-other-support"] == "25" and found["beyondinit-end-gap"] == "1 × 10⁻⁹"
