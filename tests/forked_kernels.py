"""Kernels forked from a process that has the libraries, of whose imports each kernel alone would pay
for some seconds. That process runs nothing else, so all a chapter finds is what was imported.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection

from jupyter_client.provisioning import local_provisioner

LIBRARIES = (
    "h5netcdf",
    "ipykernel.kernelapp",
    "jaxtyping",
    "matplotlib_inline.backend_inline",
    "numba",
    "seaborn",
    "sklearn.linear_model",
    "torch._dynamo",  # what the first optimiser imports
    "xarray",
)


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
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([*LIBRARIES])
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


def _serve(
    arguments: Sequence[str], cwd: str | None, env: Mapping[str, str], ready: Connection
) -> None:
    from ipykernel.kernelapp import launch_new_instance

    gc.freeze()  # as in `book.site.processes`
    gc.set_threshold(50_000)
    multiprocessing.current_process()._config["daemon"] = False  # a kernel may start processes
    os.setsid()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd or ".")
    ready.send(None)
    told = [f"--IPKernelApp.parent_handle={os.getppid()}", *([PIXELS] if COARSE in env else [])]
    launch_new_instance([*arguments, *told])


def install() -> None:
    """Let the kernels that this process starts be forks, where there are such."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        local_provisioner.launch_kernel = Kernel
