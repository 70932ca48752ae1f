"""A run that was interrupted, or killed, ends with the bits of one that was not; checkpoints that are
not this run's are refused.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from fit_cases import (
    count,
    every_kind,
    run,
    same,
)
from safetensors.torch import load_file, save_file

import vnlib
from vnlib import checkpoint
from vnlib.fit import FitConfig

# --- interrupted runs ---


@every_kind
def test_checkpoints_change_nothing(kind, tmp_path):
    path = tmp_path / "deep" / "er" / "fit.safetensors"
    plain = run(kind)
    assert same(run(kind, checkpoint=path), plain)
    assert [p.name for p in path.parent.iterdir()] == ["fit.safetensors"]
    assert len(plain["train"]) == 20 and len(plain["validation"]) == 5


@every_kind
@pytest.mark.parametrize("stop_after", [2, 6, 13])
def test_a_resumed_run_ends_with_the_same_bits(kind, stop_after, tmp_path):
    path, whole = tmp_path / "fit.safetensors", run(kind)
    with pytest.raises(KeyboardInterrupt):
        run(kind, checkpoint=path, stop_after=stop_after)
    assert path.exists() == (stop_after >= 3)
    # 20 updates in all; those of the last checkpoint are not made again.
    with pytest.raises(KeyboardInterrupt):
        run(kind, checkpoint=path, stop_after=19 - 3 * (stop_after // 3))
    assert same(run(kind, checkpoint=path), whole)


@every_kind
def test_the_end_is_not_trained_again(kind, tmp_path):
    path, config = (
        tmp_path / "fit.safetensors",
        FitConfig(steps=8, batch_size=8, eval_every=4, checkpoint_every=8),
    )
    whole = run(kind, config=config, checkpoint=path)
    assert same(run(kind, config=config, checkpoint=path, stop_after=0), whole)


def test_a_crash_while_saving_leaves_the_last_checkpoint(tmp_path, monkeypatch):
    path, whole, saves = tmp_path / "fit.safetensors", run("vae"), itertools.count()

    def half(tensors, file, metadata):
        save_file(tensors, file, metadata=metadata)
        if next(saves) == 2:
            Path(file).write_bytes(Path(file).read_bytes()[:1000])
            raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "save_file", half)
    with pytest.raises(KeyboardInterrupt):
        run("vae", checkpoint=path)
    monkeypatch.undo()
    assert len(load_file(path)["train"]) == 6
    assert same(run("vae", checkpoint=path), whole)


# --- killed runs ---

KILL_KINDS = ("spatial", "vae", "local")
KILL_CONFIG = FitConfig(steps=60, batch_size=8, eval_every=4, checkpoint_every=1)


def main(folder: Path) -> None:
    """In a process of its own, which may fork: each kind is trained by a child, saved after each
    update, and killed some time after the first; prints how many were not at their end.
    """
    torch.set_num_threads(1)
    rng, kills = random.Random(0), 0
    for kind in KILL_KINDS:
        checkpoint = folder / f"{kind}.safetensors"
        if not (child := os.fork()):
            run(kind, config=KILL_CONFIG, checkpoint=checkpoint)
            os._exit(0)
        while not checkpoint.exists():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    print(kills)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_killed_runs_end_with_the_same_bits(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(vnlib.__file__).parents[1])}
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0, "the runs end too soon to be killed"
    for kind in KILL_KINDS:
        resumed = run(kind, config=KILL_CONFIG, checkpoint=tmp_path / f"{kind}.safetensors")
        assert same(resumed, run(kind, config=KILL_CONFIG)), kind


# --- checkpoints that are not this run's ---


def test_checkpoints_that_cannot_be_read_are_named_and_kept(tmp_path):
    path = tmp_path / "fit.safetensors"
    count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)
    good = path.read_bytes()
    for bad in (
        b"",
        b"\x00" * 100,
        b"no checkpoint",
        good[: len(good) // 2],
        good[:-1],
        good + b"\x00",
    ):
        path.write_bytes(bad)
        with pytest.raises(
            ValueError, match=r"fit\.safetensors is not a readable checkpoint .*delete it"
        ):
            count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)
        assert path.read_bytes() == bad
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match=r"fit\.safetensors is not a readable checkpoint"):
        count(itertools.repeat(1.0), steps=3, checkpoint_every=1, checkpoint=path)


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 6},
        {"batch_size": 5},
        {"lr_floor": 0.5},
        {"eval_every": 2},
        {"checkpoint_every": 3},
        {"seed": 1},
        {"n": 11},
    ],
)
def test_a_checkpoint_of_other_settings_is_refused(change, tmp_path):
    path, options = tmp_path / "fit.safetensors", {"steps": 5, "checkpoint_every": 1}
    count(itertools.repeat(1.0), checkpoint=path, **options)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"fit\.safetensors belongs to a run with other settings; delete it"
    ):
        count(itertools.repeat(1.0), checkpoint=path, **(options | change))
    assert path.read_bytes() == before


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    for kind, other in itertools.permutations(("mlp", "vae", "local"), 2):
        path = tmp_path / f"{kind}-{other}"
        run(kind, checkpoint=path)
        with pytest.raises(
            ValueError, match=f"{kind}-{other} belongs to a run with other settings"
        ):
            run(other, checkpoint=path)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "fit.safetensors"
    save_file({"weights": torch.zeros(3)}, path)
    with pytest.raises(ValueError, match="belongs to a run with other settings"):
        run("mlp", checkpoint=path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
