"""Pages of the book that are lists of what the results say: the ledger and the status."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import xarray as xr

from vnlib import chapter, provenance, store


def ledger(rows: Sequence[Mapping], profile: str) -> str:
    """The ledger as a page: counts, one row per claim, then every rule with the numbers it was decided on."""
    counts = Counter(row["verdict"] for row in rows)
    fair = Counter(row["verdict_fair"] for row in rows if row["verdict_fair"])
    lines = [
        "# The ledger",
        "",
        f"Every claim that the built chapters cover, decided from the `{profile}` results by a rule that was written "
        "before the out-of-distribution numbers of those runs were looked at. *Fair* adds our controls and tunes the "
        "baselines like everything else. The same as data: "
        '<a href="../../data/ledger.json" download>ledger.json</a>.',
        "",
        f"Paper's protocol: {_counted(counts)}. Fair: {_counted(fair)}.",
        "",
        "| claim | in our words | paper's protocol | fair | figure |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        figure = f"[{row['chapter']}](../chapters/{row['chapter']}.ipynb#{row['figure']})"
        mark = f"[{row['id']}](#{_anchor(row)})"
        lines.append(
            f"| {mark} | {row['statement']} | **{row['verdict']}** | **{row['verdict_fair'] or '-'}** | {figure} |"
        )
    for row in rows:
        lines += [
            "",
            f"({_anchor(row)})=",
            f"## {row['id']}: {row['verdict']}",
            "",
            f"*{row['source']}.* {row['statement']}",
        ]
        lines += ["", f"**Rule.** {row['rule']}", ""]
        if row.get("missing"):
            lines += [f"Not testable: {row['missing']}.", ""]
        for title, parts in (("Paper's protocol", row["parts"]), ("Fair", row["parts_fair"])):
            if parts:
                lines += [f"**{title}.**", ""]
                lines += [f"- {'holds' if p['holds'] else 'does not hold'}: {p['says']}" for p in parts] + [""]
        if row["figures"]:
            lines += ["```{dropdown} The numbers", "| quantity | value |", "|---|---|"]
            lines += [f"| `{name}` | {value:g} |" for name, value in row["figures"].items()] + ["```"]
    return "\n".join(lines) + "\n"


def status(folder: Path, profile: str) -> str:
    """Where every result comes from, chapter by chapter."""
    lines = [
        "# Status",
        "",
        f"What the pages were drawn from: the `{profile}` results. *Library* says whether the code that computed them "
        f"is the code of this book (source {provenance.source_hash()}).",
        "",
        "| chapter | date (UTC) | runs | compute time | hardware | versions | library |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in chapter.names():
        path = folder / f"{name}.nc"
        title = f"[{chapter.spec(name).title}](../chapters/{name}.ipynb)"
        lines.append(f"| {title} | {' | '.join(facts(store.read(path)).values())} |" if path.exists() else
                     f"| {title} | no results in this profile | | | | | |")  # fmt: skip
    return "\n".join(lines) + "\n"


def facts(results: xr.Dataset) -> dict[str, str]:
    """Date, number of runs, compute time, hardware, versions and state of the library of a result file."""
    a = results.attrs
    made = {str(h) for h in results["run_source_hash"].values.ravel()} - {""}
    wall = float(results["run_wall_time"].sum())
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(a["versions"]).items() if v)
    return {
        "date": str(a["date"])[:16].replace("T", " "),
        "runs": str(int(results["run_wall_time"].count())),
        "time": f"{wall / 60:.1f} min" if wall >= 60 else f"{wall:.0f} s",
        "hardware": str(a["hardware"]),
        "versions": versions,
        "library": "current" if made == {provenance.source_hash()} else f"changed since ({', '.join(sorted(made))})",
    }


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {word}" for word, n in counts.items()) or "none"


def _anchor(row: Mapping) -> str:
    return "claim-" + row["id"].lower()
