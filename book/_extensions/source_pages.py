"""The pages of highlighted source share their side bars, which take most of the time of a page: nothing
in them is of one page, but for how deep it lies.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder


def setup(app: Sphinx) -> dict[str, bool]:
    """Remember the navigation of a page below `_modules`, which no table of contents holds."""
    whole = StandaloneHTMLBuilder._get_local_toctree
    known: dict[tuple, str] = {}

    def shared(
        builder: StandaloneHTMLBuilder, page: str, collapse: bool = True, **options: Any
    ) -> str:
        if not page.startswith("_modules/"):
            return whole(builder, page, collapse, **options)
        key = (page.count("/"), collapse, *sorted(options.items()))
        if key not in known:
            known[key] = whole(builder, page, collapse, **options)
        return known[key]

    StandaloneHTMLBuilder._get_local_toctree = shared
    return {"parallel_read_safe": True, "parallel_write_safe": True}
