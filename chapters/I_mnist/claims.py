"""The claim of VN App. I: budget use, supports that lock in, sparsity and selectivity by depth
(Fig. 12).
"""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from vnlib.book.evidence import known, of
from vnlib.book.ledger import Decision, Part, claim

PRINTED = "vn_3_top24"  # with the hard step of Eq. 6 in the top layer
FREE = ("vn_3_half", "vn_3", "vn_3_double")
LEVELS = (*FREE, PRINTED)
EQUAL = "vn_3_equal"
USED, EFFECTIVE = 0.95, 0.5  # shares of a layer's atoms
LOCKED, FAST = 0.9, 20  # overlap, sweeps
AT_REST = 0.01  # of the support, per sweep


def _one(values: xr.DataArray, model: str) -> xr.DataArray:
    return of(values, model=(model,)).squeeze("model", drop=True)


def _falls(values: xr.DataArray) -> xr.DataArray:
    """The smallest step down from a layer to the one above it: above 0 where values fall
    throughout.
    """
    return -values.diff("layer").max("layer")


def _budget(r: xr.Dataset, models: Sequence[str]) -> xr.Dataset:
    """Shares of atoms in use (model, seed, layer): of any image, and effectively."""
    single = r.sel(set="id")
    used, effective, atoms = (
        of(single[name], model=models) for name in ("used", "effective", "atoms")
    )
    return xr.Dataset({"used": used, "effective": effective / atoms})


def _fastest(locked: xr.DataArray) -> xr.DataArray:
    """Sweeps until all layers have locked, by the solver for which that is soonest."""
    return locked.max("layer").min("solver")


def _flips(r: xr.Dataset, model: str) -> float:
    """Atoms that the last sweep moved in or out, over the support: worst layer, best solver, median
    over seeds.
    """
    one = r.sel(set="id").isel(sweep=-1)
    flips, support = (_one(one[name], model) for name in ("flips", "nonzero"))
    return float((flips / support).max("layer").min("solver").median("seed"))


def _above_chance(r: xr.Dataset, models: Sequence[str]) -> xr.DataArray:
    """What labels tell of activity beyond what shuffled ones do (model, seed, layer)."""
    told, chance = (
        of(r[name].sel(state="active"), model=models) for name in ("told", "told_shuffled")
    )
    return told - chance


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
    "network is VN-3L with a cap on its top layer; medians over seeds. (a) In every layer at "
    "least 95 % of the atoms are used and their effective number is at least half of them. (b) "
    "The last of 150 sweeps moves at most 1 % of the support of any layer. (c) In nine of ten "
    "images the overlap stays at 0.9 or above within 150 sweeps, in every layer. (d) The share "
    "of active atoms falls from layer to layer. (e) What labels tell of atoms' activity, beyond "
    "shuffled ones, grows from layer to layer. Fair, in every seed: (a) as above and (b) the "
    "mean overlap stays at 0.9 or above within 20 sweeps in every layer, at three levels of "
    "sparsity and with the cap; (c) the share of active atoms falls from layer to layer without "
    "a cap, at all three levels, and (d) where all layers have as many atoms and the same "
    "relative lambda; (e) labels tell more than any of their shuffles, in every layer, level and "
    "also with signs; (f) and more so from layer to layer, at every level.",
)
def _selection(r: xr.Dataset) -> Decision:
    budget = _budget(r, (PRINTED,)).median("seed").min()
    locked = _one(r["locked"].sel(set="id", threshold=LOCKED, quantile=0.9), PRINTED)
    sweeps, last = float(_fastest(locked).median("seed")), float(r["sweep"].max())
    moved = _flips(r, PRINTED)
    share = _one(r["active_share"].sel(set="id"), PRINTED).median("seed")
    told = _one(_above_chance(r, (PRINTED,)), PRINTED).median("seed")
    fall, rise = float(_falls(share)), float(_falls(-told))
    parts = [
        Part(
            "codes use the budget of atoms",
            _enough(budget),
            {"capped.used": float(budget["used"]), "capped.effective": float(budget["effective"])},
        ),
        Part(
            "supports stabilise during the settle",
            moved <= AT_REST,
            {"capped.moved_share_last": moved},
        ),
        Part("supports lock in reliably", sweeps <= last, {"capped.locked_sweeps_90": sweeps}),
        Part("deeper codes are sparser", fall > 0, _by_layer(share, "capped.active_share")),
        Part(
            "deeper codes are more selective", rise > 0, _by_layer(told, "capped.told_above_chance")
        ),
    ]
    return Decision([known(part) for part in parts], [known(part) for part in _fair(r)])


def _fair(r: xr.Dataset) -> list[Part]:
    budget = _budget(r, LEVELS).min()
    sweeps = _fastest(of(r["locked_mean"].sel(set="id", threshold=LOCKED), model=LEVELS))
    share = r["active_share"].sel(set="id")
    free, equal = (_falls(of(share, model=models)).min("seed") for models in (FREE, (EQUAL,)))
    margin = of(r["told"] - r["told_shuffled_most"], model=LEVELS).min()
    growth = _falls(-_above_chance(r, LEVELS))
    levels = {model: float(sweeps.sel(model=model).max()) for model in LEVELS}
    return [
        Part(
            "codes use the budget at every level and seed",
            _enough(budget),
            {
                "levels.used_least": float(budget["used"]),
                "levels.effective_least": float(budget["effective"]),
            },
        ),
        Part(
            "supports lock in within 20 sweeps at every level and seed",
            max(levels.values()) <= FAST,
            {f"{model}.locked_sweeps_most": value for model, value in levels.items()},
        ),
        Part(
            "deeper codes are sparser at every level without a cap",
            bool((free > 0).all()),
            {f"{model}.active_share_fall_least": float(free.sel(model=model)) for model in FREE},
        ),
        Part(
            "deeper codes are sparser with equal layers",
            bool((equal > 0).all()),
            {"equal.active_share_fall_least": float(equal.min())},
        ),
        Part(
            "atoms are more selective than by chance",
            float(margin) > 0,
            {"levels.told_margin_least": float(margin)},
        ),
        Part(
            "deeper codes are more selective at every level and seed",
            float(growth.min()) > 0,
            {f"{m}.told_growth_least": float(growth.sel(model=m).min()) for m in LEVELS},
        ),
    ]


def _enough(budget: xr.Dataset) -> bool:
    return float(budget["used"]) >= USED and float(budget["effective"]) >= EFFECTIVE


def _by_layer(values: xr.DataArray, name: str) -> dict[str, float]:
    return {
        f"{name}_{n}": float(v) for n, v in zip(values["layer"].values, values.values, strict=True)
    }
