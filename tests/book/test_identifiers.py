"""A statement keeps its number for good: links and citations lead to it."""

from __future__ import annotations

import json

from book.site import identifiers
from vnlib.book import paths

KNOWN = {"VN-X": {"first": 1, "asked no more": 2, "third": 4}}


def test_a_sentence_keeps_its_number_wherever_it_stands():
    found = identifiers.identified("VN-X", ["third", "first"], KNOWN)
    assert (found["third"], found["first"]) == ("VN-X.4", "VN-X.1")


def test_a_new_sentence_has_a_number_that_no_other_ever_had():
    found = identifiers.identified("VN-X", ["new", "first", "newer"], KNOWN)
    assert (found["new"], found["newer"]) == ("VN-X.5", "VN-X.6")
    assert identifiers.identified("VN-Y", ["one", "two"], KNOWN)["two"] == "VN-Y.2"


def test_new_numbers_are_kept_and_old_ones_stay(tmp_path):
    file = tmp_path / "identifiers.json"
    file.write_text(json.dumps(KNOWN), encoding="utf-8")
    rows = [
        {"id": "VN-X.4", "claim": "VN-X", "says": "third"},
        {"id": "VN-X.5", "claim": "VN-X", "says": "new"},
    ]
    identifiers.keep({"statements": rows}, file)
    assert identifiers.given(file) == {"VN-X": KNOWN["VN-X"] | {"new": 5}}
    before = file.stat().st_mtime_ns
    identifiers.keep({"statements": rows}, file)
    assert file.stat().st_mtime_ns == before, "nothing new, nothing written"


def test_every_statement_has_a_number_of_its_own():
    known = identifiers.given()
    for claim, numbers in known.items():
        assert len({*numbers.values()}) == len(numbers), claim
    file = paths.RESULTS / "paper" / "ledger.json"
    shipped = json.loads(file.read_text(encoding="utf-8"))["statements"]
    for row in shipped:
        assert row["id"] == f"{row['claim']}.{known[row['claim']][row['says']]}"
    assert len({row["id"] for row in shipped}) == len(shipped)
