"""The exact code of least l1, min `|a|_1` with V a = x, where x has few dimensions.

By duality it is max n'x with `|V'n|_inf <= 1`: the corners n of that polytope are the facets of the
hull of the atoms and their negatives, and the atoms of x are those of the facet in whose cone x
lies. In two or three dimensions there are few facets, so all of them are tried at once. This is the
limit of the lasso of VN Eq. 1 as its sparsity goes to 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from vnlib.compilation import Array

ROWS = 4096  # inputs whose facets are sought at once
ROUNDING = 1e-12  # an excess below it is none


class Codes(NamedTuple):
    """Codes of inputs, each with as many atoms as an input has numbers.

    Parameters
    ----------
    atoms, weights
        (rows, d): which atoms, and their coefficients.
    facet
        (rows,): the facet in whose cone the input lies, counted from 0.
    """

    atoms: Array
    weights: Array
    facet: Array


class LeastL1:
    """Codes of least l1 over atoms.

    Parameters
    ----------
    V
        (d, atoms) float64, columns of unit norm; d >= 2.

    Raises
    ------
    ValueError
        Where the atoms do not span the space of inputs.
    """

    def __init__(self, V: Array) -> None:
        self.V, count = V, V.shape[1]
        try:
            hull = ConvexHull(np.concatenate([V, -V], 1).T)
        except QhullError as error:
            raise ValueError(
                f"V must have atoms that span its {len(V)} dimensions, got shape {V.shape}"
            ) from error
        corners = hull.simplices
        self.atoms, signs = corners % count, np.where(corners < count, 1.0, -1.0)
        # Coefficients on a facet: x = sum_i c_i s_i v_i; they are >= 0 in its cone.
        facets = (signs[:, None] * V.T[self.atoms].swapaxes(1, 2)).reshape(-1, len(V), len(V))
        self.solve = signs[..., None] * np.linalg.inv(facets)
        self.normals = -hull.equations[:, :-1] / hull.equations[:, -1:]

    def __call__(self, x: Array) -> Codes:
        """The codes of inputs (rows, d)."""
        parts = [x[i : i + ROWS] @ self.normals.T for i in range(0, len(x), ROWS)]
        facet = np.concatenate([np.zeros(0, np.int64), *(part.argmax(1) for part in parts)])
        weights = np.einsum("nij,nj->ni", self.solve[facet], x)
        return Codes(self.atoms[facet], weights, facet)


def excess(codes: Codes, x: Array) -> Array:
    """How badly the atoms span inputs (rows, d) that they code: `|a|_1 / |x|` - 1, at least 0, and
    0 for inputs 0. An input that is an atom has none.
    """
    size = np.linalg.norm(x, axis=1)
    spent = np.abs(codes.weights).sum(1)
    found = np.divide(spent, size, out=np.ones_like(size), where=size > 0) - 1
    return np.where(found > ROUNDING, found, 0.0)
