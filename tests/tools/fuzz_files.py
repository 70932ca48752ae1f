"""Files that are damaged, foreign, or boast: results and digits.

Whoever reads them refuses them by name.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import random
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from itertools import product
from pathlib import Path
from unittest import mock

import h5netcdf
import h5py
import psutil
import xarray as xr
from fuzz_parameters import Case

from book.site import cli
from book.site import ledger_page as pages
from data_gen import mnist
from data_gen.mnist import MnistError
from vnlib.book import store
from vnlib.book.chapter import Chapter, spec
from vnlib.book.store import StoreError, netcdf

MEMORY = 2**29
"""Bytes that reading a small file may take at most."""


def apart(load: Callable[[], object], *, named: str = "", seconds: int = 600) -> tuple[str, str]:
    """What came of a call in a process of its own, which may crash, hang or take memory; and what
    is wrong with it.

    named: what the message of a refusal must hold.
    """
    receiver, sender = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            os.write(sender, "\0".join(_outcome(load, named)).encode(errors="replace"))
        finally:
            os._exit(0)
    os.close(sender)
    with open(receiver, "rb") as pipe:
        came, _, wrong = pipe.read().decode().partition("\0")
    status = os.waitpid(pid, 0)[1]
    return (came, wrong) if came else ("died", f"signal {os.WTERMSIG(status)}")


def _outcome(load: Callable[[], object], named: str) -> tuple[str, str]:
    limit = psutil.Process().memory_info().vms + 4 * MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    came, wrong = "loaded", ""
    try:
        load()
    except (ValueError, StoreError, MnistError, FileNotFoundError) as error:
        greedy = any(isinstance(e, MemoryError) for e in (error.__cause__, error.__context__))
        vague = len(str(error)) > 3000 or "\n\n" in str(error) or named not in str(error)
        came, wrong = "refused", f"{type(error).__name__}: {error}" if greedy or vague else ""
    except BaseException as error:
        came, wrong = "raised", f"{type(error).__name__}: {error}"
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return came, wrong[:300] or (f"took {grown >> 20} MiB" if grown > MEMORY else "")


def mangled(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """A file that was damaged, and how."""
    size, how = (
        len(data),
        rng.choice(
            ["truncated", "bits flipped", "zeros inside", "another header", "noise", "grown"]
        ),
    )
    start = rng.randrange(size)
    if how == "bits flipped":
        changed = bytearray(data)
        for _ in range(rng.choice([1, 8, 200])):
            changed[rng.randrange(rng.choice([size, min(size, 4096)]))] ^= 1 << rng.randrange(8)
        return how, bytes(changed)
    return how, {
        "truncated": data[:start],
        "zeros inside": data[:start] + bytes(min(4096, size - start)) + data[start + 4096 :],
        "another header": rng.randbytes(min(size, rng.choice([8, 64, 512]))) + data[512:],
        "noise": rng.randbytes(start),
        "grown": data + rng.randbytes(100),
    }[how]


WHOLE: dict[str, bytes] = {
    "empty": b"",
    "text": b"no data\n",
    "one byte": b"\x89",
    "HDF5's mark": b"\x89HDF\r\n\x1a\n",
}


def trial(path: Path) -> xr.Dataset:
    """A small grid of runs at `path`."""
    return store.grid(
        lambda axes, settings, workdir: xr.Dataset({"y": ("i", [1.0, axes["seed"]]), "n": ((), 3)}),
        {"model": ["a", "b"], "seed": [0, 1]},
        path=path,
        settings=lambda axes: {},
        title="trial",
        progress=False,
        source="0",
        attrs={"chapter": "B_attention", "profile": "smoke"},
    ).dataset


WRONG: dict[str, Callable[[xr.Dataset], xr.Dataset]] = {
    "no settings": lambda ds: ds.drop_vars("run_settings"),
    "no provenance": lambda ds: ds.drop_vars(
        [n for n in ds.data_vars if str(n).startswith("run_")]
    ),
    "no source": lambda ds: ds.drop_vars("run_source_hash"),
    "no wall time": lambda ds: ds.drop_vars("run_wall_time"),
    "axis renamed": lambda ds: ds.rename(seed="sead"),
    "axis without values": lambda ds: ds.drop_vars("seed"),
    "axis of text": lambda ds: ds.assign_coords(seed=["0", "1"]),
    "axis of NaN": lambda ds: ds.assign_coords(seed=[0.0, float("nan")]),
    "axis twice the same": lambda ds: ds.assign_coords(seed=[0, 0]),
    "axis missing": lambda ds: ds.isel(seed=0, drop=True),
    "nothing in it": lambda ds: ds.isel(seed=[]),
    "settings are numbers": lambda ds: ds.assign(run_settings=ds["run_wall_time"]),
    "settings are no JSON": lambda ds: ds.assign(
        run_settings=ds["run_settings"].astype(object) + "{"
    ),
    "versions are no JSON": lambda ds: ds.assign(
        run_versions=ds["run_versions"].astype(object) + "{"
    ),
    "dates are numbers": lambda ds: ds.assign(run_date=ds["run_wall_time"]),
    "no attributes": lambda ds: ds.drop_attrs(deep=False),
    "attributes of another kind": lambda ds: ds.assign_attrs(versions="{", date=3, chapter=1.5),
    "unknown chapter": lambda ds: ds.assign_attrs(chapter="fig9"),
    "units that mean nothing": lambda ds: ds.assign(
        y=ds["y"].assign_attrs(units="days since the flood")
    ),
}
"""NetCDF files that can be read, and are not right."""


def relabelled(path: Path, name: str, value: str | None) -> None:
    """Give a file, or with "variable.attribute" a variable of it, another attribute; None takes it
    away.
    """
    with h5py.File(path, "a") as file:
        *variable, name = name.split(".")
        attrs = file[variable[0]].attrs if variable else file.attrs
        attrs[name] = value or ""
        if value is None:
            del attrs[name]
    path.write_bytes(netcdf.sealed(path.read_bytes()))


def boasting(path: Path, dtype: str, size: int, *, axis: bool) -> None:
    """A file of a few kilobytes that says it holds `size` numbers."""
    with h5netcdf.File(path, "w") as file:
        file.attrs["format"] = store.FORMAT
        file.dimensions = {"seed": size}
        file.create_variable("seed" if axis else "y", ("seed",), dtype, chunks=(2**16,))
    path.write_bytes(netcdf.sealed(path.read_bytes()))


def read_netcdf(path: Path) -> dict[str, Callable[[], object]]:
    """All that reads results; the file is a run's, a merged one, a chapter's and another
    chapter's.
    """
    folder = path.parent
    run = folder / "grid.runs" / "model=a,seed=0.nc"
    homes = {
        "merged": folder / "grid.nc",
        "run": run,
        "chapter": folder / "smoke" / "B_attention.nc",
        "needed": folder / "smoke" / "fig3_functions.nc",
    }
    for home in homes.values():
        home.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, home)

    def ran() -> None:
        homes["merged"].unlink()
        trial(homes["merged"])

    def results_of() -> None:
        reading = spec("G_functions")
        Chapter(reading, reading.check({"results_dir": str(folder)})).results_of("fig3_functions")

    def quiet(function: Callable, *args: object) -> None:
        with redirect_stdout(io.StringIO()):
            function(*args)

    return {
        "read": lambda: store.read(path),
        "grid": lambda: trial(homes["merged"]),
        "run": ran,
        "status": lambda: quiet(cli.status.callback, folder),
        "status page": lambda: pages.status(folder / "smoke", "smoke"),
        "ledger": lambda: quiet(cli.ledger.callback, "smoke", folder),
        "results_of": lambda: quiet(results_of),
    }


def netcdf_files(folder: Path, times: int, rng: random.Random) -> Iterator[tuple[str, Path]]:
    """Damaged and foreign NetCDF files, each at the same place."""
    path, whole = folder / "file.nc", folder / "whole.nc"
    trial(whole)
    for name, change in WRONG.items():
        store.write(change(store.read(whole)), path)
        yield name, path
    old, new = "vnbook-results-0", "vnbook-results-99"
    for name, value in [
        *product(["format"], [old, new, None]),
        ("n.whole_dtype", "nonsense"),
        ("n.units", "s since"),
    ]:
        shutil.copyfile(whole, path)
        relabelled(path, name, value)
        yield f"{name} {value}", path
    for axis, size in product((False, True), (2 * 10**8, 10**12, 2**61)):
        with suppress(OSError, ValueError):
            boasting(path, "f8", size, axis=axis)
            yield f"{size:.0e} {'labels' if axis else 'numbers'}", path
    for name, data in WHOLE.items():
        path.write_bytes(data)
        yield name, path
    for number in range(times):
        how, data = mangled(whole.read_bytes(), rng)
        path.write_bytes(data)
        yield f"{how} {number}", path


def digits(folder: Path, times: int, rng: random.Random) -> Iterator[tuple[str, Path]]:
    """Files that are no idx files of MNIST, with headers of every kind, some of them packed; each
    at the same place.
    """
    path = folder / "train-images-idx3-ubyte"
    (folder / "train-labels-idx1-ubyte").write_bytes(b"")
    sizes = (0, 1, 2, 28, 2**31, 2**32 - 1)
    for number in range(5 * times):  # they are cheap
        count = rng.choice([1, 2, 3, 3, 3, 8])
        shape = [rng.choice(sizes) for _ in range(count)]
        body = bytes(min(math.prod(shape), 2**12))
        header = bytes([0, 0, rng.choice([8, 8, 8, 13, 255]), count])
        data = header + b"".join(size.to_bytes(4, "big") for size in shape) + body
        how, data = mangled(data, rng) if rng.random() < 0.5 else ("", data)
        data = gzip.compress(data) if rng.random() < 0.3 else data
        path.write_bytes(mangled(data, rng)[1] if rng.random() < 0.2 else data)
        yield f"{shape} {how} {number}", path
    for name, content in WHOLE.items():
        path.write_bytes(content)
        yield name, path


def load_digits(path: Path) -> object:
    """MNIST from the folder of `path`, and its array alone."""
    with mock.patch.dict(os.environ, VNBOOK_DATA=str(path.parent)):
        return mnist.load("train", allow_fallback=True)


KINDS: dict[str, tuple[Callable, Callable[[Path], dict[str, Callable[[], object]]]]] = {
    "netcdf": (netcdf_files, read_netcdf),
    "idx": (
        digits,
        lambda path: {
            "load": lambda: load_digits(path),
            "parse": lambda: mnist.parse_idx(path.read_bytes(), str(path)),
        },
    ),
}


def files(times: int = 100, seed: int = 0) -> Iterator[Case]:
    """Files of each kind, damaged in each way and `times` times at random: they are refused by
    name, or read.
    """
    for kind, (make, readers) in KINDS.items():
        with tempfile.TemporaryDirectory(prefix="robustness-") as folder:
            for name, path in make(Path(folder), times, random.Random(seed)):
                for reader, load in readers(path).items():
                    yield Case(f"{kind} {reader}: {name}", *apart(load, named=folder))
