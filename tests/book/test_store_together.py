"""Cells of a group are computed side by side, and are stored as if each had been by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import xarray as xr
from filelock import FileLock
from fit_cases import batch_sizes

from vnlib import fit_many
from vnlib.book import store
from vnlib.book.store import runfiles
from vnlib.checkpoint import History
from vnlib.fit import Course, FitConfig, GradientLearner, fit

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
AXES = {"width": [4, 5], "seed": [0, 1, 2]}


class Line(torch.nn.Module):
    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(seed)
        self.there, self.back = (
            torch.nn.Parameter(torch.randn(*shape, generator=rng))
            for shape in ((6, width), (width, 6))
        )

    def loss(self, x: torch.Tensor, *, generator: torch.Generator) -> torch.Tensor:
        return (x @ self.there @ self.back - x).square().mean()


class Lab:
    """A grid of small models, its groups of equal width; `fail` names seeds whose runs break."""

    def __init__(self, path: Path) -> None:
        self.path, self.fail, self.ran = path, set(), []

    def run(self, axes: dict, settings: dict, workdir: Path) -> xr.Dataset:
        self.ran.append((axes["width"], axes["seed"]))
        learner = GradientLearner(Line(axes["width"], axes["seed"]), lr=settings["lr"])
        config = FitConfig(steps=12, batch_size=8, keep="last", checkpoint_every=5)
        file = workdir / "fit.safetensors"
        history = fit(learner, (X,), config, seed=axes["seed"], checkpoint=file)
        if (axes["width"], axes["seed"]) in self.fail:
            raise RuntimeError("broken")
        return xr.Dataset({"loss": ("step", history.train)})

    def grid(self, axes: dict = AXES, *, together: bool = True, **options: Any) -> store.GridResult:
        given = {"settings": lambda axes: {"lr": 0.1 if axes["seed"] else 0.2}, "title": "t"}
        given |= {"together": lambda axes: axes["width"]} if together else {}
        self.ran = []
        return store.grid(self.run, axes, path=self.path, progress=False, **given | options)


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    return batch_sizes(monkeypatch)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path / "fig.nc")


def of_session(ds: xr.Dataset) -> xr.Dataset:
    return ds.drop_vars(["run_date", "run_wall_time"])


def test_a_group_is_stored_as_single_runs_are(lab: Lab, tmp_path: Path, sizes: list[int]):
    result, alone = lab.grid(), Lab(tmp_path / "alone.nc").grid(together=False)
    assert sizes == [3, 3] and result.notes == alone.notes
    xr.testing.assert_allclose(of_session(result.dataset), of_session(alone.dataset), rtol=1e-5)
    for key in set(alone.dataset.attrs) - {"date", "wall_time_s"}:
        assert result.dataset.attrs[key] == alone.dataset.attrs[key], key
    assert (result.dataset["run_wall_time"] > 0).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone.nc", "fig.nc"]
    assert lab.grid().notes == lab.grid(together=False).notes and lab.ran == []


def test_only_what_is_missing_is_computed(lab: Lab, sizes: list[int]):
    lab.grid({"width": [4], "seed": [1]})
    lab.grid()
    assert sizes == [2, 3] and (4, 1) not in lab.ran and len(lab.ran) == 5


def test_a_cell_that_another_process_holds_is_left_out(
    lab: Lab, sizes: list[int], monkeypatch: pytest.MonkeyPatch
):
    """The others do not wait for it; it is computed once it is free."""
    lab.path.with_suffix(".runs").mkdir()
    held = FileLock(lab.path.with_suffix(".runs") / "width=4,seed=1.lock")
    held.acquire()
    run = lab.run

    def freeing(axes: dict, *given: Any) -> xr.Dataset:
        if axes["width"] == 5:
            held.release()
        return run(axes, *given)

    monkeypatch.setattr(lab, "run", freeing)
    lab.grid()
    assert sizes == [2, 3] and lab.ran[-1] == (4, 1) and len(lab.ran) == 6


def test_a_whole_group_is_held_while_it_is_computed(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    free, train = [], fit_many.fit_many

    def asked(courses: Sequence[Course]) -> list[History]:
        files = runfiles.RunFiles(lab.path, dict.fromkeys(AXES, False))
        for cell in ("width=4,seed=0", "width=4,seed=2"):
            with files.lock(cell) as mine:
                free.append(mine)
        return train(courses)

    monkeypatch.setattr(fit_many, "fit_many", asked)
    lab.grid({"width": [4], "seed": [0, 1, 2]})
    assert free == [False, False]


def test_what_breaks_is_named_and_what_was_finished_is_kept(lab: Lab, sizes: list[int]):
    lab.fail = {(5, 1)}
    with pytest.raises(RuntimeError, match="broken") as caught:
        lab.grid()
    assert "in run width=5,seed=1 or width=5,seed=2 of" in caught.value.__notes__[0]
    lab.fail = set()
    lab.grid()
    assert lab.ran == [(5, 1), (5, 2)] and sizes == [3, 3, 2]


def test_a_killed_group_goes_on_from_its_checkpoints(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
):
    after, calls = Course.after, []

    def dying(course: Course, step: int, losses: list) -> None:
        after(course, step, losses)
        calls.append(step)
        if step > 8 and course.seed == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Course, "after", dying)
    with pytest.raises(KeyboardInterrupt):
        lab.grid({"width": [4], "seed": [0, 1, 2]})
    monkeypatch.setattr(Course, "after", after)
    begun = lab.grid({"width": [4], "seed": [0, 1, 2]}).dataset
    whole = Lab(tmp_path / "whole.nc").grid({"width": [4], "seed": [0, 1, 2]}).dataset
    assert sizes == [3, 3, 3] and max(calls) == 9
    xr.testing.assert_equal(begun["loss"], whole["loss"])
