"""The result store under several processes and sudden death."""

import os
import textwrap

import forked_kernels
import numpy as np
import pytest

from vnlib.book import store

PRELUDE = """
    import json, os, random, signal, sys, time
    from pathlib import Path
    import numpy as np, xarray as xr
    import vnlib.fit_many  # once for all children
    from vnlib.book import store
    from vnlib.book.store import provenance

    record = {"git_revision": "r", "git_dirty": 0, "hardware": "h", "versions": "{}"}
    provenance.collect = lambda device: record
    provenance.source_hash = lambda: "s"
    store._POLL = 0.01
    folder = Path(sys.argv[1])
    path, log = folder / "fig.nc", folder / "log"

    def note(text):
        with log.open("a") as file:
            file.write(text + chr(10))

    def run(axes, settings, workdir):
        note(f"{axes['seed']}")
        state = workdir / "state"
        step, value = json.loads(state.read_text()) if state.exists() else (0, axes["seed"])
        while step < 4:
            time.sleep(settings["pause"])
            step, value = step + 1, value * 0.7 + step
            (workdir / "new").write_text(json.dumps([step, value]))
            os.replace(workdir / "new", state)
        return xr.Dataset({"value": value, "why": "done"})

    def grid(seeds=range(5), run=run, pause=0.005):
        options = {"settings": lambda axes: {"pause": pause}, "title": "t", "progress": False}
        return store.grid(run, {"seed": seeds}, path=path, **options)

    def fork(work):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            except BaseException as error:
                note(f"failed: {error!r}")
            os._exit(0)
        return pid
"""


def script(folder, body):
    """Run a script after PRELUDE in a process of its own, which may fork: it has one thread.

    Returns the log.
    """
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(body)
    done = forked_kernels.python(code, str(folder))
    assert done.returncode == 0, done.stderr
    return (folder / "log").read_text().split()


def expected(seeds):
    values = np.array(seeds, float)
    for step in range(4):
        values = values * 0.7 + step
    return values


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_killed_process_goes_on_where_it_stopped(tmp_path):
    log = script(
        tmp_path,
        """
        rng = random.Random(0)
        for _ in range(12):
            child = fork(grid)
            time.sleep(rng.uniform(0, 0.25))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            note("killed")
            for file in [path, *path.with_suffix(".runs").glob("*.nc")]:
                if file.exists():
                    store.read(file)  # whatever is there is whole
                    note(f"saved-{file.stem}")
        grid()
        """,
    )
    assert not any("failed" in line for line in log)
    for seed in range(5):
        saved = f"saved-seed={seed}"
        # a saved run is never computed again
        assert saved not in log or str(seed) not in log[log.index(saved) :]
    assert "killed" in log and "0" in log
    np.testing.assert_array_equal(store.read(tmp_path / "fig.nc")["value"], expected(range(5)))
    assert sorted(os.listdir(tmp_path)) == ["fig.nc", "log"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_share_the_cells_of_one_grid(tmp_path):
    log = script(
        tmp_path,
        """
        for _ in range(2):
            work = lambda: note("sum=%r" % float(grid().dataset.value.sum()))
            children = [fork(work) for _ in range(3)]
            for child in children:
                os.waitpid(child, 0)
            path.rename(folder / "old.nc")
        """,
    )
    # each cell once per grid
    assert sorted(line for line in log if line.isdigit()) == sorted("01234" * 2)
    assert {line for line in log if not line.isdigit()} == {
        f"sum={float(expected(range(5)).sum())!r}"
    }
    assert sorted(os.listdir(tmp_path)) == ["log", "old.nc"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_the_cell_of_a_process_that_died_is_taken_over(tmp_path):
    log = script(
        tmp_path,
        """
        def hang(axes, settings, workdir):
            (workdir / "state").write_text("[4, 42.0]")
            (folder / "holding").touch()
            time.sleep(600)

        child = fork(lambda: grid([0], run=hang))
        while not (folder / "holding").exists():
            time.sleep(0.01)

        def killing(axes, settings, workdir):
            if axes["seed"] == 1:  # not computed before cell 0 was found to be locked
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            return run(axes, settings, workdir)

        result = grid([0, 1], run=killing)
        assert result.dataset["value"][0] == 42, "the checkpoint of the dead process was not used"
        """,
    )
    assert log == ["1", "0"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits of file sizes")
def test_a_full_disk_is_told_and_the_same_call_goes_on(tmp_path):
    """HDF5 crashed the process where its file could not grow."""
    log = script(
        tmp_path,
        """
        import resource, torch
        from safetensors.torch import save_file

        def large(axes, settings, workdir):
            values = np.random.default_rng(axes["seed"]).random(10 + 9000 * axes["seed"])
            if axes["seed"] == 2:  # a checkpoint, of which safetensors tells in its own words
                save_file({"x": torch.from_numpy(values)}, workdir / "x.safetensors")
            note(f"{axes['seed']}")
            each = {f"all{axes['seed']}": (f"i{axes['seed']}", values)}
            return xr.Dataset({"value": values.sum(), **each})

        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        for most, seeds in ((30_000, [0, 1]), (30_000, [0, 2]), (hard, [0, 1, 2])):
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
            try:
                grid(seeds, run=large)
            except store.StoreError as error:
                assert "make room" in str(error) and "the same command then goes on" in str(error)
                note("room" if f"seed={seeds[1]}" in str(error) and str(folder) in str(error) else "?")
        """,
    )
    assert log == ["0", "1", "room", "room", "1", "2"]
    sums = [np.random.default_rng(seed).random(10 + 9000 * seed).sum() for seed in range(3)]
    np.testing.assert_array_equal(store.read(tmp_path / "fig.nc")["value"], sums)
    assert sorted(os.listdir(tmp_path)) == ["fig.nc", "log"]
