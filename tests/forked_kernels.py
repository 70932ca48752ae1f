"""Kernels, and other processes that tests start, forked from one that has the libraries, of whose
imports each alone would pay for some seconds. That process runs nothing else, so all that they find
is what was imported.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path

from jupyter_client.provisioning import local_provisioner

LIBRARIES = (
    "h5netcdf",
    "ipykernel.kernelapp",
    "jaxtyping",
    "matplotlib_inline.backend_inline",
    "numba",
    "papermill",
    "seaborn",
    "sklearn.linear_model",
    "torch._dynamo",  # what the first optimiser imports
    "xarray",
)


FORKS = "forkserver" in multiprocessing.get_all_start_methods()
COARSE = "VNBOOK_COARSE"
"""Where this variable is set, figures are drawn once, in few pixels: that they are drawn is seen all the same."""
PIXELS = "--InlineBackend.print_figure_kwargs={'bbox_inches': None, 'dpi': 40}"


class Kernel:
    """A kernel, and what jupyter_client asks of the process that it would have started."""

    stdin = stdout = stderr = None

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: str | None = None,
        **_: object,
    ) -> None:
        context = _context()
        ours, theirs = context.Pipe(duplex=False)
        given = command[command.index("-f") :], cwd, dict(env), theirs
        self.process = context.Process(target=_serve, args=given, daemon=True)
        self.process.start()
        theirs.close()
        ours.recv()  # it leads a group of its own, which may be killed
        self.pid = self.process.pid

    def poll(self) -> int | None:
        """Give its status, if it has ended."""
        return self.process.exitcode

    def wait(self) -> int | None:
        """Wait for its end."""
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid, number)

    def kill(self) -> None:
        """End it."""
        self.process.kill()


def python(
    code: str, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What `python -c` does with this code and these arguments, where what it asks of the environment
    is not read by a library that is imported.
    """
    given = [code, *arguments]
    if not FORKS:
        command = [sys.executable, "-c", *given]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "out"), Path(folder, "err")
        process = _context().Process(
            target=_run, args=(given, said, str(cwd or Path.cwd()), dict(env or os.environ))
        )
        process.start()
        process.join(600)  # only so that a fault ends the test
        process.kill()
        out, err = (one.read_text(encoding="utf-8") for one in said)
    return subprocess.CompletedProcess(given, process.exitcode, out, err)


def run(
    command: Sequence[str], *, cwd: Path, env: Mapping[str, str] | None = None, **_: object
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` does with `python -m MODULE ARGUMENTS`, as above."""
    _, _, module, *arguments = command
    code = f"import runpy; runpy.run_module({module!r}, run_name='__main__')"
    return python(code, *arguments, cwd=cwd, env=env)


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LIBRARIES])
    return context


def _run(given: list[str], said: Sequence[Path], cwd: str, env: Mapping[str, str]) -> None:
    for number, path in enumerate(said, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    _become(cwd, env)
    sys.argv = ["-c", *given[1:]]
    exec(given[0], {"__name__": "__main__"})


def _become(cwd: str, env: Mapping[str, str]) -> None:
    gc.freeze()  # as in `book.site.processes`
    gc.set_threshold(50_000)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)


def _serve(
    arguments: Sequence[str], cwd: str | None, env: Mapping[str, str], ready: Connection
) -> None:
    from ipykernel.kernelapp import launch_new_instance

    multiprocessing.current_process()._config["daemon"] = False  # a kernel may start processes
    os.setsid()
    _become(cwd or ".", env)
    ready.send(None)
    told = [f"--IPKernelApp.parent_handle={os.getppid()}", *([PIXELS] if COARSE in env else [])]
    launch_new_instance([*arguments, *told])


def install() -> None:
    """Let the kernels that this process starts be forks, where there are such."""
    if FORKS:
        local_provisioner.launch_kernel = Kernel
