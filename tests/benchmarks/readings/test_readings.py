"""Specification curves on results whose truth is known."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from benchmarks.readings import figures, tables
from benchmarks.readings.arrays import Arrays, over
from benchmarks.readings.choices import (
    Choice,
    Exclusion,
    Statement,
    fraction,
    left_out,
    readings,
    trained,
)
from benchmarks.readings.curve import (
    FAILS,
    HOLDS,
    NOT_TESTABLE,
    TIE,
    UNDECIDED,
    VERDICTS,
    above,
    below,
    by_option,
    closeness,
    curve,
    deciding,
    falls_apart,
    shares,
    summary,
    verdict,
)
from book.site import statements
from vnlib.book import resampling

SIZE = Choice(name="size", says="how large", options={"s": "small", "l": "large"})
MIDDLE = Choice(
    name="middle",
    says="summary of seeds",
    options={"median": "median", "mean": "mean", "max": "largest"},
    extremes=("max",),
)
EFFECT = {"s": 2.0, "l": 0.5}


def effects(seeds: int = 6, noise: float = 0.1) -> xr.Dataset:
    """Values around 2 (small) and 0.5 (large), whose bound is 1."""
    draw = np.random.default_rng(0).normal(size=(2, seeds))
    values = np.array([[2.0], [0.5]]) * np.exp(noise * draw)
    return xr.Dataset({"x": (("size", "seed"), values)}, {"size": ["s", "l"], "seed": range(seeds)})


def margin(results: Arrays, reading: dict) -> np.ndarray:
    return above(over(results("x", size=reading["size"]), reading["middle"]), 1.0)


def stated(**changes: object) -> Statement:
    given = {"id": "X-1", "says": "x is above 1", "choices": (SIZE, MIDDLE), "margin": margin}
    return Statement(**given | changes)


def test_readings_are_all_combinations_but_those_excluded():
    assert len(readings(stated())) == 6
    some = Exclusion(options={"size": ["l"], "middle": ["mean", "max"]}, why="nobody would")
    left = readings(stated(excluded=[some]))
    assert len(left) == 4 and {"size": "l", "middle": "median"} in left
    assert left_out(stated(excluded=[some])) == {"nobody would": 2}


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (
            {"own": {"colour": "red"}},
            "a choice of X-1 must be one of 'size', 'middle', got 'colour'",
        ),
        ({"own": {"size": "xl"}}, "size of X-1 must be one of 's', 'l', got 'xl'"),
        (
            {"excluded": [Exclusion(options={"size": ["xl"]}, why="?")]},
            "size of X-1 must be one of",
        ),
        (
            {"excluded": [Exclusion(options={"size": ["s"]}, why="?")]},
            "own reading of X-1 must not",
        ),
        ({"choices": (SIZE, SIZE)}, "choices of X-1 must have different names"),
        ({"kind": "log"}, "kind of X-1 must be one of 'ratio', 'difference', got 'log'"),
    ],
)
def test_a_statement_that_does_not_fit_together_is_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        stated(**changes)


def test_a_half_fraction_has_any_options_of_all_choices_but_one_once():
    two = [Choice(name=n, says=n, options={"a": "a", "b": "b"}, trained=True) for n in "uvw"]
    kept = readings(stated(choices=(*two, MIDDLE), excluded=[fraction(two)]))
    assert len(kept) == 4 * 3
    for name in "uvw":
        others = [tuple(r[n] for n in "uvw" if n != name) for r in kept if r["middle"] == "mean"]
        assert sorted(others) == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    three = Choice(name="x", says="x", options=dict.fromkeys("abc", "x"), trained=True)
    with pytest.raises(ValueError, match=r"x must have two options, got \['a', 'b', 'c'\]"):
        fraction([three])


def test_a_choice_needs_two_options():
    with pytest.raises(ValueError, match=r"options of the choice 'a' must be two at least"):
        Choice(name="a", says="a", options={"one": "one"})


def test_margins_are_logarithms_of_ratios():
    assert float(above(4.0, 2.0)) == pytest.approx(np.log(2)) == -float(below(4.0, 2.0))


def test_the_curve_is_sorted_and_finds_what_is_true():
    found = curve(stated(), effects())
    assert (np.diff(found["margin"]) >= 0).all()
    words = found["choice_size"].values.tolist()
    assert words == ["large"] * 3 + ["small"] * 3
    settled = found.isel(reading=(found["choice_middle"] != "largest").values)
    assert settled["verdict"].values.tolist() == [FAILS] * 2 + [HOLDS] * 2
    own = found.isel(reading=np.flatnonzero(found["own"]))
    assert own["choice_size"].item() == "small" and own["choice_middle"].item() == "median"
    exact = np.log(effects()["x"].sel(size="s").median("seed"))
    assert float(own["margin"].item()) == pytest.approx(float(exact))


def test_shares_count_readings_alike_or_by_weight():
    plain = shares(curve(stated(), effects()))
    assert plain["right"] == plain["low"] == plain["high"] == 0.5
    assert plain["sure"] == pytest.approx(2 / 6), "of all six: the largest seed has no interval"
    assert plain["effective"] == plain["readings"] == plain["testable"] == 6
    heavy = stated(weight=lambda results, reading: 1.0 if reading["size"] == "s" else 0.25)
    weighed = shares(curve(heavy, effects()), weighted=True)
    assert weighed["right"] == pytest.approx(0.8)
    assert weighed["effective"] == pytest.approx(3.75**2 / (3 + 3 * 0.25**2))
    assert shares(curve(heavy, effects()))["right"] == 0.5


def test_a_share_is_as_sure_as_its_readings():
    """With much noise resamples turn readings around, so the share has an interval."""
    noisy = shares(curve(stated(), effects(noise=2.0)))
    assert noisy["low"] < noisy["right"] <= noisy["high"]
    by = by_option(curve(stated(), effects(noise=2.0)))
    assert by["low"].min() < by["right"].min() and (by["low"] <= by["high"]).all()


def test_the_choice_that_decides_is_named():
    found = curve(stated(), effects())
    assert deciding(found) == {"size": 1.0, "middle": 0.0}
    assert falls_apart(found) == {"size": True, "middle": False}
    frame = by_option(found)
    assert frame.loc[("size", "small"), "right"] == 1
    assert frame.loc[("size", "small"), "sure"] == pytest.approx(2 / 3)
    assert frame.loc[("size", "large"), "right"] == 0
    assert frame.loc[("middle", "mean"), "right"] == 0.5
    assert frame.loc[("middle", "mean"), "readings"] == 2
    assert not frame["without"].any(), "all options are asked beside all others"


def test_only_readings_with_an_interval_are_sure():
    """No resample goes beyond the largest seed; few seeds that all say the same tell little."""
    found = curve(stated(), effects())
    largest = found.isel(reading=(found["choice_middle"] == "largest").values)
    assert largest["low"].isnull().all() and {*largest["verdict"].values} == {UNDECIDED}
    assert shares(found)["alone"] == 2 and shares(found)["sure"] == pytest.approx(2 / 6)
    frame = by_option(found)
    assert frame.loc[("middle", "largest"), "alone"] == 2
    assert frame.loc[("middle", "largest"), "sure"] == 0
    few = shares(curve(stated(), effects(seeds=4, noise=0)))
    assert few["alone"] == 6 and few["sure"] == 0 and few["right"] == 0.5
    alike = shares(curve(stated(), effects(noise=0)))
    assert alike["alone"] == 2 and alike["sure"] == pytest.approx(2 / 6)
    for one in (found, curve(stated(), effects(noise=2.0))):
        assert shares(one)["sure"] <= shares(one)["right"], (
            "those that are sure are among the right"
        )
    assert tables.statements({"X-1": found}).shown().loc["X-1", "no interval"] == "2"


def test_an_option_that_is_not_asked_beside_all_others_says_without_which():
    some = Exclusion(options={"size": ["l"], "middle": ["max"]}, why="not stored")
    found = curve(stated(excluded=[some]), effects())
    frame = by_option(found)["without"]
    assert frame[("size", "large")] == "largest" and frame[("middle", "largest")] == "large"
    assert frame[("middle", "mean")] == ""
    shown = tables.options({"X-1": found}, "X-1").shown()
    assert shown.loc[("how large", "large"), "not asked with"] == "largest"
    assert "–" in set(shown["not asked with"])


def test_where_an_option_is_asked_beside_few_of_a_choice_these_are_named():
    every = {"network": ["CNN, bump", "CNN", "MLP", "VN"], "hold-out": ["square", "corner"]}
    assert tables._apart("CNN, bump, CNN, MLP, corner", every) == "all but VN; corner"
    assert tables._apart("CNN, bump, MLP, corner", every) == "CNN, bump; MLP; corner"
    assert tables._apart("", every) == ""
    codes = {"network": ["CNN, ramp", "MLP, ramp", "VN", *"abcdefgh"]}
    listed = ", ".join("abcdefgh")
    assert tables._apart(listed, codes) == "all but “CNN, ramp”, “MLP, ramp” and “VN”"
    assert tables._apart(f"VN, {listed}", codes) == "all but “CNN, ramp” and “MLP, ramp”"
    assert tables._apart(f"MLP, ramp, VN, {listed}", codes) == "all but “CNN, ramp”"


def test_an_option_that_is_excluded_everywhere_is_none():
    found = curve(stated(excluded=[Exclusion(options={"size": ["l"]}, why="twice")]), effects())
    assert [*found.attrs["options"]] == ["middle"] and found.sizes["reading"] == 3
    with pytest.raises(ValueError, match="extremes of the choice 'a' must be one of"):
        Choice(name="a", says="a", options={"x": "x", "y": "y"}, extremes=("z",))


def test_what_fails_a_condition_or_lacks_runs_is_not_testable():
    def lacking(results: Arrays, reading: dict) -> np.ndarray:
        if reading["middle"] == "max":
            raise KeyError("the model m")
        return margin(results, reading) * (np.nan if reading["middle"] == "mean" else 1)

    found = curve(stated(margin=lacking), effects())
    assert (found["verdict"] == NOT_TESTABLE).sum() == 4
    assert {*found["missing"].values} == {
        "",
        "the results lack the model m",
        "a condition of the statement fails",
    }
    assert shares(found)["testable"] == 2 and shares(found)["right"] == 0.5


def test_what_no_reading_can_test_has_no_share():
    def lost(results: Arrays, reading: dict) -> float:
        raise KeyError("all")

    found = curve(stated(margin=lost), effects())
    assert np.isnan(shares(found)["right"]) and shares(found)["testable"] == 0
    assert {*deciding(found).values()} == {0.0} and len(
        tables.options({"X-1": found}, "X-1").shown()
    ) == 5
    assert len(tables.statements({"X-1": found}).shown()) == 1 and figures.overview({"X-1": found})
    assert figures.curve(found).axes[0].texts[0].get_text().startswith("No reading")
    plt.close("all")


def test_runs_of_readings_are_named_once_and_read_by_name():
    lots = Choice(name="lots", says="how many", options={"8": "8", "16": "16"}, trained=True)
    one = stated(choices=(lots, MIDDLE), margin=lambda r, reading: above(over(r("x"), "median"), 1))
    assert trained(one) == {"lots 8": {"lots": "8"}, "lots 16": {"lots": "16"}}
    runs = effects().rename(size="trained").assign_coords(trained=["lots 16", "lots 8"])
    found = curve(one, runs)
    assert found["choice_lots"].values.tolist() == ["8"] * 3 + ["16"] * 3
    only = curve(one, runs.sel(trained=["lots 8"]))
    assert (only["missing"] == "the results lack the runs lots 16").sum() == 3


@pytest.mark.parametrize(("seeds", "word"), [(1, UNDECIDED), (6, HOLDS)])
def test_one_seed_decides_nothing(seeds, word):
    found = curve(stated(own={"size": "s"}), effects(seeds))
    assert found.isel(reading=found["own"].values)["verdict"].item() == word


@pytest.mark.parametrize("seeds", [3, 5, 6, 8])
def test_the_interval_of_a_reading_is_that_of_the_ledger(seeds):
    """Also of eight seeds, among whose resamples is none of all."""
    results = effects(seeds, noise=0.5)
    one = resampling.resamples(results["x"].sel(size="s").to_dataset(name="x"))
    drawn = np.log(np.stack([some["x"].median("seed").values for some in one]))
    point = np.log(results["x"].sel(size="s").median("seed").values)
    low, high = resampling.interval(drawn[:, None], point[None], seeds)
    found = curve(stated(), results)
    own = found.isel(reading=found["own"].values).squeeze("reading")
    assert own["low"].item() == pytest.approx(low.item())
    assert own["high"].item() == pytest.approx(high.item())


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.1, 0.2, HOLDS), (-0.2, -0.1, FAILS), (-0.1, 0.1, UNDECIDED), (-0.04, 0.04, TIE)],
)
def test_verdicts_are_the_ledgers(low, high, word):
    assert verdict(0.0, low, high, band=0.05) == word == statements.verdict(low, high, 0.05)
    assert {*VERDICTS} == {*statements.VERDICTS}


def test_closeness_to_a_printed_number():
    assert closeness(300, 300) == 1
    assert closeness(600, 300) == closeness(150, 300) == pytest.approx(np.exp(-0.5))
    assert closeness(np.inf, 3) == closeness(np.nan, 3) == closeness(0, 3) == 0
    with pytest.raises(ValueError, match="factor must be above 1, got 1"):
        closeness(1, 1, factor=1)


def test_the_figure_shows_every_reading_once_per_choice():
    found = curve(stated(), effects())
    top, bottom = figures.curve(found).axes
    shown = sum(len(one.get_offsets()) for one in top.collections if hasattr(one, "get_offsets"))
    assert sum(len(one.get_offsets()) for one in bottom.collections) == 2 * 6
    assert shown >= 6 + 1  # and a ring round the book's own
    assert "50\N{NO-BREAK SPACE}% of 6 readings" in top.get_title(loc="left")
    assert not top.get_legend() and len(top.figure.legends) == 1, "no margin is covered"
    assert [text.get_text() for text in bottom.get_yticklabels()] == [
        "how large",
        "small",
        "large",
        "summary of seeds",
        "median",
        "mean",
        "largest",
    ]
    plt.close("all")


def test_tables_and_numbers_say_the_same():
    curves = {"X-1": curve(stated(), effects())}
    assert tables.numbers(curves)["X-1"]["right"] == "50 %"
    assert tables.statements(curves).shown().loc["X-1", "on the right side"] == "50 %"
    assert tables.statements(curves).shown().loc["X-1", "decides most"] == "how large"
    assert summary(curves).loc["X-1", "own"] == HOLDS
    shown = tables.options(curves, "X-1").shown()
    assert shown.loc[("how large", "small"), "on the right side"] == "100 %"
    why = Exclusion(options={"size": ["l"]}, why="too large")
    assert tables.exclusions([stated(excluded=[why])]).frame.loc["X-1", "why"] == "too large"
    assert len(figures.overview(curves).axes) == 1
    plt.close("all")
