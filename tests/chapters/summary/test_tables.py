"""Counts of claims, tables of factors and errors, and the numbers of the prose."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from book.site import ledger as book_ledger
from chapters.summary import counts, swaps, tables
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


def test_the_ledger_is_read_without_definitions_and_must_be_there(tmp_path):
    told = {"claims": [{"id": "VN-X1", "definition": False}, {"id": "VN-X2", "definition": True}]}
    told["statements"] = [{"claim": "VN-X1", "id": "VN-X1.1"}, {"claim": "VN-X2", "id": "VN-X2.1"}]
    with pytest.raises(ValueError, match=r"ledger\.json does not exist; run `vnbook ledger"):
        counts.read(tmp_path)
    (tmp_path / "ledger.json").write_text(json.dumps(told), encoding="utf-8")
    (found,) = counts.read(tmp_path)
    assert found["statements"] == [told["statements"][0]]


def test_chapters_say_which_benchmark_they_belong_to():
    found = {name: counts.benchmark(name) for name in paths.chapters()}
    assert found["fig2_spatial"] == found["FR5_rotation"] == "positions"
    assert found["E_theory"] == counts.OTHERS
    assert set(found.values()) == {"positions", "signals", "forces", "digits", counts.OTHERS}


def test_what_decides_has_the_factors_of_every_changed_part(table):
    table["inside"] = table["inside"].copy(data=table["inside"].values * [[1], [1], [0.5], [1]])
    frame = tables.parts_table({"positions": table, "signals": None}).frame
    assert frame.index.tolist() == [
        ("positions", "dictionary", "random, frozen"),
        ("positions", "readout", "flat and linear"),
    ]
    assert frame.to_numpy() == pytest.approx(np.array([[2, 2], [90, 45]]))


def test_errors_are_medians_and_ranges_in_percent(table):
    frame = tables.errors_table({"positions": table, "signals": None}).frame
    own = frame.loc[("positions", "vn_full for readers"), "OOD"]
    assert own.tolist() == pytest.approx([1.1, 1.0, 1.2])


def test_tables_of_nothing_can_be_shown():
    for one in (
        tables.counts_table({}),
        tables.parts_table({"signals": None}),
        tables.errors_table({"signals": None}),
    ):
        assert one.frame.empty and "text/html" in one._repr_mimebundle_()


def test_numbers_are_those_of_the_tables(table, monkeypatch):
    monkeypatch.setattr(swaps, "coefficients", lambda results: 4.41)
    monkeypatch.setattr(swaps, "scattered", lambda results: {"vn-1": 12.0})
    counted = counts.by_benchmark(ROWS, ["positions"])
    nothing = dict.fromkeys(("fig3_functions", "fig5_mnist"))
    said = tables.numbers(nothing, {"positions": table}, counted, ["VN-X1"])
    said = {key: text.replace("\N{NO-BREAK SPACE}", " ") for key, text in said.items()}
    assert said["summary-positions-flat-ood"] == "99 %"
    assert said["summary-positions-flat-id"] == "9.90 %"
    assert said["summary-positions-factor-flat"] == "×90"
    assert said["summary-printed-claims"] == "3" and said["summary-controls-not-reproduced"] == "1"
    assert said["summary-digits-coefficients"] == "4.41" and said["summary-weaker"] == "1"


@pytest.mark.parametrize(
    ("factor", "text"), [(1.0, "×1.00"), (0.0037, "×0.004"), (19301, "×19,300"), (np.nan, "")]
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
    assert counts.by_verdict([]).data.count("none.") == 2
