"""Folders for drafts, which no kill leaves for good."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from filelock import FileLock, Timeout

PREFIX, LOCK = "vnbook-", "in-use"


@contextmanager
def folder() -> Iterator[Path]:
    """A new temporary folder, removed at the end. The system lets go of a process's lock however it
    ends, so folders of those that were killed are known, and removed here.
    """
    for lock in Path(gettempdir()).glob(f"{PREFIX}*/{LOCK}"):
        with suppress(OSError, Timeout), FileLock(lock, timeout=0):
            shutil.rmtree(lock.parent, ignore_errors=True)
    made = Path(mkdtemp(prefix=PREFIX))
    try:
        with FileLock(made / LOCK):
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
