"""What a chapter says in the end about its claims is what the shipped ledger says."""

from __future__ import annotations

import json
import re

import nbformat
import pytest

from vnlib.book import chapter, paths
from vnlib.book import ledger as claims

HEAD = "Verdicts|What held, and what did not"
SECTION = re.compile(rf"^## (?:{HEAD})$(.*?)(?=^## )", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"\b((?:VN|FR)-\w+) \*([a-z ]+)\*")
PARTS = (("**As printed**", "verdict"), ("**With controls**", "verdict_controls"))
BOTH = re.compile(r"\b((?:VN|FR)-[\w-]+) \*([a-z ]+)\*, with controls \*([a-z ]+)\*")
THEOREM = re.compile(r"\b((?:VN|FR)-[\w-]+), with controls \*([a-z ]+)\*")  # none as printed
LEDGER = paths.RESULTS / "paper" / "ledger.json"


def ending(name: str) -> str | None:
    """The section that ends a chapter, before its settings; None where there is none."""
    cells = nbformat.read(paths.notebook(name), as_version=4).cells
    found = SECTION.search(
        "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    )
    return found and found[1]


# Some go protocol by protocol, some claim by claim.
ENDINGS = {
    name: text for name in paths.chapters() if (text := ending(name)) and PARTS[0][0] in text
}
BY_CLAIM = {
    name: text
    for name in paths.chapters()
    if (text := ending(name)) and BOTH.search(" ".join(text.split()))
}


@pytest.mark.skipif(not LEDGER.exists(), reason="no shipped ledger")
@pytest.mark.parametrize("name", sorted(ENDINGS))
@pytest.mark.parametrize(("start", "key"), PARTS)
def test_an_ending_names_the_verdicts_of_the_ledger(name, start, key):
    said = next(part for part in ENDINGS[name].split("\n\n") if part.strip().startswith(start))
    rows = {row["id"]: row for row in json.loads(LEDGER.read_text(encoding="utf-8"))["claims"]}
    asked = {one: rows[one][key] for one in chapter.spec(name).sidecar["claims"] if rows[one][key]}
    assert dict(NAMED.findall(" ".join(said.split()))) == asked


@pytest.mark.skipif(not LEDGER.exists(), reason="no shipped ledger")
@pytest.mark.parametrize("name", sorted(BY_CLAIM))
def test_an_ending_by_claim_names_both_verdicts_of_the_ledger(name):
    text = " ".join(BY_CLAIM[name].split())
    said = {one: verdicts for one, *verdicts in BOTH.findall(text)}
    said |= {one: [None, verdict] for one, verdict in THEOREM.findall(text)}
    rows = {row["id"]: row for row in json.loads(LEDGER.read_text(encoding="utf-8"))["claims"]}
    assert said == {
        one: [rows[one][key] for _, key in PARTS] for one in chapter.spec(name).sidecar["claims"]
    }


def test_a_verdict_is_found_in_a_sentence():
    assert ENDINGS and NAMED.findall("(VN-F4b *not reproduced*, FR-A *partly*)") == [
        ("VN-F4b", claims.NOT),
        ("FR-A", claims.PARTLY),
    ]
    one = ("VN-F-ent", claims.NOT, claims.PARTLY)
    assert BY_CLAIM and BOTH.findall("({} *{}*, with controls *{}*)".format(*one)) == [one]
