"""Made-up results of force composition."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from chapters.fig4_nbody.tables import WITHOUT
from data_gen.nbody import FORCE_SETS

# model -> its group, its error for each force, its gap between joint and passes
MODELS = {
    "vn_literal_3": ("vn", 0.09, 0.1),
    "vn_gated_3": ("vn", 0.05, 1e-3),
    "vn_token_3": ("vn", 0.01, 0.0),
    **dict.fromkeys(WITHOUT, ("printed", 0.2, 0.4)),
    "factorized": ("printed", 0.02, 0.0),
    "random": ("printed", 1.0, 0.0),
    "token_mlp": ("control", 0.004, 0.0),
    "linear_tokens": ("control", 0.1, 0.0),
    "rbf_tokens": ("control", 0.001, 0.0),
}


@pytest.fixture
def results() -> xr.Dataset:
    """Errors are the number of forces times a model's own factor; passes halve those of
    models that are told forces by a code.
    """
    r = xr.Dataset(
        coords={
            "model": list(MODELS),
            "seed": [0, 1, 2],
            "inference": ["joint", "passes"],
            "forces": list(FORCE_SETS),
            "bodies": [5, 4, 3],
            "share": np.arange(1, 11) / 10,
            "label": ("model", [m.upper() for m in MODELS]),
            "group": ("model", [one[0] for one in MODELS.values()]),
        }
    )

    def over(dim: str, values) -> xr.DataArray:
        return xr.DataArray(np.asarray(values, float), {dim: r[dim]}, (dim,))

    factor, gap = (over("model", [one[k] for one in MODELS.values()]) for k in (1, 2))
    number, seeds = over("forces", [1 + f.count("+") for f in FORCE_SETS]), over("seed", [1] * 3)
    whole = factor * seeds * over("inference", [1, 1]) * number * over("bodies", [1, 0.8, 0.5])
    whole.loc[{"model": WITHOUT, "inference": "passes"}] *= 0.5
    trained = (r["group"] != "control") & (r["model"] != "random")
    return r.assign(
        mse=whole,
        power=over("model", [1] * len(MODELS)) * seeds * number * over("bodies", [1, 0.7, 0.25]),
        gap=gap * seeds * over("forces", [1] * 15),
        curve=(gap * 0 + seeds * over("share", np.linspace(1, 0.1, 10))).where(trained),
    )
