"""The page "What changed": the first edition's verdicts beside today's, each change with a reason."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import xarray as xr

from book.site import editions
from vnlib.book import ledger as claims
from vnlib.book import paths, store

FIRST = editions.read()
LEDGER = json.loads((paths.RESULTS / "paper" / "ledger.json").read_text(encoding="utf-8"))


def row(name: str, printed: str | None, controls: str | None, **more: object) -> dict:
    return {
        "id": name,
        "verdict": printed,
        "verdict_controls": controls,
        "definition": False,
    } | more


def test_what_is_kept_is_what_the_history_has():
    there = subprocess.run(
        ["git", "cat-file", "-e", editions.REVISION], cwd=paths.ROOT, capture_output=True
    )
    if there.returncode:
        pytest.skip("this checkout has no history")
    assert editions.first_edition() == FIRST


def test_a_page_counts_the_verdicts_that_differ_and_names_them(tmp_path):
    first = FIRST | {
        "claims": {
            "VN-A": ["partly", "partly"],
            "VN-B": ["partly", None],
            "VN-X": ["partly", None],
        },
        "seeds": {"x": 3, "y": 3},
    }
    ds = xr.Dataset({"error": ("seed", [1.0] * 5)}, attrs={"chapter": "x", "profile": "fast"})
    store.write(ds, tmp_path / "x.nc")
    rows = [
        row("VN-A", "partly", "partly"),
        row("VN-B", "reproduced", None),
        row("VN-N", "partly", None),
    ]
    rows.append(row("VN-X", "reproduced", None, definition=True))
    page = editions.page(first, {"claims": rows}, tmp_path)
    assert "Of its 2 claims, 1 have another verdict today as printed and 0 with controls" in page
    assert "1 read *partly* then" in page and "The 1 claims" in page
    assert "VN-B</a> | partly → **reproduced** | no verdict |" in page
    assert editions.page(None, {"claims": rows}, tmp_path) == editions.NONE_KEPT
    assert "VN-A<" not in page and "VN-N" not in page and "VN-X" not in page
    assert "| [](chapters/x.ipynb) | 3 → **5** |" in page and "chapters/y" not in page


def test_each_change_of_a_verdict_has_its_reason():
    page, reasons = editions.page(FIRST, LEDGER, paths.RESULTS / "paper"), editions.why()
    moved = re.findall(r">([\w-]+)</a> \|", page)
    assert moved and set(moved) <= reasons.keys() <= claims.all_claims().keys()


def test_what_is_still_open_is_said_of_the_chapters_that_ask_for_it():
    """Twice the updates are asked for in these, and half of the chapters have eight seeds."""
    asked = {
        one["claim"]
        for one in LEDGER["statements"]
        if any("twice the updates" in need["says"] for need in one["needs"])
    }
    chapters = {one["chapter"] for one in LEDGER["claims"] if one["id"] in asked}
    figures = {name for name in paths.chapters() if name.startswith("fig")}
    appendices = {f"{letter}_" for letter in "ABDFGHI"}
    assert (
        figures <= chapters
        and {name[:2] for name in chapters - figures} - {"FR", "be"} == appendices
    )
    assert {"FR4_stripes", "beyond_continual"} == {n for n in chapters if n[:2] in ("FR", "be")}
    files = [
        path for path in (paths.RESULTS / "paper").glob("*.nc") if path.stem in paths.chapters()
    ]
    seeds = [n for n in (store.read(path).sizes.get("seed") for path in files) if n]
    assert 0.4 < seeds.count(8) / len(seeds) < 0.5, "nearly half"
