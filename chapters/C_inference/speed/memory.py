"""Memory: how far a settle raises what its process holds, measured in a process of its own.

`python -m chapters.C_inference.speed.memory FOLDER METHOD GAP` settles the problem in
FOLDER and prints what it took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
import xarray as xr

from chapters.C_inference.speed.clock import one_thread
from chapters.C_inference.speed.problems import Problem
from vnlib.book import paths

METHODS = ("cd", "line_search", "restart")
SWEEPS = 50  # what is held does not depend on how many sweeps follow


def memory(problem: Problem, *, gap: float = 1e-3, methods: Sequence[str] = METHODS) -> xr.Dataset:
    """Bytes that a settle of the problem takes, setup included, over the methods of
    `SettleConfig`.
    """
    table = {name: np.empty(len(methods)) for name in ("peak", "rise", "per_sample")}
    n = len(problem.x)
    for row, method in enumerate(methods):
        whole, half = (_measured(problem.first(k), method, gap) for k in (n, n // 2))
        table["peak"][row], table["rise"][row] = whole["peak"], whole["rise"]
        table["per_sample"][row] = (whole["rise"] - half["rise"]) / (n - n // 2)
    variables = {name: ("solver", values) for name, values in table.items()}
    return xr.Dataset(variables, {"solver": list(methods)})


def _measured(problem: Problem, method: str, gap: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="vnbook-") as folder:
        for name in ("V", "x"):
            np.save(
                Path(folder) / f"{name}.npy",
                getattr(problem, name).cpu().numpy(),
                allow_pickle=False,
            )
        (Path(folder) / "sparsity.json").write_text(json.dumps(problem.sparsity))
        command = [
            sys.executable,
            "-m",
            "chapters.C_inference.speed.memory",
            folder,
            method,
            repr(gap),
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd=paths.SOURCE)
    if done.returncode:
        raise RuntimeError(f"the process that measures memory failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.splitlines()[-1])


def _held() -> tuple[float, float]:
    """Bytes held now, and at most since the last reset.

    Without /proc the first is the second, of the whole life.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        sizes = {
            line.split(":")[0]: 1024.0 * int(line.split()[1])
            for line in lines
            if line.startswith(("VmRSS", "VmHWM"))
        }
        return sizes["VmRSS"], sizes["VmHWM"]
    except (OSError, KeyError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
            1.0 if sys.platform == "darwin" else 1024.0
        )
        return most, most


def _reset() -> None:
    """Begin the count of the most memory held anew, where the system lets us."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    from vnlib.layer import Layer
    from vnlib.prox import L1
    from vnlib.settle import SettleConfig, Settler

    folder, method, gap = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    sparsity = json.loads((folder / "sparsity.json").read_text())
    config = SettleConfig.exact(method=method, tol=gap, check_every=10, max_sweeps=SWEEPS)

    def settle(V: torch.Tensor, x: torch.Tensor) -> None:
        Settler([Layer(V, None, L1(sparsity=sparsity))], config=config)(x)

    with one_thread():
        settle(torch.eye(8), torch.ones(32, 8))  # loads and compiles what is needed
        before = _held()
        _reset()
        settle(*(torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("V", "x")))
        print(json.dumps({"peak": max(before[1], _held()[1]), "rise": _held()[1] - before[0]}))


if __name__ == "__main__":
    main()
