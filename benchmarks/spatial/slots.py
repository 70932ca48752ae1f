"""A code settled on two slots, one for each axis: one atom of each is in force, all are weighed by
their evidence, and a fine layer moves along the atoms' neighbours.

An atom is a training position. It is learned clamped: the half of its code is what a Gaussian
process makes of the profile of its image, so that noise and missing entries are smoothed away. At
test the image is missing, and the half of the code that was seen is all there is.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.spatial.operators import Codes, Images

Observed = Bool[np.ndarray, "positions d"]
NEIGHBOURS = 4  # of an atom, along which its fine layer moves
LEAST = 1e-8  # variance of the noise


@dataclass(frozen=True)
class Slot:
    """The atoms of one half of a code.

    Parameters
    ----------
    atoms
        What each atom puts in the place of the half.
    fine
        Covariance of the fine layer of each atom.
    noise
        Variance of the noise of each entry.
    """

    atoms: Float[np.ndarray, "atoms h"]
    fine: Float[np.ndarray, "atoms h h"]
    noise: Float[np.ndarray, " h"]

    def settled(self, codes: Codes, observed: Observed, *, weighed: bool, fine: bool) -> Codes:
        """The mean of the half given its observed entries (see `Slots.settled`)."""
        covariance = self.fine if fine else np.zeros_like(self.fine)
        pairs = zip(codes, observed, strict=True)
        return np.stack([self._mean(c, o, covariance, weighed) for c, o in pairs])

    def _mean(
        self,
        code: Float[np.ndarray, " h"],
        seen: Bool[np.ndarray, " h"],
        covariance: Float[np.ndarray, "atoms h h"],
        weighed: bool,
    ) -> Float[np.ndarray, " h"]:
        rest = (code - self.atoms)[:, seen]
        inner = covariance[:, seen][:, :, seen] + np.diag(self.noise[seen])
        factor = np.linalg.cholesky(inner)
        white = np.linalg.solve(factor, rest[:, :, None])[:, :, 0]
        heights = np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(1)
        evidence = -0.5 * np.square(white).sum(1) - heights
        weights = np.exp(evidence - evidence.max()) if weighed else evidence == evidence.max()
        weights = weights / weights.sum()
        moved = covariance[:, :, seen] @ np.linalg.solve(inner, rest[:, :, None])
        return weights @ (self.atoms + moved[:, :, 0])


@dataclass(frozen=True)
class Slots:
    """Both halves."""

    of_x: Slot
    of_y: Slot

    @property
    def atoms(self) -> Codes:
        """The settled codes of the training positions."""
        return np.concatenate([self.of_x.atoms, self.of_y.atoms], axis=1)

    def settled(
        self, codes: Codes, observed: Observed, *, weighed: bool = True, fine: bool = True
    ) -> Codes:
        """What the slots make of codes, hidden entries filled in.

        Parameters
        ----------
        weighed
            Whether all atoms count by their evidence, or the one with the most alone.
        fine
            Whether atoms move towards their neighbours.
        """
        halves = zip(_halves(codes), _halves(observed), (self.of_x, self.of_y), strict=True)
        how = {"weighed": weighed, "fine": fine}
        return np.concatenate([slot.settled(c, o, **how) for c, o, slot in halves], axis=1)


def learned(codes: Codes, observed: Observed, images: Images) -> Slots:
    """Atoms of training positions, from codes and images together."""
    (cx, cy), (ox, oy) = _halves(codes), _halves(observed)
    return Slots(_slot(cx, ox, images.sum(1)), _slot(cy, oy, images.sum(2)))


def _slot(codes: Codes, observed: Observed, profiles: Float[np.ndarray, "positions x"]) -> Slot:
    profiles = profiles / np.linalg.norm(profiles, axis=1, keepdims=True)
    atoms, noise = np.empty_like(codes), np.empty(codes.shape[1])
    # Entries that the same positions show share a process.
    patterns, which = np.unique(observed, axis=1, return_inverse=True)
    for number, seen in enumerate(patterns.T):
        entries = np.flatnonzero(which.ravel() == number)
        kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(1.0, (0.1, 10.0))
        kernel += WhiteKernel(1e-2, (LEAST, 1.0))
        process = GaussianProcessRegressor(kernel, alpha=0.0)
        with warnings.catch_warnings():  # noise at its least is what clean codes have
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(profiles[seen], codes[seen][:, entries])
        atoms[:, entries] = process.predict(profiles).reshape(len(codes), -1)
        noise[entries] = process.kernel_.k2.noise_level
    near = np.argsort(cdist(atoms, atoms), axis=1)[:, 1 : NEIGHBOURS + 1]
    steps = atoms[near] - atoms[:, None]
    return Slot(atoms, steps.transpose(0, 2, 1) @ steps / NEIGHBOURS, noise)


def _halves(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    half = codes.shape[1] // 2
    return codes[:, :half], codes[:, half:]
