"""Pages of the book that are lists of what the results say: the ledger and the status."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from book.site.page_size import PLACE
from vnlib.book import chapter, paths, store
from vnlib.book.html import COLOR
from vnlib.book.store import provenance
from vnlib.book.store.netcdf import REMEDY

PAPERS = {"VN": "Vector Networks", "FR": "Forced Rendering"}  # by how the ids of their claims begin
OTHERS = "Beyond the papers"
NOT_ASKED = "not asked"

# What the landing page says of results that are not the shipped ones.
REMARKS = {
    "smoke": "These pages were built from `smoke` runs, which only test the machinery: their "
    "numbers and verdicts mean nothing. `make book` builds them from the shipped results.",
    "fast": "These pages were built from `fast` runs: fewer seeds, shorter training, no tuning. "
    "`make book` builds them from the shipped results.",
}


def ledger(rows: Sequence[Mapping], profile: str) -> str:
    """The ledger as a page: counts, a row per claim, then every rule with its numbers."""
    lines = [
        "# The ledger",
        "",
        f"Every claim of the two papers, in our words, and what the `{profile}` results say of "
        "it. A claim is decided by its *rule*, a list of statements on saved numbers: it is "
        "*reproduced* if all of them hold, *partly* if some do, *not reproduced* if none does. "
        "*As printed* is the paper's experiment; *with controls* tunes the baselines like "
        "everything else and adds our controls. Rules were written before the "
        "out-of-distribution numbers of the shipped runs were looked at; those of smaller trials "
        "were known.",
        "",
        "A claim's name leads to its rule and the numbers, the place in the paper to the figure "
        "that shows it. VN: "
        "Vector Network; ID and OOD: in and out of the distribution of the training data. The "
        "same as data: "
        '<a href="../../data/ledger.json" download>ledger.json</a>.',
        "",
        *_counts(rows),
    ]
    for paper, covered in _by_paper(rows).items():
        lines += ["", f"## {paper}", "", *_table(covered)]
    lines += ["", "## Rules and numbers"]
    for row in rows:
        lines += ["", f"({_anchor(row)})=", f"### {row['id']}", ""]
        lines += [f"*[{row['source']}](#{row['figure']}).* {row['statement']}"]
        lines += ["", *([row["terms"], ""] if row["terms"] else [])]
        if row.get("missing"):
            lines += [f"Not testable: {row['missing']}.", ""]
        for title, key, fits in (
            ("As printed", "verdict", "parts"),
            ("With controls", "verdict_controls", "parts_controls"),
        ):
            if parts := row[fits]:
                lines += [f"**{title}:** {_badge(row[key])}", ""]
                holds = {True: "✓ holds", False: "✗ does not hold"}
                lines += [*(f"- {holds[p['holds']]}: {p['says']}" for p in parts), ""]
        if row["numbers"]:
            lines += ["```{dropdown} The numbers", "| quantity | value |", "|---|---|"]
            lines += [*(f"| `{n}` | {value:g} |" for n, value in row["numbers"].items()), "```"]
    return "\n".join(lines) + "\n"


def headlines(rows: Sequence[Mapping], profile: str) -> str:
    """The ledger in short, for the landing page: a remark on the profile, how many claims held."""
    remark = REMARKS.get(profile)
    lines = [":::{warning}", remark, ":::", ""] if remark else []
    return "\n".join([*lines, *_counts(rows)]) + "\n"


def _by_paper(rows: Sequence[Mapping]) -> dict[str, list[Mapping]]:
    """The rows of each paper, and last those whose ids begin like those of none."""
    found: dict[str, list[Mapping]] = {paper: [] for paper in (*PAPERS.values(), OTHERS)}
    for row in rows:
        found[PAPERS.get(row["id"].partition("-")[0], OTHERS)].append(row)
    return {paper: covered for paper, covered in found.items() if covered}


def _counts(rows: Sequence[Mapping]) -> list[str]:
    """How many claims of each paper got each verdict that occurs, as printed and with controls,
    which claims on how a task is made are not asked.
    """
    counts = {}
    for paper, covered in _by_paper(rows).items():
        for protocol, key in (("as printed", "verdict"), ("with controls", "verdict_controls")):
            counts[f"{paper}: {protocol}"] = Counter(row[key] or NOT_ASKED for row in covered)
    used = [word for word in (*COLOR, NOT_ASKED) if any(one[word] for one in counts.values())]
    lines = [f"| claims | {' | '.join(used)} |", "|---|" + "---|" * len(used)]
    lines += [
        f"| {name} | {' | '.join(str(one[word]) for word in used)} |"
        for name, one in counts.items()
    ]
    return [*lines, ""]


def _table(rows: Sequence[Mapping]) -> list[str]:
    """One row per claim; its links are labels, so it reads the same on every page."""
    lines = []
    for row in rows:
        verdicts = f"{_badge(row['verdict'])} | {_badge(row['verdict_controls'])}"
        shown = f"{row['statement']}<br>[{row['source']}](#{row['figure']})"
        lines.append(f"| [{row['id']}](#{_anchor(row)}) | {shown} | {verdicts} |")
    return _boxed("vn-ledger", "| claim | in our words | as printed | with controls |", lines)


def _boxed(style: str, head: str, rows: Sequence[str]) -> list[str]:
    """A table of a style of its own."""
    rule = "|---" * (head.count("|") - 1) + "|"
    return [":::{table}", f":class: {style}", "", head, rule, *rows, ":::"]


def status(folder: Path, profile: str) -> str:
    """Where every result comes from, chapter by chapter in the order of the book."""
    lines = [
        "# Status",
        "",
        f"What the pages were drawn from: the `{profile}` results of every chapter. *Compute "
        "time* is summed over all runs. *Library* says whether the code that computed the "
        "results, the chapter's own and that of every module it imports, is the code of this "
        "book; where it changed since, `make reproduce` computes them anew.",
        "",
    ]
    machines, rows = defaultdict(list), []
    for name in paths.in_order(name for name in paths.chapters() if chapter.spec(name).stores):
        path = folder / f"{name}.nc"
        title = f"[](../chapters/{name}.ipynb)"
        if not path.exists():
            rows.append(f"| {title} | no results in this profile | | | | |")
            continue
        known = facts(path)
        machines[f"{known['hardware']}; {known['versions']}"].append(title)
        state, _, source = known["library"].partition(" (")
        library = f"{{bdg-{'warning' if source else 'success'}}}`{state}` {source.rstrip(')')}"
        data = f'<a href="../../data/{name}.nc" download>NetCDF</a>'
        cells = (title, known["date"], known["runs"], known["time"], library, data)
        rows.append(f"| {' | '.join(cells)} |")
    lines += _boxed(
        "vn-status", "| chapter | date (UTC) | runs | compute time | library | data |", rows
    )
    lines += ["", "## Machines and versions", ""]
    for machine, titles in machines.items():
        lines.append(f"- {', '.join(titles) if len(machines) > 1 else 'All chapters'}: {machine}")
    lines += ["", "## Weight of the pages", "", "What a reader loads, with pictures, uncompressed."]
    lines += ["", "```{dropdown} Every page", PLACE, "```"]
    return "\n".join(lines) + "\n"


def facts(path: Path) -> dict[str, str]:
    """`provenance.facts` of a result file. StoreError if it is damaged, or does not say them."""
    try:
        return provenance.facts(store.read(path))
    except (KeyError, TypeError, ValueError) as error:
        raise store.StoreError(
            f"{path} does not say where its results come from ({error}); {REMEDY}"
        ) from error


def _badge(verdict: str | None) -> str:
    return f"{{bdg-{COLOR[verdict]}}}`{verdict}`" if verdict else ""


def _anchor(row: Mapping) -> str:
    return "claim-" + row["id"].lower()
