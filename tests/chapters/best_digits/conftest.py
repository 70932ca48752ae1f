"""Made-up results whose ratios of errors are known."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.best_digits.figures import SETS

# (model, way) -> error on every set, in units of the zero baseline's
ERRORS = {
    ("vn_512", "omp"): 0.4,
    ("vn_512", "ols"): 0.35,
    ("vn_512", "swaps"): 0.3,
    ("vn_512", "two_layer"): 0.25,
    ("vn_2048", "swaps"): 0.2,
    ("vn_2048", "complete"): 0.19,
    ("vn_2048", "two_layer"): 0.1,
    ("exemplars_512", "swaps"): 0.6,
    ("hebb_512", "swaps"): 0.24,
    ("ksparse_512", "own"): 0.5,
    ("ksparse_512", "searched"): 0.45,
    ("ksparse_512", "swaps"): 0.44,
    ("ksparse_512", "two_layer"): 0.43,
    ("dictionary_learning_512", "omp"): 0.41,
    ("dictionary_learning_512", "swaps"): 0.33,
    ("dictionary_learning_512", "two_layer"): 0.27,
    ("pca_largest", "own"): 0.8,
    ("pca", "own"): 0.9,
    ("dct", "own"): 0.7,
    ("all_exemplars", "omp"): 0.3,
}
KS = (8, 24, 65)
PICTURED = ["id", "add2"]


@pytest.fixture
def results() -> xr.Dataset:
    """Six seeds, whose errors differ by the same factor in all models; errors fall as 24 / k. The
    autoencoder has no codes of 65, all exemplars none but of 8, and those only of a few images.
    """
    models = list(dict.fromkeys(model for model, _ in ERRORS))
    ways = list(dict.fromkeys(way for _, way in ERRORS))
    seeds, sets = list(range(6)), list(SETS)
    coords = {"model": models, "seed": seeds, "way": ways, "k": list(KS), "set": sets}
    mse = xr.DataArray(np.full([len(v) for v in coords.values()], np.nan), coords)
    factor = xr.DataArray(1 + 0.1 * np.arange(6), {"seed": seeds})
    for (model, way), value in ERRORS.items():
        for k in KS:
            if not (model.startswith("ksparse") and k != 24):
                mse.loc[{"model": model, "way": way, "k": k}] = 0.1 * value * 24 / k * factor
    few = mse.where((mse["model"] != "all_exemplars") | (mse["k"] == 8))
    mse = mse.where(mse["model"] != "all_exemplars")
    ones = mse.isel(set=0, drop=True) * 0 + 1
    atoms = xr.DataArray([2048 if m.endswith("2048") else 512 for m in models], {"model": models})
    pictures = mse.isel(k=0, set=0, drop=True).notnull().where(mse["seed"] == 0)
    pictures = pictures.expand_dims(picture_set=PICTURED, y=4, x=4).astype(float)
    ds = xr.Dataset(
        {
            "mse": mse,
            "mse_few": few,
            "image_time": 0.001 * ones,
            "learning_time": 7 * ones.max(["way", "k"]),
            "theta": (0.2 * ones).where(ones["way"].isin(["two_layer"])),
            "atoms": (ones * atoms).where(~ones["model"].isin(["pca", "pca_largest", "dct"])),
            "drawn": pictures,
            "truth": pictures.max("way"),
        }
    )
    groups = ["vn" if m.startswith("vn") else "rival" for m in models]
    return ds.assign_coords(label=("model", [m.upper() for m in models]), group=("model", groups))
