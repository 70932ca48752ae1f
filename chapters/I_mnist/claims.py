"""The claim of VN App. I: budget use, supports that lock in, sparsity and selectivity by depth
(Fig. 12).
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import of, one, tagged
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
    figure="appI-lock",
    statement="The codes of Vector Networks of MNIST use the budget of atoms; their supports "
    "stabilise during the fast settle and lock in reliably; deeper codes are progressively "
    "sparser and more selective.",
)
def decide_selection(r: xr.Dataset) -> Decision:
    """VN-I."""
    single = r.sel(set="id")
    told = (r["told"] - r["told_shuffled"]).sel(state="active")  # beyond shuffled labels
    both = _printed(single, told), _controls(single, told, r["told"] - r["told_shuffled_most"])
    return Decision(*both)


def _printed(single: xr.Dataset, told: xr.DataArray) -> list[Part]:
    def middle(values: xr.DataArray) -> xr.DataArray:
        return one(values, model=PRINTED).median("seed")

    sweeps = float(middle(_soonest(single["locked"].sel(threshold=LOCKED, quantile=0.9))))
    moved = float(middle(_soonest((single["flips"] / single["nonzero"]).isel(sweep=-1))))
    locked = sweeps <= float(single["sweep"].max())
    at_rest = "supports stabilise during the settle"
    return [
        _budget("codes use the budget of atoms", single, (PRINTED,), "capped.{}", "median"),
        Part(at_rest, moved <= AT_REST, {"capped.moved_share_last": moved}),
        Part("supports lock in reliably", locked, {"capped.locked_sweeps_90": sweeps}),
        _falls("deeper codes are sparser", middle(single["active_share"]), "active_share"),
        _falls("deeper codes are more selective", middle(told), "told_above_chance", -1),
    ]


def _controls(single: xr.Dataset, told: xr.DataArray, margin: xr.DataArray) -> list[Part]:
    def least(values: xr.DataArray, models: Sequence[str]) -> dict[str, float]:
        found = of(values, model=models).min("seed")
        return {model: float(found.sel(model=model)) for model in models}

    fall = least(_fall(single["active_share"]), (*FREE, EQUAL))
    equal = {"equal": fall.pop(EQUAL)}
    slowest = least(-_soonest(single["locked_mean"].sel(threshold=LOCKED)), LEVELS)
    slowest = {model: -value for model, value in slowest.items()}
    above = {"levels": float(of(margin, model=LEVELS).min())}
    growth = least(_fall(-told), LEVELS)
    positive = [
        ("deeper codes are sparser at every level without a cap", "active_share_fall_least", fall),
        ("deeper codes are sparser with equal layers", "active_share_fall_least", equal),
        ("atoms are more selective than by chance", "told_margin_least", above),
        ("deeper codes are more selective at every level and seed", "told_growth_least", growth),
    ]
    used = "codes use the budget at every level and seed"
    fast = "supports lock in within 20 sweeps at every level and seed"
    locked = tagged(slowest, "locked_sweeps_most")
    return [
        _budget(used, single, LEVELS, "levels.{}_least", "min"),
        Part(fast, max(locked.values()) <= FAST, locked),
        *(Part(says, min(n.values()) > 0, tagged(n, tag)) for says, tag, n in positive),
    ]


def _budget(says: str, r: xr.Dataset, models: Sequence[str], name: str, over_seeds: str) -> Part:
    """Shares of atoms in use, of any image and effectively: the least over models and layers."""
    shares = {"used": r["used"], "effective": r["effective"] / r["atoms"]}
    shares = {key: of(share, model=models) for key, share in shares.items()}
    least = {key: float(getattr(v, over_seeds)("seed").min()) for key, v in shares.items()}
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


def _falls(says: str, values: xr.DataArray, tag: str, sign: int = 1) -> Part:
    """That values of the capped network fall (-1: grow) from layer to layer."""
    numbers = zip(values["layer"].values, values.values.tolist(), strict=True)
    return Part(says, float(_fall(sign * values)) > 0, {f"capped.{tag}_{n}": v for n, v in numbers})
