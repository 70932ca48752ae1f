"""Bad input refused where the library below would do so without naming it.

A function here returns nothing and changes nothing: so no call of one dates results (see
`vnlib.book.store.source_hash`).
"""

from __future__ import annotations

from collections.abc import Sequence

SIDES = 64
"""The most dimensions that an array of NumPy has."""


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
