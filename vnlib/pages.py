"""Pages of the book that are lists of what the results say: the ledger and the status."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from vnlib import chapter, claims, provenance, store
from vnlib.netcdf import REMEDY
from vnlib.panels import COLOR
from vnlib.weight import PLACE

PAPERS = {"Vector Networks": "VN-", "Forced Rendering": "FR-"}  # and how the ids of their claims begin
VERDICTS = (claims.REPRODUCED, claims.PARTLY, claims.NOT, claims.NOT_TESTABLE)

# What the landing page says of results that are not the shipped ones.
REMARKS = {
    "smoke": "These pages were built from `smoke` runs, which only test the machinery: their numbers and verdicts mean "
    "nothing. `make book` builds them from the shipped results.",
    "fast": "These pages were built from `fast` runs: fewer seeds, shorter training, no tuning. `make book` builds "
    "them from the shipped results.",
}


def ledger(rows: Sequence[Mapping], profile: str) -> str:
    """The ledger as a page: counts, one row per claim, then every rule with the numbers it was decided on."""
    lines = [
        "# The ledger",
        "",
        f"Every claim that the built chapters cover, decided from the `{profile}` results by a rule that was written "
        "before the out-of-distribution numbers of the shipped runs were looked at; those of smaller trials were "
        "known. *Fair* adds our controls and tunes the baselines like everything else. The same as data: "
        '<a href="../../data/ledger.json" download>ledger.json</a>.',
        "",
        *_counts(rows),
    ]
    for paper, prefix in PAPERS.items():
        if covered := [row for row in rows if row["id"].startswith(prefix)]:
            lines += ["", f"## {paper}", "", *_table(covered)]
    lines += ["", "## Rules and numbers"]
    for row in rows:
        lines += ["", f"({_anchor(row)})=", f"### {row['id']}: {row['verdict']}", ""]
        lines += [f"*{row['source']}, [{row['figure']}](#{row['figure']}).* {row['statement']}"]
        lines += ["", f"**Rule.** {row['rule']}", ""]
        if row.get("missing"):
            lines += [f"Not testable: {row['missing']}.", ""]
        for title, parts in (("Paper's protocol", row["parts"]), ("Fair", row["parts_fair"])):
            if parts:
                lines += [f"**{title}.**", ""]
                lines += [f"- {'✓ holds' if p['holds'] else '✗ does not hold'}: {p['says']}" for p in parts] + [""]
        if row["figures"]:
            lines += ["```{dropdown} The numbers", "| quantity | value |", "|---|---|"]
            lines += [f"| `{name}` | {value:g} |" for name, value in row["figures"].items()] + ["```"]
    return "\n".join(lines) + "\n"


def headlines(rows: Sequence[Mapping], profile: str) -> str:
    """The ledger in short, for the landing page: a remark on the profile, and how many claims held."""
    remark = REMARKS.get(profile)
    lines = [":::{warning}", remark, ":::", ""] if remark else []
    return "\n".join([*lines, *_counts(rows)]) + "\n"


def _counts(rows: Sequence[Mapping]) -> list[str]:
    """How many claims of each paper got each verdict, under its own protocol and under fair controls."""
    lines = [f"| claims | {' | '.join(VERDICTS)} |", "|---|" + "---|" * len(VERDICTS)]
    for paper, prefix in PAPERS.items():
        covered = [row for row in rows if row["id"].startswith(prefix)]
        for protocol, key in (("paper's protocol", "verdict"), ("fair controls", "verdict_fair")):
            counts = Counter(row[key] for row in covered)
            if covered:
                lines.append(f"| {paper}: {protocol} | {' | '.join(str(counts[one]) for one in VERDICTS)} |")
    return [*lines, ""]


def _table(rows: Sequence[Mapping]) -> list[str]:
    """One row per claim; its links are labels, so it reads the same on every page."""
    lines = [
        ":::{table}",
        ":class: vn-ledger",
        "",
        "| claim | in our words | paper's protocol | fair | figure |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        verdicts = f"{_badge(row['verdict'])} | {_badge(row['verdict_fair'])}"
        link = f"[{row['figure']}](#{row['figure']})"
        lines.append(f"| [{row['id']}](#{_anchor(row)}) | {row['statement']} | {verdicts} | {link} |")
    return [*lines, ":::"]


def status(folder: Path, profile: str) -> str:
    """Where every result comes from, chapter by chapter."""
    lines = [
        "# Status",
        "",
        "What the pages were drawn from. *Library* says whether the code that computed the results, the chapter's own "
        "and that of every module it imports, is the code of this book; where it changed since, `make reproduce` "
        "computes them anew.",
        "",
        ":::{table}",
        ":class: vn-status",
        "",
        "| chapter | profile | date (UTC) | runs | compute time | hardware | library | data |",
        "|---|---|---|---|---|---|---|---|",
    ]
    versions = defaultdict(list)
    for name in chapter.names():
        path = folder / f"{name}.nc"
        if not chapter.spec(name).stores:
            continue
        title = f"[{chapter.spec(name).title}](../chapters/{name}.ipynb)"
        if not path.exists():
            lines.append(f"| {title} | no results in this profile | | | | | | |")
            continue
        known = facts(path)
        versions[known.pop("versions")].append(title)
        state, _, source = known["library"].partition(" (")
        known["library"] = f"{{bdg-{'warning' if source else 'success'}}}`{state}` {source.rstrip(')')}"
        data = f'<a href="../../data/{name}.nc" download>NetCDF</a>'
        lines.append(f"| {title} | {profile} | {' | '.join(known.values())} | {data} |")
    lines += [":::", "", "## Versions", ""]
    lines += [f"- {', '.join(titles)}: {text}" for text, titles in versions.items()]
    lines += ["", "## Weight of the pages", "", "With their pictures, uncompressed.", "", PLACE]
    return "\n".join(lines) + "\n"


def facts(path: Path) -> dict[str, str]:
    """`provenance.facts` of a result file. Raises StoreError if it is damaged, or does not say them."""
    try:
        return provenance.facts(store.read(path))
    except (KeyError, TypeError, ValueError) as error:
        raise store.StoreError(f"{path} does not say where its results come from ({error}); {REMEDY}") from error


def _badge(verdict: str | None) -> str:
    return f"{{bdg-{COLOR[verdict]}}}`{verdict}`" if verdict else ""


def _anchor(row: Mapping) -> str:
    return "claim-" + row["id"].lower()
