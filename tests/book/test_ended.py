"""`vnbook run` is ended from outside: its helpers and kernels end too, and nothing of it stays."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from vnlib.book import paths

HOLDING = """
import sys
import time
from pathlib import Path
import xarray as xr

VARIABLES = {"y": ("number", "1")}

def run(chapter, axes, settings, workdir):
    here = Path(__file__).parent
    (here / f"began{axes['seed']}").touch()
    while (here / "hold").exists():
        try:
            time.sleep(0.05)
        except KeyboardInterrupt:  # a helper that takes no notice of it has to end, too
            if "--helps" not in sys.argv:
                raise
    return xr.Dataset({"y": 1.0})

def results(chapter):
    return chapter.grid(run, settings={}, variables=VARIABLES)
"""


def lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals")
@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_ends_with_all_that_it_started_and_goes_on(project, vnbook, kind):
    folder = project / "chapters" / "tiny"
    (folder / "study.py").write_text(HOLDING, encoding="utf-8")
    (folder / "hold").touch()
    options = ("run", "tiny", "--jobs", "2", "--quiet")
    process = subprocess.Popen(
        [sys.executable, "-m", "book.site.cli", *options],
        env=os.environ | {"PYTHONPATH": f"{paths.SOURCE}:{project}"},
        cwd=paths.SOURCE,
        stderr=subprocess.PIPE,
        text=True,
    )
    family = [psutil.Process(process.pid)]
    try:
        deadline = time.monotonic() + 600  # only so that a fault ends the test
        while not all((folder / f"began{seed}").exists() for seed in (0, 1)):  # one in each process
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        family += family[0].children(recursive=True)
        assert len(family) == 3, "with a kernel and a helper"
        process.send_signal(kind)
        said = process.communicate(timeout=60)[1]
        while any(map(lives, family)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not any(map(lives, family))
    finally:
        for one in family:
            if lives(one):
                one.kill()
    assert "Traceback" not in said
    assert kind == signal.SIGKILL or said.strip().startswith("vnbook: interrupted; finished runs")
    (folder / "hold").unlink()
    # The next run removes what is left, which after a kill is most, alone or with a helper.
    done = vnbook(*options[:2], "--quiet", "--jobs", 2 if kind == signal.SIGKILL else 1)
    assert done.code == 0, done.err
    left = [
        one.relative_to(project / "results").as_posix() for one in project.rglob("results/**/*")
    ]
    files = ["executed", "executed/smoke", "executed/smoke/tiny.ipynb", "smoke", "smoke/tiny.nc"]
    assert sorted(left) == files


def test_sigterm_is_handled_as_an_interrupt_is(vnbook):
    """And what ends with it tells nothing more."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assert vnbook("--help").code == 0
        with pytest.raises(KeyboardInterrupt):
            signal.getsignal(signal.SIGTERM)(signal.SIGTERM, None)
        assert not logging.getLogger("asyncio").isEnabledFor(logging.CRITICAL)
    finally:
        signal.signal(signal.SIGTERM, before)
        logging.disable(logging.NOTSET)
