"""What models are told of hidden samples, and what the paper compares.

"zero_filled": models read zeros where a signal is hidden, and a Vector Network imputes in five
rounds. "mask_aware": models are told the mask, and a Vector Network solves the masked problem.
"printed": a Vector Network solves the masked problem, and others read zeros. The paper says that
five rounds reach its tolerance, which they do not here; so the solved problem is what it means,
and five rounds are a detail beside it.
"""

from __future__ import annotations

import xarray as xr

from benchmarks.functions.names import VN

PRINTED = "printed"
# What results hold, by what legends call it.
PROTOCOLS = {
    "zero_filled": "zeros, or five rounds",
    "mask_aware": "told the mask, or solved",
}
NAMES = PROTOCOLS | {PRINTED: "as printed"}


def by_protocol(values: xr.DataArray, protocol: str) -> xr.DataArray:
    """Values over model and protocol by one of the three."""
    if protocol != PRINTED:
        return values.sel(protocol=protocol, drop=True)
    zeros, told = (values.sel(protocol=one, drop=True) for one in PROTOCOLS)
    return told.where(values["model"].isin(VN), zeros)


def five_rounds(results: xr.Dataset, values: xr.DataArray) -> xr.DataArray:
    """What five rounds of Vector Networks give, as rows of their own below others (model, ...)."""
    own = [m for m in VN if m in values["model"].values]
    names = results["label"].sel(model=own).values
    found = values.sel(protocol="zero_filled", model=own, drop=True)
    found = found.assign_coords(label=("model", [f"{name}, five rounds" for name in names]))
    return found.assign_coords(model=[f"{m}_rounds" for m in own])
