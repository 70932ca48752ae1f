"""Made-up results of Fig. 4 and of the ablation of feedback."""

from __future__ import annotations

import pytest
import xarray as xr

FORCES = ["gravity", "spring", "drag", "gravity+spring", "gravity+drag"]
BETAS = (0.0, 0.02, 0.3)
READINGS = ["literal", "gated", "token"]


@pytest.fixture
def shared() -> xr.Dataset:
    """A model whose errors follow the power of forces, one that fails with few bodies, and
    predicting the mean.
    """
    models = dict.fromkeys(("vn_literal_3", "vn_gated_3", "vn_token_3"), "vn")
    printed = ("mlp", "gnn", "transformer", "mamba", "film", "factorized", "random")
    models |= dict.fromkeys(printed, "printed") | {"rbf_tokens": "control"}
    ds = xr.Dataset(
        coords={
            "model": list(models),
            "seed": [0, 1],
            "inference": ["joint", "passes"],
            "forces": FORCES,
            "bodies": [5, 4, 3],
            "panel": ["gravity", "gravity+drag"],
            "start": [0, 1, 2],
            "step": [0, 100, 1000],
        }
    )
    ds = ds.assign_coords(
        group=("model", list(models.values())), label=("model", [m.upper() for m in models])
    )
    power = xr.DataArray([4.0, 2.0, 1.0], dims="bodies", coords={"bodies": [5, 4, 3]})
    ds["power"] = power.expand_dims(model=ds["model"], seed=ds["seed"], forces=ds["forces"]).copy()
    ds["mse"] = (0.01 * ds["power"]).expand_dims(inference=ds["inference"]).copy()
    ds["mse"].loc[{"model": "random"}] = ds["power"].sel(model="random", drop=True)
    ds["mse"].loc[{"model": "gnn", "forces": FORCES[:3]}] = xr.DataArray(
        [0.01, 0.1, 1.0], dims="bodies"
    )
    ds["mse"].loc[{"model": "gnn", "forces": FORCES[3:]}] = 1.0
    ds["mse"].loc[{"inference": "passes"}] = 7.0
    ds["drift"] = (
        ds["step"] / 1000
        + 0 * ds["power"].isel(forces=0, bodies=0)
        + 0 * ds["start"]
        + xr.zeros_like(ds["panel"], float)
    ).drop_vars(["forces", "bodies"])
    ds["drift"].loc[{"model": "vn_token_3"}] = 0.25
    return ds


@pytest.fixture
def results() -> xr.Dataset:
    """Feedback and revival each divide the OOD error by ten, and both together by ten as well."""
    plain = [(b, r, "plain") for r in (False, True) for b in BETAS]
    rows = [*plain, (0.02, False, "split"), (0.02, False, "inverted")]
    names = [f"beta {b:g}{', revived' if r else ''}" if k == "plain" else k for b, r, k in rows]
    ds = xr.Dataset(coords={"model": READINGS, "variant": names, "seed": [0, 1, 2]})
    columns = {
        name: ("variant", list(column))
        for name, column in zip(("beta", "revive", "kind"), zip(*rows, strict=True), strict=True)
    }
    ds = ds.assign_coords(label=("model", [m.upper() for m in READINGS]), **columns)
    for name in (
        "criterion",
        "id_error",
        "ood_error",
        "ood_mse",
        "fact_dead",
        "fact_revived",
        "fact_used",
        "fact_active_top",
    ):
        ds[name] = (
            xr.zeros_like(ds["beta"], float)
            + 0 * ds["seed"]
            + xr.zeros_like(ds["model"], float)
            + 0.1
        )
    ds["ood_error"].loc[{"variant": "beta 0"}] = 1.0
    ds["fact_revived"] = ds["fact_revived"].where(~ds["revive"], 4) - 0.1 * ~ds["revive"]
    return ds
