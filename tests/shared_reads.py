"""Files that many tests read are read once: what notebooks and sidecars say by each process, and
results by the first of all workers, which leaves the arrays in a folder that the others map into
their memory.
"""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path

import xarray as xr

from vnlib.book import chapter, paths

Read = Callable[[Path], xr.Dataset]
ALIGNED = 64  # bytes


def sharing(read: Read, folder: Path, kept: Path) -> Read:
    """`read`, whose results of the files of a folder are kept in another for as long as they are
    the same; nobody may write into these arrays.
    """

    def shared(path: Path) -> xr.Dataset:
        real = Path(path).resolve()
        if real.parent != folder.resolve() or not real.is_file():
            return read(path)
        left = kept / f"{real.stem}-{real.stat().st_mtime_ns}.pickle"
        if not left.exists():
            _leave(read(path), left)
        return _take(left)

    return shared


def _leave(ds: xr.Dataset, left: Path) -> None:
    left.parent.mkdir(exist_ok=True)
    arrays: list[pickle.PickleBuffer] = []
    form = pickle.dumps(ds, protocol=5, buffer_callback=arrays.append)
    raw, spans = left.with_suffix(f".{os.getpid()}"), []
    with raw.open("wb") as file:
        for one in arrays:
            file.write(bytes(ALIGNED - file.tell() % ALIGNED))
            spans.append((file.tell(), file.write(one.raw())))
    written = left.with_suffix(f".{os.getpid()}.pickle")
    written.write_bytes(pickle.dumps((raw.name, spans, form)))
    written.replace(left)  # whole, or not there


def _take(left: Path) -> xr.Dataset:
    name, spans, form = pickle.loads(left.read_bytes())
    with (left.parent / name).open("rb") as file:
        bits = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return pickle.loads(form, buffers=[bits[start : start + n] for start, n in spans])


def remembering(spec: Callable[[str], chapter.Spec]) -> Callable[[str], chapter.Spec]:
    """`chapter.spec`, which reads notebook and sidecar again only once they have changed; what it
    returns is nobody else's.
    """

    @cache
    def kept(name: str, *_: object) -> bytes:
        return pickle.dumps(spec(name))

    def remembered(name: str) -> chapter.Spec:
        try:
            files = [paths.notebook(name), paths.sidecar(name)]
            changed = [(file, file.stat().st_mtime_ns) for file in files]
        except (TypeError, ValueError, OSError):
            return spec(name)  # which says what is wrong
        return pickle.loads(kept(name, *changed))

    return remembered
