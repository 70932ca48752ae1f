"""The ledger: what a row says, that rules read results and nothing else, their ties to chapters."""

from __future__ import annotations

import builtins
import json
import math
import re
import tomllib
from functools import cache
from pathlib import Path

import fuzz_files
import jsonschema
import nbformat
import pytest
import xarray as xr

from book.site import ledger as book
from book.site import statements
from vnlib.book import chapter, ledger, paths, store
from vnlib.book.ledger import (
    NOT,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    Claim,
    Decision,
    Part,
    all_claims,
)
from vnlib.book.parameters import PROFILES

WORDS = {key: "x" for key in ("source", "chapter", "figure", "statement")}
SHIPPED = paths.RESULTS / "paper"
SCHEMA = json.loads(
    (paths.SOURCE / "book" / "site" / "ledger.schema.json").read_text(encoding="utf-8")
)


def claim(*holds: bool, controls: list[bool] | None = None, id: str = "A", **fields) -> Claim:
    """A claim with parts that hold or not, which reads `y`."""

    def decide(results: xr.Dataset) -> Decision:
        value = float(results["y"].sum())
        parts = [Part(f"part {n}", one, {f"y{n}": value}) for n, one in enumerate(holds)]
        others = None if controls is None else [Part("control", one) for one in controls]
        return Decision(parts, others)

    return Claim(**{**WORDS, "id": id, "decide": decide, **fields})


# --- What a row says ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holds", "controls", "verdict", "verdict_controls"),
    [
        ([True, True], None, REPRODUCED, None),
        ([True, False], [True], PARTLY, REPRODUCED),
        ([False], [False], NOT, NOT),
        ([True], [False], REPRODUCED, NOT),
    ],
)
def test_a_claim_is_what_its_statements_make_of_it(holds, controls, verdict, verdict_controls):
    row, found = book.judge(claim(*holds, controls=controls), xr.Dataset({"y": 1.23456}))
    assert (row["verdict"], row["verdict_controls"]) == (verdict, verdict_controls)
    assert [one["verdict"] == "holds" for one in found] == [*holds, *(controls or [])]
    assert [one["id"] for one in found] == [f"A.{n + 1}" for n in range(len(found))]
    assert row["numbers"] == {f"y{n}": 1.235 for n in range(len(holds))}


def test_numbers_with_controls_do_not_hide_those_as_printed():
    def decide(_: xr.Dataset) -> Decision:
        plain = [Part("a", True, {"same": 1.0, "differs": 1.0})]
        return Decision(plain, [Part("b", True, {"same": 1.0, "differs": 2.0, "new": 3.0})])

    found = book.judge(claim(decide=decide), xr.Dataset())[0]["numbers"]
    assert found == {"same": 1.0, "differs": 1.0, "differs (controls)": 2.0, "new": 3.0}


def test_numbers_that_do_not_exist_are_left_out():
    def decide(_: xr.Dataset) -> Decision:
        return Decision([Part("x", True, {"a": 1.0, "b": math.nan, "c": math.inf})])

    assert book.judge(claim(decide=decide), xr.Dataset())[0]["numbers"] == {"a": 1.0}


def test_what_lacks_is_named_and_not_its_neighbours():
    row, found = book.judge(claim(True), xr.Dataset({"yy": 1.0}))
    assert row["verdict"] == NOT_TESTABLE and row["missing"] == "the results lack 'y'"
    assert found == []


@pytest.mark.parametrize("name", all_claims())
def test_missing_results_are_not_testable(name):
    row, found = book.judge(all_claims()[name], None)
    wanted = None if all_claims()[name].definition else NOT_TESTABLE
    assert row["verdict"] == wanted and row["verdict_controls"] is None
    assert "no results" in row["missing"]
    assert found == [] and row["numbers"] == {}


@pytest.fixture
def both(monkeypatch):
    """A claim decided from its own chapter's results, and one from another's."""

    def decide(results: xr.Dataset) -> Decision:
        return Decision([Part("it is one", float(results["y"].sum()) == 1)])

    found = {
        "own": claim(id="own", decide=decide),
        "other": claim(id="other", decide=decide, reads="z"),
    }
    monkeypatch.setattr(ledger, "all_claims", lambda: found)
    monkeypatch.setattr(book, "fidelity", lambda _: {})  # their chapter is none
    return found


def test_a_claim_is_decided_from_the_chapter_that_it_reads(tmp_path, both):
    """A number of another chapter's file, and not of the claim's own."""
    for name, value in (("x", 0.0), ("z", 1.0)):
        store.write(xr.Dataset({"y": value}), tmp_path / f"{name}.nc")
    found = book.ledger(tmp_path)
    verdicts = {row["id"]: row["verdict"] for row in found["claims"]}
    assert verdicts == {"own": NOT, "other": REPRODUCED}
    assert book.ledger(tmp_path, "x") == found
    assert book.ledger(tmp_path, "z")["claims"] == []
    book.write(found, tmp_path / "ledger.json")
    assert json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8")) == found
    assert not list(tmp_path.glob("*.tmp"))


def test_parts_add_what_the_chapter_s_file_lacks_and_change_nothing_in_it(tmp_path, both):
    seeds = {"seed": [0, 1]}
    whole = xr.Dataset({"y": ("seed", [1.0, 2.0])}, seeds, {"chapter": "z"})
    part = xr.Dataset({"y": ("seed", [9.0]), "more": ("seed", [3.0])}, {"seed": [1]}, whole.attrs)
    store.write(whole, tmp_path / "z.nc")
    one = claim(reads="z", parts=("part", "none"))
    assert "more" not in book.results_of(one, tmp_path)
    store.write(part, tmp_path / "z.part.nc")
    found = book.results_of(one, tmp_path)
    assert found["y"].values.tolist() == [1, 2] and found["seed"].values.tolist() == [0, 1]
    assert found["more"].isnull().values.tolist() == [True, False] and found["more"][1] == 3
    assert book.results_of(claim(), tmp_path) is None, "no results"
    assert book.fingerprint(one, found) != book.fingerprint(one, found.drop_vars("more"))
    store.write(part.assign_attrs(chapter="x"), tmp_path / "z.part.nc")
    with pytest.raises(store.StoreError, match="results of chapter x, not z"):
        book.results_of(one, tmp_path)
    store.write(part.assign_attrs(profile="smoke"), tmp_path / "z.part.nc")
    with pytest.raises(store.StoreError, match=f"results of profile smoke, not {tmp_path.name}"):
        book.results_of(one, tmp_path)


def test_what_is_known_of_the_same_results_is_not_asked_again(tmp_path, both, monkeypatch):
    for name in ("x", "z"):
        store.write(xr.Dataset({"y": 0.0}), tmp_path / f"{name}.nc")
    found = book.ledger(tmp_path)
    book.write(found, tmp_path / "ledger.json")
    asked, made = [], statements.statements
    monkeypatch.setattr(
        statements, "statements", lambda one, *more: asked.append(one.id) or made(one, *more)
    )
    store.write(xr.Dataset({"y": 0.0}, attrs={"git_revision": "new"}), tmp_path / "x.nc")
    assert book.ledger(tmp_path) == found and not asked, "attributes decide nothing"
    store.write(xr.Dataset({"y": 1.0}), tmp_path / "x.nc")
    assert book.ledger(tmp_path) != found and asked == ["own"]
    (tmp_path / "ledger.json").write_text("[]")
    book.ledger(tmp_path)
    assert asked == ["own", "own", "other"], "a file of another form is none"


def test_an_unreadable_result_is_an_error_and_not_a_verdict(tmp_path):
    (tmp_path / "fig2_spatial.nc").write_bytes(b"\x89HDF\r\n\x1a\nbut no more")
    with pytest.raises(store.StoreError, match=r"fig2_spatial\.nc cannot be read"):
        book.ledger(tmp_path)


@pytest.mark.parametrize("wrong", ["axis renamed", "axis missing", "nothing in it"])
def test_results_of_another_form_are_named_with_the_rule_that_reads_them(tmp_path, wrong):
    results = fuzz_files.WRONG[wrong](fuzz_files.trial(tmp_path / "trial.nc"))
    for name in ("chapter", "profile"):  # else it would be named for that
        results.attrs.pop(name, None)
    store.write(results, tmp_path / "fig3_functions.nc")
    with pytest.raises(
        store.StoreError, match=r"fig3_functions\.nc has not the form .* rule of VN-F3a reads \("
    ):
        book.ledger(tmp_path)


@pytest.mark.parametrize("name", all_claims())
def test_every_experiment_is_set_against_the_paper_s(name):
    told = book.fidelity(all_claims()[name])
    assert {*told} == {"data", "sizes", "budget", "inference", "reduced"}
    assert {told[key] for key in told if key != "reduced"} <= {"given", "inferred", "chosen"}


def test_a_claim_s_experiment_is_that_of_the_results_that_it_reads():
    found = {one: book.fidelity(claim) for one, claim in all_claims().items()}
    assert found["VN-H4"] == found["VN-F4b"] != found["VN-H3"], "rollouts are of Fig. 4's networks"
    assert found["VN-F3b"]["inference"] != found["VN-F3c"]["inference"], "nothing is hidden there"


def test_what_a_sidecar_says_of_experiments_is_of_its_own_claims():
    for one in {claim.chapter for claim in all_claims().values()}:
        told = tomllib.loads(paths.sidecar(one).read_text(encoding="utf-8"))
        assert {*told["fidelity"].get("claims", {})} <= {*told["claims"]}


# --- What all rules have in common ----------------------------------------------------------------


@cache
def results_of(folder: Path, *names: str) -> xr.Dataset | None:
    """Results with their parts: claims that read the same are decided from one dataset."""
    of_these = (one for one in all_claims().values() if (one.results, *one.parts) == names)
    return book.results_of(next(of_these), folder)


FILES = ((builtins, "open"), (store, "read"), (xr, "open_dataset"), (xr, "load_dataset"))


def forbidden(*args, **kwargs):
    raise AssertionError("a rule must not open anything")


@cache
def decisions(folder: Path, *names: str) -> dict[str, Decision | str]:
    """What all rules say that read these results, with more in them that they must not ask: they take
    up to a second each, and two tests look at what they say.
    """
    results = results_of(folder, *names).assign_attrs(verdict="reproduced").assign(unasked=1.0)
    before = results.copy(deep=True)
    rules = [one for one in all_claims().values() if (one.results, *one.parts) == names]
    with pytest.MonkeyPatch.context() as patch:
        for module, function in FILES:
            patch.setattr(module, function, forbidden)
        found = {one.id: ledger.decided(one, results) for one in rules}
    xr.testing.assert_identical(results, before)
    return found


READ = sorted({(one.results, *one.parts) for one in all_claims().values()})


@pytest.mark.parametrize("names", READ, ids="+".join)
def test_a_rule_reads_the_dataset_and_nothing_else(names):
    """So it says what the shipped ledger says, which was made of the results alone."""
    if results_of(SHIPPED, *names) is None:
        pytest.skip("no such results here")
    rows = json.loads((SHIPPED / "ledger.json").read_text(encoding="utf-8"))["claims"]
    shipped = {row["id"]: row["numbers"] for row in rows}
    for name, one in decisions(SHIPPED, *names).items():
        assert isinstance(one, Decision)
        assert (
            book.numbers(one) == pytest.approx(shipped[name], rel=1e-3) != {}
        )  # it keeps four digits
        for parts in (one.parts, one.controls or []):
            said = [part.says for part in parts]
            assert len(set(said)) == len(said), "two parts of a rule say the same"
        told = {
            part.says: statements.margins(part.contrasts[0]).tolist()
            for part in one.parts
            if part.contrasts
        }
        for part in one.controls or []:
            if part.says in told:
                same = statements.margins(part.contrasts[0]).tolist()
                assert told[part.says] == same, "one text for two statements"


# --- Ties to the chapters -------------------------------------------------------------------------


@pytest.mark.parametrize("name", all_claims())
def test_chapter_and_figure_of_a_claim_exist(name):
    one = all_claims()[name]
    assert one.id == name and one.chapter in paths.chapters()
    cells = nbformat.read(paths.notebook(one.chapter), as_version=4).cells
    figures = {cell.metadata.get("mystnb", {}).get("figure", {}).get("name") for cell in cells}
    assert one.figure in figures
    assert name in "".join(cell.source for cell in cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("name", all_claims())
def test_statement_and_terms_are_sentences(name):
    one = all_claims()[name]
    assert one.statement.endswith(".") and (not one.terms or one.terms.endswith("."))
    assert re.match(r"(VN|FR) (Figs?|Sec|Eq|App|Prop|Thm)\. ", one.source)
    assert "|" not in one.statement + one.terms, "it would end a cell of the table on its page"


def test_sidecars_and_ledger_name_the_same_claims():
    listed = {
        (name, one) for one in paths.chapters() for name in chapter.spec(one).sidecar["claims"]
    }
    assert listed == {(one.id, one.chapter) for one in all_claims().values()}


@pytest.mark.parametrize("profile", PROFILES)
def test_shipped_ledger_is_what_the_rules_make_of_the_shipped_results(profile):
    """By fingerprints: intervals take minutes. What a statement says costs nothing to ask again."""
    folder = paths.RESULTS / profile
    if not (folder / "ledger.json").exists():
        pytest.skip("no such results here")
    shipped = json.loads((folder / "ledger.json").read_text(encoding="utf-8"))
    jsonschema.validate(shipped, SCHEMA)
    assert [row["id"] for row in shipped["claims"]] == list(all_claims())
    stale = [
        row["id"]
        for row in shipped["claims"]
        if (one := all_claims()[row["id"]])
        and row["fingerprint"] != book.fingerprint(one, results_of(folder, one.results, *one.parts))
    ]
    assert not stale, "run `vnbook ledger`"
    for row in shipped["claims"]:
        one = all_claims()[row["id"]]
        if results_of(folder, one.results, *one.parts) is None:
            continue
        if isinstance(decision := decisions(folder, one.results, *one.parts)[one.id], str):
            continue
        said = [one["says"] for one in shipped["statements"] if one["claim"] == row["id"]]
        assert {*said} == {part.says for part in statements.parts_of(decision)}


def test_every_core_statement_as_printed_says_what_the_paper_prints():
    """Each entry of `printed.toml` is that of a statement, and says something."""
    row = {"claim": "VN-F2d", "says": "x < 1", "weight": "core", "printed": "", "protocols": []}
    assert book.printed(row) == ""
    row["protocols"] = ["printed"]
    assert book.printed(row) == ""
    row["says"] = "OOD/ID ratio of VN-3L per axis over VN-1L's < 1"
    assert book.printed(row) == "improves slightly"
    assert book.printed(row | {"printed": "16 GB"}) == "16 GB"


@pytest.mark.skipif(not SHIPPED.exists(), reason="no shipped ledger")
def test_what_papers_print_is_told_of_all_core_statements_and_of_no_others():
    rows = json.loads((SHIPPED / "ledger.json").read_text("utf-8"))["statements"]
    core = [row for row in rows if row["weight"] == "core" and "printed" in row["protocols"]]
    ours = {name for name, one in all_claims().items() if one.definition}  # no paper prints these
    assert not [row["id"] for row in core if not row["printed"] and row["claim"] not in ours]
    for claim, told in book._printed().items():
        says = [one["says"] for one in rows if one["claim"] == claim]
        for start, text in told.items():
            assert text and any(one.startswith(start) for one in says), (claim, start)
