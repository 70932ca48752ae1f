"""Pages tell the browser to load nothing from elsewhere, and to run no script but those of the book:
what a result file could bring in is not run, and has no one to talk to.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

INLINE = re.compile(r"<script(?![^>]*\b(?:src=|application/json))[^>]*>(.*?)</script>", re.DOTALL)
META = '<meta http-equiv="Content-Security-Policy" content="{}">'
LATER = META.format("default-src 'self'")  # until it is known which scripts a page has
BARE = (
    "search.html",
    "genindex.html",
    "prf-prf.html",
)  # pages of the theme, into which no result comes
HANDLERS = ("toggleFullScreen()", "window.print()")  # what buttons of the theme do
log = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, bool]:
    """Put the policy into the head of every page."""
    app.connect("html-page-context", _tell)
    app.connect("build-finished", _close)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def policy(scripts: Iterable[str]) -> str:
    """What a page with these scripts within it may load. Styles are everywhere, and run nothing."""
    known = " ".join(f"'sha256-{_digest(one)}'" for one in sorted({*scripts, *HANDLERS}))
    return "; ".join(
        (
            "default-src 'self' data:",
            f"script-src 'self' 'unsafe-hashes' {known}",
            "style-src 'self' data: 'unsafe-inline'",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
        )
    )


def inline(page: str) -> list[str]:
    """The scripts within a page, without its data."""
    return INLINE.findall(page)


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _tell(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    context["metatags"] = f"{LATER}\n{context.get('metatags', '')}"


def _close(app: Sphinx, error: Exception | None) -> None:
    """Name the scripts that pages of the theme have, too; others do not run, and are warned of."""
    folder = Path(app.outdir)
    if error or app.builder.format != "html":
        return
    bare = [folder / name for name in BARE if (folder / name).exists()]
    known = {script for page in bare for script in inline(page.read_text(encoding="utf-8"))}
    known.add(f"window.MathJax = {json.dumps(app.config.mathjax3_config)}")
    for file in folder.rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        if LATER not in text:  # of an earlier build
            continue
        name = file.relative_to(folder).with_suffix("").as_posix()
        scripts = set(inline(text))
        allowed = scripts & (known | {f"DOCUMENTATION_OPTIONS.pagename = '{name}';"})
        for script in scripts - allowed:
            log.warning("%s: a script that is not the book's: %.60s", file.name, script.strip())
        text = text.replace(LATER, META.format(policy(allowed)), 1)
        file.write_text(text, encoding="utf-8", newline="\n")
