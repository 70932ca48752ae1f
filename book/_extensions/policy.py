"""Pages tell the browser to load nothing from elsewhere: what a result file could bring in has no one to
talk to.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

# Scripts and styles within pages are the theme's, the schematics' and the notebooks'.
POLICY = "; ".join(
    (
        "default-src 'self' data: 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
    )
)
META = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'


def setup(app: Sphinx) -> dict[str, bool]:
    """Put the policy into the head of every page."""
    app.connect("html-page-context", _tell)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _tell(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    context["metatags"] = f"{META}\n{context.get('metatags', '')}"
