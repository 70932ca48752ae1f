"""The Chromium of the system, in which the tests of the playground and the check of all pages look
at the book.
"""

from __future__ import annotations

import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome")


def path() -> str | None:
    """Where it is; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)
