"""Runs that fit what they were trained on and go astray outside."""

from __future__ import annotations

import xarray as xr

from vnlib.book.evidence import bounded, detail, scaled, select
from vnlib.book.ledger import Part


def astray(results: xr.Dataset, *models: str) -> Part:
    """How often runs of these models leave more than a blank image does outside: their medians do not
    tell.
    """
    r = select(results, model=models)
    over = r["mse_ood"] / r["zero_baseline_ood"]
    share = (over > 1).where(over.notnull()).mean()
    says = "share of these runs whose OOD error is above the zero baseline's"
    return detail(scaled(bounded(says, "<=", 0.05, astray=share), of=int(over.notnull().sum())))
