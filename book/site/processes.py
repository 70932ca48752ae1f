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
from collections.abc import Callable, Collection, Mapping
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import Any

# Elsewhere forks are unsafe or unknown: each process imports for itself.
_CONTEXT = get_context("fork") if sys.platform == "linux" else get_context("spawn")


def each(
    calls: Mapping[str, Callable[[], object]],
    jobs: int,
    *,
    after: Mapping[str, Collection[str]] | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> None:
    """Make all calls, `jobs` at a time, each in a process of its own; with jobs=1 all in this one.

    Parameters
    ----------
    calls
        By name, in the order in which they begin; without arguments, such as pickle takes.
    after
        The names of those that have to be done, if they are among the calls, before one begins.
    meanwhile
        Called in this process while the first of several is at work, for those that are forked
        later.

    Raises
    ------
    ValueError
        If some wait for each other.
    Exception
        What the first call raised that failed, when those at work have ended; the others do not
        begin.
    RuntimeError
        If a process ended without having done its call.
    """
    left, waiting, failures = set(calls), list(calls), []
    working: dict[Any, tuple[str, BaseProcess]] = {}  # by the connection that tells its end

    def begin() -> str | None:
        """Take the first name that waits for none of those that are left."""
        ready = (name for name in waiting if not left & set((after or {}).get(name, ())))
        if (name := next(ready, None)) is not None:
            waiting.remove(name)
        elif waiting and not working:
            raise ValueError(f"after must let one of {', '.join(waiting)} begin")
        return name

    if jobs == 1:
        while (name := begin()) is not None:
            calls[name]()
            left.remove(name)
        return
    try:
        while waiting or working:
            while len(working) < jobs and (name := begin()) is not None:
                ours, theirs = _CONTEXT.Pipe(duplex=False)
                process = _CONTEXT.Process(target=_tell, args=(calls[name], theirs))
                process.start()
                theirs.close()
                working[ours] = name, process
                if meanwhile:
                    meanwhile()
                    meanwhile = None
            for ours in working.keys() & set(wait(list(working))):
                name, process = working.pop(ours)
                failure = _outcome(ours, process)
                process.join()
                left.remove(name)
                if failure:
                    failures.append(failure)
                    waiting.clear()
    finally:
        for _, process in working.values():  # after an interrupt
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
