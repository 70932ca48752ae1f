"""Counts of claims, tables of factors and errors, and the numbers of the prose."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import xarray as xr

from benchmarks.functions import names
from book.site import ledger as book_ledger
from chapters.summary import counts, effects, errors, orders, tables
from vnlib.book import ledger, paths


def row(id: str, chapter: str, holds: list[bool], controls: list[bool] | None) -> dict:
    """A claim of the ledger as far as the summary reads it, with a detail that counts nowhere."""
    told = {"printed": holds, "controls": controls or []}
    found = [
        {"protocols": [name], "weight": "core", "verdict": "holds" if one else "fails"}
        for name, each in told.items()
        for one in each
    ]
    words = [book_ledger.summary(["fails", "holds"][one] for one in each) for each in told.values()]
    detail = {"protocols": ["printed"], "weight": "detail", "verdict": "holds"}
    return {
        "id": id,
        "chapter": chapter,
        "verdict": words[0] if holds else ledger.NOT_TESTABLE,
        "verdict_controls": words[1] if controls else None,
        "statements": [*found, detail] if found else [],
    }


ROWS = (
    row("VN-X1", "fig2_spatial", [True, True], [True, False]),
    row("VN-X2", "fig2_spatial", [True], None),
    row("VN-X3", "fig5_mnist", [], None),
    row("NEW-1", "A_predictive_coding", [False, False], [False]),
)


def test_claims_of_any_prefix_and_chapter_are_counted():
    frame = tables.counts_table(counts.by_benchmark(ROWS, ["positions", "digits"])).frame
    assert frame.columns.tolist() == ["claims", *counts.WORDS, "statements", "hold"]
    assert frame.loc[("all", "as printed")].tolist() == [3, 2, 0, 1, 0, 0, 5, 3]
    assert frame.loc[("all", "with controls")].tolist() == [2, 0, 1, 1, 0, 0, 3, 1]
    assert frame.loc[("other chapters", "as printed")].tolist() == [1, 0, 0, 1, 0, 0, 2, 0]
    parts = frame.drop("all", level=0).groupby("protocol").sum()
    assert (parts == frame.loc["all"]).all(axis=None), "no claim vanishes"
    assert counts.weaker(ROWS) == ["VN-X1"]


def test_the_ledger_is_read_without_definitions_and_where_there_is_none_the_page_says_so(tmp_path):
    asked = {"VN-X1": "partly", "VN-X2": None}
    rows = [{"id": name, "verdict": word, "verdict_controls": None} for name, word in asked.items()]
    told = {"claims": rows}
    told["statements"] = [{"claim": "VN-X1", "id": "VN-X1.1"}, {"claim": "VN-X2", "id": "VN-X2.1"}]
    assert counts.read(tmp_path) == []
    for said in (counts.by_verdict([]), tables.counts_table(counts.by_benchmark([], ["digits"]))):
        assert "`vnbook ledger` makes it" in said.data
    (tmp_path / "ledger.json").write_text(json.dumps(told), encoding="utf-8")
    (found,) = counts.read(tmp_path)
    assert found["statements"] == [told["statements"][0]]


def test_chapters_say_which_benchmark_they_belong_to():
    found = {name: counts.benchmark(name) for name in paths.chapters()}
    assert found["fig2_spatial"] == found["FR5_rotation"] == "positions"
    assert found["E_theory"] == counts.OTHERS
    assert set(found.values()) == {"positions", "signals", "forces", "digits", counts.OTHERS}


def test_effects_stand_condition_by_condition(nothing, masked):
    found = effects.changes(nothing | {"fig3_functions": masked})
    frame = tables.effects_table(found, "benchmark", "part", "change").frame
    key = ("signals", "learning + sparsity", "training signals as atoms, solved", "Hard: a block")
    assert frame.loc[key, ("factor", "median")] == pytest.approx(2) and len(frame) == 8 * 3


def test_errors_are_medians_in_percent_with_seeds_that_failed_counted(nothing, drawn):
    results = drawn({"vn_full": 0.01, "cnn4": 0.5})
    results["mse_id"].loc[{"model": "cnn4", "seed": 1}] = 0.2
    frame = tables.errors_table(errors.positions(nothing | {"fig2_spatial": results})).frame
    own = frame.loc[("the hold-out", "vn_full for readers")]
    assert own["out of it"].tolist() == pytest.approx([1.1, 1.0, 1.2, 3])
    assert frame["failed"].values.ravel().tolist() == ["0 of 3 [0 to 71 %]", "1 of 3 [1 to 91 %]"]


def test_hidden_signals_stand_by_kind_network_and_inference(nothing, masked):
    frame = tables.hidden_table(errors.signals(nothing | {"fig3_functions": masked})).frame
    assert frame.columns.get_level_values(0).unique().tolist() == [*names.MASKS.values()]
    assert frame.index.droplevel(0).unique().tolist() == [
        ("VN-1L", "solved"),
        ("VN-1L", "five rounds"),
        ("VN-1L, training signals as atoms", "solved"),
    ]
    # in %: over 8, by the mask's number, tenfold for Hard signals, a quarter if solved
    middles = frame.xs("median", axis=1, level=1)
    assert middles.loc[("Hard", "VN-1L", "five rounds")].tolist() == [1250, 2500, 3750, 5000]
    assert middles.loc[("Easy", "VN-1L", "solved")].tolist() == [31.25, 62.5, 93.75, 125]
    atoms = ("Easy", "VN-1L, training signals as atoms", "solved")
    assert middles.loc[atoms].tolist() == [62.5, 125, 187.5, 250]


def test_digits_are_matched_on_code_length_and_on_error():
    rows = ["vn_1", "dct", "dct_count"]
    values = xr.DataArray(
        [[[[0.1, 0.2]], [[0.1, 0.1]], [[0.3, 0.4]]]], dims=("look", "row", "condition", "seed")
    )
    table = values.assign_coords(
        condition=["single"],
        key=("row", rows),
        name=("row", ["VN", "DCT", "65 cosines"]),
        active=(("row", "condition"), [[65.0], [286], [65]]),
    )
    frame = tables.matched_table(table).frame
    assert frame.index.tolist() == [
        ("equal code length", "65 cosines"),
        ("equal ID error", "DCT"),
    ]
    assert frame["coefficients"].values.ravel().tolist() == [65, 286]
    assert frame[("single", "median")].tolist() == pytest.approx([2.5, 0.75])


def test_orders_say_in_how_many_conditions_they_hold(monkeypatch, table):
    one = orders.Order("positions", "the VN below the CNN", ("vn_full",), ("cnn",))
    monkeypatch.setattr(orders, "ORDERS", {"one": one})
    frame = tables.orders_table({"positions": table}).frame
    (row,) = frame.to_dict("records")
    assert row["surely in"] == "1 of 1"
    assert row["median, one left out"] == pytest.approx(50)


def test_tables_of_nothing_can_be_shown():
    for one in (
        tables.orders_table({"signals": None}),
        tables.errors_table(None),
        tables.hidden_table(None),
        tables.matched_table(None),
        tables.effects_table({}),
    ):
        assert one.frame.empty and "text/html" in one._repr_mimebundle_()


def test_numbers_are_those_of_the_tables(table):
    counted = counts.by_benchmark(ROWS, ["positions"])
    digits = table.assign_coords(condition=["single"], active=(("row", "condition"), [[4.4]] * 4))
    change = {
        ("positions", "readout", "flat"): np.log(
            xr.DataArray([[2.0, 4.0, 3.0], [9.0] * 3], dims=("condition", "seed"))
        )
    }
    said = tables.numbers({"positions": table, "digits": digits}, change, {}, counted, ["VN-X1"])
    said = {key: text.replace("\N{NO-BREAK SPACE}", " ") for key, text in said.items()}
    assert said["summary-positions-flat-the-hold-out-out-of-it"] == "99 %"
    assert said["summary-positions-flat-the-hold-out-in-distribution"] == "9.9 %"
    assert said["summary-change-positions-flat"] == "×3.0 to ×9.0"
    assert said["summary-printed-claims"] == "3" and said["summary-controls-not-reproduced"] == "1"
    assert said["summary-coefficients-flat"] == "4.4" and said["summary-weaker"] == "1"


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        *((1.04, "×1.0"), (0.0037, "×0.0037"), (19301.5, "×19,000"), (np.nan, "")),
        *((2.46e-5, "÷41,000"), (9.9e-9, "÷100,000,000")),
    ],
)
def test_factors_read_as_numbers_do_elsewhere(factor, text):
    assert tables.times(factor) == text


def test_claims_by_verdict_lead_to_their_rules():
    rows = [
        {"id": "VN-X1", "verdict": ledger.REPRODUCED, "verdict_controls": None},
        {"id": "NEW-2", "verdict": ledger.REPRODUCED, "verdict_controls": ledger.PARTLY},
    ]
    shown = counts.by_verdict(rows).data
    assert 'href="../generated/ledger.html#claim-new-2"' in shown
    words = re.sub(r"<[^>]*>", "", shown)
    assert words == "As printed: reproduced VN-X1, NEW-2.With controls: partly NEW-2."
    one_sided = [rows[0] | {"verdict": "other"}]
    assert counts.by_verdict(one_sided).data.count("none.") == 2
