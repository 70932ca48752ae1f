"""What a chapter shows besides its figures, as HTML: links, boxes, verdicts, provenance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

import xarray as xr

from vnlib.book import ledger as claims
from vnlib.book import paths
from vnlib.book.store import provenance


def code(thing: str, module: str, name: str = "") -> str:
    """A link from a chapter's page to the highlighted source of a module, or of something in it."""
    anchor = f"#{name}" if name else ""
    return f'<a href="../../_modules/{module.replace(".", "/")}.html{anchor}">{thing}</a>'


def links(chapter: str, results: Path, command: str, draw: Callable, mixed: bool = False) -> str:
    """Where code and data of a figure are, whether its runs are `mixed`, and what re-makes it."""
    warning = "<b>drawn from runs of two versions of the code</b> · " if mixed else ""
    sources = [code("drawing", draw.__module__, draw.__qualname__)]
    if paths.notebook(chapter).with_name("study.py").is_file():
        sources.append(code("study", f"chapters.{chapter}.study"))
    data = f'<a href="../../data/{results.name}" download>data (NetCDF)</a> · ' * results.exists()
    return (
        f'<p class="vn-links">{warning}{"".join(f"{one} · " for one in sources)}'
        f'<a href="../../notebooks/{chapter}.ipynb" download>notebook</a> · {data}'
        f"re-make with <code>{escape(command, quote=False)}</code></p>"
    )


def caution(remarks: Sequence[str]) -> str:
    """A box with these remarks."""
    title, text = '<p class="admonition-title">Caution</p>', escape(" ".join(remarks), quote=False)
    return f'<div class="admonition warning">{title}<p>{text}</p></div>'


def verdicts(chapter: str, results: Mapping[str, xr.Dataset], variant: str = "") -> str:
    """What the rules of a chapter's claims ask of `results`, by the chapter that stored them."""
    rows, known = [], {name: claims.known(one) for name, one in results.items()}
    for one in claims.all_claims().values():
        if one.chapter == chapter:
            found = claims.decided(one, known.get(one.results))
            missing = isinstance(found, str)
            told = (escape(found), "") if missing else map(_listed, (found.parts, found.controls))
            cells = "".join(f"<td>{cell}</td>" for cell in (escape(one.statement), *told))
            rows.append(f"<tr><th>{claim(one.id)}</th>{cells}</tr>")
    head = "<tr><th>claim</th><th>in our words</th><th>as printed</th><th>with controls</th></tr>"
    note = f"<p>These runs differ from the printed task: {escape(variant)}.</p>" if variant else ""
    body = f"<thead>{head}</thead><tbody>{''.join(rows)}</tbody>"
    return f'{note}<p>Verdicts: in the ledger.</p><table class="vn-verdicts">{body}</table>'


def footer(chapter: str, files: Sequence[xr.Dataset], profile: str, command: str) -> str:
    """Where a file's results and those of its parts come from, and whether the source changed."""
    a, known = files[0].attrs, provenance.facts(*files)
    dirty = " with uncommitted changes" if a["git_dirty"] == 1 else ""
    of = "" if (owner := a.get("chapter", chapter)) == chapter else f" of {a['title']}"
    halved = "" if " cores, " in known["hardware"] else "; on two cores two at a time take half"
    rows = {
        "profile": profile,
        "computed": f"up to {known['date']} UTC, on {known['hardware'].replace('; ', '; on ')}",
        "compute time": f"{known['time']}, summed over {known['runs']} runs{of}{halved}",
        "revision": a["git_revision"][:12] + dirty,
        "versions": known["versions"],
        "library": f"{known['library']}; its source is now {provenance.source_hash(owner)}",
    }
    told = {k: escape(v, quote=False) for k, v in rows.items()}
    told["command"] = f"<code>{escape(command, quote=False)}</code>"
    cells = "".join(f"<tr><th>{k}</th><td>{v}</td></tr>" for k, v in told.items())
    return f'<table class="vn-footer">{cells}</table>'


def claim(name: str) -> str:
    """The id of a claim, which leads to its rule in the ledger."""
    return f'<a href="../generated/ledger.html#claim-{name.lower()}" class="vn-claim">{name}</a>'


def _listed(parts: Sequence[claims.Part] | None) -> str:
    """Every part of a rule, each once."""
    from vnlib.plots.statistics import raised

    said = dict.fromkeys(raised(escape(part.says)) for part in parts or ())
    return f"<ul>{''.join(f'<li>{one}</li>' for one in said)}</ul>"
