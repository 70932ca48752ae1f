"""The claim of VN App. I: budget use, supports that lock in, sparsity and selectivity by depth
(Fig. 12).
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import known, of, tagged
from vnlib.book.ledger import Decision, Part, claim

PRINTED = "vn_3_top24"  # with the hard step of Eq. 6 in the top layer
FREE = ("vn_3_half", "vn_3", "vn_3_double")
LEVELS = (*FREE, PRINTED)
EQUAL = "vn_3_equal"
USED, EFFECTIVE = 0.95, 0.5  # shares of a layer's atoms
LOCKED, FAST = 0.9, 20  # overlap, sweeps
AT_REST = 0.01  # of the support, per sweep


@claim(
    id="VN-I",
    source="VN Fig. 12, App. I",
    chapter="I_mnist",
    figure="appI-lock",
    statement="The codes of Vector Networks of MNIST use the budget of atoms; their supports "
    "stabilise during the fast settle and lock in reliably; deeper codes are progressively "
    "sparser and more selective.",
    rule="Test digits; supports are compared with those at rest, by their Jaccard overlap; each "
    "time by whichever of plain steps, restarted momentum and line search is best. The paper's "
    "network is VN-3L with a cap on its top layer; medians over seeds. (a) In every layer at least "
    "95 % of the atoms are used and their effective number is at least half of them. (b) The last "
    "of 150 sweeps moves at most 1 % of the support of any layer. (c) In nine of ten images the "
    "overlap stays at 0.9 or above within 150 sweeps, in every layer. (d) The share of active "
    "atoms falls from layer to layer. (e) What labels tell of atoms' activity, beyond shuffled "
    "ones, grows from layer to layer. With controls, in every seed: (a) as above and (b) the mean "
    "overlap stays at 0.9 or above within 20 sweeps in every layer, at three levels of sparsity "
    "and with the cap; (c) the share of active atoms falls from layer to layer without a cap, at "
    "all three levels, and (d) where all layers have as many atoms and the same relative lambda; "
    "(e) labels tell more than any of their shuffles, in every layer, level and also with signs; "
    "(f) and more so from layer to layer, at every level.",
)
def decide_selection(r: xr.Dataset) -> Decision:
    """VN-I."""
    single = r.sel(set="id")
    chance = (r["told"] - r["told_shuffled"]).sel(state="active")
    return Decision(
        [known(part) for part in _printed(single, chance)],
        [known(part) for part in _controls(r, single, chance)],
    )


def _printed(single: xr.Dataset, chance: xr.DataArray) -> list[Part]:
    """single: results on single digits; chance: what labels tell beyond shuffled ones."""

    def middle(values: xr.DataArray) -> xr.DataArray:
        return of(values, model=(PRINTED,)).squeeze("model", drop=True).median("seed")

    locked = single["locked"].sel(threshold=LOCKED, quantile=0.9)
    sweeps = float(middle(_soonest(locked)))
    moved = (single["flips"] / single["nonzero"]).isel(sweep=-1)
    moved = float(middle(_soonest(moved)))
    share, told = middle(single["active_share"]), middle(chance)
    return [
        _budget("codes use the budget of atoms", single, (PRINTED,), "capped.{}", "median"),
        Part(
            "supports stabilise during the settle",
            moved <= AT_REST,
            {"capped.moved_share_last": moved},
        ),
        Part(
            "supports lock in reliably",
            sweeps <= float(single["sweep"].max()),
            {"capped.locked_sweeps_90": sweeps},
        ),
        Part(
            "deeper codes are sparser",
            float(_fall(share)) > 0,
            _by_layer(share, "capped.active_share"),
        ),
        Part(
            "deeper codes are more selective",
            float(_fall(-told)) > 0,
            _by_layer(told, "capped.told_above_chance"),
        ),
    ]


def _controls(r: xr.Dataset, single: xr.Dataset, chance: xr.DataArray) -> list[Part]:
    def least(values: xr.DataArray, models: Sequence[str]) -> dict[str, float]:
        found = of(values, model=models).min("seed")
        return {model: float(found.sel(model=model)) for model in models}

    fall = _fall(single["active_share"])
    free, equal = least(fall, FREE), least(fall, (EQUAL,))[EQUAL]
    slowest = _soonest(single["locked_mean"].sel(threshold=LOCKED))
    slowest = {model: -value for model, value in least(-slowest, LEVELS).items()}
    margin = float(of(r["told"] - r["told_shuffled_most"], model=LEVELS).min())
    growth = least(_fall(-chance), LEVELS)
    return [
        _budget(
            "codes use the budget at every level and seed", single, LEVELS, "levels.{}_least", "min"
        ),
        Part(
            "supports lock in within 20 sweeps at every level and seed",
            max(slowest.values()) <= FAST,
            tagged(slowest, "locked_sweeps_most"),
        ),
        Part(
            "deeper codes are sparser at every level without a cap",
            min(free.values()) > 0,
            tagged(free, "active_share_fall_least"),
        ),
        Part(
            "deeper codes are sparser with equal layers",
            equal > 0,
            {"equal.active_share_fall_least": equal},
        ),
        Part(
            "atoms are more selective than by chance",
            margin > 0,
            {"levels.told_margin_least": margin},
        ),
        Part(
            "deeper codes are more selective at every level and seed",
            min(growth.values()) > 0,
            tagged(growth, "told_growth_least"),
        ),
    ]


def _budget(
    says: str, single: xr.Dataset, models: Sequence[str], name: str, over_seeds: str
) -> Part:
    """Shares of atoms in use, of any image and effectively: the least over models and layers."""
    shares = {"used": single["used"], "effective": single["effective"] / single["atoms"]}
    least = {
        key: float(getattr(of(share, model=models), over_seeds)("seed").min())
        for key, share in shares.items()
    }
    holds = least["used"] >= USED and least["effective"] >= EFFECTIVE
    return Part(says, holds, {name.format(key): value for key, value in least.items()})


def _soonest(values: xr.DataArray) -> xr.DataArray:
    """Of the worst layer, by the solver for which that is least."""
    return values.max("layer").min("solver")


def _fall(values: xr.DataArray) -> xr.DataArray:
    """The smallest step down from a layer to the one above it: above 0 where values fall
    throughout.
    """
    return -values.diff("layer").max("layer")


def _by_layer(values: xr.DataArray, name: str) -> dict[str, float]:
    return {f"{name}_{n}": float(v) for n, v in zip(values["layer"].values, values, strict=True)}
