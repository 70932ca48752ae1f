"""What a reader downloads: the weight of every page of the built book."""

from __future__ import annotations

import os
from collections import Counter
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from vnlib.book import paths

PLACE = '<div id="vn-weights"></div>'
"""Stands in a page where its table is wanted."""


class _Loaded(HTMLParser):
    """The addresses that a page loads by itself: pictures, scripts and style sheets."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        style = tag == "link" and "stylesheet" in (named.get("rel") or "")
        address = named.get("src") or (named.get("href") if style else None)
        if address and not urlsplit(address).scheme and not urlsplit(address).netloc:
            self.addresses.add(unquote(urlsplit(address).path))


def loaded(page: Path) -> dict[Path, int]:
    """The files that a page loads from its own site, itself among them, and their sizes [B]."""
    parser = _Loaded()
    parser.feed(page.read_text(encoding="utf-8"))
    files = {page, *(Path(os.path.normpath(page.parent / address)) for address in parser.addresses)}
    return {file: file.stat().st_size for file in files if file.is_file()}


def weigh(site: Path) -> tuple[dict[str, int], int]:
    """Bytes of each page (by its path in `site`), largest first, and of what most of them share,
    which loads once; without pages of source, and those that only forward.
    """
    names = {page: page.relative_to(site) for page in sorted(site.rglob("*.html"))}
    kept = [page for page, name in names.items() if not {"_static", "_modules"} & set(name.parts)]
    pages = {page: files for page in kept if len(files := loaded(page)) > 1}
    uses = Counter(file for files in pages.values() for file in files)
    shared = {file: file.stat().st_size for file, many in uses.items() if many > len(pages) / 2}
    own = {
        names[page].as_posix(): sum(files[file] for file in files.keys() - shared.keys())
        for page, files in pages.items()
    }
    return dict(sorted(own.items(), key=lambda one: -one[1])), sum(shared.values())


def write_table(site: Path, page: Path) -> None:
    """Put the table into a built page, where it has `PLACE`."""
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    if PLACE not in text:
        return
    own, shared = weigh(site)
    up = "../" * len(page.relative_to(site).parent.parts)
    rows = [
        f'<tr><td><a href="{up}{quote(name)}">{escape(name)}</a></td><td>{size / 1e6:.2f}</td></tr>'
        for name, size in own.items()
    ]
    rows.append(f"<tr><td>what most pages share, loaded once</td><td>{shared / 1e6:.2f}</td></tr>")
    head = "<thead><tr><th>page</th><th>weight [MB]</th></tr></thead>"
    table = f'<table class="table">{head}<tbody>{"".join(rows)}</tbody></table>'
    paths.replace(page, text.replace(PLACE, table))
