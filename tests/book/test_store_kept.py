"""The result store: what is skipped, kept and computed anew, also after crashes."""

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from vnlib.book import store
from vnlib.book.store import provenance, runfiles

TEXTUAL = {"model": True, "seed": False}


def test_nothing_is_touched_when_all_is_there_even_in_a_read_only_folder(lab, monkeypatch):
    first = lab.grid().dataset
    before = lab.path.read_bytes(), lab.path.stat().st_mtime_ns
    monkeypatch.setattr(os, "access", lambda *args: False)
    monkeypatch.setattr(Path, "mkdir", lambda *args, **kwargs: pytest.fail("made a folder"))
    again = lab.grid()
    assert lab.calls == [] and (lab.path.read_bytes(), lab.path.stat().st_mtime_ns) == before
    xr.testing.assert_identical(first, again.dataset)
    assert len(again.notes) == 1 and "2 of 2 runs already there, skipped" in again.notes[0]


def test_a_subset_is_returned_alone_and_the_rest_stays_in_the_file(lab):
    lab.grid()
    before = lab.path.read_bytes()
    # the order of the axes does not matter either
    subset = lab.grid({"seed": [0], "model": ["vn"]}).dataset
    assert lab.calls == [] and dict(subset.sizes) == {"model": 1, "seed": 1, "epoch": 3}
    assert lab.path.read_bytes() == before
    lab.grid({"model": ["mlp"], "seed": [5]})
    assert store.read(lab.path)["model"].values.tolist() == ["mlp", "vn"]
    assert lab.grid().dataset.sizes["seed"] == 2 and lab.calls == []


def test_an_exception_names_its_cell_and_finished_runs_are_kept(lab):
    lab.fail = 0
    with pytest.raises(RuntimeError, match="diverged") as caught:
        lab.grid({"model": ["vn"], "seed": [1, 2, 0, 3]})
    assert any("model=vn,seed=0" in note for note in caught.value.__notes__)
    assert sorted(p.name for p in lab.runs.glob("*.nc")) == [
        "model=vn,seed=1.nc",
        "model=vn,seed=2.nc",
    ]
    lab.fail = None
    result = lab.grid({"model": ["vn"], "seed": [1, 2, 0, 3]})
    assert lab.calls == ["model=vn,seed=0", "model=vn,seed=3"]
    assert result.dataset["steps"].values.ravel().tolist() == [7, 14, 0, 21]
    assert not lab.runs.exists()


def test_checkpoints_outlive_a_crash_but_not_a_change_of_settings_or_source(lab):
    seen = []

    def run(axes, settings, workdir):
        seen.append((workdir / "checkpoint").exists())
        (workdir / "checkpoint").write_text("half-way")
        if len(seen) < 5:
            raise KeyboardInterrupt
        return xr.Dataset({"x": 1.0})

    def attempt(n, **options):
        store.grid(
            run,
            {"seed": [0]},
            path=lab.path,
            settings=lambda a: {"n": n},
            title="t",
            progress=False,
            **options,
        )

    for change in ("first", "same", "settings", "source"):
        source = "0" * 12 if change == "source" else None
        with pytest.raises(KeyboardInterrupt):
            attempt(n=2 if change in ("settings", "source") else 1, source=source)
    attempt(n=2, recompute=True)
    assert seen == [False, True, False, False, False]
    assert not lab.runs.exists()


def test_other_settings_are_computed_anew_with_a_note_that_says_which(lab):
    lab.grid()
    lab.n = 2
    result = lab.grid({"model": ["vn"], "seed": [0, 9]})
    assert lab.calls == ["model=vn,seed=0", "model=vn,seed=9"]
    assert any("1 of 2" in n and "n 3 -> 2" in n and "model=vn,seed=0" in n for n in result.notes)
    assert any("1 of 2 runs computed (model=vn,seed=9)" in n for n in result.notes)
    kept = store.read(lab.path).sel(model="vn")
    assert kept.sizes["epoch"] == 3  # seed 1 still has three epochs
    np.testing.assert_array_equal(np.isnan(kept["loss"].sel(seed=0)), [False, False, True])
    assert kept["loss"].sel(seed=1, epoch=2) == np.float32(2 / 3)
    lab.grid()
    assert lab.calls == ["model=vn,seed=1"]
    assert store.read(lab.path).sizes["epoch"] == 2  # the last label of old runs is gone


def test_a_changed_library_is_noted_but_recomputes_nothing(lab):
    old = lab.grid().dataset.attrs["source_hash"]
    assert old == provenance.source_hash(), "all of the library, unless the caller knows better"
    result = lab.grid(source="f" * 12)
    assert lab.calls == [] and result.older == ("model=vn,seed=1", "model=vn,seed=0")
    assert lab.grid().older == ()


def test_recompute_renews_the_cells_asked_for(lab):
    before = lab.grid().dataset["run_date"].sel(model="vn")
    result = lab.grid({"model": ["vn"], "seed": [0]}, recompute=True)
    assert (
        lab.calls == ["model=vn,seed=0"] and "1 of 1 runs computed anew as asked" in result.notes[0]
    )
    after = store.read(lab.path)["run_date"].sel(model="vn")
    assert after.sel(seed=0).item() > before.sel(seed=0).item()
    assert after.sel(seed=1).item() == before.sel(seed=1).item()


@pytest.mark.parametrize(
    "options", [{"recompute": True}, {"stale": "recompute", "source": "f" * 12}]
)
def test_a_run_dated_in_the_future_is_renewed_once(lab, options):
    """By a clock that was ahead, or one that has gone back since."""
    lab.grid()
    ds = store.read(lab.path)
    store.write(ds.assign(run_date=ds["run_date"].copy(data=[["2099-01-01T00:00"] * 2])), lab.path)
    result = lab.grid(**options)
    assert lab.calls == ["model=vn,seed=1", "model=vn,seed=0"] and not lab.runs.exists()
    assert not (result.dataset["run_date"] > "2099").any()
    stored = store.read(lab.path)["run_date"].sel(seed=[1, 0])
    assert stored.equals(result.dataset["run_date"])


def test_a_crash_between_merge_and_clean_up_does_no_harm(lab, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(runfiles.RunFiles, "_clean", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            lab.grid()
    before = lab.path.read_bytes()
    lab.grid()
    assert lab.calls == [] and lab.path.read_bytes() == before
    lab.grid({"model": ["vn"], "seed": [7]})
    assert lab.calls == ["model=vn,seed=7"] and not lab.runs.exists()
    lab.grid()
    assert lab.calls == []


def test_what_a_killed_process_left_goes_with_the_next_call(lab):
    lab.grid()
    lab.runs.mkdir()
    for name in ("merge.lock", "model=vn,seed=0.lock"):
        (lab.runs / name).touch()
    lab.grid()
    assert lab.calls == [] and not lab.runs.exists()


@pytest.fixture
def unmerged(lab):
    """A lab with one run that is finished and not merged."""
    lab.fail = 0
    with pytest.raises(RuntimeError):
        lab.grid()
    lab.fail = None
    return lab


def test_a_run_merged_during_a_look_up_is_not_missed(unmerged, monkeypatch):
    files, other = (runfiles.RunFiles(unmerged.path, TEXTUAL) for _ in range(2))
    look = files.merged

    def look_while_the_other_merges():
        found = look()
        other.merge({}, {"title": "t"})
        return found

    monkeypatch.setattr(files, "merged", look_while_the_other_merges)
    assert len(files.held("model=vn,seed=1")) == 1
    assert not unmerged.runs.exists() or not list(unmerged.runs.glob("*.nc"))


def test_what_a_process_wrote_it_does_not_read(lab, monkeypatch):
    read, asked = runfiles.read, []
    monkeypatch.setattr(runfiles, "read", lambda path: asked.append(path) or read(path))
    lab.grid()
    assert len(lab.calls) > 1 and not asked
    lab.grid()
    assert not lab.calls and asked == [lab.path]


def test_a_file_is_read_once_for_all_that_asks_for_a_part_of_it(lab, monkeypatch):
    read, asked = runfiles.read, []
    monkeypatch.setattr(runfiles, "read", lambda path: asked.append(path) or read(path))
    lab.grid({"model": ["vn"], "seed": [0, 1]})
    for seed in (0, 1):
        assert lab.grid({"model": ["vn"], "seed": [seed]}).dataset["seed"].values.tolist() == [seed]
    assert asked == [lab.path]
    changed = lab.grid().dataset
    changed["loss"].attrs["mine"] = changed.attrs["mine"] = 1
    again = lab.grid().dataset
    assert "mine" not in again.attrs and "mine" not in again["loss"].attrs
    os.utime(lab.path, (1, 1))
    lab.grid({"model": ["vn"], "seed": [0]})
    assert asked == [lab.path] * 2


def test_a_run_file_renewed_during_a_merge_is_not_deleted(unmerged, monkeypatch):
    file = unmerged.runs / "model=vn,seed=1.nc"
    renewed = store.read(file).assign(loss=("epoch", [9.0, 9.0, 9.0]))

    def write(ds, path):
        store.write(renewed, file)
        return store.write(ds, path)

    monkeypatch.setattr(runfiles, "write", write)
    runfiles.RunFiles(unmerged.path, TEXTUAL).merge({}, {"title": "t"})
    assert (store.read(file)["loss"] == 9).all()


def test_unmerged_runs_of_other_settings_do_not_displace_the_runs_asked_for(lab):
    lab.grid()
    lab.n, lab.fail = 2, 0
    with pytest.raises(RuntimeError):
        lab.grid()  # leaves seed 1 with n=2 as a run file
    lab.n, lab.fail = 3, None
    assert lab.grid({"model": ["vn"], "seed": [1, 5]}).dataset["loss"].notnull().all()
    assert lab.calls == ["model=vn,seed=5"]
    lab.n = 2
    assert lab.grid().dataset["loss"].sel(seed=1).notnull().sum() == 2
    assert lab.calls == ["model=vn,seed=0"]  # the run file was still good
