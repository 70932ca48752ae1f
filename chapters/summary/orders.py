"""The orders of models that the summary states, each with what it is in every condition and
without any one of them: an order that one condition decides is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from chapters.summary.errors import OOD, ROUNDS, SOLVED
from vnlib.plots.statistics import median, sides

BAND = np.log(1.05)  # factors up to this count as equal, as in the ledger
HARD, EASY = "Hard", "Easy"
STRETCH = "(?:a block|last)"  # of the masks, those that hide a stretch


@dataclass(frozen=True)
class Order:
    """That all of `low` have less error than all of `high`, rows of a benchmark's table, in
    conditions whose names match `where`; of the rows marked `best` the least alone counts.
    """

    benchmark: str
    says: str
    low: tuple[str, ...]
    high: tuple[str, ...]
    looks: tuple[str, str] = (OOD, OOD)
    where: str = ""
    best: bool = False


VN = ("vn_1", "vn_3", "vn_5")
OTHERS = (
    "neural_ode",
    "rslds",
    "deep_ae",
    "sparse_ae",
    "rnn",
    "transformer",
    "mamba",
    "mamba_bottleneck",
)
MASKED = ("deep_ae_masked", "rnn_masked", "transformer_masked")
PASSES = ("mlp_passes", "gnn_passes", "film_passes")
ONCE = ("mlp", "gnn", "transformer", "film")
ERROR = ("error", "error")

ORDERS: Mapping[str, Order] = {
    "product": Order(
        "hold-outs",
        "Vector Networks and the factorised decoder, all with the product readout, below the CNN "
        "(a square, a ring, sharp bumps) and the MLP (a square, scattered)",
        ("full", "vn_1", "factorised"),
        ("cnn", "mlp"),
    ),
    "printed": Order(
        "signals",
        "Hard, as printed: the best Vector Network, masked problem solved, below the paper's other "
        "eight, shown zeros",
        VN,
        OTHERS,
        (SOLVED, ROUNDS),
        HARD,
        best=True,
    ),
    "masked": Order(
        "signals",
        "Easy and Hard, masked problem solved: VN-3L below networks trained with masks",
        ("vn_3",),
        MASKED,
        (SOLVED, SOLVED),
        f"{HARD}|{EASY}",
    ),
    "solved": Order(
        "signals",
        "Easy and Hard: VN-3L with the masked problem solved below VN-3L after five rounds",
        ("vn_3",),
        ("vn_3",),
        (SOLVED, ROUNDS),
        f"{HARD}|{EASY}",
    ),
    "exemplars": Order(
        "signals",
        "Easy, a stretch hidden: three training signals below every Vector Network, solved",
        ("exemplars",),
        VN,
        (SOLVED, SOLVED),
        f"{EASY}: {STRETCH}",
    ),
    "passes": Order(
        "mixtures",
        "One pass per force: MLP, GNN and FiLM below both Vector Networks",
        PASSES,
        ("vn_1_passes", "vn_3_passes"),
    ),
    "gated": Order(
        "mixtures",
        "VN-3L with gated features below networks that take all forces at once",
        ("gated",),
        ONCE,
    ),
    "ridge": Order(
        "mixtures",
        "Ridge regression on gated features below VN-3L on them",
        ("gated_ridge",),
        ("gated",),
    ),
    "tokens": Order(
        "mixtures",
        "Vector Networks on tokens below those on other inputs",
        ("tokens_1", "tokens"),
        ("vn_1", "vn_3", "vn_1_passes", "vn_3_passes", "gated"),
    ),
    "learners": Order(
        "mixtures",
        "RBF ridge and a small network on tokens below Vector Networks on them",
        ("tokens_rbf", "tokens_network"),
        ("tokens_1", "tokens"),
    ),
    "autoencoder": Order(
        "digits", "VN-1L below the autoencoder of equal ID error", ("vn_1",), ("ae",), ERROR
    ),
    "units": Order(
        "digits",
        "VN-1L below the autoencoder of as many active units",
        ("vn_1",),
        ("ksparse",),
        ERROR,
    ),
    "glance": Order(
        "digits",
        "cosines of equal ID error below the autoencoder, VN-1L and training digits as atoms",
        ("dct",),
        ("ae", "vn_1", "vn_untrained"),
        ERROR,
    ),
    "untrained": Order(
        "digits", "VN-1L below training digits as atoms", ("vn_1",), ("vn_untrained",), ERROR
    ),
    "components": Order(
        "digits",
        "VN-1L below principal components of equal ID error",
        ("vn_1",),
        ("pca_matched",),
        ERROR,
    ),
    "few-cosines": Order(
        "digits",
        "VN-1L below as many cosines, the 65 largest",
        ("vn_1",),
        ("dct_count",),
        ERROR,
    ),
    "many-cosines": Order(
        "digits",
        "cosines of equal ID error, four times as many, below VN-1L",
        ("dct",),
        ("vn_1",),
        ERROR,
    ),
}


def factors(order: Order, table: xr.DataArray) -> xr.DataArray:
    """How many times the error of `low` that of `high` is in each condition: logarithms of medians
    over seeds (condition), 0 where they are equal.
    """
    low, high = (np.log(median(one)) for one in _rows(order, table))
    of_low = low.min("row") if order.best else low.max("row")
    return _asked(order, (high.min("row") - of_low).dropna("condition"))


def standing(order: Order, table: xr.DataArray) -> xr.DataArray:
    """Whether each of `low` has surely less error than each of `high` (-1), one of them surely more
    than one of those (1), or neither (0), paired by seed (condition). What is surely within the band of
    equals is neither.
    """
    low, high = (one.reset_coords(drop=True) for one in _rows(order, table))
    if order.best:
        low = low.isel(row=median(low).argmin("row")).expand_dims("row")
    ratio = low.rename(row="own") / high
    known = ratio.notnull().any("seed")  # some models are not asked in all conditions
    band = np.exp(BAND)
    equal = (sides(ratio / band) < 0) & (sides(ratio * band) > 0)
    found = sides(ratio).where(~equal, 0).where(known, -1).max(["own", "row"])
    return _asked(order, found.sel(condition=known.any(["own", "row"])))


def _rows(order: Order, table: xr.DataArray) -> list[xr.DataArray]:
    """The errors of `low` and of `high` (row, condition, seed)."""
    rows = table["key"].values.tolist()
    return [
        table.sel(look=look, drop=True).isel(row=[rows.index(key) for key in keys])
        for look, keys in zip(order.looks, (order.low, order.high), strict=True)
    ]


def _asked(order: Order, values: xr.DataArray) -> xr.DataArray:
    """Values in the conditions of an order, none of which was trained on."""
    unseen = ~values["condition"].str.match("single|ID")
    return values.sel(condition=unseen & values["condition"].str.contains(order.where, regex=True))


def stored(order: Order, tables: Mapping[str, xr.DataArray | None]) -> bool:
    """Whether all its models are there."""
    table = tables.get(order.benchmark)
    return table is not None and {*order.low, *order.high} <= {*table["key"].values.tolist()}


def left_out(ratio: xr.DataArray) -> xr.DataArray:
    """The median over conditions without each of them, one after the other (condition)."""
    names = ratio["condition"].values
    if len(names) < 2:
        return ratio
    rest = [ratio.sel(condition=names != name).median().item() for name in names]
    return ratio.copy(data=rest)


def survives(ratio: xr.DataArray) -> bool:
    """Whether an order is that of most conditions by more than what counts as equal, and stays that
    whichever one is left out.
    """
    return bool(ratio.median() > BAND) and bool((left_out(ratio) > BAND).all())
