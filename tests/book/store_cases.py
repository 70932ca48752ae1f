"""A grid of runs that are counted, and damage to its files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import xarray as xr

from vnlib.book import store
from vnlib.book.store import netcdf, provenance

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


def damage(kind, path):
    """Put something that is no good result file in the place of a good one."""
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-200])
    elif kind == "text":
        path.write_text("epoch,loss\n0,1.5\n")
    elif kind == "empty":
        path.write_bytes(b"")
    else:
        path.write_bytes(netcdf.sealed(xr.Dataset({"loss": 1.0}).to_netcdf(engine="h5netcdf")))


def stored(path: Path, **attrs: str) -> None:
    """A finished result file of two runs; one that is there already is left alone, as a grid does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = _made(provenance.source_hash, **attrs)
    if not path.exists() or path.read_bytes() != made:
        path.write_bytes(made)


@cache
def _made(source: Callable, **attrs: str) -> bytes:
    """The file, once for each `source` of hashes, which tests replace."""
    with TemporaryDirectory() as folder:
        store.grid(
            lambda axes, settings, workdir: xr.Dataset({"y": ((), 1.0)}),
            {"seed": [0, 1]},
            path=(path := Path(folder) / "made.nc"),
            settings=lambda axes: {},
            title="made up",
            progress=False,
            attrs=attrs,
        )
        return path.read_bytes()
