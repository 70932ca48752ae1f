"""Runs of chapters: plain, killed, shared and repeated, with the same bits each time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import forked_kernels
import nbformat
import numpy as np
import psutil
import pytest

from book.site import ledger
from vnlib.book import paths, store

# A baseline, a Vector Network, and a slow one last, which leaves time to kill the run before its
# end.
MODELS = ["factorised", "vn_axes_1", "cnn2"]


def arrays(path: Path) -> dict[str, tuple]:
    """All arrays of a result file to the bit, without the provenance of the runs."""
    ds = store.read(path)
    return {
        str(name): (variable.dims, variable.shape, str(variable.dtype), variable.values.tobytes())
        for name, variable in ds.variables.items()
        if not str(name).startswith("run_") or name == "run_settings"
    }


def printed(notebook: Path) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    return "".join(o.get("text", "") for c in cells if c.cell_type == "code" for o in c.outputs)


def arguments(results_dir: Path, *, flag: str = "-p") -> list[str]:
    given = {
        "profile": "smoke",
        "models": ",".join(MODELS),
        "device": "cpu",
        "results_dir": str(results_dir),
    }
    return [part for key, value in given.items() for part in (flag, key, value)]


def threads(number: str) -> dict[str, str]:
    """The environment, with this number of threads, which libraries read when they are loaded."""
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), number)


@pytest.fixture(scope="module")
def by_papermill(tmp_path_factory) -> Path:
    """Plain papermill from a folder that has nothing to do with the project, with a relative
    results folder, and in an environment that asks for two threads.
    """
    folder = tmp_path_factory.mktemp("elsewhere")
    command = [sys.executable, "-m", "papermill", str(paths.notebook("fig2_spatial")), "out.ipynb"]
    command += [*arguments(Path("mine")), "--no-progress-bar"]
    done = subprocess.run(command, cwd=folder, env=threads("2"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


@pytest.mark.slow
def test_plain_papermill_works_from_any_folder(by_papermill):
    result = by_papermill / "mine" / "smoke" / "fig2_spatial.nc"
    ds = store.read(result)
    assert set(ds["model"].values) == set(MODELS)
    assert ds.attrs["profile"] == "smoke" and ds.attrs["chapter"] == "fig2_spatial"
    assert np.isfinite(ds["mse_ood"]).all()
    assert f"Results: {result}" in printed(by_papermill / "out.ipynb")
    files = {path.name for path in result.parent.iterdir()}
    assert files == {"fig2_spatial.nc", "fig2_spatial.drawings.nc"}, "no leftovers"


@pytest.mark.slow
def test_claims_can_be_decided_from_the_file_alone(by_papermill):
    """The ledger sees the stored file, not what the notebook adds to it: only models may be
    missing.
    """
    rows = ledger.ledger(by_papermill / "mine" / "smoke", "fig2_spatial")["claims"]
    assert rows
    for row in rows:
        assert not row["missing"] or row["missing"].startswith("the results lack the model(s) ")


def kill(process: subprocess.Popen) -> None:
    """SIGKILL to a process and to all that it started, its kernel among them."""
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for one in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    psutil.wait_procs(family)
    process.wait()


@pytest.mark.slow
def test_two_processes_end_a_killed_run_with_the_bits_of_one(by_papermill, vnbook, tmp_path):
    """Killed after its first run: what is saved is kept, and the rest has the bits of a run that
    nothing disturbed and that had other threads.
    """
    command = [
        sys.executable,
        "-m",
        "book.site.cli",
        "run",
        "fig2_spatial",
        *arguments(tmp_path),
        "--jobs",
        "1",
        "--quiet",
    ]
    # What a killed process leaves in the temporary folder should go with this test.
    environment = threads("1") | {"TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        deadline = time.monotonic() + 120
        while not (finished := list(tmp_path.rglob("*.runs/*.nc"))):
            assert process.poll() is None and time.monotonic() < deadline, (
                "no run was ever finished"
            )
            time.sleep(0.01)
    finally:
        kill(process)
    result = tmp_path / "smoke" / "fig2_spatial.nc"
    assert not result.exists() and len(finished) < len(MODELS), "killed too late to show anything"
    saved = store.read(finished[0])["run_date"].item()
    folder = tmp_path / "executed" / "smoke"
    drafts = set(folder.iterdir())

    said = vnbook("run", "fig2_spatial", *arguments(tmp_path), "--jobs", 2, "--quiet")
    assert said.code == 0, said.err
    assert arrays(result) == arrays(by_papermill / "mine" / "smoke" / "fig2_spatial.nc")
    notebook = folder / "fig2_spatial.ipynb"
    assert str(result) in said.out and str(notebook) in said.out
    assert set(folder.iterdir()) - drafts == {notebook}, "of the second process nothing is left"
    assert saved in store.read(result)["run_date"].values, "what was saved is kept"


def test_executed_chapter_names_no_folder_of_the_machine_for_results_in_the_project(monkeypatch):
    """Pages must not show where someone keeps the project."""
    assert paths.shown(paths.RESULTS / "smoke" / "x.nc") == str(Path("results/smoke/x.nc"))
    assert json.dumps(paths.shown(Path("/elsewhere/x.nc"))) == '"/elsewhere/x.nc"'


@pytest.mark.skipif(sys.platform != "linux", reason="glibc")
def test_memory_of_large_tensors_is_kept():
    """Tensors of 64 MB, made again and again, ask the kernel for a fifth of the pages or less."""
    code = """
import resource, torch
from vnlib.book import chapter

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20): torch.ones(2**24)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(faults())
chapter.keep_memory()
print(min(faults() for _ in range(3)))  # the kernel may take a page back meanwhile
"""
    given, kept = map(int, forked_kernels.python(code).stdout.split())
    assert kept < given / 5
