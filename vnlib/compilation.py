"""Loops in machine code, kept on disk, and a word where it has to be made first."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable

import numba
import numpy as np
from numba.core import event

log = logging.getLogger(__name__)
Array = np.ndarray


def compiled(function: Callable) -> Callable:
    """`function` in machine code, which is kept on disk where there is a folder for it."""
    plain = inspect.unwrap(function)  # a checker of annotations may have wrapped it
    # Sums may be reordered, and all numbers are finite: the inputs were checked.
    fast = {"reassoc", "contract", "arcp", "nsz", "nnan", "ninf"}
    options = {"nogil": True, "fastmath": fast, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(plain)
    except RuntimeError:  # no folder can be written
        return numba.njit(**options)(plain)


class Announce(event.Listener):
    """Says once that there is something to wait for, where the disk has no compiled code."""

    said = False

    def on_start(self, event: event.Event) -> None:
        if not self.said:
            log.warning("compiling coordinate descent: some seconds, once per version and machine")
        self.said = True

    def on_end(self, event: event.Event) -> None: ...
