"""Pages of the book that are lists of what the results say: the ledger and the status."""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path

from book.site import evidence_table, statements
from book.site.page_size import PLACE
from vnlib.book import chapter, paths, resampling, store
from vnlib.book import ledger as claims
from vnlib.book.store import provenance
from vnlib.book.store.netcdf import REMEDY

PAPERS = {"VN": "Vector Networks", "FR": "Forced Rendering"}  # by how the ids of their claims begin
OTHERS = "Beyond the papers"
CHANGES = Path(__file__).parent / "rules.toml"
WORDS = (claims.REPRODUCED, claims.PARTLY, claims.NOT, claims.UNDECIDED, claims.NOT_TESTABLE)
HOLD = {statements.HOLDS: "hold", statements.FAILS: "fail"}  # of several

# What the landing page says of results that are not the shipped ones.
REMARKS = {
    "smoke": "These pages were built from `smoke` runs, which only test the machinery: their "
    "numbers and verdicts mean nothing. `make book` builds them from the shipped results.",
    "fast": "These pages were built from `fast` runs: fewer seeds, shorter training, no tuning. "
    "`make book` builds them from the shipped results.",
}


def ledger(found: Mapping, profile: str) -> str:
    """The ledger as a page: all statements at a glance, how many claims held, filters, then a row
    per statement in groups by claim; last the rules that were changed.
    """
    rows, level, band = found["claims"], 100 * found["level"], 100 * found["band"]
    few, papers = resampling.FEW, _by_paper(rows)
    lines = [
        "---",
        "html_theme.sidebar_secondary.remove: true",
        "---",
        "",
        "# The ledger",
        "",
        f"What the `{profile}` results say of every claim of the two papers: a dot is a statement "
        "of a claim's rule and leads to its row below. As data: "
        '<a href="../../data/ledger.json" download>ledger.json</a> and its '
        '<a href="../../data/ledger.schema.json" download>schema</a>.',
        "",
        evidence_table.matrix(papers, found),
        "",
        ":::{dropdown} How to read it",
        "A claim is decided by its *rule*, a list of *statements* on saved numbers. *As printed* "
        "is the paper's experiment; *with controls* tunes the baselines like everything else and "
        "adds our controls. Rules were written before the out-of-distribution numbers of the "
        "shipped runs were looked at; those of smaller trials were known. Those that were changed "
        "since stand at the end, with the reason.",
        "",
        f"Beside each value stands its {level:.0f} % interval, from the rule asked again of subsets "
        "of the seeds (all of up to six, of more as many), and of test cases drawn anew where results keep their errors (bootstrap). All seeds share "
        "one test set, so both are added as independent errors; a row without *test cases* has the "
        "interval of training alone. Tables and figures have the interval of a median by order "
        "statistics of its seeds (Hettmansperger and Sheather 1986), of fewer than six their range. A statement *holds* where "
        "all of the interval is on the right side of the bound, *fails* where all of it is on the "
        f"wrong side, is a *tie* where all of it is within {band:.0f} % of the bound, *undecided* "
        "where it is on both sides. It is *not testable* where a condition fails that it needs, "
        "such as that a model has learned its task, or where results lack what would decide it. "
        "A training of a length that we chose must have settled (its last fifth takes less than 2 % "
        "of the validation error), or networks with twice the updates must bring a statement to the "
        "same verdict: where one of both is a tie or undecided, so is the statement. Theorems, and "
        "statements on inference with a dictionary as it is, need neither. "
        f"The range of n seeds holds the median with a probability of 1 − 2¹⁻ⁿ: "
        f"{100 * (1 - 2.0 ** (1 - few)):.0f} % for {few} seeds, {100 * (1 - 2.0**-2):.0f} % for 3. "
        f"So intervals of fewer than {few} seeds are as wide as those of Student's t, and what is "
        "only true or false of them is undecided. Of a statement that asks something of each of many "
        "values the upper end, which lets it fail, is for all of them at once (Bonferroni): of nine "
        "at their bound one would else fail by chance in a quarter of all trials.",
        "",
        "Ratios are drawn, too, on a logarithmic axis from a tenth of the bound to ten times it; "
        "differences and counts on a dashed axis, which ends with their own largest margin. "
        "The bound stands in the middle, in the grey band in which values count as equal to it; "
        "right of it is the side that the statement wants. An arrowhead says that the "
        "interval goes on. Where several values must keep their bounds, that which decides is shown: of those "
        "that fail the surest, else the one whose interval is nearest to failing.",
        "",
        "A claim is *reproduced* if all its core statements hold, *partly* if some hold and some fail, *not "
        "reproduced* if some fail and none holds or may hold, and otherwise *undecided*. Details "
        "and definitions of tasks do not count, nor do theorems, which hold whatever is measured. Of an experiment the paper *gives* data, sizes, "
        "budget and inference, or they were *inferred* from what it says, or *chosen*. VN: Vector "
        "Network; ID and OOD: in and out of the distribution of the training data.",
        ":::",
        "",
        in_words(found),
        "",
        *_counts(found),
        evidence_table.filters(papers, found),
    ]
    for paper, covered in papers.items():
        lines += ["", f"## {paper}", "", evidence_table.groups(paper, covered, found)]
    return "\n".join([*lines, "", *_changes({row["id"] for row in rows})]) + "\n"


def in_words(found: Mapping) -> str:
    """How many claims as printed, and how many core statements, got each verdict: the paragraph that
    the README, the landing page and the ledger have in common. Definitions and theorems are no claims; with
    controls nearly every claim holds in part, which tells nothing.
    """
    asked = [row["verdict"] for row in found["claims"] if not row["definition"]]
    printed, controls = (
        [one["verdict"] for one in core(found, protocol)] for protocol in statements.PROTOCOLS
    )
    return (
        f"As printed, {len(asked)} claims: {_counted(asked, WORDS)}; their {len(printed)} core "
        f"statements: {_counted(printed, statements.VERDICTS)}. With controls, {len(controls)} core "
        f"statements, those of theorems and definitions among them: {_counted(controls, statements.VERDICTS)}."
    )


def core(found: Mapping, protocol: str) -> list[Mapping]:
    """The core statements of a protocol, as printed without those of definitions and theorems."""
    plain = protocol == statements.PROTOCOLS[0]
    defined = {row["id"] for row in found["claims"] if row["definition"] and plain}
    return [
        one
        for one in found["statements"]
        if one["claim"] not in defined and protocol in one["protocols"]
        if one["weight"] == claims.CORE
    ]


def _counted(verdicts: Iterable[str], words: Sequence[str]) -> str:
    """How often each verdict occurs, if it does."""
    counts = Counter(verdicts)
    found = [f"{counts[one]} {HOLD.get(one, one)}" for one in words if counts[one]]
    return ", ".join(found) or "none"


def headlines(found: Mapping, profile: str) -> str:
    """The ledger in short, for the landing page: a remark on the profile, how many claims held, in
    words and by paper.
    """
    remark = REMARKS.get(profile)
    lines = [":::{warning}", remark, ":::", ""] if remark else []
    return "\n".join([*lines, in_words(found), "", *_counts(found)]) + "\n"


def _changes(ids: Set[str]) -> list[str]:
    """The rules of these claims that were changed after results had been seen."""
    lines = []
    for one in tomllib.loads(CHANGES.read_text(encoding="utf-8"))["change"]:
        names = [
            f'<a href="#{evidence_table.claim_anchor(name)}">{name}</a>'
            for name in one["claims"]
            if name in ids
        ]
        if names:
            lines.append(f"| {', '.join(names)} | {_cell(one['what'])} | {_cell(one['why'])} |")
    if not lines:
        return []
    head = "| claims | what changed | why |"
    return [
        "## Rules that were changed",
        "",
        f"::::{{dropdown}} {len(lines)} changes after results had been seen",
        *_boxed("vn-ledger", head, lines),
        "::::",
    ]


def _cell(text: str) -> str:
    """Text that does not end a cell of a table."""
    return text.replace("|", "&#124;").replace("*", "\\*").replace("<", "&lt;")


def _plain(text: str) -> str:
    """Text of a result file, of which nothing is Markdown or HTML."""
    return re.sub(r"[^\w .,:;()+-]", lambda sign: f"&#{ord(sign[0])};", text)


def _by_paper(rows: Sequence[Mapping]) -> dict[str, list[Mapping]]:
    """The rows of each paper, and last those whose ids begin like those of none."""
    found: dict[str, list[Mapping]] = {paper: [] for paper in (*PAPERS.values(), OTHERS)}
    for row in rows:
        found[PAPERS.get(row["id"].partition("-")[0], OTHERS)].append(row)
    return {paper: covered for paper, covered in found.items() if covered}


def _counts(found: Mapping) -> list[str]:
    """How many core statements of each paper got each verdict that occurs, as printed and with
    controls. Definitions are no claims.
    """
    counts = {}
    for paper, covered in _by_paper(found["claims"]).items():
        ids = {row["id"] for row in covered}
        for protocol, said in evidence_table.ASKED.items():
            words = [one["verdict"] for one in core(found, protocol) if one["claim"] in ids]
            if words:
                counts[f"{paper}: {said}"] = Counter(words)
    if not counts:
        return []
    used = [word for word in statements.VERDICTS if any(one[word] for one in counts.values())]
    lines = [f"| core statements | {' | '.join(used)} |", "|---|" + "---|" * len(used)]
    lines += [
        f"| {name} | {' | '.join(str(one[word]) for word in used)} |"
        for name, one in counts.items()
    ]
    return [*lines, ""]


def _boxed(style: str, head: str, rows: Sequence[str]) -> list[str]:
    """A table of a style of its own."""
    rule = "|---" * (head.count("|") - 1) + "|"
    return [":::{table}", f":class: {style}", "", head, rule, *rows, ":::"]


def status(folder: Path, profile: str) -> str:
    """Where every result comes from, chapter by chapter in the order of the book."""
    lines = [
        "# Status",
        "",
        f"What the pages were drawn from: the `{profile}` results of every chapter that computes some. *Compute "
        "time* is summed over all runs, also those that choose settings or train longer. *Library* says whether the code that computed the "
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
        known = {key: _plain(text) for key, text in facts(path).items()}
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
        lines.append(f"- {machine}: {'; '.join(titles) if len(machines) > 1 else 'all chapters'}")
    lines += ["", "## Weight of the pages", "", "What a reader loads, with pictures, uncompressed."]
    lines += ["", "```{dropdown} Every page", PLACE, "```"]
    return "\n".join(lines) + "\n"


def facts(path: Path) -> dict[str, str]:
    """`provenance.facts` of a result file. StoreError if it is damaged, or does not say them."""
    try:
        named = {"chapter": path.stem, "profile": path.parent.name}
        parts = [store.read(part) for part in paths.parts(path, path.stem)]
        return provenance.facts(store.of(store.read(path), path, **named), *parts)
    except (KeyError, TypeError, ValueError) as error:
        raise store.StoreError(
            f"{path} does not say where its results come from ({error}); {REMEDY}"
        ) from error
