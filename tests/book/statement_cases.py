"""Statements of rules on made-up results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from book.site import statements
from vnlib.book import evidence as numbers
from vnlib.book.ledger import Claim, Decision, Part


def asked(decide, values: np.ndarray | xr.Dataset, **fields) -> list[dict]:
    """The statements of a rule on results `x` (model, seed)."""
    results = values
    if not isinstance(values, xr.Dataset):
        results = xr.Dataset({"x": (("model", "seed"), np.atleast_2d(values))})
    words = dict.fromkeys(("source", "chapter", "figure", "statement"), "x")
    one = Claim(**words, id="A", decide=lambda r: Decision(decide(r)), **fields)
    return statements.statements(one, results, one.decide(results))


def below(r: xr.Dataset, bound: float = 1.0) -> Part:
    """That the median is less than a bound."""
    return numbers.bounded("x", "<", bound, x=r["x"].median("seed"))
