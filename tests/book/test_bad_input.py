"""Bad input to chapters, commands and the store of results: every mistake is refused in one short
paragraph.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import h5netcdf
import xarray as xr
from refusals import Call, made, refused

from book.site import build as book
from book.site import cli, ledger
from vnlib.book import chapter, store


def spec(**given: object) -> Call:
    """A parameter of a chapter."""
    return lambda tmp, patch: chapter.spec("fig2_spatial").check(given)


def opened(**given: object) -> Call:
    """The first cell of a chapter, after a cell that sets these names."""
    history = ["".join(f"{name} = {value!r}\n" for name, value in given.items()), "the first cell"]
    return lambda tmp, patch: chapter.open_chapter("fig2_spatial", {**given, "_ih": history})


def device(name: str) -> Call:
    def call(tmp, patch):
        one = chapter.spec("fig2_spatial")
        return chapter.Chapter(one, one.check({"device": name})).device

    return call


def command(*arguments: str) -> Call:
    """The command line; what it says before it ends with 1 is the text of SystemExit."""

    def call(tmp, patch):
        patch.setattr(
            sys, "argv", ["vnbook", *(word.replace("TMP", str(tmp)) for word in arguments)]
        )
        cli.main()

    return call


def grid(path: Path, axes: object = None, result: object = None, settings: object = None) -> object:
    return store.grid(
        lambda *_: xr.Dataset({"y": ((), 1.0)}) if result is None else result,
        {"seed": [0]} if axes is None else axes,
        path=path,
        settings=lambda axes: {} if settings is None else settings,
        title="test",
        progress=False,
    )


def gridded(**options: object) -> Call:
    return lambda tmp, patch: grid(tmp / "fig.nc", **options)


def below_a_file(tmp, patch):
    (tmp / "file").write_text("")
    grid(tmp / "file" / "smoke" / "fig.nc")


def read_only(tmp, patch):
    # the tests may run as root, who may write anywhere
    patch.setattr(os, "access", lambda *args: False)
    grid(tmp / "fig.nc")


def truncated(use: Callable[[Path], object]) -> Call:
    def call(tmp, patch):
        grid(tmp / "fig2_spatial.nc")
        whole = (tmp / "fig2_spatial.nc").read_bytes()
        (tmp / "fig2_spatial.nc").write_bytes(whole[: len(whole) // 2])
        use(tmp)

    return call


def foreign(tmp, patch):
    with h5netcdf.File(tmp / "theirs.nc", "w") as file:
        file.attrs["title"] = "somebody's weather"
    grid(tmp / "theirs.nc")


def other_axes(tmp, patch):
    grid(tmp / "fig.nc")
    grid(tmp / "fig.nc", axes={"model": ["a"], "seed": [0]})


SHADOWED = (
    *("torch", "figures", "study", "tables", "open_chapter", "chapter", "results", "display"),
    *("In", "open", "exit", "quit", "get_ipython", "print", "_seeds", "__name__"),
)
"""Names that a notebook or its kernel has, which papermill would set and a later cell overwrite."""
PARAMETERS = {
    "unknown chapter": (made(chapter.spec, "fig9"), "chapter", "'fig9'", "'fig2_spatial'"),
    "unknown parameter": (
        spec(sead=1),
        "'sead'",
        "Did you mean 'seeds'?",
        "hold_out",
        "results_dir",
    ),
    "unknown parameter, injected": (opened(prfile="fast"), "'prfile'", "'profile'", "results_dir"),
    **{
        f"a name of the notebook, {name}": (opened(**{name: 3}), f"no parameter '{name}'", "seeds")
        for name in SHADOWED
    },
    "unknown profile": (spec(profile="quick"), "profile", "'quick'", "'smoke', 'fast', 'paper'"),
    "unknown model": (spec(models=["cnn2", "cnn3"]), "models", "'cnn3'", "'cnn4'", "vnbook list"),
    "models empty": (spec(models=""), "models", "''", "'cnn4'"),
    "models no list": (spec(models=3), "models", "3", "cnn4"),
    "models twice": (spec(models="mlp,mlp"), "models", "twice", "'mlp'"),
    "unknown encoding": (spec(encoding="onehot"), "encoding", "'onehot'", "'one_hot'", "'fourier'"),
    "unknown hold-out": (
        spec(hold_out="disc"),
        "hold_out",
        "'disc'",
        "'square'",
        "'ring'",
        "'corner'",
    ),
    "unknown device": (spec(device="gpu"), "device", "'gpu'", "auto, cpu, cuda or cuda:N"),
    "device that is not there": (device("cuda:99"), "device", "'cuda:99'", "cpu"),
    "sparsity negative": (spec(sparsity=-0.1), "sparsity", ">= 0", "-0.1"),
    "sparsity NaN": (spec(sparsity=float("nan")), "sparsity", "finite", "nan"),
    "n_atoms 0": (spec(n_atoms=0), "n_atoms", ">= 8", "0"),
    "sparsity above": (spec(sparsity=1e300), "sparsity", "<= 1.0", "1e+300"),
    "bound of a profile": (
        made(chapter.spec("beyond_continual").check, {"kept": 50}),
        *("kept", "<= 30", "50"),
    ),
    "list that lacks one": (
        made(chapter.spec("H_nbody").check, {"betas": "0,0.1"}),
        *("betas", "0.02", "'0.1'"),
    ),
    "n_atoms a fraction": (spec(n_atoms=2.5), "n_atoms", "integer", "2.5"),
    "sigma 0": (spec(sigma=0), "sigma", ">= 0.3", "0"),
    "seeds empty": (
        spec(seeds=[]),
        "seeds",
        "[]",
        "count >= 1 and <= 1000",
        "list of different integers",
    ),
    "seeds 0": (spec(seeds=0), "seeds", "0", "count >= 1 and <= 1000"),
    "seeds twice": (spec(seeds=[1, 1]), "seeds", "[1, 1]", "different"),
    "seeds negative": (spec(seeds=[0, -1]), "seeds", ">= 0", "-1"),
    "seeds text": (spec(seeds="all"), "seeds", "'all'", "count"),
    "seeds without end": (spec(seeds=10**12), "seeds", "1000000000000", "count"),
    "recompute as text": (spec(recompute="yes"), "recompute", "'yes'", "true or false"),
    "jobs 0": (
        lambda tmp, patch: book.run_chapter("fig2_spatial", {}, tmp / "x.ipynb", jobs=0),
        "jobs",
        ">= 1",
        "0",
    ),
}
TYPED = {
    "unknown chapter, typed": (command("run", "fig9"), "chapter", "'fig9'", "'fig2_spatial'"),
    "unknown chapter, exported": (
        command("export", "fig9", "--to", "html"),
        "'fig9'",
        "'fig2_spatial'",
    ),
    "unknown parameter, typed": (
        command("run", "fig2_spatial", "-p", "sgima", "1"),
        "'sgima'",
        "'sigma'",
    ),
    "unknown profile, built": (
        command("build", "--profile", "quick"),
        "profile",
        "'quick'",
        "'paper'",
    ),
    "unknown profile, ledger": (
        command("ledger", "--profile", "quick"),
        "profile",
        "'quick'",
        "paper",
    ),
    "n_atoms text": (
        command("run", "fig2_spatial", "-p", "n_atoms", "many"),
        "n_atoms",
        "integer",
        "'many'",
    ),
    "results_dir a number": (
        command("run", "fig2_spatial", "-p", "results_dir", "7"),
        "results_dir",
        "7",
        "text",
    ),
    "results_dir below a file": (
        command("run", "fig2_spatial", "-p", "results_dir", f"{__file__}/x"),
        "test_bad_input.py/x",
        "Not a directory",
        "choose another results_dir",
    ),
    "no results to judge": (
        command("ledger", "--profile", "fast", "--results-dir", "TMP/none"),
        "none/fast",
        "vnbook run",
    ),
}
FILES = {
    "results below a file": (below_a_file, "file/smoke", "cannot be written", "choose another"),
    "results folder read-only": (read_only, "results folder", "read-only", "choose another"),
    "truncated NetCDF": (
        truncated(lambda tmp: store.read(tmp / "fig2_spatial.nc")),
        "fig2_spatial.nc",
        "truncated",
        "delete it",
    ),
    "truncated NetCDF, computed": (
        truncated(lambda tmp: grid(tmp / "fig2_spatial.nc")),
        "fig2_spatial.nc",
        "truncated",
        "delete it",
    ),
    "truncated NetCDF, judged": (
        truncated(ledger.ledger),
        "fig2_spatial.nc",
        "truncated",
        "delete it",
    ),
    "foreign NetCDF": (foreign, "theirs.nc", "its checksum lacks", "move it away"),
    "NetCDF of other axes": (other_axes, "fig.nc", "'seed'", "'model'", "another file"),
    "missing NetCDF": (
        lambda tmp, patch: store.read(tmp / "x.nc"),
        "x.nc",
        "does not exist",
        "compute it",
    ),
}
GRIDS = {
    "no axes": (gridded(axes={}), "axes", "name an axis", "none"),
    "axis given twice": (gridded(axes={"seed": [1, 1]}), "axis seed", "(1, 1)", "once"),
    "axis as text": (gridded(axes={"model": "mlp"}), "axis model", "'mlp'", "list"),
    "settings that are no JSON": (
        gridded(settings={"f": partial}),
        "settings of seed=0",
        "JSON",
        "partial",
    ),
    "run without a dataset": (gridded(result=3), "xarray.Dataset", "int"),
}

test_parameters = refused(PARAMETERS)
test_typed = refused(TYPED, SystemExit)
test_files = refused(FILES, store.StoreError)
test_grids = refused(GRIDS)
