"""Verdicts that chapters tell in words are those of the ledger: "VN-X *partly*", in a paragraph that
begins with "With controls" those with controls, as is "with controls *partly*" after one as printed.
"""

from __future__ import annotations

import json
import re

import nbformat
import pytest

from vnlib.book import ledger as claims
from vnlib.book import paths

SHIPPED = paths.RESULTS / "paper" / "ledger.json"
WORDS = (claims.REPRODUCED, claims.PARTLY, claims.NOT, claims.UNDECIDED, claims.NOT_TESTABLE)
TOLD = re.compile(
    rf"((?:VN|FR)-[A-Za-z0-9-]+) \*({'|'.join(WORDS)})\*(?:, with controls \*({'|'.join(WORDS)})\*)?"
)


def told(text: str) -> set[tuple[str, str, str]]:
    """Claim, "verdict" or "verdict_controls", and the word for it."""
    found = set()
    for paragraph in re.split(r"\n\s*\n", text):
        first = "verdict_controls" if "**With controls**" in paragraph else "verdict"
        for name, word, controls in TOLD.findall(" ".join(paragraph.split())):
            found.add((name, first, word))
            if controls:
                found.add((name, "verdict_controls", controls))
    return found


ALL = {
    name: set().union(
        *(
            told(cell["source"])
            for cell in nbformat.read(paths.notebook(name), as_version=4)["cells"]
            if cell["cell_type"] == "markdown"
        )
    )
    for name in paths.chapters()
}


def test_words_are_read_with_whose_they_are():
    text = "**As printed** (VN-X *partly*, VN-Y-z\n*not reproduced*) it does.\n\n**With controls** (VN-X *undecided*)"
    assert told(text) == {
        ("VN-X", "verdict", "partly"),
        ("VN-Y-z", "verdict", "not reproduced"),
        ("VN-X", "verdict_controls", "undecided"),
    }
    assert told("(VN-X *reproduced*, with controls *partly*)") == {
        ("VN-X", "verdict", "reproduced"),
        ("VN-X", "verdict_controls", "partly"),
    }


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped ledger")
@pytest.mark.parametrize("name", [name for name, found in ALL.items() if found])
def test_pages_tell_the_verdicts_of_the_ledger(name):
    rows = {one["id"]: one for one in json.loads(SHIPPED.read_text())["claims"]}
    wrong = {one for one in ALL[name] if rows[one[0]][one[1]] != one[2]}
    assert not wrong


def test_most_chapters_tell_their_verdicts():
    assert sum(map(len, ALL.values())) > 50
