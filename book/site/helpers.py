"""Other processes that fill the results of a chapter together with this one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

GRACE = 3.0  # seconds for them to end when they are told to


def begin(name: str, given: Mapping[str, Any]) -> subprocess.Popen:
    """A second process that works on the same results, and ends when this one does."""
    command = [sys.executable, "-m", "book.site.cli", "run", name]
    command += ["--no-page", "--quiet", "--helps"]
    command += [part for key, value in given.items() for part in ("-p", key, json.dumps(value))]
    silent = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=silent, stderr=silent)


def end(process: subprocess.Popen, patience: float) -> None:
    """Wait for a helper to put its files away; then end it as the end of this process would, which no
    run can catch and go on, or by force.
    """
    with suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
