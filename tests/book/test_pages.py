"""The pages that are written: the ledger, its headlines, and where results come from."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pytest
import xarray as xr
from ledger_cases import ledger_of, page, row, told
from store_cases import stored

from benchmarks.spatial.errors import reported
from book.site import build, ledger_page, statements
from vnlib.book import html, paths, store
from vnlib.book import ledger as claims
from vnlib.book.store import provenance
from vnlib.book.store import source_hash as source
from vnlib.plots.statistics import over_seeds, short


def test_changed_rules_are_told_where_their_claims_are(tmp_path, monkeypatch):
    file = tmp_path / "rules.toml"
    file.write_text('[[change]]\nclaims = ["VN-X1", "VN-X2"]\nwhat = "a < b"\nwhy = "c"\n')
    monkeypatch.setattr(ledger_page, "CHANGES", file)
    assert '| <a href="#claim-vn-x1">VN-X1</a> | a &lt; b | c |' in page([row()])
    assert "Rules that were changed" not in page([row(id="VN-X3")])


def test_changes_of_rules_name_claims_that_there_are():
    changes = tomllib.loads(ledger_page.CHANGES.read_text(encoding="utf-8"))["change"]
    assert all({*one} == {"claims", "what", "why"} for one in changes)
    assert {name for one in changes for name in one["claims"]} <= {*claims.all_claims()}


def test_claims_are_grouped_and_counted_by_paper_and_definitions_are_none():
    rows = [
        row(),
        row(id="VN-X2", verdict=claims.NOT, verdict_controls=claims.NOT),
        row(id="VN-X3", verdict=claims.REPRODUCED, definition=True),
        row(id="FR-9", verdict=claims.REPRODUCED),
    ]
    asked = [
        told(protocols=["printed", "controls"], verdict=statements.FAILS),
        told(place=2, weight=claims.DETAIL),
        told("VN-X2", protocols=["printed"]),
        told("VN-X3"),
        told("FR-9", protocols=["printed"], verdict=statements.TIE),
    ]
    text = page(rows, *asked)
    ours, theirs = text.index("\n## Vector Networks"), text.index("\n## Forced Rendering")
    assert ours < text.index('id="claim-vn-x2"') < theirs < text.index('id="claim-fr-9"')
    assert text.count("\ndefinition or theorem, not counted") == 1
    for counted in (text, ledger_page.headlines(ledger_of(rows, *asked), "paper")):
        assert "| core statements | holds | fails | tie |" in counted, "only verdicts that occur"
        assert "| Vector Networks: as printed | 1 | 1 | 0 |" in counted
        assert "| Vector Networks: with controls | 0 | 1 | 0 |" in counted
        assert "| Forced Rendering: as printed | 0 | 0 | 1 |" in counted
        assert "| Forced Rendering: with controls" not in counted


def test_counts_in_words_are_of_claims_and_core_statements():
    rows = [
        row(verdict_controls=claims.NOT),
        row(id="VN-X2", verdict=claims.NOT),
        row(id="VN-X3", verdict=claims.REPRODUCED, definition=True),
    ]
    told_of = [
        told(),
        told(place=2, verdict=statements.FAILS, protocols=["printed", "controls"]),
        told(place=3, verdict=statements.TIE),
        told(place=4, weight="detail"),
        told(claim="VN-X2", verdict=statements.UNDECIDED),
        told(claim="VN-X3"),
    ]
    found = {"claims": rows, "statements": told_of}
    assert ledger_page.in_words(found) == (
        "As printed, 2 claims: 1 partly, 1 not reproduced; their 4 core statements: 1 hold, 1 fail, "
        "1 tie, 1 undecided. With controls, 1 core statements, those of theorems and "
        "definitions among them: 1 fail."
    )


SHIPPED = paths.ROOT / "results" / "paper" / "ledger.json"


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped ledger")
def test_readme_landing_page_and_ledger_tell_the_same_counts():
    """A new ledger needs a new paragraph in the README: it is what the assertion wants."""
    found = json.loads(SHIPPED.read_text(encoding="utf-8"))
    counted = ledger_page.in_words(found)
    assert counted in words((paths.SOURCE / "README.md").read_text(encoding="utf-8"))
    for page_text in (ledger_page.headlines(found, "paper"), ledger_page.ledger(found, "paper")):
        assert counted in page_text
    assert "{include} generated/headlines.md" in (paths.BOOK / "intro.md").read_text("utf-8")


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped ledger")
def test_no_claim_that_holds_whole_as_printed_does_with_controls():
    rows = [one for one in json.loads(SHIPPED.read_text())["claims"] if not one["definition"]]
    asked = [one for one in rows if one["verdict"] == claims.REPRODUCED and one["verdict_controls"]]
    whole = [one["id"] for one in asked if one["verdict_controls"] == claims.REPRODUCED]
    assert not whole and len(asked) > 10
    for page_text in (paths.BOOK / "intro.md", paths.SOURCE / "README.md"):
        said = "No claim that holds whole as printed holds whole with controls"
        assert said in words(page_text.read_text(encoding="utf-8"))


def test_the_first_page_shows_a_machine_and_pictures_of_stored_results():
    """Each picture is a figure of a chapter, with the same alternative text as there."""
    text = (paths.BOOK / "intro.md").read_text(encoding="utf-8")
    assert text.index("{schematic} layer") < text.index("vn-story") < text.index("{figure}")
    told = dict(re.findall(r"generated/([\w-]+)\.\*\n:alt: (.+)\n", text))
    assert set(told) == build._on_pages() == {"fig2-hold-out", "summary-swaps"}
    for name in ("fig2_spatial", "summary"):
        notebook = json.loads(paths.notebook(name).read_text(encoding="utf-8"))
        meta = [one["metadata"].get("mystnb", {}) for one in notebook["cells"]]
        alts = {m["figure"]["name"]: m.get("image", {}).get("alt") for m in meta if m}
        assert all(alts[label] == told[label] for label in told if label in alts)
        assert set(alts) & set(told)


def test_readme_landing_page_and_summary_tell_the_same_meaning():
    readme = (paths.SOURCE / "README.md").read_text(encoding="utf-8")
    (told,) = [words(part) for part in readme.split("\n\n") if part.startswith("Models compose")]
    meaning = told[: told.index(" In the built book")]
    assert meaning.count(". ") == 3
    assert meaning in words((paths.BOOK / "intro.md").read_text(encoding="utf-8"))
    notebook = json.loads(paths.notebook("summary").read_text(encoding="utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown"]
    assert any(meaning in words(text) for text in cells)


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped results")
def test_what_the_first_page_says_of_depth():
    """Errors of three layers over those of one, within seeds."""

    def layers(chapter, three, one, variable="mse", **at):
        with xr.open_dataset(SHIPPED.parent / f"{chapter}.nc") as results:
            errors = results[variable].sel(at)
            return over_seeds(errors.sel(model=three) / errors.sel(model=one))

    text = words((paths.BOOK / "intro.md").read_text(encoding="utf-8"))
    masks = {"variable": "hidden", "protocol": "mask_aware", "set": "hard"}
    signals = layers("fig3_functions", "vn_3", "vn_1", **masks)
    end, scattered = signals.sel(mask="forecast_25"), signals.sel(mask="random_30")
    assert f"({short(end['median'].item())} times as much for the last quarter)" in text
    assert f"more where scattered samples are ({short(scattered['median'].item())} times)" in text
    assert (signals["high"].sel(mask=["forecast_25", "forecast_50"]) < 1).all()
    assert scattered["low"] > 1
    four = {"inference": "joint", "forces": "gravity+spring+drag+lorentz", "bodies": 5}
    literal, gated, tokens = (
        layers("fig4_nbody", f"vn_{kind}_3", f"vn_{kind}_1", **four)
        for kind in ("literal", "gated", "token")
    )
    assert "about twice as much on literal and on gated input; on tokens undecided" in text
    assert all(1.8 < one["median"] < 2.2 and one["low"] > 1 for one in (literal, gated))
    assert tokens["low"] < 1 < tokens["high"]
    digits = layers("fig5_mnist", "vn_3", "vn_1", reading="own").dropna("set")
    assert (digits["low"] > 1).all() and digits.sizes["set"] > 10
    more = [f"{100 * (end(digits['median']) - 1):.0f}" for end in (np.min, np.max)]
    assert f"errs more on every set, by {' to '.join(more)} % in the median" in text
    models = tomllib.loads(paths.notebook("fig5_mnist").with_suffix(".toml").read_text("utf-8"))
    steps = [models["models"][name]["steps"] for name in ("vn_3", "vn_1")]
    assert f"({steps[0]}, not {steps[1]})" in text
    with xr.open_dataset(SHIPPED.parent / "F_spatial.nc") as results:
        per_axis = reported(results)["mse_ood"]
        two = {
            kind: over_seeds(
                per_axis.sel(model=f"vn_2_{kind}") / per_axis.sel(model=f"vn_1_{kind}")
            )
            for kind in ("8", "16", "8_longer", "16_longer")
        }
    assert (
        "with codes of at most 16 active atoms two layers surely have less error than one" in text
    )
    assert two["16"]["high"] < 1 and two["16_longer"]["high"] < 1
    assert two["8"]["high"] > 1 and two["8_longer"]["high"] > 1
    rows = json.loads(SHIPPED.read_text(encoding="utf-8"))["statements"]
    asked = [one for one in rows if one["claim"] == "VN-T2" or one["id"] == "VN-F2d.4"]
    assert {one["verdict"] for one in asked} == {claims.UNDECIDED} and len(asked) > 5


@pytest.mark.parametrize(("profile", "warned"), [("smoke", True), ("fast", True), ("paper", False)])
def test_headlines_warn_of_results_that_are_not_the_shipped_ones(profile, warned):
    text = ledger_page.headlines(ledger_of([row()], told()), profile)
    assert ("{warning}" in text) == warned and ("`make book`" in text) == warned
    assert "Vector Networks: as printed" in text
    assert "It works." not in text, "claims are for the ledger's own page"


def test_status_page_tells_where_results_come_from(project, tmp_path):
    page = ledger_page.status(tmp_path, "fast")
    assert (
        "| [](../chapters/tiny.ipynb) | no results in this profile |" in page
        and "`fast` results" in page
    )
    stored(tmp_path / "tiny.nc")
    page = ledger_page.status(tmp_path, "fast")
    line = next(line for line in page.splitlines() if "chapters/tiny.ipynb" in line)
    assert "current" in line and "../../data/tiny.nc" in line
    (machine,) = (line for line in page.splitlines() if line.endswith(": all chapters"))
    assert provenance.hardware() in machine and f"torch {provenance.versions()['torch']}" in machine
    widths = {text.count("|") for text in page.splitlines() if text.startswith("|")}
    assert len(widths) == 1


def test_status_has_the_chapters_in_the_order_of_the_book(reader, tmp_path):
    (reader / "_toc.yml").write_text("- file: book/chapters/tiny\n- file: book/chapters/alpha\n")
    page = ledger_page.status(tmp_path, "fast")
    assert page.index("chapters/tiny.ipynb") < page.index("chapters/alpha.ipynb")
    (reader / "_toc.yml").write_text("- file: book/chapters/alpha\n")
    page = ledger_page.status(tmp_path, "fast")
    assert page.index("chapters/alpha.ipynb") < page.index("chapters/tiny.ipynb"), (
        "what is not listed comes last"
    )


def test_status_says_that_the_library_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "0123456789ab")
    stored(tmp_path / "x.nc")
    assert provenance.facts(store.read(tmp_path / "x.nc"))["library"] == "current"
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "ba9876543210")
    facts = provenance.facts(store.read(tmp_path / "x.nc"))
    assert facts["library"] == "changed since (0123456789ab)"
    assert facts["runs"] == "2"


def test_compute_time_is_that_of_all_parts_of_one_variant(tmp_path, monkeypatch):
    """A chapter's own file may hold next to nothing of it, as that of the costs does."""
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "0123456789ab")
    for name in ("x", "x.longer", "x.longer--a=b", "x--a=b", "xy.longer"):
        stored(tmp_path / f"{name}.nc", chapter="x", profile="fast")
        results = store.read(tmp_path / f"{name}.nc")
        results["run_wall_time"][:] = 30.0
        store.write(results, tmp_path / f"{name}.nc")
    parts = paths.parts(tmp_path / "x.nc", "x")
    assert [one.name for one in parts] == ["x.longer.nc"]
    (other,) = paths.parts(tmp_path / "x--a=b.nc", "x")
    assert other.name == "x.longer--a=b.nc"
    files = [store.read(tmp_path / "x.nc"), *map(store.read, parts)]
    assert provenance.facts(*files)["time"] == "2.0 min"
    files[0]["run_wall_time"][:] = 9_540.0
    assert provenance.facts(*files)["time"] == "5.3 h"
    assert provenance.facts(*files)["runs"] == "4"
    monkeypatch.setattr(ledger_page.store, "of", lambda results, path, **named: results)
    assert ledger_page.facts(tmp_path / "x.nc")["runs"] == "4"


def test_a_footer_names_the_chapter_whose_runs_it_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "source_hash", lambda *args: "0123456789ab")
    stored(tmp_path / "x.nc", chapter="x", profile="fast")
    results = store.read(tmp_path / "x.nc")
    assert "2 runs;" in html.footer("x", [results], "fast", "make")
    assert "2 runs of made up;" in html.footer("y", [results], "fast", "make")
    results.attrs["hardware"] = "a CPU, 2 cores, a GPU"
    assert "2 runs<" in html.footer("x", [results], "fast", "make"), "two share a GPU"


def test_status_and_footer_go_by_the_source_of_the_chapter(project, vnbook):
    """An edit of what the chapter does not import leaves its results current; an edit of what it
    computes does not.
    """
    assert vnbook("run", "tiny", "--quiet").code == 0
    results = store.read(project / "results" / "smoke" / "tiny.nc")
    assert (
        results.attrs["source_hash"] == provenance.source_hash("tiny") != provenance.source_hash()
    )
    assert provenance.facts(results)["library"] == "current"
    executed = project / "results" / "executed" / "smoke" / "tiny.ipynb"
    assert f"current; its source is now {provenance.source_hash('tiny')}" in executed.read_text(
        encoding="utf-8"
    )

    study = project / "chapters" / "tiny" / "study.py"
    text = study.read_text(encoding="utf-8")
    for old, new, current in (
        ("import xarray as xr", "import xarray as xr  # labelled arrays", True),
        ("seed times width", "the width times the seed", True),
        ("> 9", "> 8", False),
    ):
        study.write_text(text.replace(old, new), encoding="utf-8")
        source._hash_once.cache_clear()  # as in a new process
        library = provenance.facts(results)["library"]
        assert (library == "current") is current and (current or "changed since" in library)


@pytest.mark.parametrize("page", sorted(paths.BOOK.glob("*.md")), ids=lambda page: page.stem)
def test_a_fence_has_no_backticks_in_its_first_line(page):
    """It would be no fence, and swallow what follows, without a warning."""
    lines = page.read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if line.startswith("```") and "`" in line.lstrip("`")]
