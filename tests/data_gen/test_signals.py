"""Signals: kinds are what their formulas say, counts are balanced, tests are held apart, masks hide
what they name.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from data_gen import signals
from data_gen.signals import SignalConfig

SMALL = SignalConfig(length=256, n_train=400, n_val=40, n_test=60)
T = np.linspace(0, 1, 256)
every_kind = pytest.mark.parametrize(
    ("kinds", "name"),
    [(kinds, name) for kinds in (signals.PRIMITIVES, signals.EASY, signals.HARD) for name in kinds],
)


def drawn(kind: signals.Kind, n: int = 50, seed: int = 0) -> np.ndarray:
    return kind(np.random.default_rng(seed), n, T)


def left_over(values: np.ndarray, *columns: np.ndarray) -> float:
    """The largest share of power that a least-squares fit of `columns` leaves of any signal."""
    design = np.stack(columns, 1)
    rest = values.T - design @ np.linalg.lstsq(design, values.T, rcond=None)[0]
    return float(((rest**2).sum(0) / (values.T**2).sum(0)).max())


def test_polynomials_are_cubics_with_a_bounded_size():
    values = drawn(signals.poly)
    assert left_over(values, *(T**k for k in range(4))) < 1e-12
    size = np.abs(values).max(1)
    assert size.min() >= 0.5 and size.max() <= 1.5


def test_sines_solve_the_equation_of_an_oscillator():
    values = signals.sin(np.random.default_rng(0), 40, np.linspace(0, 1, 4001))
    curvature = np.diff(values, 2, axis=1) * 4000**2
    middle = values[:, 1:-1]
    rate = -(curvature * middle).sum(1) / (middle**2).sum(1)
    np.testing.assert_allclose(curvature, -rate[:, None] * middle, atol=2e-2 * rate.max())
    frequency = np.sqrt(rate) / (2 * np.pi)
    assert (
        frequency.min() * 1.001 >= 1
        and frequency.max() <= 8.001
        and frequency.max() - frequency.min() > 5
    )


def test_exponentials_and_bumps_have_straight_and_parabolic_logarithms():
    decays, bumps = np.log(np.abs(drawn(signals.exp))), drawn(signals.gauss)
    slope = np.diff(decays, axis=1) * 255
    np.testing.assert_allclose(slope, slope[:, :1] + np.zeros_like(slope), rtol=1e-6)
    assert slope.min() >= -8 and slope.max() <= -1
    inside = np.abs(bumps) > 1e-3
    bend = np.diff(np.log(np.abs(bumps) + 1e-300), 2, axis=1)
    for row, here in zip(bend, inside[:, 1:-1] & inside[:, 2:] & inside[:, :-2], strict=True):
        np.testing.assert_allclose(row[here], row[here].mean(), rtol=1e-3)
        assert row[here].mean() < 0


@every_kind
def test_a_kind_is_finite_bounded_and_never_twice_the_same(kinds, name):
    values = drawn(kinds[name])
    assert values.shape == (50, 256) and np.isfinite(values).all()
    assert np.abs(values).max() <= 3.0  # two amplitudes of at most 1.5
    assert len(np.unique(values.round(9), axis=0)) == 50
    assert (drawn(kinds[name]) == values).all() and (drawn(kinds[name], seed=1) != values).any()


def test_easy_signals_are_sums_of_two_families():
    rng, again = np.random.default_rng(3), np.random.default_rng(3)
    assert list(signals.EASY) == [
        "sin+exp",
        "sin+poly",
        "sin+gauss",
        "exp+poly",
        "exp+gauss",
        "poly+gauss",
    ]
    for name, kind in signals.EASY.items():
        first, second = (signals.PRIMITIVES[part] for part in name.split("+"))
        np.testing.assert_array_equal(kind(rng, 5, T), first(again, 5, T) + second(again, 5, T))


def test_sets_are_balanced_and_only_tests_hold_compositions():
    ds = signals.make(SMALL)
    assert ds["value"].dtype == np.float32
    for name, count in {"train": 400, "val": 40, "id": 60, "easy": 60, "hard": 60}.items():
        one = signals.subset(ds, name)
        kinds, counts = np.unique(one["kind"], return_counts=True)
        expected = {"easy": signals.EASY, "hard": signals.HARD}.get(name, signals.PRIMITIVES)
        assert one.sizes["signal"] == count and set(kinds) == set(expected)
        assert counts.max() - counts.min() <= 1


def test_one_number_scales_all_sets():
    normal, raw = (
        signals.make(SignalConfig(length=64, n_train=80, n_val=8, n_test=12, units=u))
        for u in signals.UNITS
    )
    train = signals.subset(normal, "train")["value"]
    assert float((train**2).mean()) == pytest.approx(1, abs=1e-5)
    np.testing.assert_allclose(
        normal["value"] * normal.attrs["scale"], raw["value"], rtol=1e-5, atol=1e-6
    )
    assert (
        raw.attrs["scale"] == normal.attrs["scale"]
        and json.loads(raw.attrs["config"])["units"] == "raw"
    )


def test_tests_follow_their_own_seed():
    base = {"length": 64, "n_train": 20, "n_val": 8, "n_test": 12}
    one, other_train, other_test = (
        signals.make(SignalConfig(**base, units="raw", **change))
        for change in ({}, {"seed": 1}, {"test_seed": 7})
    )
    for ds, same, different in (
        (other_train, ("id", "easy", "hard"), "train"),
        (other_test, ("train", "val"), "hard"),
    ):
        for name in same:
            assert signals.subset(ds, name)["value"].equals(signals.subset(one, name)["value"])
        assert not signals.subset(ds, different)["value"].equals(
            signals.subset(one, different)["value"]
        )
    sets = [signals.subset(one, name)["value"].values[:8] for name in ("train", "val", "id")]
    assert len(np.unique(np.concatenate(sets), axis=0)) == 24  # no set repeats another


@pytest.mark.parametrize(
    ("mask", "hidden"),
    [("forecast_25", 128), ("forecast_50", 256), ("random_30", 154), ("block_128", 128)],
)
def test_masks_hide_as_much_as_they_say(mask, hidden):
    shown = signals.observed(mask, 30)
    assert shown.dtype == bool and (~shown).sum(1).tolist() == [hidden] * 30
    edges = np.abs(np.diff((~shown).astype(int), axis=1)).sum(1)
    if mask.startswith("forecast"):
        assert shown[:, 0].all() and not shown[:, -1].any() and set(edges) == {1}
    elif mask == "block_128":
        assert edges.max() <= 2 and len(np.unique(shown, axis=0)) > 20
    else:
        assert edges.min() > 100 and len(np.unique(shown, axis=0)) == 30
        assert abs((~shown).mean(0) - 0.3).max() < 0.35
    assert (signals.observed(mask, 30) == shown).all()
    if not mask.startswith("forecast"):
        assert (signals.observed(mask, 30, seed=1) != shown).any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"length": 8}, "length must be an integer >= 16, got 8"),
        ({"n_test": 0}, "n_test must be an integer >= 1, got 0"),
        ({"n_train": 1.5}, "n_train must be an integer >= 1, got 1.5"),
        ({"units": "volt"}, "units must be one of 'normalised', 'raw', got 'volt'"),
        (
            {"seed": 3, "test_seed": 3},
            "test_seed must differ from seed, so that tests are held apart, got 3 twice",
        ),
    ],
)
def test_bad_settings_are_named(change, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        SignalConfig(**change)


def test_unknown_sets_and_masks_are_named():
    ds = signals.make(SignalConfig(length=32, n_train=4, n_val=4, n_test=6))
    with pytest.raises(
        ValueError, match="sets must be any of train, val, id, easy, hard, got 'ood'"
    ):
        signals.subset(ds, "ood")
    with pytest.raises(ValueError, match=r"mask must be one of 'forecast_25', .*, got 'half'"):
        signals.observed("half", 3)
