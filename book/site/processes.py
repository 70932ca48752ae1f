"""Work in several processes, each forked from this one, so that what this one has imported is there:
an import of all libraries takes longer than many a page. Nothing that a call sets reaches the next.

A fork copies the thread that asks for it and no other, so nothing here starts threads, and no
library is to have used its own before: `each` is called by a process of one thread.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any

# Elsewhere forks are unsafe or unknown: each process imports for itself.
_CONTEXT = get_context("fork") if sys.platform == "linux" else get_context("spawn")


def each(calls: Sequence[Callable[[], object]], jobs: int) -> None:
    """Make all calls, `jobs` at a time, each in a process of its own; with jobs=1 all in this one,
    in order.

    Parameters
    ----------
    calls
        Without arguments, such as pickle takes.

    Raises
    ------
    Exception
        What the first call raised that failed, when those at work have ended; the others do not
        begin.
    RuntimeError
        If a process ended without having done its call.
    """
    if jobs == 1:
        for call in calls:
            call()
        return
    waiting, failures = list(calls), []
    working: dict[Any, BaseProcess] = {}  # by the connection that tells its end
    try:
        while waiting or working:
            while waiting and len(working) < jobs:
                ours, theirs = _CONTEXT.Pipe(duplex=False)
                process = _CONTEXT.Process(target=_tell, args=(waiting.pop(0), theirs))
                process.start()
                theirs.close()
                working[ours] = process
            for ours in working.keys() & set(wait(list(working))):
                failure = _outcome(ours, process := working.pop(ours))
                process.join()
                if failure:
                    failures.append(failure)
                    waiting.clear()
    finally:
        for process in working.values():  # after an interrupt
            process.terminate()
    if failures:
        raise failures[0]


def _tell(call: Callable[[], object], theirs: Connection) -> None:
    """Make a call and send what it raised, or None; a signal ends this process, and so does the end
    of its parent.
    """
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    # What was imported is not garbage, and figures are made of many small objects: looking through
    # them all, again and again, took a tenth of the time.
    gc.freeze()
    gc.set_threshold(50_000)
    if parent := parent_process():
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    try:
        call()
        theirs.send(None)
    except Exception as error:
        theirs.send(error)


def _outcome(ours: Connection, process: BaseProcess) -> Exception | None:
    try:
        return ours.recv()
    except EOFError:
        process.join()
        return RuntimeError(
            f"a process ended with status {process.exitcode} and said nothing more, as one does "
            "that runs out of memory; fewer at a time (--jobs 1) need less"
        )
