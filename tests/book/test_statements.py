"""A verdict on a statement: from the interval of its contrast, and from what it needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from statement_cases import asked, below

from book.site import ledger, statements
from book.site.statements import FAILS, HOLDS, NOT_TESTABLE, TIE, UNDECIDED
from vnlib.book import evidence as numbers
from vnlib.book.ledger import NOT, PARTLY, REPRODUCED, Claim, Decision, Part

BAND = np.log(1.05)
TRIALS = 300
SOME = 100


# --- Verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "band", "closed", "word"),
    [
        (0.1, 0.2, 0.05, False, HOLDS),
        (-0.2, -0.1, 0.05, False, FAILS),
        (-0.1, 0.1, 0.05, False, UNDECIDED),
        (-0.02, 0.01, 0.05, False, TIE),
        (0.01, 0.04, 0.05, False, TIE),
        (0.01, 0.06, 0.05, False, HOLDS),
        (-0.06, -0.01, 0.05, False, FAILS),
        (0.0, 0.0, 0.0, True, HOLDS),
        (0.0, 0.0, 0.0, False, FAILS),
        (0.0, 0.2, 0.0, True, HOLDS),
        (0.0, 0.2, 0.0, False, UNDECIDED),
        (-np.inf, np.inf, 0.05, False, UNDECIDED),
    ],
)
def test_the_interval_decides(low, high, band, closed, word):
    assert statements.verdict(low, high, band, closed=closed) == word


@pytest.mark.parametrize("seeds", [3, 5, 8, 10])
@pytest.mark.parametrize(
    ("truth", "right"), [(1.0, UNDECIDED), (0.3, HOLDS), (3.0, FAILS)], ids=["at", "below", "above"]
)
def test_verdicts_come_at_their_rates(seeds, truth, right):
    """At the bound itself, where it errs most often, no verdict comes in more than 5 % of trials;
    far from it the right one nearly always.
    """
    rng, trials = np.random.default_rng(seeds), TRIALS if right == UNDECIDED else TRIALS // 3
    values = truth * np.exp(rng.normal(scale=0.2, size=(trials, seeds)))

    def decide(r: xr.Dataset) -> list[Part]:
        middle = r["x"].median("seed").values
        return [numbers.bounded(f"{n}: x", "<", 1, x=one) for n, one in enumerate(middle)]

    found = [one["verdict"] for one in asked(decide, values)]
    rates = {word: found.count(word) / trials for word in statements.VERDICTS}
    chance = 2 * np.sqrt(0.05 * 0.95 / TRIALS)
    assert rates[right] >= (0.9 if right == UNDECIDED else 0.75 if seeds == 3 else 0.99)
    if right == UNDECIDED:
        assert max(rates[HOLDS], rates[FAILS]) <= 0.0375 + chance
    else:
        wrong = FAILS if right == HOLDS else HOLDS
        assert rates[wrong] == rates[TIE] == 0


def test_a_tie_is_claimed_where_it_is_one_and_seldom_elsewhere():
    rng = np.random.default_rng(0)
    for truth, most in ((1.0, 1.0), (1.05, 0.0375), (1 / 1.05, 0.0375)):
        values = truth * np.exp(rng.normal(scale=0.005, size=(TRIALS, 5)))

        def decide(r: xr.Dataset) -> list[Part]:
            middle = r["x"].median("seed").values
            return [numbers.bounded(f"{n}: x", "<", 1, x=one) for n, one in enumerate(middle)]

        share = np.mean([one["verdict"] == TIE for one in asked(decide, values)])
        assert share <= most + 0.025 and (truth != 1 or share > 0.99)


def rates(values: np.ndarray, rule, **fields) -> dict[str, float]:
    """How often each verdict comes in many trials, (trial, model, seed), of a rule on one of them."""
    results = xr.Dataset({"x": (("trial", "model", "seed", "case")[: values.ndim], values)})
    words = [
        one["verdict"]
        for one in asked(
            # a name of its own, since the same statement is asked but once
            lambda r: [replace(rule(one), says=f"{n}: x") for n, one in enumerate(r["x"].values)],
            results,
            **fields,
        )
    ]
    assert len(words) == len(values)
    return {word: words.count(word) / len(words) for word in statements.VERDICTS}


def drawn(seeds: int, cells: int = 1, shared: float = 0.0, trials: int = SOME) -> np.ndarray:
    """Made-up errors of some models, at a bound of 1; what seeds do to all of them is shared."""
    rng = np.random.default_rng(seeds + cells)
    alike = shared * rng.normal(size=(trials, 1, seeds))
    return np.exp(0.2 * (rng.normal(size=(trials, cells, seeds)) + alike))


def least(x: np.ndarray) -> Part:
    """That each of some models is below the bound."""
    return numbers.bounded("x", "<", 1, x=np.median(x, -1))


CHANCE = 2 * np.sqrt(0.0375 * 0.9625 / SOME)


@pytest.mark.parametrize("seeds", [5, 8])
@pytest.mark.parametrize("cells", [1, 4, 9, 13])
def test_each_of_many_cells_at_its_bound_seldom_fails_or_holds(cells, seeds):
    """Each by itself would fail in up to 38 % of trials."""
    values = drawn(seeds, cells)
    found = rates(values, least)
    assert max(found[HOLDS], found[FAILS], found[TIE]) <= 0.0375 + CHANCE
    assert rates(8 * values[:20], least)[FAILS] > 0.9
    assert rates(0.2 * values[:20], least)[HOLDS] == 1


@pytest.mark.parametrize("seeds", [5, 8])
def test_an_end_of_one_value_is_not_put_beside_that_of_another(seeds):
    """A value without any spread within the band, on the wrong side, and one that may be on either:
    neither fails.
    """
    values = drawn(seeds, 2)
    values[:, 0] = 1.0003
    found = rates(values, least)
    assert found[FAILS] <= 0.0375 + CHANCE and found[UNDECIDED] > 0.85


@pytest.mark.parametrize("seeds", [5, 8])
def test_a_condition_at_its_bound_seldom_makes_a_statement_not_testable(seeds):
    def rule(x: np.ndarray) -> Part:
        return numbers.given(numbers.bounded("y", "<", 100, y=np.median(x)), least(x))

    found = rates(drawn(seeds), rule)
    assert max(found[NOT_TESTABLE], found[HOLDS]) <= 0.0375 + CHANCE
    assert found[UNDECIDED] >= 0.85


@pytest.mark.parametrize("seeds", [5, 8])
def test_several_conditions_at_their_bounds_seldom_make_it_not_testable(seeds):
    def rule(x: np.ndarray) -> Part:
        needs = [numbers.bounded(f"x{n}", "<", 1, x=np.median(one)) for n, one in enumerate(x)]
        return numbers.given(numbers.bounded("y", "<", 100, y=np.median(x)), *needs)

    assert rates(drawn(seeds, 6), rule)[NOT_TESTABLE] <= 0.0375 + CHANCE


@pytest.mark.parametrize("seeds", [5, 8, 10])
def test_two_models_at_par_are_seldom_told_apart(seeds):
    """Whatever a seed does to both."""
    found = rates(
        drawn(seeds, 2, shared=5.0),
        lambda x: numbers.compared("pairs", np.median(x[0] / x[1]), "<", 1),
    )
    assert max(found[HOLDS], found[FAILS]) <= 0.0375 + CHANCE


@pytest.mark.parametrize("runs", [20, 60])
def test_a_share_at_its_bound_seldom_holds_or_fails(runs):
    def rule(x: np.ndarray) -> Part:
        return numbers.scaled(numbers.bounded("x", "<=", 0.25, x=x.mean()), of=runs)

    values = np.random.default_rng(runs).random((SOME, 1, runs)) < 0.25
    found = rates(values.astype(float), rule)
    assert max(found[HOLDS], found[FAILS]) <= 0.0375 + CHANCE


@pytest.mark.parametrize("seeds", [5, 8])
def test_a_count_at_its_bound_seldom_holds_or_fails(seeds):
    """Of four cells one, whose truth is at the bound, decides whether there are four."""
    values = drawn(seeds, 4) * np.array([[0.1], [0.1], [0.1], [1.0]])
    found = rates(values, lambda x: numbers.bounded("n", ">=", 4, n=(np.median(x, 1) < 1).sum()))
    assert max(found[HOLDS], found[FAILS]) <= 0.0375 + CHANCE


@pytest.mark.parametrize("spread", [0.05, 2.0])
def test_test_cases_count_for_a_verdict(spread):
    """Seeds that agree on few cases decide nothing where another draw of cases would differ."""
    rng = np.random.default_rng(7)
    values = rng.normal(scale=6.0, size=(SOME, 1, 1, 24))
    values = values + rng.normal(scale=spread, size=(SOME, 1, 8, 1))

    def rule(x: np.ndarray) -> Part:
        return numbers.bounded("x", "<=", 0, x=np.median(x.mean(-1)))

    found = rates(values, rule, cases=["case"])
    assert max(found[HOLDS], found[FAILS]) <= 0.0375 + CHANCE
    alone = rates(values, rule)
    assert spread > 1 or alone[HOLDS] + alone[FAILS] > 0.7


@pytest.mark.parametrize("seeds", [5, 8, 10])
def test_verdicts_do_not_hang_on_random_numbers(seeds, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError("seeds are not drawn")

    values = drawn(seeds, 3, trials=1)[0]
    before = asked(lambda r: [below(r)], values)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    assert asked(lambda r: [below(r)], values) == before
    if seeds <= 6:  # all subsets, in whatever order
        assert asked(lambda r: [below(r)], values[:, ::-1]) == before


def test_few_seeds_say_how_sure_they_can_be():
    (three,) = asked(lambda r: [below(r)], np.array([0.7, 0.8, 0.9]))
    (five,) = asked(lambda r: [below(r)], np.array([0.7, 0.75, 0.8, 0.85, 0.9]))
    assert (three["seeds"], three["coverage"], three["verdict"]) == (3, 0.75, UNDECIDED)
    assert (five["seeds"], five["coverage"], five["verdict"]) == (5, 0.9375, HOLDS)
    (one,) = asked(lambda r: [below(r)], np.array([1e-9]))
    assert one["verdict"] == UNDECIDED and one["coverage"] == 0


def test_what_is_only_true_or_false_of_few_seeds_is_undecided():
    def decide(r: xr.Dataset) -> list[Part]:
        return [numbers.part("all below", (r["x"] < 1).all())]

    words = [asked(decide, np.full(n, 0.5))[0]["verdict"] for n in (3, 5)]
    assert words == [UNDECIDED, HOLDS]
    (mixed,) = asked(decide, np.array([0.5, 0.5, 0.5, 0.5, 2.0]))
    # false of every subset with the last seed
    assert mixed["verdict"] == UNDECIDED
    assert mixed["contrasts"][0]["share"] == pytest.approx(15 / 31, abs=1e-4)


def test_of_several_values_all_must_be_on_the_right_side():
    values = np.array([[0.5] * 5, [0.9, 0.95, 1.1, 0.8, 1.2]])
    each = asked(lambda r: [numbers.bounded("x", "<", 1, x=r["x"].median("seed"))], values)
    assert each[0]["verdict"] == UNDECIDED, "the worse one decides"
    low = each[0]["contrasts"][0]["margin"][1]
    assert low == pytest.approx(-np.log(1.2), rel=1e-3)


def test_models_are_compared_in_pairs():
    seed = np.exp(np.random.default_rng(3).normal(scale=3, size=5))
    values = np.stack([0.8 * seed, seed])

    def decide(r: xr.Dataset) -> list[Part]:
        own, other = r["x"].isel(model=0), r["x"].isel(model=1)
        return [
            numbers.compared("medians", own.median("seed"), "<", other.median("seed")),
            numbers.compared("pairs", (own / other).median("seed"), "<", 1),
        ]

    assert [one["verdict"] for one in asked(decide, values)] == [HOLDS, HOLDS]


# --- Statements of a claim ------------------------------------------------------------------------


def test_both_of_two_must_hold_and_the_worse_one_is_told_first():
    def decide(r: xr.Dataset) -> list[Part]:
        return [below(r, 100) & below(r, 0.01), below(r, 100) & below(r, 50)]

    first, second = asked(decide, np.array([0.9, 1.0, 1.1, 1.2, 1.3]))
    assert (first["verdict"], second["verdict"]) == (FAILS, HOLDS)
    assert [one["bound"] for one in first["contrasts"]] == [0.01, 100]


@pytest.mark.parametrize(("bound", "word"), [(10, HOLDS), (1.0, UNDECIDED), (0.01, NOT_TESTABLE)])
def test_without_what_it_needs_a_statement_is_not_testable(bound, word):
    def decide(r: xr.Dataset) -> list[Part]:
        return [numbers.given(below(r, 20), below(r, bound))]

    (row,) = asked(decide, np.array([0.9, 0.95, 1.0, 1.05, 1.1]))
    assert row["verdict"] == word
    assert row["needs"][0]["says"] == f"x < {bound:.3g}"
    assert (row["missing"] == f"it fails that x < {bound:.3g}") == (word == NOT_TESTABLE)


def test_a_seed_that_never_learned_makes_a_precondition_fail_and_nothing_else():
    """Of a model that never learned nothing is said; what is said of others stays as it was."""
    values = np.full((2, 8), 0.1) * np.exp(0.01 * np.arange(8))

    def decide(r: xr.Dataset) -> list[Part]:
        learned = r["x"] < 1
        rate, error = learned.mean("seed"), r["x"].where(learned).median("seed")
        return [
            numbers.given(
                numbers.bounded(f"error of {n}", "<", 0.2, x=error[n]),
                numbers.bounded(f"share of {n} that learned", ">=", 0.6, rate=rate[n]),
            )
            for n in range(2)
        ]

    before = asked(decide, values)
    assert [row["verdict"] for row in before] == [HOLDS, HOLDS]
    values[0, -1] = 50.0  # one of eight
    one, other = asked(decide, values)
    assert other == before[1]
    assert (one["verdict"], one["needs"][0]["verdict"], one["seeds"]) == (HOLDS, HOLDS, 7)
    assert one["contrasts"][0]["value"][1] < 0.11, "an error of those that learned"
    values[0, 1:] = 50.0  # seven of eight
    one, other = asked(decide, values)
    assert other == before[1]
    assert (one["verdict"], one["needs"][0]["verdict"]) == (NOT_TESTABLE, FAILS)
    assert one["missing"] == "it fails that share of 0 that learned ≥ 0.6"


def test_what_no_result_decides_says_what_is_missing():
    (row,) = asked(lambda r: [numbers.untested("deep ones win", "runs to the end")], np.ones(5))
    assert (row["verdict"], row["missing"]) == (NOT_TESTABLE, "runs to the end")
    assert row["contrasts"] == [] and row["coverage"] is None


def test_a_resample_that_lacks_what_the_rule_reads_leaves_it_undecided():
    def decide(r: xr.Dataset) -> list[Part]:
        if (r["x"] > 1).mean() > 0.5:
            raise KeyError("three that learned")
        return [below(r, 10)]

    (row,) = asked(decide, np.array([0.5, 0.5, 0.5, 2.0, 2.0]))
    assert row["verdict"] == UNDECIDED


def test_a_statement_of_both_protocols_is_one():
    def decide(r: xr.Dataset) -> Decision:
        return Decision([below(r, 2), below(r, 3)], [below(r, 3), below(r, 4)])

    words = dict.fromkeys(("source", "chapter", "figure", "statement"), "x")
    one = Claim(**words, id="A", decide=decide)
    _, rows = ledger.judge(one, xr.Dataset({"x": ("seed", np.ones(5))}))
    assert [(row["id"], row["says"], row["protocols"]) for row in rows] == [
        ("A.1", "x < 2", ["printed"]),
        ("A.2", "x < 3", ["printed", "controls"]),
        ("A.3", "x < 4", ["controls"]),
    ]


def test_the_same_words_of_other_values_are_another_statement():
    def decide(r: xr.Dataset) -> Decision:
        return Decision([below(r, 2)], [numbers.bounded("x", "<", 2, x=3 * r["x"].median("seed"))])

    words = dict.fromkeys(("source", "chapter", "figure", "statement"), "x")
    one = Claim(**words, id="A", decide=decide)
    _, rows = ledger.judge(one, xr.Dataset({"x": ("seed", np.ones(5))}))
    assert [(row["protocols"], row["verdict"]) for row in rows] == [
        (["printed"], HOLDS),
        (["controls"], FAILS),
    ]


def test_details_do_not_count_for_their_claim():
    def decide(r: xr.Dataset) -> Decision:
        return Decision([below(r, 2), numbers.detail(below(r, 0.1))])

    words = dict.fromkeys(("source", "chapter", "figure", "statement"), "x")
    row, rows = ledger.judge(
        Claim(**words, id="A", decide=decide), xr.Dataset({"x": ("seed", np.ones(5))})
    )
    assert [one["verdict"] for one in rows] == [HOLDS, FAILS] and row["verdict"] == REPRODUCED


@pytest.mark.parametrize(
    ("words", "summary"),
    [
        ([HOLDS, HOLDS], REPRODUCED),
        ([FAILS], NOT),
        ([FAILS, NOT_TESTABLE], UNDECIDED),
        ([FAILS, UNDECIDED, TIE], UNDECIDED),
        ([HOLDS, FAILS, UNDECIDED], PARTLY),
        ([HOLDS, UNDECIDED], UNDECIDED),
        ([HOLDS, TIE], UNDECIDED),
        ([HOLDS, NOT_TESTABLE], UNDECIDED),
        ([FAILS, TIE], NOT),
        ([TIE], UNDECIDED),
        ([NOT_TESTABLE], NOT_TESTABLE),
        ([], NOT_TESTABLE),
    ],
)
def test_core_statements_make_the_summary(words, summary):
    assert ledger.summary(words) == summary


def test_rare_resamples_that_lack_a_model_are_left_out():
    drawn = [["a"]] * 98 + [None] * 2
    assert statements._but_rare(drawn) == [["a"]] * 98
    drawn = [*drawn, None]
    assert statements._but_rare(drawn) == drawn


def test_a_statement_has_the_seeds_of_what_it_is_told_by():
    """Of ten seeds, three of the first model and all of the second; nobody tells a spread alone."""
    values = np.ones((2, 10))
    values[0, 3:] = np.nan

    def decide(r: xr.Dataset) -> list[Part]:
        first, both = r["x"][0].median(), r["x"].median("seed")
        spread = r["x"][1].std() / (r.sizes["seed"] > 1 or np.nan)
        told = {"first": first, "both": both, "second": r["x"][1].median(), "spread": spread}
        return [numbers.bounded(name, "<", 2, x=one) for name, one in told.items()]

    assert [one["seeds"] for one in asked(decide, values)] == [3, 3, 10, 10]
