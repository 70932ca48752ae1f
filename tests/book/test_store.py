"""The result store: what is computed, kept and refused, also after crashes and by several processes
at once.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from vnlib.book import store
from vnlib.book.store import netcdf, provenance, runfiles

AXES = {"model": ["vn", "cnn"], "seed": [1, 0]}
ROW = {"model": ["vn"], "seed": [1, 0]}


class Lab:
    """A grid in a temporary folder whose runs are counted; settings are {"n": number of epochs}."""

    def __init__(self, folder: Path):
        self.path = folder / "fig.nc"
        self.runs = folder / "fig.runs"
        self.calls = []
        self.n = 3
        self.fail = None

    def run(self, axes, settings, workdir):
        self.calls.append(store.Cell(axes).key)
        if self.fail in (axes["seed"], "all"):
            (workdir / "checkpoint").write_text(f"seed {axes['seed']}")
            raise RuntimeError("diverged")
        loss = np.float32(axes["seed"] + 1) / np.arange(1, settings["n"] + 1, dtype=np.float32)
        ds = xr.Dataset(
            {
                "loss": ("epoch", loss, {"units": "nat", "long_name": "validation loss"}),
                "why": f"{axes['model']} stopped",
                "steps": ((), 7 * axes["seed"], {"units": "1"}),
                "converged": axes["seed"] == 0,
            },
            coords={"epoch": ("epoch", np.arange(settings["n"]), {"units": "epoch"})},
        )
        return ds.assign(ratio=2.5) if axes["model"] == "vn" else ds

    def grid(self, axes=None, **options):
        options = {
            "settings": lambda axes: {"n": self.n},
            "title": "A figure",
            "progress": False,
        } | options
        self.calls = []
        return store.grid(self.run, axes or ROW, path=self.path, **options)


@pytest.fixture
def lab(tmp_path):
    return Lab(tmp_path)


def without_stamps(ds):
    """The dataset without what differs from session to session."""
    return ds.drop_vars(["run_date", "run_wall_time"]).drop_attrs(deep=False)


# What a grid computes and returns


def test_each_cell_is_computed_once_and_returned_in_the_order_asked(lab):
    result = lab.grid(AXES)
    assert sorted(lab.calls) == sorted(
        f"model={m},seed={s}" for m in AXES["model"] for s in AXES["seed"]
    )
    assert result.dataset["model"].values.tolist() == ["vn", "cnn"]
    assert result.dataset["seed"].values.tolist() == [1, 0]
    expected = np.array([[2, 1, 2 / 3], [1, 0.5, 1 / 3]], np.float32)
    for model in AXES["model"]:
        np.testing.assert_array_equal(result.dataset["loss"].sel(model=model), expected)
    assert "4 of 4 runs computed" in result.notes[0]
    # no locks, run files or folders stay
    assert [p.name for p in lab.path.parent.iterdir()] == ["fig.nc"]


def test_types_and_units_survive_the_merge(lab):
    ds = lab.grid(AXES).dataset
    assert ds["loss"].dtype == np.float32 and ds["loss"].attrs["units"] == "nat"
    assert ds["epoch"].attrs["units"] == "epoch"
    assert ds["steps"].dtype == np.int64 and ds["steps"].attrs["units"] == "1"
    assert ds["converged"].dtype == bool and ds["converged"].sel(model="vn").values.tolist() == [
        False,
        True,
    ]
    assert ds["why"].dtype.kind == "U" and ds["why"].sel(model="cnn", seed=0) == "cnn stopped"
    assert (
        np.isnan(ds["ratio"].sel(model="cnn")).all() and (ds["ratio"].sel(model="vn") == 2.5).all()
    )


def test_missing_cells_are_nan_or_empty_text(lab):
    lab.grid({"model": ["vn"], "seed": [0]})
    lab.grid({"model": ["cnn"], "seed": [1]})
    gap = store.read(lab.path).sel(model="cnn", seed=0)
    assert gap["why"] == "" and gap["run_settings"] == ""
    assert np.isnan(gap["loss"]).all() and np.isnan(gap["steps"]) and np.isnan(gap["converged"])


def test_the_result_does_not_depend_on_the_history(lab, tmp_path):
    whole = lab.grid(AXES).dataset
    parts = Lab(tmp_path / "parts")
    for axes in ({"model": ["vn"], "seed": [0]}, {"model": ["cnn"], "seed": [1]}):
        parts.grid(axes)
    parts.grid(AXES)
    assert len(parts.calls) == 2
    xr.testing.assert_identical(without_stamps(whole), without_stamps(parts.grid(AXES).dataset))
    whole, parts = (without_stamps(store.read(p)) for p in (lab.path, parts.path))
    xr.testing.assert_identical(whole, parts)
    assert {n: v.dtype for n, v in whole.variables.items()} == {
        n: v.dtype for n, v in parts.variables.items()
    }


def test_provenance_is_kept_per_run_and_summed_up(lab, monkeypatch):
    origin = {"git_dirty": 0, "hardware": "CPU A", "versions": '{"torch": "1"}'}
    monkeypatch.setattr(provenance, "collect", lambda device: origin | {"git_revision": "r1"})
    lab.grid({"model": ["vn"], "seed": [0]}, source="a" * 12)
    other = {
        "git_revision": "r2",
        "git_dirty": 1,
        "hardware": "GPU 5",
        "versions": '{"torch": "2"}',
    }
    monkeypatch.setattr(provenance, "collect", lambda device: origin | other)
    result = lab.grid(
        {"model": ["vn"], "seed": [0, 1]},
        source="b" * 12,
        attrs={"profile": "smoke", "caption": None},
    )
    ds = result.dataset
    assert ds["run_source_hash"].values.ravel().tolist() == ["a" * 12, "b" * 12]
    assert ds["run_git_revision"].values.ravel().tolist() == ["r1", "r2"]
    assert (
        ds["run_git_dirty"].values.ravel().tolist() == [0, 1]
        and ds["run_git_dirty"].dtype == np.int8
    )
    assert json.loads(ds["run_settings"].values[0, 0]) == {"n": 3}
    assert ds["run_wall_time"].attrs["units"] == "s"
    for attrs in (ds.attrs, store.read(lab.path).attrs):
        assert attrs["format"] == store.FORMAT and attrs["title"] == "A figure"
        assert attrs["git_revision"] == "r1, r2" and attrs["git_dirty"] == 1
        assert attrs["source_hash"] == f"{'a' * 12}, {'b' * 12}"
        assert json.loads(attrs["axes"]) == {"model": ["vn"], "seed": [0, 1]}
        assert json.loads(attrs["seeds"]) == [0, 1] and json.loads(attrs["versions"]) == {
            "torch": "1, 2"
        }
        assert attrs["hardware"] == "CPU A; GPU 5" and attrs["date"] == max(
            ds["run_date"].values.ravel()
        )
        assert attrs["wall_time_s"] == pytest.approx(float(ds["run_wall_time"].sum()))
        assert attrs["profile"] == "smoke" and attrs["caption"] == "null"
    assert "r2" not in lab.grid({"model": ["vn"], "seed": [0]}).dataset.attrs["git_revision"]


def test_progress_is_shown_on_demand(lab, capfd):
    for seed, progress in enumerate((True, False)):
        lab.grid({"model": ["vn"], "seed": [seed]}, progress=progress)
        assert ("A figure" in capfd.readouterr().err) == progress


# What is skipped, kept, recomputed


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
    assert lab.calls == [] and any(
        "2 of 2" in n and old in n and "f" * 12 in n for n in result.notes
    )


def test_recompute_renews_the_cells_asked_for(lab):
    before = lab.grid().dataset["run_date"].sel(model="vn")
    result = lab.grid({"model": ["vn"], "seed": [0]}, recompute=True)
    assert (
        lab.calls == ["model=vn,seed=0"] and "1 of 1 runs computed anew as asked" in result.notes[0]
    )
    after = store.read(lab.path)["run_date"].sel(model="vn")
    assert after.sel(seed=0).item() > before.sel(seed=0).item()
    assert after.sel(seed=1).item() == before.sel(seed=1).item()


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


@pytest.fixture
def unmerged(lab):
    """A lab with one run that is finished and not merged."""
    lab.fail = 0
    with pytest.raises(RuntimeError):
        lab.grid()
    lab.fail = None
    return lab


def test_a_run_merged_during_a_look_up_is_not_missed(unmerged, monkeypatch):
    files, other = (runfiles.RunFiles(unmerged.path, ROW) for _ in range(2))
    look = files.merged

    def look_while_the_other_merges():
        found = look()
        other.merge({}, {"title": "t"})
        return found

    monkeypatch.setattr(files, "merged", look_while_the_other_merges)
    assert len(files.held("model=vn,seed=1")) == 1
    assert not unmerged.runs.exists() or not list(unmerged.runs.glob("*.nc"))


def test_a_run_file_renewed_during_a_merge_is_not_deleted(unmerged, monkeypatch):
    file = unmerged.runs / "model=vn,seed=1.nc"
    renewed = store.read(file).assign(loss=("epoch", [9.0, 9.0, 9.0]))

    def write(ds, path):
        store.write(ds, path)
        store.write(renewed, file)

    monkeypatch.setattr(runfiles, "write", write)
    runfiles.RunFiles(unmerged.path, ROW).merge({}, {"title": "t"})
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


def test_keys_are_safe_file_names():
    key = store.Cell({"model": "../a/b,c=d é", "lam": 0.5, "seed": 3}).key
    assert not set(key) & set("/\\\0") and key.endswith("lam=0.5,seed=3")
    assert store.Cell({"lam": 1.0}).key == store.Cell({"lam": 1}).key == "lam=1"
    assert store.Cell({"lam": 0.1}).key != store.Cell({"lam": 0.1 + 1e-16}).key
    long = [store.Cell({"model": "x" * 400 + end}).key for end in "ab"]
    assert max(map(len, long)) <= 200 and long[0] != long[1]


def test_odd_axis_values_find_their_runs_again(tmp_path):
    axes = {"model": ["a/b", "..", "ü,k=1" * 99], "lam": np.array([1 / 3])}
    calls = []

    def run(axes, settings, workdir):
        calls.append(axes)
        return xr.Dataset({"x": axes["lam"]})

    for _ in range(2):
        options = {
            "path": tmp_path / "odd.nc",
            "settings": lambda a: {},
            "title": "t",
            "progress": False,
        }
        ds = store.grid(run, axes, **options).dataset
    assert len(calls) == 3 and (ds["x"] == ds["lam"]).all()
    assert os.listdir(tmp_path) == ["odd.nc"]


# What is refused


def damage(kind, path):
    """Put something that is no good result file in the place of a good one."""
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    elif kind == "text":
        path.write_text("epoch,loss\n0,1.5\n")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        xr.Dataset({"loss": 1.0}).to_netcdf(path, engine="h5netcdf")


@pytest.mark.parametrize("kind", ["truncated", "text", "empty", "foreign"])
@pytest.mark.parametrize("place", ["merged", "run"])
def test_a_damaged_or_foreign_file_is_named_and_left_alone(lab, place, kind):
    if place == "merged":
        lab.grid({"model": ["vn"], "seed": [0]})
        path = lab.path
    else:
        lab.fail = 0
        with pytest.raises(RuntimeError):
            lab.grid({"model": ["vn"], "seed": [1, 0]})
        lab.fail = None
        path = lab.runs / "model=vn,seed=1.nc"
    damage(kind, path)
    before = path.read_bytes()
    for recompute in (False, True):
        with pytest.raises(store.StoreError, match="move it away or delete it") as caught:
            lab.grid(recompute=recompute)
        assert str(path) in str(caught.value)
        assert lab.calls == [] and path.read_bytes() == before
    path.unlink()
    assert lab.grid({"model": ["vn"], "seed": [1]}).dataset["loss"].notnull().all()


def test_a_grid_over_other_axes_is_refused(lab):
    lab.grid()
    for axes in (
        {"seed": [0]},
        {"model": ["vn"], "seed": [0], "lam": [1]},
        {"model": ["vn"], "seed": ["0"]},
    ):
        with pytest.raises(store.StoreError, match=r"fig\.nc .*use another file|not like"):
            lab.grid(axes)
    store.write(xr.Dataset({"loss": 1.0}), lab.path)
    with pytest.raises(store.StoreError, match=r"fig\.nc is a grid over \(\)"):
        lab.grid()


def test_a_run_file_under_a_wrong_name_is_refused(lab):
    lab.fail = 0
    with pytest.raises(RuntimeError):
        lab.grid()
    (lab.runs / "model=vn,seed=1.nc").rename(lab.runs / "model=vn,seed=8.nc")
    with pytest.raises(store.StoreError, match=r"seed=8\.nc holds model=vn,seed=1"):
        lab.grid()


@pytest.mark.parametrize(
    "axes",
    [
        {},
        {"seed": []},
        {"seed": [0, 0]},
        {"seed": [1, 1.0]},
        {"seed": [0, "a"]},
        {"seed": [True, False]},
        {"seed": [None]},
        {"seed": [float("nan")]},
        {"seed": [[0], [1]]},
        {"seed": "012"},
        {"seed": 3},
        {"run_date": [0]},
        {"a b": [0]},
        {3: [0]},
    ],
    ids=repr,
)
def test_bad_axes(lab, axes):
    with pytest.raises(ValueError, match=r"ax[ie]s"):
        store.grid(lab.run, axes, path=lab.path, settings=lambda a: {}, title="t", progress=False)
    assert not lab.runs.exists()


@pytest.mark.parametrize("settings", [None, [1], {"f": open}, {"a": {1, 2}}], ids=repr)
def test_bad_settings(lab, settings):
    with pytest.raises(ValueError, match="settings of model=vn,seed=1"):
        lab.grid(settings=lambda axes: settings)


def test_settings_may_hold_arrays_and_in_any_order(lab):
    lab.grid(settings=lambda axes: {"n": np.int64(2), "layers": np.arange(2)})
    lab.grid(settings=lambda axes: {"layers": (0, 1), "n": 2})
    assert lab.calls == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"loss": 1.0}, "xarray.Dataset, got dict"),
        (xr.Dataset({"seed": 1}), "names of the axes"),
        (xr.Dataset({"loss": ("seed", [1.0])}), "names of the axes"),
        (xr.Dataset({"run_date": "today"}), "run_"),
        (xr.Dataset({"stream": 2**60}), "stream"),
    ],
    ids=["dict", "variable", "dimension", "provenance", "large"],
)
def test_bad_results_of_a_run(lab, made, words):
    lab.run = lambda axes, settings, workdir: made
    with pytest.raises(ValueError, match=words) as caught:
        lab.grid()
    assert any("model=vn,seed=1" in note for note in caught.value.__notes__)


def test_runs_that_do_not_fit_together_are_kept_and_named(lab):
    lab.run = lambda axes, settings, workdir: xr.Dataset(
        {"x": ("sample", np.zeros(2 + axes["seed"]))}
    )
    with pytest.raises(store.StoreError, match=r"fig\.nc do not fit together .*sample"):
        lab.grid()
    assert len(list(lab.runs.glob("*.nc"))) == 2
    units = {0: "m", 1: "cm"}
    lab.run = lambda axes, s, w: xr.Dataset({"x": ((), 1.0, {"units": units[axes["seed"]]})})
    with pytest.raises(store.StoreError, match="units cm and m"):
        lab.grid(recompute=True)


def test_two_callers_who_want_other_settings_in_one_cell_are_told(lab, tmp_path):
    rival = Lab(tmp_path)
    rival.n = 2
    run = lab.run

    def interrupted(axes, settings, workdir):
        if axes["seed"] == 0:
            rival.grid({"model": ["vn"], "seed": [1]})
        return run(axes, settings, workdir)

    lab.run = interrupted
    with pytest.raises(
        store.StoreError, match=r"another process .*model=vn,seed=1.*use another file"
    ):
        lab.grid()


def test_a_folder_that_cannot_be_written_is_named_before_any_run(lab, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/no/such")):
        lab.path = folder / "fig.nc"
        with pytest.raises(store.StoreError, match="choose another results folder") as caught:
            lab.grid()
        assert str(folder) in str(caught.value) and lab.calls == []
    lab.path = tmp_path / "fig.nc"
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(store.StoreError, match="it is read-only"):
        lab.grid()
    assert lab.calls == []


def test_read_names_the_file(tmp_path):
    with pytest.raises(store.StoreError, match=r"none\.nc does not exist"):
        store.read(tmp_path / "none.nc")
    with pytest.raises(store.StoreError, match=f"{tmp_path} cannot be read"):
        store.read(tmp_path)
    path = tmp_path / "a.nc"
    for kind, words in (
        ("foreign", netcdf.FORMAT),
        ("text", "cannot be read"),
        ("empty", "cannot be read"),
    ):
        damage(kind, path)
        with pytest.raises(store.StoreError, match=words) as caught:
            store.read(path)
        assert str(path) in str(caught.value)
