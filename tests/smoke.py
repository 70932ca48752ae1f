"""Chapters in the profile `smoke`, each in a process forked from one that has the libraries: to
import them takes longer than many a chapter.

This file is that process, too: it reads a notebook's path a line, and answers with what failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

LIMIT = 300  # seconds for a chapter, so that a fault ends


class Server:
    """The process, begun when the first chapter is asked for."""

    process: subprocess.Popen[str] | None = None

    def run(self, notebook: Path) -> None:
        """Run a chapter; AssertionError with what its cell said if one fails."""
        if self.process is None:
            command = [sys.executable, __file__]
            ends = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            environment = os.environ | {"OMP_NUM_THREADS": "1"}
            self.process = subprocess.Popen(command, env=environment, **ends)
        assert self.process.stdin and self.process.stdout
        print(notebook, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        failure = json.loads(answer) if answer else "the process that runs the chapters died"
        if failure:
            raise AssertionError(failure)

    def close(self) -> None:
        """End the process."""
        if self.process:
            self.process.communicate()


def execute(notebook: Path) -> None:
    """Run a notebook's cells here. Its folder lies outside the project, on which no chapter may
    depend.
    """
    import papermill

    from book.site import in_place

    signal.alarm(LIMIT)
    with tempfile.TemporaryDirectory(prefix="vnbook-", ignore_cleanup_errors=True) as folder:
        given = {"profile": "smoke", "results_dir": folder}
        output = Path(folder) / notebook.name
        how = {"engine_name": in_place.NAME, "cwd": folder, "progress_bar": False}
        papermill.execute_notebook(str(notebook), str(output), given, **how)


def serve() -> None:
    """Answer until the input ends."""
    from book.site import build, processes

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a chapter prints is no answer
    build._import_shared()
    for line in sys.stdin:
        failure = ""
        try:
            processes.each([partial(execute, Path(line.strip()))], jobs=2)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}"
        print(json.dumps(failure), file=answers, flush=True)


if __name__ == "__main__":
    serve()
