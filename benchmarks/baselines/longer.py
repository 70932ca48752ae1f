"""Statements on trained networks, asked again of the same networks with more updates: a verdict that
hangs on the length of training is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps

import numpy as np
import xarray as xr

from vnlib.book.evidence import LONGER, detail, given, part
from vnlib.book.ledger import Decision, Part

TWIN = "_longer"  # ends the name of a model's twin that makes twice the updates
BAND = 1.05  # factors up to this count as equal, as in the ledger
SAME = "with twice the updates it comes to the same"

Rule = Callable[[xr.Dataset], Decision]


def twins(results: xr.Dataset | xr.DataArray) -> dict[str, str]:
    """The models that have a twin of more updates -> that one."""
    names = results["model"].values.tolist()
    return {name: f"{name}{TWIN}" for name in names if f"{name}{TWIN}" in names}


def once(results: xr.Dataset) -> xr.Dataset:
    """The results without twins."""
    names = results["model"].values.tolist()
    return results.sel(model=[name for name in names if not name.endswith(TWIN)])


def change(values: xr.DataArray) -> xr.DataArray:
    """The values of twins over those of their models, along these."""
    found = twins(values)
    more = values.sel(model=[*found.values()]).reset_coords(drop=True)
    return more.assign_coords(model=[*found]) / values.sel(model=[*found])


def prefixed(results: xr.Dataset) -> dict[str, str]:
    """The variables of which there is what twice the updates give -> that one."""
    names = [str(name) for name in results if str(name).startswith(LONGER)]
    return {name.removeprefix(LONGER): name for name in names}


def longer(results: xr.Dataset) -> xr.Dataset:
    """The results with what twice the updates give in the place of variables, or of models, of which
    there is that.
    """
    if variables := prefixed(results):
        return results.assign({name: results[more] for name, more in variables.items()})
    found = twins(results)
    names = once(results)["model"].values.tolist()
    return results.sel(model=[found.get(name, name) for name in names]).assign_coords(model=names)


def ran(results: xr.Dataset, models: Sequence[str]) -> np.ndarray:
    """At which seeds all of these models have a number of any kind."""
    numbers = [
        v for v in results.values() if {"model", "seed"} <= {*v.dims} and v.dtype.kind == "f"
    ]
    there = np.zeros((len(models), results.sizes["seed"]), bool)
    for values in sorted(numbers, key=lambda one: one.size):
        kept = values.sel(model=list(models)).transpose("model", "seed", ...).values
        there |= ~np.isnan(kept).reshape(*there.shape, -1).all(-1)
        if there.all():  # mostly after the first
            break
    return there.all(0)


def seeds_of(results: xr.Dataset) -> np.ndarray | None:
    """At which seeds trainings made twice the updates; None where none did."""
    if variables := prefixed(results):
        known = [results[more].notnull() for more in variables.values()]
        return np.all([one.any([d for d in one.dims if d != "seed"]) for one in known], axis=0)
    names = [*twins(results).values()] if "model" in results.dims else []
    return ran(results, names) if names else None


def lasting(decide: Rule) -> Rule:
    """A rule whose statements need that twice the updates, at the seeds that made them, bring them to
    the same (see `both`). Of results without these it is the rule itself.
    """

    @wraps(decide)
    def asked(results: xr.Dataset) -> Decision:
        found, there = decide(results), seeds_of(results)
        if there is None:
            return found
        says = SAME if there.all() else f"{SAME} ({there.sum()} seeds)"
        some = results if there.all() else results.isel(seed=there)
        before = found if there.all() or not there.any() else decide(some)
        after = decide(longer(some)) if there.any() else Decision(())
        parts = both(found.parts, before.parts, after.parts, says)
        if found.controls is None:
            return Decision(parts)
        controls = before.controls or (), after.controls or ()
        return Decision(parts, both(found.controls, *controls, says))

    return asked


def both(
    parts: Sequence[Part], before: Sequence[Part], after: Sequence[Part], says: str = SAME
) -> list[Part]:
    """Parts that need that others, in the same order, come to the same before more updates and after
    them, and to what they say themselves: to the same side of their bounds, or to what counts as
    equal to them, and so what they need; and, once there are intervals, what they come to `again` to
    the same verdict. Without any after them, or without numbers, they do not. Where nothing changes,
    as where no twin is read, the need is a detail.
    """

    def need(found: Part, then: Part, now: Part) -> Part:
        theirs = {one.says: one.holds for one in now.needs}
        kept = all(theirs.get(one.says, one.holds) == one.holds for one in then.needs)
        one = replace(
            part(says, kept and same(then, now) and same(found, now)),
            again=replace(now, needs=()),
        )
        return detail(one) if unchanged(then, now) else one

    if not after:
        return [given(one, part(says, False)) for one in parts]
    triples = zip(parts, before, after, strict=True)
    return [given(one, need(one, then, now)) for one, then, now in triples]


def same(one: Part, other: Part) -> bool:
    """Whether two parts come to the same: both with numbers and to one answer, or level with a bound."""
    values = [each.values for each in (*one.contrasts, *other.contrasts)]
    known = not any(np.isnan(np.asarray(each, float)).any() for each in values)
    return known and (one.holds == other.holds or level(one, other))


def unchanged(one: Part, other: Part) -> bool:
    """Whether two parts have the same values and the same needs to the last bit."""

    def values(part: Part) -> list[np.ndarray]:
        return [np.asarray(each.values, float) for each in part.contrasts]

    def alike(one: Part, other: Part) -> bool:
        pairs = zip(values(one), values(other), strict=True)
        return one.holds == other.holds and all(np.array_equal(*p, equal_nan=True) for p in pairs)

    needs = {need.says: need for need in other.needs}
    return alike(one, other) and all(alike(need, needs.get(need.says, need)) for need in one.needs)


def level(one: Part, other: Part) -> bool:
    """Whether all values that two parts compare by their ratio to a bound are on the same side of
    it, or both within 5 % of it.
    """
    found = []
    for ours, theirs in zip(one.contrasts, other.contrasts, strict=True):
        if ours.band is not None or ours.bound <= 0 or np.isfinite(ours.limit):
            return False
        over, more = (np.asarray(each.values, float) / ours.bound for each in (ours, theirs))
        if over.shape != more.shape:
            return False
        ties = [(values <= BAND) & (values >= 1 / BAND) for values in (over, more)]
        found.append(((over < 1) == (more < 1)) | (ties[0] & ties[1]))
    return bool(found) and all(each.all() for each in found)


def late_gain(curve: xr.DataArray, along: str = "evaluation") -> xr.DataArray:
    """The share of an error that went in the last fifth of a training, along shares of its updates."""
    late, end = (curve.sel({along: at}, method="nearest", drop=True) for at in (0.8, 1.0))
    return 1 - end / late
