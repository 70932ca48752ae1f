"""Bad input refused where the library below would do so without naming it, and files removed that
it would leave behind.

A function here returns nothing and changes no number: so no call of one dates results (see
`vnlib.book.store.source_hash`).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import tempfile
from collections.abc import Callable, Sequence
from importlib.util import cache_from_source
from numbers import Integral
from pathlib import Path

SIDES = 64
"""The most dimensions that an array of NumPy has."""
LARGEST = 2**26
"""Bytes that a data file may have, or unpack to: the largest of MNIST has 47,040,016."""


def seeds(**named: object) -> None:
    """Raise ValueError unless all of these are integers from 0 to 2**63 - 1."""
    high = 2**63 - 1
    for name, value in named.items():
        integer = isinstance(value, Integral) and not isinstance(value, bool)
        if not integer or not 0 <= value <= high:  # pyright: ignore[reportOperatorIssue]
            raise ValueError(f"{name} must be an integer >= 0 and <= {high}, got {value!r}")


def array_shape(shape: Sequence[int], origin: str, error: type[Exception]) -> None:
    """Raise `error`, naming `origin`, for a shape that no array of bytes has, though a file may
    claim it.
    """
    if len(shape) > SIDES:
        raise error(f"{origin} claims {len(shape)} dimensions; an array has at most {SIDES}")
    size = 1
    for side in shape:
        # NumPy leaves sides of zero out when it asks whether an array is too large
        size *= max(side, 1)
    if size >= 2**63:
        raise error(f"{origin} claims the shape {tuple(shape)}, which is too large for an array")


def file_size(path: Path) -> None:
    """Raise OSError for a file of more than `LARGEST` bytes, before it is read."""
    if (size := path.stat().st_size) > LARGEST:
        raise OSError(f"it has {size} bytes, and no file of this kind has more than {LARGEST}")


def unpacked_size(data: bytes) -> None:
    """Raise OSError if these bytes are a gzip file that unpacks to more than `LARGEST` bytes: one
    byte of it may stand for a thousand, and its own word on its size need not be true.

    EOFError, zlib.error or another OSError for a damaged one, as from gzip itself.
    """
    if data[:2] != b"\x1f\x8b":
        return
    size = 0
    with gzip.open(io.BytesIO(data)) as file:
        while part := file.read(2**20):
            size += len(part)
            if size > LARGEST:
                raise OSError(f"it unpacks to more than {LARGEST} bytes")


def no_file_left(generated: Callable) -> None:
    """Remove the file of a function that a library wrote among the temporary files and loaded, with
    its bytecode; the function stays. A file that lies elsewhere is nobody's litter.
    """
    file = Path(generated.__code__.co_filename)
    if file.parent == Path(tempfile.gettempdir()):
        bytecode = Path(cache_from_source(str(file)))
        for one in (file, bytecode):
            one.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty, or never made
            bytecode.parent.rmdir()
