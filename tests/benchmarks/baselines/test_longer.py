"""Statements that hang on the length of training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from benchmarks.baselines.lengthened import with_longer
from benchmarks.baselines.longer import SAME, Rule, lasting, longer, same
from book.site.statements import FAILS, HOLDS, NOT_TESTABLE, TIE, UNDECIDED, statements
from vnlib.book import chapter, store
from vnlib.book.evidence import bounded, given, scaled
from vnlib.book.ledger import Claim, Decision


@lasting
def rule(r: xr.Dataset) -> Decision:
    """That one model has less error than another, and what no training changes."""
    error = r["error"].median("seed")
    over = error.sel(model="own") / error.sel(model="rival")
    return Decision([bounded("own over rival", "<", 1, over=over)], [bounded("one", "<", 2, one=1)])


def results(rival: float | list[float], twin: float | list[float] | None) -> xr.Dataset:
    """Errors of five seeds: 1 of the one model, those given of the other and of its twin."""
    rows = {"own": 1.0, "rival": rival} | ({} if twin is None else {"rival_longer": twin})
    values = [np.broadcast_to(row, 5).astype(float) for row in rows.values()]
    return xr.Dataset({"error": (("model", "seed"), values)}, {"model": list(rows)})


def rows(r: xr.Dataset, rule: Rule = rule) -> list[dict]:
    return statements(Claim("X-1", "", "C_inference", "", "", rule), r, rule(r))


def verdicts(r: xr.Dataset) -> list[str]:
    return [row["verdict"] for row in rows(r)]


@pytest.mark.parametrize(
    ("rival", "twin", "verdict"),
    [
        (2.0, 3.0, HOLDS),
        (0.5, 0.4, FAILS),
        (2.0, 0.5, NOT_TESTABLE),
        (0.5, 2.0, NOT_TESTABLE),
        (2.0, [0.5, 0.5, 2, 2, 2], UNDECIDED),
        (2.0, None, HOLDS),
        # Both within 5 % of the bound: equal to it, before and after.
        (1.02, 0.98, TIE),
        (0.98, 1.02, TIE),
        # A tie before or after, and none after or before: no other answer, and not the same.
        (1.02, 2.0, UNDECIDED),
        (0.98, 0.5, UNDECIDED),
        (2.0, 1.02, UNDECIDED),
        (0.5, 0.98, UNDECIDED),
        # Within 5 % of it on one side only.
        (2.0, 0.98, NOT_TESTABLE),
        (0.98, 2.0, NOT_TESTABLE),
    ],
)
def test_a_statement_needs_the_same_side_with_more_updates(rival, twin, verdict):
    found = verdicts(results(rival, twin))
    assert found == [verdict, HOLDS]


def test_twins_stand_under_the_names_of_their_models():
    found = longer(results(2.0, 3.0))
    assert found["model"].values.tolist() == ["own", "rival"]
    assert found["error"].sel(model="rival").values.tolist() == [3.0] * 5


def test_twins_of_some_seeds_are_compared_at_these_and_with_what_all_seeds_say():
    """Without any of a twin, nothing is known of more updates."""
    some = [3.0, 3.0, np.nan, np.nan, np.nan]
    alike = results([2.0, 2.0, 2.0, 0.5, 0.5], some)
    # Behind the rival by the median of all seeds; ahead at the first two, before and after.
    other = results([2.0, 2.0, 0.5, 0.5, 0.5], some)
    turned = results([2.0, 2.0, 2.0, 0.5, 0.5], [0.4, 0.4, np.nan, np.nan, np.nan])
    found = [rule(one).parts[0] for one in (alike, other, turned)]
    assert [one.holds for one in found] == [True, False, True]
    assert [one.needs[0].holds for one in found] == [True, False, False]
    assert verdicts(results([2.0] * 5, [np.nan] * 5)) == [NOT_TESTABLE, NOT_TESTABLE]


def test_only_what_reads_a_twin_is_asked_again():
    needs = [row["needs"] for row in rows(results(2.0, 3.0))]
    assert needs == [[{"says": SAME, "verdict": HOLDS}], []]
    # Equal medians by chance: not so in every resample.
    chance = rows(results(2.0, [0.5, 0.5, 2.0, 2.0, 2.0]))
    assert [row["needs"][0]["verdict"] for row in chance[:1]] == [UNDECIDED]


def test_seeds_without_twins_are_told():
    some = rows(results([2.0] * 5, [3.0, 3.0, 3.0, np.nan, np.nan]))
    assert some[0]["needs"][0]["says"] == f"{SAME} (3 seeds)"


def test_what_a_statement_needs_must_come_to_the_same_as_well():
    """A rival that draws nothing any more after twice the updates decides nothing."""

    @lasting
    def needing(r: xr.Dataset) -> Decision:
        learned = bounded(
            "the rival has learned", "<", 5, at=r["error"].sel(model="rival").median()
        )
        return Decision([given(rule.__wrapped__(r).parts[0], learned)])

    assert rows(results(2.0, 3.0), needing)[0]["verdict"] == HOLDS
    assert rows(results(2.0, 9.0), needing)[0]["verdict"] == NOT_TESTABLE


def test_what_has_no_number_is_on_no_side_of_a_bound():
    """Nor does a twin without any bear out that a model fails."""
    fails = [bounded("x", "<", 1, over=value) for value in (2.0, np.nan)]
    assert same(fails[0], fails[0]) and not same(*fails) and not same(*fails[::-1])


def again(error: float | list[float]) -> xr.Dataset:
    """Own errors of 1, a rival's of 2, and those that it has after twice the updates."""
    r = results(2.0, None)
    twice = r["error"].copy()
    twice.loc[{"model": "rival"}] = error
    return r.assign(longer_error=twice)


def test_all_models_may_have_made_twice_the_updates():
    """Then there is a variable of these."""
    assert longer(again(3.0))["error"].sel(model="rival").values.tolist() == [3.0] * 5
    assert [verdicts(again(error)) for error in (3.0, 0.5, np.nan)] == [
        [HOLDS, HOLDS],
        [NOT_TESTABLE, HOLDS],
        [NOT_TESTABLE, HOLDS],
    ]
    some = rule(again([3.0, 3.0, 3.0, np.nan, np.nan]))
    assert some.parts[0].needs[0].says == SAME  # of the rival alone numbers lack


def test_twice_the_updates_are_kept_apart_and_under_names_of_their_own(tmp_path):
    """What of them decides; the rest of the results is as it was."""
    one = chapter.spec("fig1_architecture")
    given = {"profile": "smoke", "results_dir": str(tmp_path), "device": "cpu", "seeds": 2}
    opened = chapter.Chapter(one, one.check(given))
    told = {name: (name, "1") for name in ("error", "shown")}

    def run(_: chapter.Chapter, axes: dict, settings: dict, workdir: Path) -> xr.Dataset:
        return xr.Dataset({"error": settings["steps"] + axes["seed"], "shown": 0})

    def twice(settings: dict) -> dict:
        return {"steps": 2 * settings["steps"]}

    def settings(_: chapter.Chapter, axes: dict) -> dict:
        return {"steps": 10 + 5 * axes["seed"]}

    plain = opened.grid(run, settings=settings, variables=told)
    found = with_longer(opened, plain, run, ["error", "lacking"], settings, twice, variables=told)
    assert found.drop_vars("longer_error").identical(plain)
    assert found["longer_error"].values.tolist() == [20, 31]
    assert found["longer_error"].attrs["long_name"] == "error, twice the updates"
    kept = store.read(opened.file("longer"))
    assert "longer_shown" not in kept and "longer_lacking" not in kept
    none = chapter.Chapter(one, one.check(given | {"profile": "fast"}))
    for other, axes in ((none, {}), (opened, {"model": []})):
        assert (
            with_longer(other, plain, run, ["error"], settings, twice, variables=told, **axes)
            is plain
        )


def test_before_and_after_are_compared_at_the_seeds_that_have_twins():
    """All seeds hold, and so do those with twins after more updates, but not before these."""
    turned = results([0.5, 0.5, 2.0, 2.0, 2.0], [3.0, 3.0, np.nan, np.nan, np.nan])
    part = rule(turned).parts[0]
    assert part.holds and not part.needs[0].holds


def test_only_seeds_that_all_twins_have_count():
    r = results(2.0, [3.0, 3.0, 3.0, np.nan, np.nan])
    own = r["error"].sel(model=["own"]).assign_coords(model=["own_longer"])
    both = xr.Dataset({"error": xr.concat([r["error"], own], "model")})
    assert rule(both).parts[0].needs[0].says == f"{SAME} (3 seeds)"


def test_differences_have_no_band_of_ratios():
    """What is near its bound by its own scale only is on one side of it."""
    near = [scaled(bounded("x", "<", 1, over=value), band=0.01) for value in (0.98, 1.02)]
    assert not same(*near) and same(near[0], near[0])
