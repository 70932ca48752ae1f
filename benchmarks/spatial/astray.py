"""Runs that end above a blank image where nothing was trained: medians do not tell of them."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import detail, every, scaled, select
from vnlib.book.ledger import Part


def astray(results: xr.Dataset, *models: str) -> Part:
    """How often runs of each of these models leave more than a blank image does outside."""
    r = select(results, model=models)
    over = r["mse_ood"] / r["zero_baseline_ood"]
    share = (over > 1).where(over.notnull()).mean("seed")
    says = "share of each model's runs whose OOD error is above the zero baseline's"
    runs = int(over.notnull().sum("seed").max())
    return detail(scaled(every(says, "<=", 0.05, astray=share), of=runs))
