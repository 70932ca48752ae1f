"""The ledger: every claim with its statements, what these make of it, and how its experiment differs
from the paper's.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import xarray as xr

from book.site import identifiers, retesting, statements
from book.site.statements import FAILS, HOLDS, NOT_TESTABLE, PROTOCOLS, UNDECIDED, rounded
from vnlib.book import ledger as claims
from vnlib.book import paths, resampling, store
from vnlib.book.ledger import CORE, Claim, Decision
from vnlib.book.store import source_hash
from vnlib.book.store.netcdf import REMEDY

PRINTED = Path(__file__).with_name("printed.toml")
SCHEMA = Path(__file__).with_name("ledger.schema.json")


def summary(verdicts: Iterable[str]) -> str:
    """What the core statements make of their claim: *reproduced* if all hold, *partly* if some hold
    and some fail, *not reproduced* if some fail and none holds or may hold, *not testable* if none
    can be tested, else *undecided*.
    """
    found = set(verdicts)
    if found == {HOLDS}:
        return claims.REPRODUCED
    if {HOLDS, FAILS} <= found:
        return claims.PARTLY
    if FAILS in found and not found & {UNDECIDED, NOT_TESTABLE}:
        return claims.NOT
    return NOT_TESTABLE if found <= {NOT_TESTABLE} else UNDECIDED


def judge(
    one: Claim, results: xr.Dataset | None, found: list[dict] | None = None
) -> tuple[dict, list[dict]]:
    """The row of a claim, and those of its statements (those `found` before, if any), of which there
    are none where results are missing or lack a model.
    """
    keys = ("id", "source", "chapter", "figure", "statement", "terms", "definition")
    row = {key: getattr(one, key) for key in keys}
    row |= {"verdict": None if one.definition else NOT_TESTABLE, "verdict_controls": None}
    row |= {"missing": "", "numbers": {}}
    results = results if results is None else one.of_all(claims.known(results))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the median of runs that there are not
        decision = claims.decided(one, results)
    if results is None or isinstance(decision, str):
        return row | {"missing": decision}, []
    found = statements.statements(one, results, decision) if found is None else found
    ids = identifiers.identified(one.id, [row["says"] for row in found], identifiers.given())
    found = [row | {"id": ids[row["says"]], "printed": printed(row)} for row in found]
    plain, controls = (
        [one["verdict"] for one in found if name in one["protocols"] and one["weight"] == CORE]
        for name in PROTOCOLS
    )
    row["numbers"] = numbers(decision)
    if not one.definition:  # its statements are checks, and nothing is claimed
        row["verdict"] = summary(plain)
    if decision.controls is not None:
        row["verdict_controls"] = summary(controls)
    return row, found


@cache
def _printed() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads(PRINTED.read_text(encoding="utf-8"))


def printed(row: Mapping) -> str:
    """What the paper prints for a statement: by its rule, or by `printed.toml`."""
    known = _printed().get(row["claim"], {}) if PROTOCOLS[0] in row["protocols"] else {}
    for start in sorted(known, key=len, reverse=True):
        if not row["printed"] and row["says"].startswith(start):
            return known[start]
    return row["printed"]


def numbers(decision: Decision) -> dict[str, float]:
    """The numbers that a decision rests on; those that do not exist, such as a slope that could not
    be fitted, are left out.
    """
    found, more = (
        {name: value for part in parts for name, value in part.numbers.items()}
        for parts in (decision.parts, decision.controls or ())
    )
    # The same measure with controls is another number, unless it has the same value.
    found |= {n if found.get(n, v) == v else f"{n} (controls)": v for n, v in more.items()}
    told = {name: rounded(float(value)) for name, value in found.items()}
    return {name: value for name, value in told.items() if value is not None}


def fingerprint(one: Claim, results: xr.Dataset | None) -> str:
    """What the statements of a claim are made from: the values of its results but for the hash of
    their code, the source of its rule and of what resamples it.
    """
    found = hashlib.sha256(f"{one.id} {one.cases} {one.means}".encode())
    start = {source_hash.Reference("", one.decide.__module__)}
    rule = source_hash.closure(start, paths.SOURCE, presenting=True)
    for file in (
        *(rule[name] for name in sorted(rule)),
        resampling.__file__,
        retesting.__file__,
        statements.__file__,
    ):
        found.update(Path(file).read_bytes())
    for name, values in sorted(results.variables.items() if results else ()):
        if name == "run_source_hash":  # no rule reads which code it was
            continue
        found.update(f"{name} {values.dims} {values.shape} {values.dtype}".encode())
        data = values.values
        found.update(data.astype(str).tobytes() if data.dtype.kind == "O" else data.tobytes())
    return found.hexdigest()[:12]


def results_of(one: Claim, folder: Path) -> xr.Dataset | None:
    """What a claim is decided from: its chapter's result file, and the variables that this lacks of
    its `parts` that there are. StoreError for a file that cannot be read, or is of another chapter or
    profile than its place says.
    """
    path = folder / f"{one.results}.nc"
    if not path.exists():
        return None
    found = store.of(store.read(path), path, chapter=one.results, profile=folder.name)
    for part in one.parts:
        if (file := folder / f"{one.results}.{part}.nc").exists():
            more = store.of(store.read(file), file, chapter=one.results, profile=folder.name)
            found = found.assign({name: more[name] for name in more if name not in found})
    return found


def ledger(folder: Path, chapter: str | None = None) -> dict:
    """All claims (of one chapter) with their statements, from the result files in `folder`, which
    is <results_dir>/<profile>. What its ledger.json says of the same results by the same rules is
    taken from there.

    Raises
    ------
    StoreError
        For a result file that cannot be read, or is not of the form that a rule reads.
    """
    known, files, rows, found = _known(folder / "ledger.json"), {}, [], []
    for one in claims.all_claims().values():
        if chapter not in (None, one.chapter):
            continue
        path = folder / f"{one.results}.nc"
        name = (one.results, *one.parts)
        if name not in files:
            files[name] = results_of(one, folder)
        key = fingerprint(one, files[name])
        before = known.get((one.id, key))
        try:
            row, more = judge(one, files[name], before)
        except (IndexError, TypeError, ValueError) as error:
            said = f"{path} has not the form that the rule of {one.id} reads ({error})"
            raise store.StoreError(f"{said}; {REMEDY}") from error
        rows.append(row | {"fidelity": fidelity(one), "fingerprint": key})
        found += more
    return {
        "level": resampling.LEVEL,
        "band": statements.BAND,
        "claims": rows,
        "statements": found,
    }


def fidelity(one: Claim) -> dict[str, str]:
    """How the experiment that decides a claim stands to the paper's: data, sizes, budget and inference
    are *given* by the paper, *inferred* from what it says, or *chosen*; what is `reduced`. From the
    sidecar of the chapter whose results it reads, and what its own says of this claim alone. Nothing
    where the chapter is not in this checkout.
    """
    whole, own = _fidelity(one.results), _fidelity(one.chapter)
    told = {key: said for key, said in whole.items() if isinstance(said, str)}
    return told | own.get("claims", {}).get(one.id, {})


def _fidelity(chapter: str) -> dict:
    """What a chapter's sidecar says of its experiment."""
    path = paths.sidecar(chapter)
    told = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return told.get("fidelity", {})


def _known(path: Path) -> Mapping[tuple[str, str], list[dict]]:
    """The statements in a ledger.json, by claim and fingerprint; nothing where it is none."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return {
            (row["id"], row["fingerprint"]): [
                one for one in told["statements"] if one["claim"] == row["id"]
            ]
            for row in told["claims"]
        }
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write(found: Mapping, path: Path) -> None:
    """Write the ledger as JSON, in one step."""
    paths.replace(path, json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
