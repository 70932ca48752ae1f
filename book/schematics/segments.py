"""The running example of the schematics: digits of seven segments, and a library that holds these and
longer strokes.
"""

from __future__ import annotations

import numpy as np

SHAPE = (9, 5)  # pixels
SEGMENTS = {
    "a": ([0], [1, 2, 3]),
    "b": ([1, 2, 3], [4]),
    "c": ([5, 6, 7], [4]),
    "d": ([8], [1, 2, 3]),
    "e": ([5, 6, 7], [0]),
    "f": ([1, 2, 3], [0]),
    "g": ([4], [1, 2, 3]),
}
LIBRARY = ("a", "g", "d", "bc", "ef", "f", "b", "e", "c", "ad")
DIGITS = {3: "abcdg", 4: "bcfg", 7: "abc"}


def image(segments: str) -> np.ndarray:
    """The picture (rows, columns) of some segments, with ink of 1."""
    picture = np.zeros(SHAPE)
    for one in segments:
        picture[np.ix_(*SEGMENTS[one])] = 1.0
    return picture


def dictionary() -> np.ndarray:
    """The library as a matrix (pixels, atoms) with columns of unit length."""
    atoms = np.stack([image(one).ravel() for one in LIBRARY], axis=1)
    return atoms / np.linalg.norm(atoms, axis=0)


def settle(
    x: np.ndarray, sweeps: int, *, sparsity: float = 0.3, start: np.ndarray | None = None
) -> np.ndarray:
    """The nonnegative code of an image after some proximal steps of size 1/L (VN Eqs. 5, 6)."""
    V = dictionary()
    step = 1 / np.linalg.norm(V, 2) ** 2
    code = np.zeros(V.shape[1]) if start is None else start
    for _ in range(sweeps):
        code = np.maximum(code + step * (V.T @ (x.ravel() - V @ code) - sparsity), 0)
    return code


def energy(x: np.ndarray, code: np.ndarray, *, sparsity: float = 0.3) -> float:
    """The energy of a code (VN Eq. 3, one layer)."""
    return float(
        0.5 * np.sum((x.ravel() - dictionary() @ code) ** 2) + sparsity * np.abs(code).sum()
    )
