"""What the rule of a claim makes of made-up results, and the tests that all rules have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
import pytest
import xarray as xr

from benchmarks.baselines import longer
from book.site import ledger, statements
from vnlib.book import ledger as claims


def judged(name: str, results: xr.Dataset) -> claims.Decision:
    """What the rule of a claim says of results that it can be asked of."""
    decision = claims.decided(claims.all_claims()[name], results)
    assert not isinstance(decision, str), decision
    for part in statements.parts_of(decision):
        for one in statements.contrasts(part):
            assert one.values.ndim == 1 and len(one.values), part.says
    return decision


def told(name: str, results: xr.Dataset) -> dict[str, float]:
    """The numbers that the decision of a claim rests on."""
    return ledger.numbers(judged(name, results))


def absent(name: str, results: xr.Dataset) -> str:
    """What the results lack that the rule of a claim reads."""
    said = claims.decided(claims.all_claims()[name], results)
    assert isinstance(said, str)
    return said


def failing(name: str, results: xr.Dataset) -> tuple[list[int], list[int]]:
    """Which parts of the rule fail, by their place: as printed, and with controls."""
    return failed(judged(name, results))


def failed(decision: claims.Decision) -> tuple[list[int], list[int]]:
    """Which of its parts fail, in the same way."""
    plain, controls = (
        [i for i, part in enumerate(parts) if not part.holds and asked(part)]
        for parts in (decision.parts, decision.controls or ())
    )
    return plain, controls


def unmet(name: str, results: xr.Dataset) -> tuple[list[int], list[int]]:
    """Of which parts of the rule a condition fails, by their place: as printed, and with controls."""
    decision = judged(name, results)
    plain, controls = (
        [i for i, part in enumerate(parts) if not all(need.holds for need in part.needs)]
        for parts in (decision.parts, decision.controls or ())
    )
    return plain, controls


def asked(part: claims.Part) -> bool:
    """Whether results can decide a part."""
    return not part.missing and not part.remark.startswith("refuted analytically")


def filled(
    coords: Mapping, axes: str = "model seed", /, **values: tuple[object, str]
) -> xr.Dataset:
    """Made-up results of three seeds: name=(number, or numbers along the last dimensions, and the
    names of the dimensions after `axes`).
    """
    r = xr.Dataset(coords={name: list(one) for name, one in coords.items()} | {"seed": range(3)})
    for name, (value, dims) in values.items():
        over = [*axes.split(), *dims.split()]
        r[name] = over, np.full([r.sizes[axis] for axis in over], value, float)
    return r


def times(factor: float) -> Callable[[xr.DataArray], xr.DataArray]:
    """A change of a case: what was there, times a factor."""
    return lambda values: values * factor


def changed(results: xr.Dataset, name: str, where: Mapping, value: object) -> xr.Dataset:
    """A copy with `value`, or what `value` makes of what was there, in one place."""
    r = results.copy(deep=True)
    r[name].loc[where] = value(r[name].loc[where]) if callable(value) else value
    return r


def rules(
    made: Mapping[str, Callable[[], xr.Dataset]],
    cases: Sequence[tuple[str, str, Mapping, object, Sequence[int], Sequence[int]]],
    lacking: Sequence[tuple[str, Mapping, str]] = (),
) -> tuple[Callable, Callable, Callable]:
    """The tests that every rule has: `test_as_printed, test_each_part_can_fail,
    test_what_lacks_is_named = rules(...)`.

    Parameters
    ----------
    made
        Claim -> results for which all parts hold.
    cases
        (claim, variable, where, value, parts that then fail, and those with controls), with value
        as in `changed`. Together they let every part fail.
    lacking
        (claim, names to drop by dimension, what then must be said).
    """

    @cache
    def whole(make: Callable[[], xr.Dataset]) -> xr.Dataset:
        """Made once for all claims and cases, which change copies; nobody may write into it."""
        results = make()
        for variable in results.variables.values():
            variable.values.flags.writeable = False
        return results

    @cache
    def alone(make: Callable[[], xr.Dataset]) -> xr.Dataset:
        """Without twins of twice the updates, which have the rule decide the same again."""
        results = whole(make)
        others = [*longer.twins(results).values()] if "model" in results.dims else []
        return results.drop_sel(model=others) if others else results

    @pytest.mark.parametrize("claim", made)
    def as_printed(claim: str) -> None:
        decision = judged(claim, whole(made[claim]))
        assert failed(decision) == ([], [])
        for place, parts in enumerate((decision.parts, decision.controls or ())):
            tried = {part for case in cases if case[0] == claim for part in case[4 + place]}
            assert tried == {i for i, part in enumerate(parts) if asked(part)}, (
                "parts that no case lets fail"
            )

    @pytest.mark.parametrize(("claim", "name", "where", "value", "parts", "controls"), cases)
    def can_fail(claim, name, where, value, parts, controls) -> None:
        found = failing(claim, changed(alone(made[claim]), name, where, value))
        assert found == (list(parts), list(controls))

    @pytest.mark.parametrize(("claim", "drop", "says"), lacking)
    def lacks(claim: str, drop: Mapping, says: str) -> None:
        assert says in absent(claim, whole(made[claim]).drop_sel(drop))

    return as_printed, can_fail, lacks
