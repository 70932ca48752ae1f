"""Made-up results whose errors are known: each is 8 over the size, times the seed plus one."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from vnlib.book import chapter

SIGNALS = [f"{task} {part}" for task in ("whole", "forecast_25") for part in ("id", "hard")]
SETS = {
    "signals": SIGNALS,
    "digits": ["id", "add2", "sub2", "max2"],
    "forces": [f"{f}, {n} bodies" for f in ("gravity", "gravity+drag") for n in (5, 4)],
}
EVERY = [name for names in SETS.values() for name in names]


@pytest.fixture
def results() -> xr.Dataset:
    """All models at their first two sizes and the usual one; two seeds."""
    models = chapter.spec("beyond_capacity").sidecar["models"]
    sizes = {name: sorted({*one["sizes"][:2], one["usual"]}) for name, one in models.items()}
    coords = {
        "model": list(models),
        "size": sorted({size for own in sizes.values() for size in own}),
        "seed": [0, 1],
    }
    error = 8 / xr.DataArray(coords["size"], {"size": coords["size"]})
    error = error * (1 + xr.DataArray([0, 1], {"seed": coords["seed"]}))
    there = xr.DataArray(
        [[size in sizes[name] for size in coords["size"]] for name in models],
        {name: coords[name] for name in ("model", "size")},
    )
    has = xr.DataArray(
        [[name in SETS[one["benchmark"]] for name in EVERY] for one in models.values()],
        {"model": coords["model"], "set": EVERY},
    )
    ds = xr.Dataset({"error": error.where(there & has)})
    ds["searched"] = (ds["error"] / 2).where(ds["model"] == "digits_ae")
    codes = ds["model"].isin([n for n in models if "mlp" not in n and "transformer" not in n])
    ds["active"] = error.where(there & codes)
    ds["late_gain"], ds["rate"] = ((0 * error + v).where(there) for v in (0.01, np.nan))
    told = ("label", "group", "benchmark", "usual")
    return ds.assign_coords({key: ("model", [one[key] for one in models.values()]) for key in told})
