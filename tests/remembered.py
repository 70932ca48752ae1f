"""Chapters that many tests ask for are read once by each process."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import cache

from vnlib.book import chapter, paths


def remembering(spec: Callable[[str], chapter.Spec]) -> Callable[[str], chapter.Spec]:
    """`chapter.spec`, which reads notebook and sidecar again only once they have changed; what it
    returns is nobody else's.
    """

    @cache
    def kept(name: str, *_: object) -> chapter.Spec:
        return spec(name)

    def remembered(name: str) -> chapter.Spec:
        try:
            files = [paths.notebook(name), paths.sidecar(name)]
            changed = [(file, file.stat().st_mtime_ns) for file in files]
        except (TypeError, ValueError, OSError):
            return spec(name)  # which says what is wrong
        return deepcopy(kept(name, *changed))

    return remembered
