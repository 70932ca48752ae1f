"""Folders for drafts: there while they are used, and gone afterwards, even after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile

import pytest

from book.site import drafts
from vnlib.book import paths

HOLD = """
from book.site import drafts
with drafts.folder() as folder:
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_at_the_end_and_after_an_error(temporary):
    with pytest.raises(RuntimeError), drafts.folder() as folder:
        (folder / "page.ipynb").write_text("{}")
        assert folder.parent == temporary
        raise RuntimeError
    assert not list(temporary.iterdir())


def test_what_a_kill_left_is_removed_and_what_another_uses_is_not(temporary):
    env = {"TMPDIR": str(temporary), "PYTHONPATH": str(paths.SOURCE)}
    killed, alive = (
        subprocess.Popen(
            [sys.executable, "-c", HOLD], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
    )
    try:
        gone, kept = (one.stdout.readline().decode().strip() for one in (killed, alive))
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert {str(one) for one in temporary.iterdir()} == {gone, kept}
        with drafts.folder() as folder:
            assert {str(one) for one in temporary.iterdir()} == {kept, str(folder)}
    finally:
        for one in (killed, alive):
            one.kill()
            one.communicate()
